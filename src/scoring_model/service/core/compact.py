"""Compact JSON, written and read several times faster than by the standard library."""

from typing import Any

import pydantic_core


def to_json(value: object) -> bytes:
    """Write JSON (RFC 8259) in UTF-8. Floats are written with as many digits as bring them back.

    Raises
    ------
    ValueError
        If a text holds a lone surrogate, or the value is no JSON.
    """
    return pydantic_core.to_json(value)


def from_json(packed: bytes) -> Any:
    """Read what `to_json` wrote: equal values of equal types, but tuples as lists.

    Raises
    ------
    ValueError
        If it is not JSON.
    """
    return pydantic_core.from_json(packed, cache_strings=False)
