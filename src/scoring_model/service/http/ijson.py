"""JSON as in RFC 7493: what every reader would read the same."""

import json
import math
import re
from collections.abc import Iterator
from itertools import chain
from typing import Final

from scoring_model.service.http.errors import MalformedBody

DEPTH: Final = 64
"""How deep arrays and objects may be nested; no body that is ever right needs more than three."""

_LONGEST: Final = 308  # digits of an integer that a double surely holds
_LONG_NUMBER: Final = b"0" * (_LONGEST + 1)
_ZEROS: Final = bytes.maketrans(b"123456789", b"000000000")
# Surrogates and noncharacters (RFC 7493, section 2.1): the last two of each plane, and 32 in the first.
_FORBIDDEN: Final = re.compile(
    "[\ud800-\udfff\ufdd0-\ufdef"
    + "".join(chr(plane << 16 | 0xFFFE) + "-" + chr(plane << 16 | 0xFFFF) for plane in range(17))
    + "]"
)


class _Refused(ValueError):
    """A rule of I-JSON is broken."""


def read_json(raw: bytes) -> object:
    """Read a body.

    Parameters
    ----------
    raw : bytes
        All of it.

    Returns
    -------
    object
        dict, list, str, int, float, bool or None.

    Raises
    ------
    MalformedBody
        If it is empty, not UTF-8, no JSON, begins with a byte order mark, repeats a name within an object, holds a
        number that no double can hold, half a surrogate pair or a noncharacter, or is nested deeper than `DEPTH`.

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
        _check_nesting_and_text(value, text)
    except UnicodeDecodeError:
        raise MalformedBody("The body must be UTF-8.") from None
    except RecursionError:
        raise MalformedBody(_TOO_DEEP) from None
    except _Refused as error:
        raise MalformedBody(str(error)) from None
    except ValueError:
        raise MalformedBody("The body must be JSON (RFC 8259).") from None
    return value


_TOO_DEEP: Final = f"Arrays and objects must be nested at most {DEPTH} deep."


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Refused("The names within an object must be different (RFC 7493, section 2.3).")
    return members


def _constant(_name: str) -> object:
    raise _Refused("NaN and Infinity are no JSON.")


def _float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise _Refused("Numbers must fit into a double (RFC 7493, section 2.2).")
    return value


def _int(digits: str) -> int:
    if len(digits) > _LONGEST:
        _float(digits)  # bounds the digits to those of a double, so that reading them takes no time
    return int(digits)


# A function of ours for every whole number would take half the time of a body of nothing else.
_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_float)
_STRICT_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_constant, parse_float=_float, parse_int=_int
)


def _check_nesting_and_text(value: object, text: str) -> None:
    if not text.isascii() and _FORBIDDEN.search(text):
        raise _Refused(_CHARACTERS)
    # Most bodies can break neither rule by the look of them, and need no walk.
    if "\\u" in text or text.count("{") + text.count("[") > DEPTH:
        for part in _parts(value):
            if _FORBIDDEN.search(part):
                raise _Refused(_CHARACTERS)


_CHARACTERS: Final = "Text must hold no lone surrogate and no noncharacter (RFC 7493, section 2.1)."


def _parts(value: object) -> Iterator[str]:
    """All texts and names, level by level."""
    level = [value]
    depth = 0
    while level:
        yield from [item for item in level if type(item) is str]
        objects = [item for item in level if type(item) is dict]
        arrays = [item for item in level if type(item) is list]
        # A level of scalars is no nesting of its own.
        depth += bool(objects or arrays)
        if depth > DEPTH:
            raise _Refused(_TOO_DEEP)
        yield from chain.from_iterable(objects)
        level = [*chain.from_iterable(arrays), *chain.from_iterable(map(dict.values, objects))]
