"""The API reference: the description as JSON, and a page that shows it without loading anything from elsewhere."""

from functools import cache
from pathlib import Path
from typing import Final

from pydantic_core import to_json
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from scoring_model.service.http.public import DESCRIPTION, PublicPage

PAGE: Final = "/docs"
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
_FILES: Final = {"swagger-ui.css": "text/css", "swagger-ui-bundle.js": "text/javascript"}


def reference_pages() -> list[PublicPage]:
    """Make the description, the page and its files, all of them lazily."""
    pages = [
        PublicPage(DESCRIPTION, _description),
        PublicPage(PAGE, _page),
        PublicPage(f"{PAGE}/start.js", _start),
    ]
    return pages + [_file_page(name, media_type) for name, media_type in _FILES.items()]


async def _description(_scope: Scope) -> Response:
    return Response(_described(), media_type="application/json")


@cache
def _described() -> bytes:
    from scoring_model.service.http.openapi import openapi

    return to_json(openapi())


async def _page(_scope: Scope) -> Response:
    headers = {"Content-Security-Policy": POLICY, **_PROTECTION}
    return Response(_HTML, headers=headers, media_type="text/html")


async def _start(_scope: Scope) -> Response:
    return Response(_START, headers=_PROTECTION, media_type="text/javascript")


_PROTECTION: Final = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}


def _file_page(name: str, media_type: str) -> PublicPage:
    async def answer(_scope: Scope) -> Response:
        return _Pieces(_content(name), headers=_PROTECTION, media_type=media_type)

    return PublicPage(f"{PAGE}/{name}", answer)


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
    return (_directory() / name).read_bytes()


@cache
def _directory() -> Path:
    import swagger_ui_bundle  # type: ignore[import-untyped]

    return Path(swagger_ui_bundle.swagger_ui_path)
