"""Instants as integer microseconds since 1970-01-01 UTC, and durations as text.

All times are compared in microseconds. Finer fractions are rounded down, so that no instant moves into the future. A
time without a zone is UTC, unless another zone is given.
"""

import math
import re
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.contract.texts import EPOCH, rfc3339
from scoring_model.contract.units import DAY as DAY
from scoring_model.contract.units import HOUR as HOUR
from scoring_model.contract.units import MINUTE
from scoring_model.contract.units import SECOND as SECOND

if TYPE_CHECKING:
    import pyarrow as pa
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import CoreSchema

_MICROSECOND: Final = timedelta(microseconds=1)
EARLIEST: Final = (datetime.min.replace(tzinfo=UTC) - EPOCH) // _MICROSECOND
LATEST: Final = (datetime.max.replace(tzinfo=UTC) - EPOCH) // _MICROSECOND
_TIME: Final = re.compile(
    r"(\d{4}-\d{2}-\d{2})"
    r"(?:[Tt ]((?:[01]\d|2[0-3]):[0-5]\d)(?::([0-5]\d)(?:[.,](\d{1,9}))?)?"
    r"(?:([Zz])|([+-])([01]\d|2[0-3]):?([0-5]\d))?)?",
    re.ASCII,
)
_DAY_TEXT: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_DURATION: Final = re.compile(r"(\d{1,6})(d|h|m|s)", re.ASCII)
_UNITS: Final = {"d": DAY, "h": HOUR, "m": MINUTE, "s": SECOND}
_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def microseconds(value: object, zone: tzinfo = UTC) -> int:
    """Read an instant.

    Parameters
    ----------
    value : str, datetime, date or numpy.datetime64
        Text is RFC 3339, or the part of ISO 8601 that leaves out the zone, the seconds or the time of
        day (midnight). A fraction has up to nine digits. Leap seconds are refused, as `datetime` does.
    zone : tzinfo
        Zone of values without one. In a repeated hour (clocks put back) the first occurrence is meant.

    Returns
    -------
    int
        Microseconds since 1970-01-01 UTC, rounded down.

    Raises
    ------
    TypeError
        If the value is of another type.
    ValueError
        If it is not an instant of the years 1 to 9999 (UTC).

    References
    ----------
    RFC 3339, section 5.6.

    Examples
    --------
    >>> microseconds("1970-01-01T01:00:00.0000019+01:00")
    1
    """
    if isinstance(value, str):
        micros = _of_text(value, zone)
    elif isinstance(value, datetime):
        micros = (value - EPOCH) // _MICROSECOND if value.tzinfo else _of_zone(value, zone)
    elif isinstance(value, date):
        micros = _of_zone(datetime(value.year, value.month, value.day), zone)
    elif isinstance(value, np.datetime64) and not np.isnat(value):
        micros = int(value.astype("datetime64[us]").astype(np.int64))
        if zone is not UTC and EARLIEST <= micros <= LATEST:
            micros = _of_zone((EPOCH + timedelta(microseconds=micros)).replace(tzinfo=None), zone)
    else:
        raise TypeError("not a time")
    if not EARLIEST <= micros <= LATEST:
        raise ValueError("outside of the years 1 to 9999")
    return micros


def _of_zone(moment: datetime, zone: tzinfo) -> int:
    return (moment.replace(tzinfo=zone) - EPOCH) // _MICROSECOND


def _of_text(text: str, zone: tzinfo) -> int:
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise ValueError("not of the form YYYY-MM-DDThh:mm:ssZ")
    day, minute, second, fraction, utc, sign, zone_hours, zone_minutes = match.groups()
    moment = datetime.fromisoformat(f"{day}T{minute or '00:00'}:{second or '00'}")
    micros = _of_zone(moment, UTC if utc or sign else zone)
    if fraction:
        micros += int(fraction[:6].ljust(6, "0"))
    if sign:
        micros -= int(sign + "1") * (int(zone_hours) * 60 + int(zone_minutes)) * 60 * SECOND
    return micros


def timestamp_microseconds(array: "pa.Array") -> IntArray:
    """Read an Arrow array of timestamps.

    Parameters
    ----------
    array : pyarrow.Array of shape (n,), timestamp of any unit and zone
        Without a zone it is UTC.

    Returns
    -------
    ndarray of shape (n,), int64
        Microseconds since 1970-01-01 UTC, rounded down; 0 where null. Instants that 64 bits cannot hold are
        moved to the end of their range, outside of `EARLIEST` to `LATEST`.
    """
    counts: IntArray = array.cast("int64").fill_null(0).to_numpy(zero_copy_only=False)
    per_second = _PER_SECOND[array.type.unit]
    if per_second > SECOND:
        return counts // (per_second // SECOND)
    scale = SECOND // per_second
    bound = int(np.iinfo(np.int64).max) // scale
    return np.clip(counts, -bound, bound) * scale


def end_of(until: str) -> int:
    """Return the first instant after a day such as 2027-01-31, or the instant of a time of RFC 3339.

    Returns
    -------
    int
        Microseconds since 1970-01-01 UTC.

    Raises
    ------
    ValueError, OverflowError
        If the text is neither.
    """
    if _DAY_TEXT.fullmatch(until):
        return microseconds((date.fromisoformat(until) + timedelta(days=1)).isoformat())
    return microseconds(until)


