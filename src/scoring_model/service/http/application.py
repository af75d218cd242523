"""The application: the layers and the routes, put together."""

from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from scoring_model.service.core.clock import Clock
from scoring_model.service.core.errors import NotFound
from scoring_model.service.http.authentication import AuthenticationMiddleware
from scoring_model.service.http.error_middleware import ErrorMiddleware
from scoring_model.service.http.health import health_pages
from scoring_model.service.http.logs import RequestLog
from scoring_model.service.http.operation import Endpoint, Operation
from scoring_model.service.http.operations import OPERATIONS
from scoring_model.service.http.reference import reference_pages
from scoring_model.service.http.settings import HttpSettings

if TYPE_CHECKING:
    from scoring_model.service.service import Service


def create_app(service: "Service", settings: HttpSettings, *, clock: Clock) -> ASGIApp:
    """Build the application.

    Parameters
    ----------
    service : Service
        The domain.
    settings : HttpSettings
    clock : Clock
        For the times in logs; those of resources are the service's.

    Returns
    -------
    ASGI application
        Of HTTP alone. It starts and stops nothing.
    """
    routes = [
        *_guarded(service, settings),
        *(Route(page.path, page) for page in [*health_pages(service), *reference_pages()]),
    ]
    router = Router(routes, redirect_slashes=False, default=_not_found)
    return ErrorMiddleware(
        AuthenticationMiddleware(router, service, settings), RequestLog(clock, enabled=settings.access_log)
    )


def _guarded(service: "Service", settings: HttpSettings) -> Iterable[Route]:
    by_path = attrgetter("path")
    for path, operations in groupby(sorted(OPERATIONS, key=_place), by_path):
        yield Route(path, Endpoint(path, list(operations), service, settings))


def _place(operation: Operation) -> int:
    """Where its path was named first."""
    return next(place for place, other in enumerate(OPERATIONS) if other.path == operation.path)


async def _not_found(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise NotFound
