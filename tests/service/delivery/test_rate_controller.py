"""The rate of attempts beside requests: unlimited while requests do not wait, a floor otherwise."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.service.delivery.deliverer import TARGET_WAIT, TICK, RateController

FLOOR = 200.0
SOME = 400  # ticks, which are four seconds
TOO_LONG = 2 * TARGET_WAIT


def begun(rate_controller: RateController, *, seconds: float, waits: float) -> int:
    """Number of attempts that begin at full demand, with control at every tick."""
    count = 0
    for tick in range(round(seconds / TICK)):
        rate_controller.tick(waits=waits)
        while rate_controller.begin(at=tick * TICK):
            count += 1
    return count


def slowed(rate_controller: RateController) -> RateController:
    """The same after a period in which requests waited too long."""
    for _ in range(SOME):
        rate_controller.tick(waits=TOO_LONG)
    return rate_controller


def test_deliveries_slow_to_the_floor_while_requests_wait() -> None:
    """While requests wait too long, exactly the floor rate begins."""
    rate_controller = slowed(RateController(floor=FLOOR))
    assert rate_controller.rate == FLOOR
    assert begun(rate_controller, seconds=10, waits=TOO_LONG) == pytest.approx(10 * FLOOR, rel=0.02)


def test_deliveries_quicken_once_requests_do_not_wait() -> None:
    """A second in which requests hardly wait makes more of the floor than ten times as much."""
    rate_controller = slowed(RateController(floor=FLOOR))
    begun(rate_controller, seconds=1, waits=TARGET_WAIT / 10)
    assert rate_controller.rate > 10 * FLOOR


def test_one_long_wait_is_not_a_full_process() -> None:
    """A pause of a second, once, leaves more than a tenth of the rate: the next ticks show that it was one."""
    rate_controller = RateController(floor=FLOOR)
    most = rate_controller.rate
    rate_controller.tick(waits=1.0, seconds=1.0)
    for _ in range(9):
        rate_controller.tick(waits=0.0)
    assert rate_controller.rate > most / 10


def test_bursts_within_a_bound_on_average_slow_nothing() -> None:
    """What waits twice the bound every third beat waits two thirds of it on average."""
    rate_controller = RateController(floor=FLOOR)
    most = rate_controller.rate
    for tick in range(SOME):
        rate_controller.tick(waits=TOO_LONG if tick % 3 == 0 else 0.0)
    assert rate_controller.rate > 0.9 * most


@given(st.lists(st.floats(0, 10), max_size=300))
def test_no_history_starves(waits: list[float]) -> None:
    """After any wait of requests, at least the floor rate begins in the following seconds."""
    rate_controller = RateController(floor=FLOOR)
    for seconds in waits:
        rate_controller.tick(waits=seconds)
    assert begun(rate_controller, seconds=2, waits=10.0) >= 2 * FLOOR - FLOOR * 0.02


def test_a_pause_is_no_credit() -> None:
    """After an idle hour no more may begin together than the burst of a twentieth of a second."""
    rate_controller = slowed(RateController(floor=FLOOR))
    begun(rate_controller, seconds=1, waits=TOO_LONG)
    together = 0
    while rate_controller.begin(at=3_600):
        together += 1
    assert together == FLOOR / 20


def test_what_is_new_begins_at_once() -> None:
    """The very first attempt does not wait."""
    assert RateController(floor=FLOOR).begin(at=0.0)


def test_without_a_floor_nothing_is_held_back() -> None:
    """A process that only delivers is not limited."""
    rate_controller = RateController(floor=None)
    slowed(rate_controller)
    assert not rate_controller.limits
    assert all(rate_controller.begin(at=0.0) for _ in range(100_000))
