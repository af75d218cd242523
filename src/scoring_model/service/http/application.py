"""The application: middleware, routes, and public pages (health checks and the API reference)."""

from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic_core import to_json
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from scoring_model.contract.resource import instant
from scoring_model.contract.units import SECOND
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.errors import NotFound
from scoring_model.service.http.authentication import AuthenticationMiddleware
from scoring_model.service.http.context import CONTEXT, RequestContext, RequestLog
from scoring_model.service.http.errors import ErrorMiddleware, MethodNotAllowed, NotReady
from scoring_model.service.http.operation import Endpoint, JsonResponse, Operation
from scoring_model.service.http.operations import (
    DESCRIPTION,
    DOCS,
    LIVE,
    OPERATIONS,
    READY,
    Health,
    Readiness,
    RefusedBundle,
)
from scoring_model.service.http.settings import HttpSettings
from scoring_model.service.http.verifications import PATH

if TYPE_CHECKING:
    from scoring_model.service.readiness import ProcessState
    from scoring_model.service.service import Service

LEAVING: Final = "leaving"
"""Key in the state of a request once the process is stopping (ASGI lifespan protocol, lifespan state)."""

PIECE: Final = 64 * 1024
"""Bytes of a file that are written at a time."""

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Content-Security-Policy of the page: its own files only, no inline script or style."""

_HTML: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Identity risk scoring: API reference</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="reference"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
"""
_START: Final = """SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  validatorUrl: null,
});
"""
_PROTECTION: Final = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}


def create_app(service: "Service", settings: HttpSettings, *, clock: Clock) -> ASGIApp:
    """Build the application. It starts and stops nothing. The clock is for timestamps in logs."""
    by_path: dict[str, list[Operation]] = {}
    for operation in OPERATIONS:
        by_path.setdefault(operation.path, []).append(operation)
    endpoints: dict[str, ASGIApp] = {
        path: Endpoint(path, found, service, settings) for path, found in by_path.items()
    }
    endpoints.update((page.path, page) for page in _public_pages(service))
    return ErrorMiddleware(
        AuthenticationMiddleware(Routes(endpoints), service, settings),
        RequestLog(clock, enabled=settings.access_log),
    )


_ID_PLACE: Final = f"{PATH}/{{id}}".split("/").index("{id}")


class Routes:
    """Finds the endpoint of a path in a table: Starlette's router tries one regular expression after the other.

    Parameters
    ----------
    endpoints : mapping of str to ASGIApp
        By path. The segment of an identifier, which has the same place in every path, is `{id}`.
    """

    def __init__(self, endpoints: Mapping[str, ASGIApp]) -> None:
        self._endpoints = endpoints

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Call the endpoint of a path, or raise `NotFound`. Sets `path_params`."""
        endpoint, scope["path_params"] = self._endpoints.get(scope["path"]), {}
        if endpoint is None:
            segments = scope["path"].split("/", _ID_PLACE + 1)
            if len(segments) > _ID_PLACE and segments[_ID_PLACE]:
                scope["path_params"] = {"id": segments[_ID_PLACE]}
                segments[_ID_PLACE] = "{id}"
                endpoint = self._endpoints.get("/".join(segments))
        if endpoint is None:
            raise NotFound
        return endpoint(scope, receive, send)


class PublicPage:
    """ASGI application of a public page. It ignores queries, which load balancers may add."""

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
        context: RequestContext = scope[CONTEXT]
        context.route = self.path
        if context.method not in ("GET", "HEAD"):
            raise MethodNotAllowed(("GET", "HEAD"))
        response = await self._answer(scope)
        await response(scope, receive, send)


def _public_pages(service: "Service") -> list[PublicPage]:
    async def live(_scope: Scope) -> Response:
        return JsonResponse(Health().to_json())

    async def ready(scope: Scope) -> Response:
        found = None if LEAVING in scope.get("state", {}) else await service.readiness.check()
        if found is None:
            raise NotReady
        return JsonResponse(_shown(found).to_json())

    async def description(_scope: Scope) -> Response:
        return Response(_described(), media_type="application/json")

    async def docs(_scope: Scope) -> Response:
        headers = {"Content-Security-Policy": POLICY, **_PROTECTION}
        return Response(_HTML, headers=headers, media_type="text/html")

    async def start(_scope: Scope) -> Response:
        return Response(_START, headers=_PROTECTION, media_type="text/javascript")

    return [
        PublicPage(LIVE, live),
        PublicPage(READY, ready),
        PublicPage(DESCRIPTION, description),
        PublicPage(DOCS, docs),
        PublicPage(f"{DOCS}/start.js", start),
        _file_page("swagger-ui.css", "text/css"),
        _file_page("swagger-ui-bundle.js", "text/javascript"),
    ]


def _shown(found: "ProcessState") -> Readiness:
    since, serves, refused = found.erasure_incomplete_since, found.serves, found.serves.refused
    return Readiness(
        erasure_incomplete_since=None if since is None else instant(since),
        clock_behind_seconds=found.clock_behind // SECOND,
        model_version=serves.model_version,
        policy_version=serves.policy_version,
        serving_since=instant(serves.since),
        bundle_problem=serves.problem,
        last_refused_bundle=None
        if refused is None
        else RefusedBundle(
            model_version=refused.model_version,
            policy_version=refused.policy_version,
            refused_at=instant(refused.at),
            reason=refused.reason or "",
        ),
    )


@cache
def _described() -> bytes:
    from scoring_model.service.http.openapi import openapi

    return to_json(openapi())


def _file_page(name: str, media_type: str) -> PublicPage:
    async def answer(_scope: Scope) -> Response:
        return _Pieces(_content(name), headers=_PROTECTION, media_type=media_type)

    return PublicPage(f"{DOCS}/{name}", answer)


class _Pieces(Response):
    """A long response, sent in pieces as the client reads them, without a copy."""

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        """Send it."""
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": list(self.raw_headers)}
        )
        content = memoryview(self.body)
        for start in range(0, len(content), PIECE):
            end = start + PIECE
            more = end < len(content)
            await send({"type": "http.response.body", "body": content[start:end], "more_body": more})


@cache
def _content(name: str) -> bytes:
    """Read a file once per process."""
    import swagger_ui_bundle  # type: ignore[import-untyped]

    return (Path(swagger_ui_bundle.swagger_ui_path) / name).read_bytes()