def to_the_minute(text: str) -> str:
    """Shorten an instant of RFC 3339 in UTC for people.

    Examples
    --------
    >>> to_the_minute("2024-03-31T00:07:58.418277Z")
    '2024-03-31 00:07'
    """
    return text[:16].replace("T", " ")


def later_than_now(as_of: int) -> str:
    """Say that ages are counted from an instant that has not come, as one wrong year makes it; empty if it has."""
    if as_of <= time.time_ns() // 1000 + DAY:
        return ""
    return (
        f"the age of records is counted from {rfc3339(as_of)}, which has not come yet, so that those without a label "
        "count as genuine too early: mend the latest time of an event or label, or name an earlier --as-of"
    )


def is_end(value: object) -> bool:
    """Return True for text that `end_of` takes."""
    try:
        return isinstance(value, str) and end_of(value) is not None
    except (ValueError, OverflowError):
        return False


def parse_duration(text: str) -> int:
    """Read a duration: a whole number of days, hours, minutes or seconds.

    Parameters
    ----------
    text : str
        Up to six digits and one of `d`, `h`, `m`, `s`.

    Returns
    -------
    int
        Microseconds.

    Raises
    ------
    ValueError
        If the text is of another form.

    Examples
    --------
    >>> parse_duration("90d") == 90 * 24 * parse_duration("60m")
    True
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"a duration is a whole number and one of d, h, m, s, such as 90d; got {text!r}")
    return int(match[1]) * _UNITS[match[2]]


def format_duration(micros: int) -> str:
    """Write a duration in the largest unit that it is a whole number of.

    Parameters
    ----------
    micros : int
        Microseconds, a whole number of seconds.

    Returns
    -------
    str
        Text that `parse_duration` reads back.

    Raises
    ------
    ValueError
        If the duration is negative, not a whole number of seconds, or too long to be read back.

    Examples
    --------
    >>> format_duration(parse_duration("24h"))
    '1d'
    """
    for name, unit in _UNITS.items():
        count, rest = divmod(micros, unit)
        if not rest and (count or unit == SECOND) and 0 <= count < 10**6:
            return f"{count}{name}"
    raise ValueError(
        f"a duration is 0 to 999999 whole seconds, minutes, hours or days, got {micros} microseconds"
    )


DURATION_PATTERN: Final = "^[0-9]{1,6}[dhms]$"
INSTANT_PATTERN: Final = "^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ].+)?$"
"""For JSON Schemas; the readers above check more."""


_SHORTEST: Final = 10_000
"""Microseconds of the shortest duration that a setting may be; a smaller number lacks its unit."""


class _ReadFrom:
    """Converts text to microseconds in a schema validator; does nothing without one."""

    def __init__(
        self, read: Callable[[Any], float], pattern: str, number: str = "integer", *, least: float = -math.inf
    ) -> None:
        self._read = read
        self._pattern = pattern
        self._number = number
        self._least = least

    def __get_pydantic_core_schema__(self, source: object, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        # Imported here: only readers of configurations need the validator.
        from pydantic_core import core_schema

        return core_schema.no_info_before_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: "CoreSchema", handler: "GetJsonSchemaHandler"
    ) -> dict[str, object]:
        return {"anyOf": [{"type": "string", "pattern": self._pattern}, {"type": self._number}]}

    def _checked(self, value: object) -> object:
        if isinstance(value, int) and (value == 0 or value >= self._least):
            return value
        try:
            return self._read(value)
        except TypeError as error:
            raise ValueError(str(error)) from error


def _duration(value: object) -> int:
    if not isinstance(value, str):
        raise TypeError(f"a duration is text such as 90d, 24h, 30m or 10s, got {value!r}")
    return parse_duration(value)


Duration = Annotated[int, _ReadFrom(_duration, DURATION_PATTERN, least=_SHORTEST)]
"""Microseconds; written as ``90d``, ``24h``, ``30m`` or ``10s``. A small number is refused: its unit is missing."""

AnyDuration = Annotated[int, _ReadFrom(_duration, DURATION_PATTERN)]
"""Microseconds of any number, for settings with a bound of their own."""


def _share_or_duration(value: object) -> float:
    if isinstance(value, float):
        return value or 0  # one form of nothing, so that equal settings are equal bytes
    try:
        return _duration(value)
    except (TypeError, ValueError) as error:
        raise ValueError("a part of time is a share such as 0.2 or a duration such as 90d or 24h") from error


ShareOrDuration = Annotated[
    float | int, _ReadFrom(_share_or_duration, DURATION_PATTERN, "number", least=_SHORTEST)
]
"""A share as a float, or a duration as whole microseconds, written as ``90d``, ``24h``, ``30m`` or ``10s``."""

Instant = Annotated[int, _ReadFrom(microseconds, INSTANT_PATTERN)]
"""Microseconds since 1970-01-01 UTC; written as RFC 3339 or as a date."""
