"""Identifiers of resources and instants as text."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from scoring_model.contract.units import SECOND

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_UUID: Final = re.compile("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_TIME: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:[Zz]|[+-]\d{2}:\d{2})", re.ASCII
)


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


def rfc3339(micros: int) -> str:
    """Write an instant with six digits of a second, in UTC (RFC 3339).

    Parameters
    ----------
    micros : int
        Microseconds since 1970-01-01 UTC.

    Raises
    ------
    OverflowError
        If the year is outside of 1 to 9999.

    Examples
    --------
    >>> rfc3339(1)
    '1970-01-01T00:00:00.000001Z'
    """
    seconds, rest = divmod(micros, SECOND)
    return f"{_whole_seconds(seconds)}.{rest:06d}Z"


def from_rfc3339(text: str) -> int | None:
    """Read an instant with a zone; None unless it is one of RFC 3339, section 5.6, in the years 1 to 9999.

    Returns
    -------
    int or None
        Microseconds since 1970-01-01 UTC; finer digits are dropped.

    Examples
    --------
    >>> from_rfc3339("1970-01-01T01:00:00.0000019+01:00")
    1
    >>> from_rfc3339("1970-01-01T01:00:00") is None
    True
    """
    if not _TIME.fullmatch(text):
        return None
    try:
        return (datetime.fromisoformat(text.upper()).astimezone(UTC) - EPOCH) // timedelta(microseconds=1)
    except (ValueError, OverflowError):
        return None


def instant_text(time: datetime) -> str:
    """Write an aware time as `rfc3339` does."""
    since = time - EPOCH
    return f"{_whole_seconds(since.days * 86_400 + since.seconds)}.{since.microseconds:06d}Z"


@lru_cache(maxsize=64)
def _whole_seconds(seconds: int) -> str:
    """Format date and time of day; cached, since consecutive instants often share a second."""
    return (EPOCH + timedelta(seconds=seconds)).replace(tzinfo=None).isoformat(timespec="seconds")
