"""The service as an ASGI application: routes, limits, errors, the reference, and the server of one process."""

from scoring_model.service.http.application import create_app
from scoring_model.service.http.settings import HttpSettings

__all__ = ["HttpSettings", "create_app"]
