"""The proposed label delay and the windows that suit it."""

import numpy as np
import pytest

from scoring_model.arrays import IntArray
from scoring_model.configuration.proposal.windows import Lengths, propose_lengths
from scoring_model.records import NEVER
from scoring_model.records.times import DAY, HOUR

N = 400
FRAUDS = np.arange(N) % 4 == 0
OFTEN = np.arange(N) % 10


def times(days: float) -> IntArray:
    """Times of events over some days."""
    return np.linspace(0, days * DAY, N).astype(np.int64)


def proposed(days: float = 400, delays: IntArray | None = None, **keys: IntArray) -> Lengths:
    """Lengths for a file of some days, with the times at which labels became known."""
    events = times(days)
    return propose_lengths(events, None if delays is None else events + delays, FRAUDS, keys)


def test_the_delay_is_that_of_most_frauds() -> None:
    """Nineteen in twenty frauds are known after the measured delay, in whole days; genuine records do not count."""
    delays = np.where(FRAUDS, np.arange(N) * DAY // N * 20 + 1, 300 * DAY)
    found = proposed(delays=delays, card=OFTEN)
    known = (delays[FRAUDS] <= found.delay).mean()
    assert (found.delay % DAY, found.measured) == (0, 100)
    assert known >= 0.95 > (delays[FRAUDS] <= found.delay - DAY).mean()
    assert found.maturity == found.delay
    assert (delays[FRAUDS] <= found.gap).mean() >= 0.5 > (delays[FRAUDS] <= found.gap - DAY).mean()
    assert found.gap % DAY == 0
    assert (assumed := proposed(card=OFTEN)).gap == assumed.maturity // 2
    hours = proposed(delays=np.full(N, 5 * HOUR + 1), card=OFTEN)
    assert (hours.delay, hours.measured) == (6 * HOUR, 100)


@pytest.mark.parametrize(("days", "delay"), [(400, 30), (100, 7), (20, 1)])
def test_a_delay_is_assumed_where_none_is_known(days: float, delay: int) -> None:
    """The delay then suits the length of the file."""
    found = proposed(days, card=OFTEN)
    assert (found.delay, found.measured) == (delay * DAY, 0)


@pytest.mark.parametrize("delay", [3 * DAY, 0])
def test_a_given_delay_is_kept(delay: int) -> None:
    """Neither the measured nor the assumed one replaces it, not even where labels are known at once."""
    delays = np.full(N, 20 * DAY)
    found = propose_lengths(times(400), times(400) + delays, FRAUDS, {"card": OFTEN}, given=delay)
    assert (found.delay, found.maturity, found.measured, found.given) == (delay, delay, 0, True)


def test_delayed_windows_have_the_lengths_of_the_others() -> None:
    """The longest window is longer than the delay, and the burn-in holds the reach of the windows if the file can."""
    found = proposed(800, np.full(N, 10 * DAY), card=OFTEN)
    assert found.windows == found.delayed == (DAY, 7 * DAY, 30 * DAY)
    assert (found.burn_in, found.without, found.by_key) == (40 * DAY, "", {})


def test_keys_whose_values_seldom_recur_have_fewer_windows() -> None:
    """Such a key has the shortest and the longest window; all keys have these if there is no other."""
    seldom = np.where(np.arange(N) % 50 == 0, -1, np.arange(N) // 2)
    both = proposed(800, card=OFTEN, device=seldom)
    assert both.by_key == {"device": ((DAY, 90 * DAY), (90 * DAY,))}
    assert both.windows == (DAY, 7 * DAY, 90 * DAY)
    alone = proposed(800, device=seldom)
    assert (alone.windows, alone.delayed, alone.by_key) == ((DAY, 90 * DAY), (90 * DAY,), {})


@pytest.mark.parametrize(
    ("days", "delay", "key", "reason"),
    [
        (100, 40, OFTEN, "the label delay of 40d is too long for a file of 100 days"),
        (400, 7, np.arange(N), "no value of a link key recurs in the file"),
    ],
)
def test_without_delayed_windows_there_is_a_reason(
    days: float, delay: int, key: IntArray, reason: str
) -> None:
    """A delay that leaves no time to train, and keys that link nothing, have none."""
    found = proposed(days, np.full(N, delay * DAY), card=key)
    assert (found.delayed, found.without) == ((), reason)
    assert found.maturity <= days * DAY // 8


def test_a_file_without_times_has_no_delayed_windows() -> None:
    """Neither are there where all times are missing."""
    for events in (np.empty(0, dtype=np.int64), np.full(N, NEVER)):
        found = propose_lengths(events, None, FRAUDS, {"card": OFTEN})
        assert (found.delayed, found.without) == ((), "the times of the events are unknown")
        assert found.windows


@pytest.mark.parametrize(("late", "longest"), [(0.11, 400), (0.08, 90)])
def test_one_return_in_ten_makes_a_window_of_half_of_the_file(late: float, longest: int) -> None:
    """Where a tenth of the values comes back later than the usual windows reach, one reaches half of the history."""
    codes = np.arange(N) // 2
    events = np.sort(np.arange(N) // 2 * DAY + np.arange(N) % 2 * HOUR)
    rare = round(late * N / 2)
    events[1 : 2 * rare : 2] += 95 * DAY
    events[-1] = 800 * DAY
    codes[-1] = 10_000
    found = propose_lengths(events, None, FRAUDS, {"device": codes})
    assert (found.delay, found.windows[-1]) == (30 * DAY, longest * DAY)
    assert found.burn_in <= 80 * DAY


def test_without_a_value_that_recurs_the_burn_in_is_short() -> None:
    """A twentieth of the file; nothing would be counted over more."""
    found = proposed(800, device=np.arange(N))
    assert (found.links, found.burn_in) == (False, 40 * DAY)
    assert proposed(800, card=OFTEN).links
