"""Request bodies: limits on size and time, media type, and parsing of I-JSON (RFC 7493)."""

import asyncio
import json
import math
import re
from functools import lru_cache
from itertools import chain
from typing import Final

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope

from scoring_model.service.http.context import RequestContext
from scoring_model.service.http.errors import BodyTooLarge, BodyTooSlow, MalformedBody, UnsupportedMediaType
from scoring_model.service.http.settings import HttpSettings

WHOLE: Final = "scoring_model.whole"
"""Key in the scope of a request that has arrived completely and needs no timeout."""

_CHARSETS: Final = frozenset(("utf-8", "utf8"))
DEPTH: Final = 64
"""Maximum nesting of arrays and objects; valid bodies need at most three levels."""

_LONGEST: Final = 308  # digits that any integer within a double can have
_LONG_NUMBER: Final = b"0" * (_LONGEST + 1)
_ZEROS: Final = bytes.maketrans(b"123456789", b"000000000")
# Surrogates and noncharacters (RFC 7493, section 2.1): the last two of each plane, and 32 in the first.
_FORBIDDEN: Final = re.compile(
    "[\ud800-\udfff\ufdd0-\ufdef"
    + "".join(chr(plane << 16 | 0xFFFE) + "-" + chr(plane << 16 | 0xFFFF) for plane in range(17))
    + "]"
)
_TOO_DEEP: Final = f"Arrays and objects must be nested at most {DEPTH} deep."
_CHARACTERS: Final = "Text must hold no lone surrogate and no noncharacter (RFC 7493, section 2.1)."


async def read_body(scope: Scope, receive: Receive, settings: HttpSettings) -> bytes:
    """Read a complete body.

    Raises
    ------
    BodyTooLarge
        As soon as it has more than `settings.max_body` bytes.
    BodyTooSlow
        If it does not arrive within `settings.body_seconds`.
    ClientDisconnect
        If the client disconnects before the end.
    """
    if WHOLE in scope:
        return await _read(receive, settings.max_body)
    try:
        async with asyncio.timeout(settings.body_seconds):
            return await _read(receive, settings.max_body)
    except TimeoutError:
        raise BodyTooSlow from None


async def _read(receive: Receive, most: int) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientDisconnect
        body += message.get("body", b"")
        if len(body) > most:
            raise BodyTooLarge
        if not message.get("more_body", False):
            return bytes(body)


def check_media_type(context: RequestContext) -> None:
    """Check that the body is plain JSON.

    Raises
    ------
    UnsupportedMediaType
        Unless there is one `Content-Type` of `application/json` (RFC 9110, section 8.3), in UTF-8 if it names a
        charset, and no content coding.
    """
    types = context.received.get(b"content-type", ())
    codings = context.received.get(b"content-encoding", ())
    if len(types) != 1 or not _is_json(types[0]) or any(coding.lower() != b"identity" for coding in codings):
        raise UnsupportedMediaType


@lru_cache(maxsize=64)
def _is_json(value: bytes) -> bool:
    media_type, *parameters = value.decode("latin-1").lower().split(";")
    if media_type.strip() != "application/json":
        return False
    named = [parameter.partition("=") for parameter in parameters]
    charsets = [text.strip().strip('"') for name, _, text in named if name.strip() == "charset"]
    return all(charset in _CHARSETS for charset in charsets)


def read_json(raw: bytes) -> object:
    """Parse JSON.

    Raises
    ------
    MalformedBody
        If it is empty, not UTF-8 or not JSON, begins with a byte order mark, repeats a name within an object, is nested
        deeper than `DEPTH`, or contains a number beyond a double, a lone surrogate or a noncharacter.

    References
    ----------
    RFC 8259; RFC 7493, section 2.
    """
    if not raw:
        raise MalformedBody("The body must be JSON, got nothing.")
    try:
        text = raw.decode()
        decoder = _STRICT_DECODER if _LONG_NUMBER in raw.translate(_ZEROS) else _DECODER
        value: object = decoder.decode(text)
        if not text.isascii() and _FORBIDDEN.search(text):
            raise MalformedBody(_CHARACTERS)
        # Most bodies can't break this rule or that of nesting, and need no traversal.
        is_escaped = "\\u" in text
        if is_escaped or text.count("{") + text.count("[") > DEPTH:
            _check_parts(value, texts=is_escaped)
    except UnicodeDecodeError:
        raise MalformedBody("The body must be UTF-8.") from None
    except RecursionError:
        raise MalformedBody(_TOO_DEEP) from None
    except ValueError:
        raise MalformedBody("The body must be JSON (RFC 8259).") from None
    return value


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise MalformedBody("The names within an object must be different (RFC 7493, section 2.3).")
    return members


def _constant(_name: str) -> object:
    raise MalformedBody("NaN and Infinity are not JSON.")


def _float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise MalformedBody("Numbers must fit into a double (RFC 7493, section 2.2).")
    return value


def _int(digits: str) -> int:
    if len(digits) > _LONGEST:
        _float(digits)  # limits the digits to those of a double, so that parsing is fast
    return int(digits)


# Calling `_int` for every integer would double the time for a body of integers.
_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_float)
_STRICT_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_constant, parse_float=_float, parse_int=_int
)


def _check_parts(value: object, *, texts: bool) -> None:
    """Check the nesting and, if asked for, all strings and names, level by level."""
    level = [value]
    depth = 0
    while level:
        objects = [item for item in level if type(item) is dict]
        arrays = [item for item in level if type(item) is list]
        # A level of scalars does not count as nesting.
        depth += bool(objects or arrays)
        if depth > DEPTH:
            raise MalformedBody(_TOO_DEEP)
        # One search for all of a level: each character is judged by itself.
        if texts:
            joined = "".join(chain((item for item in level if type(item) is str), *objects))
            if not joined.isascii() and _FORBIDDEN.search(joined):
                raise MalformedBody(_CHARACTERS)
        level = [*chain.from_iterable(arrays), *chain.from_iterable(map(dict.values, objects))]
