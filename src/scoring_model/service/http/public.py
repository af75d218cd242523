"""Pages without credentials: health checks here, the API reference in `reference`."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from scoring_model.contract.health import Health, Readiness
from scoring_model.contract.resource import instant
from scoring_model.service.http.context import context_of
from scoring_model.service.http.errors import MethodNotAllowed, NotReady, allow
from scoring_model.service.http.responses import plain

if TYPE_CHECKING:
    from scoring_model.service.service import Service

DESCRIPTION: Final = "/openapi.json"
"""Path of the API reference for programs."""

LIVE: Final = "/health/live"
READY: Final = "/health/ready"
LEAVING: Final = "leaving"
"""In the state of a request when the process was asked to stop (ASGI lifespan protocol, lifespan state)."""


class PublicPage:
    """ASGI application of a page without credentials. It ignores queries, which load balancers like to add.

    Parameters
    ----------
    answer : callable
        Connection scope to response.
    """

    def __init__(self, path: str, answer: Callable[[Scope], Awaitable[Response]]) -> None:
        self.path = path
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request.

        Raises
        ------
        MethodNotAllowed
            Unless it is GET or HEAD.
        """
        context = context_of(scope)
        context.route = self.path
        if context.method not in ("GET", "HEAD"):
            raise MethodNotAllowed(allow({"GET"}))
        response = await self._answer(scope)
        await response(scope, receive, send)


def is_health(target: bytes) -> bool:
    """Whether a request target is that of a health check, or would be."""
    return target.startswith(b"/health/")


def health_pages(service: "Service") -> list[PublicPage]:
    """Make the health checks: whether the process lives, and whether it should get requests."""

    async def live(_scope: Scope) -> Response:
        return plain(Health())

    async def ready(scope: Scope) -> Response:
        found = None if LEAVING in scope.get("state", {}) else await service.readiness.check()
        if found is None:
            raise NotReady
        since = found.erasure_incomplete_since
        return plain(
            Readiness(
                erasure_incomplete_since=None if since is None else instant(since),
                clock_behind_seconds=found.clock_behind // 1_000_000,
            )
        )

    return [PublicPage(LIVE, live), PublicPage(READY, ready)]
