"""Whether the process lives, and whether it should get requests. For load balancers, without credentials."""

from typing import TYPE_CHECKING, Final

from starlette.responses import Response
from starlette.types import Scope

from scoring_model.contract.health import Health, Readiness
from scoring_model.contract.resource import instant
from scoring_model.service.http.answers import plain
from scoring_model.service.http.errors import NotReady
from scoring_model.service.http.public import PublicPage

if TYPE_CHECKING:
    from scoring_model.service.service import Service

_PREFIX: Final = b"/health/"
LIVE: Final = "/health/live"
READY: Final = "/health/ready"
LEAVING: Final = "leaving"
"""In the state of a request when the process was asked to stop (ASGI lifespan protocol, lifespan state)."""


def is_health(target: bytes) -> bool:
    """Whether a request target is that of one of both pages, or would be."""
    return target.startswith(_PREFIX)


def health_pages(service: "Service") -> list[PublicPage]:
    """Make both pages.

    Parameters
    ----------
    service : Service
        Asked whether it is ready at every request, unless the process will stop.
    """

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
