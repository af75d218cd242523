"""The HTTP interface: an ASGI application, its API reference, and the server of one process."""

from scoring_model.service.http.application import create_app
from scoring_model.service.http.settings import HttpSettings

__all__ = ["HttpSettings", "create_app"]
