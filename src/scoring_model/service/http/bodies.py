"""The body of a request, as bytes: how long it may be, how slow, and of what type."""

import asyncio
from functools import lru_cache
from typing import Final

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope

from scoring_model.service.http.context import header_values
from scoring_model.service.http.errors import BodyTooLarge, BodyTooSlow, UnsupportedMediaType
from scoring_model.service.http.settings import HttpSettings

WHOLE: Final = "scoring_model.whole"
"""In the scope of a request of which everything has arrived: nothing has to be waited for."""

_MEDIA_TYPE: Final = "application/json"
_CHARSETS: Final = frozenset(("utf-8", "utf8"))


def check_length(scope: Scope, limit: int) -> None:
    """Refuse a body by what its header says, before a byte of it is read.

    Raises
    ------
    BodyTooLarge
    """
    for value in header_values(scope, b"content-length"):
        if not value.isdigit() or len(value) > 18 or int(value) > limit:
            raise BodyTooLarge


async def read_body(scope: Scope, receive: Receive, settings: HttpSettings) -> bytes:
    """Read a body to its end.

    Parameters
    ----------
    scope : mapping
        ASGI connection scope.
    receive : callable
        Gives its parts.
    settings : HttpSettings

    Returns
    -------
    bytes
        At most `settings.max_body`.

    Raises
    ------
    BodyTooLarge
        As soon as it is known.
    BodyTooSlow
        If it has not arrived within `settings.body_seconds`.
    ClientDisconnect
        If the client went away before the end.
    """
    check_length(scope, settings.max_body)
    if WHOLE in scope:
        return await _gathered(receive, settings.max_body)
    try:
        async with asyncio.timeout(settings.body_seconds):
            return await _gathered(receive, settings.max_body)
    except TimeoutError:
        raise BodyTooSlow from None


async def _gathered(receive: Receive, limit: int) -> bytes:
    message = await receive()
    parts: list[bytes] = []
    length = 0
    while message["type"] == "http.request":
        part: bytes = message.get("body", b"")
        length += len(part)
        if length > limit:
            raise BodyTooLarge
        if not message.get("more_body", False):
            return b"".join((*parts, part))
        parts.append(part)
        message = await receive()
    raise ClientDisconnect


def check_media_type(scope: Scope) -> None:
    """Refuse what is not plain JSON.

    Raises
    ------
    UnsupportedMediaType
        Unless there is one `Content-Type` of `application/json` (RFC 9110, section 8.3), in UTF-8 where it names a
        charset, and no content coding.
    """
    types = header_values(scope, b"content-type")
    codings = header_values(scope, b"content-encoding")
    if len(types) != 1 or not _is_json(types[0]) or any(coding.lower() != b"identity" for coding in codings):
        raise UnsupportedMediaType


@lru_cache(maxsize=64)
def _is_json(value: bytes) -> bool:
    media_type, *parameters = value.decode("latin-1").lower().split(";")
    if media_type.strip() != _MEDIA_TYPE:
        return False
    named = [parameter.partition("=") for parameter in parameters]
    charsets = [text.strip().strip('"') for name, _, text in named if name.strip() == "charset"]
    return all(charset in _CHARSETS for charset in charsets)
