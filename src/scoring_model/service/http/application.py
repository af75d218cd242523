"""The application: middleware and routes."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from scoring_model.service.core.clock import Clock
from scoring_model.service.core.errors import NotFound
from scoring_model.service.http import identities, verifications, webhooks
from scoring_model.service.http.authentication import AuthenticationMiddleware
from scoring_model.service.http.error_middleware import ErrorMiddleware
from scoring_model.service.http.logs import RequestLog
from scoring_model.service.http.operation import Endpoint, Operation
from scoring_model.service.http.public import health_pages
from scoring_model.service.http.reference import reference_pages
from scoring_model.service.http.settings import HttpSettings

if TYPE_CHECKING:
    from scoring_model.service.service import Service

# The first route that fits is taken: the most frequent ones come first.
OPERATIONS: Final = (*verifications.OPERATIONS, *identities.OPERATIONS, *webhooks.OPERATIONS)
"""Every operation that needs credentials."""


def create_app(service: "Service", settings: HttpSettings, *, clock: Clock) -> ASGIApp:
    """Build the application. It starts and stops nothing.

    Parameters
    ----------
    clock : Clock
        For the times in logs; those of resources are the service's.
    """
    routes = [
        *_operation_routes(service, settings),
        *(Route(page.path, page) for page in [*health_pages(service), *reference_pages()]),
    ]
    router = Router(routes, redirect_slashes=False, default=_not_found)
    return ErrorMiddleware(
        AuthenticationMiddleware(router, service, settings), RequestLog(clock, enabled=settings.access_log)
    )


def _operation_routes(service: "Service", settings: HttpSettings) -> Iterable[Route]:
    by_path: dict[str, list[Operation]] = {}
    for operation in OPERATIONS:
        by_path.setdefault(operation.path, []).append(operation)
    for path, operations in by_path.items():
        yield Route(path, Endpoint(path, operations, service, settings))


async def _not_found(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise NotFound
