"""How many attempts begin beside requests: all that can while those don't wait, a floor otherwise."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.service.delivery.rate_controller import TICK, WAIT, RateController

FLOOR = 200.0
SOME = 400  # beats, which are four seconds
TOO_LONG = 2 * WAIT


def begun(pace: RateController, *, seconds: float, waits: float) -> int:
    """How many attempts begin, if as many are tried as can, at a pace that is steered at every beat."""
    count = 0
    for tick in range(round(seconds / TICK)):
        pace.tick(waits=waits)
        while pace.begin(at=tick * TICK):
            count += 1
    return count


def slowed(pace: RateController) -> RateController:
    """The same after a time in which requests waited too long."""
    for _ in range(SOME):
        pace.tick(waits=TOO_LONG)
    return pace


def test_deliveries_slow_to_the_floor_while_requests_wait() -> None:
    """As long as requests wait too long the floor begins, and neither more nor less."""
    pace = slowed(RateController(floor=FLOOR))
    assert pace.rate == FLOOR
    assert begun(pace, seconds=10, waits=TOO_LONG) == pytest.approx(10 * FLOOR, rel=0.02)


def test_deliveries_quicken_once_requests_do_not_wait() -> None:
    """A second in which requests hardly wait makes more of the floor than ten times as much."""
    pace = slowed(RateController(floor=FLOOR))
    begun(pace, seconds=1, waits=WAIT / 10)
    assert pace.rate > 10 * FLOOR


def test_one_long_wait_is_not_a_full_process() -> None:
    """A pause of a second, once, leaves more than a tenth of the rate: the next beats tell that it was one."""
    pace = RateController(floor=FLOOR)
    most = pace.rate
    pace.tick(waits=1.0, seconds=1.0)
    for _ in range(9):
        pace.tick(waits=0.0)
    assert pace.rate > most / 10


def test_bursts_within_a_bound_on_average_slow_nothing() -> None:
    """What waits twice the bound every third beat waits two thirds of it on average."""
    pace = RateController(floor=FLOOR)
    most = pace.rate
    for tick in range(SOME):
        pace.tick(waits=TOO_LONG if tick % 3 == 0 else 0.0)
    assert pace.rate > 0.9 * most


@given(st.lists(st.floats(0, 10), max_size=300))
def test_no_history_starves(waits: list[float]) -> None:
    """However long requests waited, no less than the floor begins in the seconds that follow."""
    pace = RateController(floor=FLOOR)
    for seconds in waits:
        pace.tick(waits=seconds)
    assert begun(pace, seconds=2, waits=10.0) >= 2 * FLOOR - FLOOR * 0.02


def test_a_pause_is_no_credit() -> None:
    """After an idle hour no more may begin together than the burst of a twentieth of a second."""
    pace = slowed(RateController(floor=FLOOR))
    begun(pace, seconds=1, waits=TOO_LONG)
    together = 0
    while pace.begin(at=3_600):
        together += 1
    assert together == FLOOR / 20


def test_what_is_new_begins_at_once() -> None:
    """The first attempt of all waits for nothing."""
    assert RateController(floor=FLOOR).begin(at=0.0)


def test_without_a_floor_nothing_is_held_back() -> None:
    """A process that does nothing but deliver gives way to nobody."""
    pace = RateController(floor=None)
    slowed(pace)
    assert not pace.steers
    assert all(pace.begin(at=0.0) for _ in range(100_000))
