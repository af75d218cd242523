"""JSON in as few bytes as it takes, and several times faster than the standard library writes and reads it."""

from typing import Any

import pydantic_core


def to_json(value: object) -> bytes:
    """Write JSON (RFC 8259) in UTF-8.

    Parameters
    ----------
    value : object
        dict with names that are text, list, tuple, str, int, float, bool or None. Every finite float is written
        with as many digits as bring it back.

    Raises
    ------
    ValueError
        If a text holds half a surrogate pair, or the value is nothing of these.
    """
    return pydantic_core.to_json(value)


def from_json(packed: bytes) -> Any:
    """Read what `to_json` wrote: equal values of equal types, but tuples as lists.

    Raises
    ------
    ValueError
        If it is no JSON.
    """
    return pydantic_core.from_json(packed, cache_strings=False)
