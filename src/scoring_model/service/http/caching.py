"""Entity tags and what may be kept by clients (RFC 9110, sections 8.8.3 and 13.1.2; RFC 9111)."""

import base64
import hashlib
from collections.abc import Sequence
from typing import Final

from starlette.responses import Response
from starlette.types import Scope

from scoring_model.service.http.context import context_of, header_values

VARY: Final = "x-api-key, x-client-id"
"""What an answer depends on beside its path."""


def entity_tag(body: bytes) -> str:
    """Make a strong entity tag of a body."""
    digest = hashlib.blake2b(body, digest_size=15).digest()
    return f'"{base64.urlsafe_b64encode(digest).decode()}"'


def is_known(tag: str, wanted: Sequence[bytes]) -> bool:
    """Whether a client has what it asks for.

    Parameters
    ----------
    tag : str
        Strong entity tag of what would be sent. It holds no comma.
    wanted : sequence of bytes
        Values of `If-None-Match`.
    """
    tags = [text.strip() for text in b",".join(wanted).decode("latin-1").split(",")]
    return "*" in tags or any(text.removeprefix("W/") == tag for text in tags)


def cacheable(body: bytes, scope: Scope, max_age: int) -> Response:
    """Answer with a body that the client may keep, or that it has it already.

    Parameters
    ----------
    body : bytes
        JSON.
    scope : mapping
        ASGI connection scope; its exchange learns how long the answer may be kept.
    max_age : int
        Seconds.
    """
    tag = entity_tag(body)
    headers = {"ETag": tag, "Vary": VARY}
    context_of(scope).cache = f"private, max-age={max_age}"
    wanted = header_values(scope, b"if-none-match")
    if wanted and is_known(tag, wanted):
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type="application/json")
