"""The API reference: the description as JSON, and a page that shows it and needs nothing from elsewhere."""

import asyncio
from functools import cache
from pathlib import Path
from typing import Final

from starlette.responses import Response
from starlette.types import Scope

from scoring_model.service.core.compact import to_json
from scoring_model.service.http.public import DESCRIPTION, PublicPage

PAGE: Final = "/docs"
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Content-Security-Policy of the page: files of its own alone, no script or style within the text."""

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
    """Make the description, the page and its files. Nothing is read or made before it is asked for."""
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
        # Read each time: the page is rare, and a megabyte for every process is better used otherwise.
        content = await asyncio.to_thread((_directory() / name).read_bytes)
        return Response(content, headers=_PROTECTION, media_type=media_type)

    return PublicPage(f"{PAGE}/{name}", answer)


@cache
def _directory() -> Path:
    import swagger_ui_bundle  # type: ignore[import-untyped]

    return Path(swagger_ui_bundle.swagger_ui_path)
