"""Identifiers of resources as text."""

from typing import Final

_DASHES: Final = (8, 13, 18, 23)


def to_text(resource: bytes) -> str:
    """Write an identifier.

    Parameters
    ----------
    resource : bytes
        16 bytes.

    Returns
    -------
    str
        Five groups of lower-case hexadecimal digits (RFC 9562, section 4).

    Examples
    --------
    >>> to_text(bytes(range(16)))
    '00010203-0405-0607-0809-0a0b0c0d0e0f'
    """
    digits = resource.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def from_text(text: str) -> bytes | None:
    """Read an identifier.

    Parameters
    ----------
    text : str
        Anything that was sent as one.

    Returns
    -------
    bytes or None
        16 bytes, whatever the version; None unless the text is five groups of hexadecimal digits, of either
        case, with dashes between.

    Examples
    --------
    >>> from_text("00010203-0405-0607-0809-0A0B0C0D0E0F") == bytes(range(16))
    True
    >>> from_text("000102030405060708090a0b0c0d0e0f") is None
    True
    """
    digits = text.replace("-", "")
    if len(text) != 36 or len(digits) != 32 or any(text[place] != "-" for place in _DASHES):
        return None
    try:
        resource = bytes.fromhex(digits)
    except ValueError:
        return None
    return resource if len(resource) == 16 else None  # shorter: `fromhex` passes over blanks
