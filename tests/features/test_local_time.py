"""Local time against the time zone database, singly and in a table, and its data in a bundle."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feature_tables import table_of
from scoring_model.features import FeatureMatrix, FeatureSettings, FittedState, fit_state
from scoring_model.features.local_time import Offsets

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ZONES = ("Europe/Paris", "America/St_Johns", "Asia/Kathmandu", "Pacific/Apia", "Africa/Casablanca", "UTC")
FOUND = {name: Offsets.of(name) for name in ZONES}
SETTINGS = FeatureSettings(families=("dates",), time_zone="Europe/Paris")
MATRIX = FeatureMatrix(SETTINGS, FittedState(zone=FOUND["Europe/Paris"]))
CHANGE = round((datetime(2025, 3, 30, 1, tzinfo=UTC) - EPOCH).total_seconds()) * 1_000_000
"""Summer begins in Paris."""

instants = st.integers(0, 4_000_000_000_000_000) | st.integers(-(10**13), 10**13).map(lambda n: CHANGE + n)


@settings(max_examples=150)
@given(st.lists(instants, min_size=1, max_size=20), st.sampled_from(ZONES))
def test_local_times_are_those_of_the_database(times: list[int], zone: str) -> None:
    """From 1970 on every instant has the local time that Python's zones give it, alone and in an array."""
    expected = []
    for time in times:
        local = (EPOCH + timedelta(microseconds=time)).astimezone(ZoneInfo(zone)).replace(tzinfo=UTC)
        expected.append((local - EPOCH) // timedelta(microseconds=1))
    assert [FOUND[zone].local(time) for time in times] == expected
    assert FOUND[zone].local_of(np.array(times)).tolist() == expected


def test_before_and_after_the_database_the_ends_hold() -> None:
    """Instants before 1970 and after 2100 have the first and the last offset."""
    first, last = FOUND["Europe/Paris"].offsets[0], FOUND["Europe/Paris"].offsets[-1]
    for time, offset in ((-(10**17), first), (10**17, last)):
        assert FOUND["Europe/Paris"].local(time) == time + offset
        assert FOUND["Europe/Paris"].local_of(np.array([time])).tolist() == [time + offset]


@settings(max_examples=100)
@given(st.lists(instants, min_size=1, max_size=12))
def test_one_record_has_the_local_time_of_a_table(times: list[int]) -> None:
    """Law 2: the same bits alone and in a table."""
    alone: list[dict[str, object]] = [{"subjectId": f"s{place}"} for place in range(len(times))]
    table = table_of(alone, times, [(-1, 0)] * len(times))
    rows = MATRIX.rows(table)
    for place in range(len(times)):
        assert MATRIX.row(table.record(place), {}).tobytes() == rows[place].tobytes()


@pytest.mark.parametrize(
    ("instant", "hour", "night", "weekday", "weekend"),
    [
        ("2025-03-30T00:59:59", 1, 1, 6, 1),
        ("2025-03-30T01:00:00", 3, 1, 6, 1),
        ("2025-03-30T22:00:00", 0, 1, 0, 0),
        ("2025-03-31T12:00:00", 14, 0, 0, 0),
    ],
)
def test_hours_and_days_of_paris(instant: str, hour: int, night: int, weekday: int, weekend: int) -> None:
    """The hour that summer takes away, midnight and noon, by hand."""
    time = (datetime.fromisoformat(f"{instant}+00:00") - EPOCH) // timedelta(microseconds=1)
    (values,) = MATRIX.rows(table_of([{"subjectId": "s"}], [time], [(-1, 0)]))
    row = dict(zip(MATRIX.names, values.tolist(), strict=True))
    assert [row[f"local_{name}"] for name in ("hour", "night", "weekday", "weekend")] == [
        hour,
        night,
        weekday,
        weekend,
    ]
    assert row["event_hour"] == hour
    angle = 2 * np.pi * hour / 24
    assert [row["local_hour_sin"], row["local_hour_cos"]] == pytest.approx(
        [np.sin(angle), np.cos(angle)], abs=2**-20
    )


def test_offsets_travel_with_what_was_fitted() -> None:
    """A zone is read as it was written, and without one nothing is written and there are no such features."""
    table = table_of([{"subjectId": "s"}], [0], [(-1, 0)])
    state = fit_state(table, SETTINGS)
    assert state.zone == FOUND["Europe/Paris"]
    assert FittedState.from_json(state.to_json()).zone == state.zone
    assert "zone" not in FittedState().to_json()
    plain = FeatureMatrix(FeatureSettings(families=("dates",)), FittedState())
    assert not any(name.startswith("local_") for name in plain.names)
    assert [name for name in MATRIX.names if name not in plain.names] == [
        f"local_{name}"
        for name in (
            *("hour", "night", "hour_sin", "hour_cos"),
            *("weekday", "weekend", "weekday_sin", "weekday_cos"),
        )
    ]
