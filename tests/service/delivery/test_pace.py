"""How many attempts begin beside requests: all that can while the event loop is on time, a floor otherwise."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.service.delivery.pace import BUSY, LATE, Pace

FLOOR = 200.0
SOME = 400  # beats, which are four seconds


LATE_LOOP = (2 * LATE, 0.0)
BUSY_LOOP = (0.0, 1.0)
FREE_LOOP = (LATE, BUSY)


def begun(pace: Pace, loop: tuple[float, float], *, seconds: float) -> int:
    """How many attempts begin, if as many are tried as can, at a pace that is steered a hundred times a second."""
    count = 0
    for beat in range(round(seconds * 100)):
        pace.beat(late=loop[0], busy=loop[1])
        while pace.begin(at=beat / 100):
            count += 1
    return count


def slowed(pace: Pace, loop: tuple[float, float] = LATE_LOOP) -> Pace:
    """The same after a time in which the loop had none left."""
    for _ in range(SOME):
        pace.beat(late=loop[0], busy=loop[1])
    return pace


@pytest.mark.parametrize("loop", [LATE_LOOP, BUSY_LOOP])
def test_a_loop_without_time_left_slows_to_the_floor(loop: tuple[float, float]) -> None:
    """As long as the event loop is late, or never rests, the floor begins, and neither more nor less."""
    pace = slowed(Pace(floor=FLOOR), loop)
    assert pace.rate == FLOOR
    assert begun(pace, loop, seconds=10) == pytest.approx(10 * FLOOR, rel=0.02)


def test_a_loop_with_time_left_quickens() -> None:
    """A second in which neither bound is passed makes more of the floor than ten times as much."""
    pace = slowed(Pace(floor=FLOOR))
    begun(pace, FREE_LOOP, seconds=1)
    assert pace.rate > 10 * FLOOR


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=300))
def test_no_history_starves(loops: list[tuple[float, float]]) -> None:
    """Whatever the loop was like, no less than the floor begins in the seconds that follow."""
    pace = Pace(floor=FLOOR)
    for late, busy in loops:
        pace.beat(late=late, busy=busy)
    assert begun(pace, (1.0, 1.0), seconds=2) >= 2 * FLOOR - FLOOR * 0.02


def test_a_pause_is_no_credit() -> None:
    """After an idle hour no more may begin together than the burst of a twentieth of a second."""
    pace = slowed(Pace(floor=FLOOR))
    begun(pace, LATE_LOOP, seconds=1)
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
    slowed(pace)
    assert not pace.steers
    assert all(pace.begin(at=0.0) for _ in range(100_000))
