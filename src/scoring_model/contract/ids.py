"""Identifiers of resources as text."""

import re
from typing import Final

_UUID: Final = re.compile("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def to_text(resource: bytes) -> str:
    """Write an identifier of 16 bytes as five groups of lower-case hexadecimal digits (RFC 9562, section 4).

    Examples
    --------
    >>> to_text(bytes(range(16)))
    '00010203-0405-0607-0809-0a0b0c0d0e0f'
    """
    digits = resource.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def from_text(text: str) -> bytes | None:
    """Read an identifier of any version; None unless it is five groups of hexadecimal digits, of either case.

    Examples
    --------
    >>> from_text("00010203-0405-0607-0809-0A0B0C0D0E0F") == bytes(range(16))
    True
    >>> from_text("000102030405060708090a0b0c0d0e0f") is None
    True
    """
    return bytes.fromhex(text.replace("-", "")) if _UUID.fullmatch(text) else None
