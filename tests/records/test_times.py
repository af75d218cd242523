from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from scoring_model.contract.texts import rfc3339
from scoring_model.records.times import (
    EARLIEST,
    LATEST,
    Duration,
    Instant,
    format_duration,
    microseconds,
    parse_duration,
    timestamp_microseconds,
)

instants = st.integers(EARLIEST, LATEST)
zones = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(instants)
def test_reading_undoes_writing(micros: int) -> None:
    """Every microsecond of the years 1 to 9999 survives its text, which has six digits and a Z."""
    text = rfc3339(micros)
    assert microseconds(text) == micros
    assert len(text) == 27
    assert text.endswith("Z")


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=zones))
def test_text_a_datetime_and_numpy_give_the_same_instant(moment: datetime) -> None:
    """The text of a datetime in any zone, the datetime, and numpy's in UTC are one instant."""
    expected = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert microseconds(moment.isoformat()) == expected
    assert microseconds(moment) == expected
    assert microseconds(np.datetime64(moment.astimezone(UTC).replace(tzinfo=None))) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01", 0),
        ("1970-01-01T00:01", 60_000_000),
        ("1970-01-01 00:00:01", 1_000_000),
        ("1970-01-01t00:00:01z", 1_000_000),
        ("1970-01-01T00:00:00.5", 500_000),
        ("1970-01-01T00:00:00,000001999", 1),
        ("1969-12-31T23:59:59.999999001Z", -1),
        ("1970-01-01T02:30:00+02:30", 0),
        ("1970-01-01T00:00:00-0100", 3_600_000_000),
        (" 1970-01-01T00:00:00Z ", 0),
    ],
)
def test_forms_that_are_read(text: str, expected: int) -> None:
    """Left-out parts are zero and UTC, and finer digits are rounded down on both sides of 1970."""
    assert microseconds(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "1700000000",
        "2024-02-30",
        "20240101",
        "2024-W01-1",
        "2024-01-01T24:00:00Z",
        "2024-01-01T23:59:60Z",
        "2024-01-01T00:00:00+24:00",
        "2024-01-01T00:00:00.1234567890Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "2024-01-01T00:00:00Zjunk",
        "２０２４-01-01",
    ],
)
def test_text_that_is_no_instant_is_refused(text: str) -> None:
    """Other forms, invalid days, and times outside the years 1 to 9999 in UTC are not instants."""
    with pytest.raises(ValueError, match=r"form|day|years|month"):
        microseconds(text)


@pytest.mark.parametrize("value", [None, 5, 5.0, True, b"2024-01-01", np.datetime64("NaT", "us")])
def test_other_types_are_no_instants(value: object) -> None:
    """Numbers have no unit and are not guessed at."""
    with pytest.raises(TypeError):
        microseconds(value)


def test_a_date_is_its_midnight() -> None:
    """A date is the instant at which it begins in UTC."""
    assert microseconds(date(1970, 1, 2)) == microseconds("1970-01-02T00:00:00Z")


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Kathmandu"])
def test_timestamps_of_any_unit_and_zone_are_rounded_down(unit: str, zone: str | None) -> None:
    """Arrow's instants count from 1970 in UTC whatever zone they show, and are floored, not truncated."""
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    counts = [0, 1, -1, 7 * per_second + 1, -7 * per_second - 1]
    expected = [count * 10**6 // per_second for count in counts]
    array = pa.array([*counts, None], pa.timestamp(unit, zone))
    assert timestamp_microseconds(array).tolist() == [*expected, 0]


def test_seconds_beyond_64_bits_of_microseconds_stay_outside() -> None:
    """What would overflow is moved to an end of the range that no instant has."""
    low, high = timestamp_microseconds(pa.array([-(2**62), 2**62], pa.timestamp("s"))).tolist()
    assert low < EARLIEST < LATEST < high


@given(st.integers(0, 999_999), st.sampled_from("dhms"))
def test_a_duration_survives_its_text(count: int, unit: str) -> None:
    """Reading what was written gives the same number of microseconds, in the largest whole unit."""
    micros = parse_duration(f"{count}{unit}")
    assert micros == count * {"d": 86_400, "h": 3_600, "m": 60, "s": 1}[unit] * 10**6
    assert parse_duration(format_duration(micros)) == micros


def test_durations_are_written_in_the_largest_unit() -> None:
    """A whole number of days is written in days, and nothing as seconds."""
    written = [format_duration(parse_duration(text)) for text in ("90d", "48h", "36h", "90m", "10s", "0h")]
    assert written == ["90d", "2d", "36h", "90m", "10s", "0s"]


@pytest.mark.parametrize("text", ["", "d", "1", "1w", "-1d", "1.5h", "1 d", "1d ", "1234567s", "１d"])
def test_text_that_is_no_duration_is_refused(text: str) -> None:
    """A duration is digits and one known unit."""
    with pytest.raises(ValueError, match="a duration is"):
        parse_duration(text)


@pytest.mark.parametrize("micros", [-1, 1, 10**19])
def test_a_duration_that_has_no_text_is_refused(micros: int) -> None:
    """Negative, broken and endless durations have no text that would be read back."""
    with pytest.raises(ValueError, match="a duration is"):
        format_duration(micros)


@dataclass(frozen=True)
class Settings:
    """Settings with one of each."""

    length: Duration = 0
    instant: Instant | None = None
    lengths: tuple[Duration, ...] = ()


ADAPTER = TypeAdapter(Settings)


@pytest.mark.parametrize(
    ("text", "microseconds"), [("90d", 7_776_000_000_000), ("24h", 86_400_000_000), ("30m", 1_800_000_000)]
)
def test_text_becomes_microseconds(text: str, microseconds: int) -> None:
    """A duration is read wherever it stands, and a number of microseconds stays what it is."""
    settings = ADAPTER.validate_python({"length": text, "lengths": [text, microseconds]})
    assert settings.length == microseconds
    assert settings.lengths == (microseconds, microseconds)
    assert ADAPTER.validate_python({"length": format_duration(microseconds)}).length == microseconds


def test_instants_are_dates_or_times() -> None:
    """A date is its midnight in UTC, and an instant may be none."""
    assert ADAPTER.validate_python({"instant": "1970-01-02"}).instant == 86_400_000_000
    assert ADAPTER.validate_python({"instant": "1970-01-01T00:00:01Z"}).instant == 1_000_000
    assert ADAPTER.validate_python({"instant": None}).instant is None


@pytest.mark.parametrize(
    "plain",
    [
        {"length": "soon"},
        {"length": 1.5},
        {"length": None},
        {"length": "5 parsecs"},
        {"instant": "yesterday"},
    ],
)
def test_anything_else_is_refused_by_field(plain: dict[str, object]) -> None:
    """Any other value is an error of its field, not a crash."""
    with pytest.raises(ValidationError) as caught:
        ADAPTER.validate_python(plain)
    assert {error["loc"][0] for error in caught.value.errors()} == set(plain)
