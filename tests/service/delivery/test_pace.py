"""How many attempts begin beside requests: all that can while the event loop is on time, a floor otherwise."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.service.delivery.pace import LATE, Pace

FLOOR = 200.0
SOME = 400  # beats, which are four seconds


def begun(pace: Pace, *, seconds: float, late: float, since: float = 0.0) -> int:
    """How many attempts begin, if as many are tried as can, at a pace that is steered a hundred times a second."""
    count = 0
    for beat in range(round(seconds * 100)):
        pace.beat(late=late)
        while pace.begin(at=since + beat / 100):
            count += 1
    return count


def late_for(pace: Pace, beats: int = SOME) -> Pace:
    """The same after a time in which the loop was late."""
    for _ in range(beats):
        pace.beat(late=2 * LATE)
    return pace


def test_a_loop_that_is_late_slows_to_the_floor() -> None:
    """As long as the event loop is late the floor begins, and neither more nor less."""
    pace = late_for(Pace(floor=FLOOR))
    assert pace.rate == FLOOR
    assert begun(pace, seconds=10, late=2 * LATE) == pytest.approx(10 * FLOOR, rel=0.02)


def test_a_loop_that_is_on_time_again_quickens() -> None:
    """A second on time makes more of the floor than ten times as much."""
    pace = late_for(Pace(floor=FLOOR))
    begun(pace, seconds=1, late=0.0)
    assert pace.rate > 10 * FLOOR


@given(st.lists(st.floats(0, 1, allow_nan=False), max_size=300))
def test_no_history_starves(late: list[float]) -> None:
    """Whatever the loop was like, no less than the floor begins in the seconds that follow."""
    pace = Pace(floor=FLOOR)
    for one in late:
        pace.beat(late=one)
    assert begun(pace, seconds=2, late=1.0) >= 2 * FLOOR - FLOOR * 0.02


def test_a_pause_is_no_credit() -> None:
    """After an idle hour no more may begin together than the burst of a twentieth of a second."""
    pace = late_for(Pace(floor=FLOOR))
    begun(pace, seconds=1, late=2 * LATE)
    together = 0
    while pace.begin(at=3_600):
        together += 1
    assert together == FLOOR / 20


def test_what_is_new_begins_at_once() -> None:
    """The first attempt of all waits for nothing."""
    assert Pace(floor=FLOOR).begin(at=0.0)


def test_without_a_floor_nothing_is_held_back() -> None:
    """A process that does nothing but deliver gives way to nobody."""
    pace = Pace(floor=None)
    late_for(pace)
    assert not pace.steers
    assert all(pace.begin(at=0.0) for _ in range(100_000))
