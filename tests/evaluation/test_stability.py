"""Errors over time: blocks of days and windows, against plain loops."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring_model.evaluation.draws import MIN_BLOCKS, Basis, Draws
from scoring_model.evaluation.stability import RECENT_DAYS, WINDOW_DAYS, Stability, measure_stability
from scoring_model.evaluation.uncertainty import rate_estimate, share_of

DAY = 86_400_000_000


def measured(days: Any, errors: Any) -> Stability:
    """Measure records given by their day since 1970 and whether they are wrong."""
    times, wrong = np.asarray(days, dtype=np.int64) * DAY + 5, np.asarray(errors, dtype=np.bool_)
    draws = Draws.of(times)
    drawn = draws.drawn(draws.totals(wrong.astype(np.float64))) / draws.drawn(
        draws.totals(np.ones(len(wrong)))
    )
    share = rate_estimate(int(wrong.sum()), len(wrong), drawn, Basis(draws.days, len(wrong)))
    return measure_stability("max_step_up", 0.05, wrong, times, share=share)


def drawn(seed: int, days: int, records: int) -> tuple[Any, Any]:
    """Draw records of some days with a varying error rate."""
    rng = np.random.default_rng(seed)
    day = rng.integers(-days // 2, days - days // 2, records)
    return day, rng.random(records) < rng.random(days)[day + days // 2] / 2


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 150), st.integers(1, 400))
def test_worst_window_is_that_of_a_search(seed: int, days: int, records: int) -> None:
    """Of all 14-day periods in the last 90 days, it has the highest lower end; of equals it is the latest."""
    day, errors = drawn(seed, days, records)
    start = max(int(day.max()) - RECENT_DAYS + 1, int(day.min()))
    length = min(WINDOW_DAYS, int(day.max()) - start + 1)
    best: tuple[float, int] = (-1.0, 0)
    for since in range(start, int(day.max()) - length + 2):
        inside = (day >= since) & (day < since + length)
        if inside.any():
            low = share_of(int(errors[inside].sum()), int(inside.sum())).low
            assert low is not None
            best = max(best, (low, since))
    worst = measured(day, errors).worst
    assert worst is not None
    assert worst.since == str(np.datetime64(best[1], "D"))
    assert worst.until == str(np.datetime64(best[1] + length - 1, "D"))
    assert worst.share.low == best[0]


def test_days_drawn_together_widen_the_interval_where_errors_come_in_days() -> None:
    """The interval is wider if errors come in whole days than if they are spread evenly."""
    days = np.repeat(np.arange(60), 100)
    together, evenly = measured(days, days % 10 == 0), measured(days, np.arange(6000) % 10 == 0)
    assert together.share.value == evenly.share.value
    wilson, low, high = share_of(600, 6000), together.share.low, together.share.high
    assert wilson.low is not None
    assert wilson.high is not None
    assert low is not None
    assert high is not None
    assert high - low > 3 * (wilson.high - wilson.low)
    assert (evenly.share.low, evenly.share.high) == (wilson.low, wilson.high)


def test_order_of_records_does_not_matter() -> None:
    """Shuffled records give the same bits of interval and window."""
    day, errors = drawn(5, 100, 2000)
    order = np.random.default_rng(1).permutation(2000)
    assert measured(day[order], errors[order]) == measured(day, errors)


@pytest.mark.parametrize("days", [1, MIN_BLOCKS - 1, MIN_BLOCKS])
def test_few_days_have_no_interval(days: int) -> None:
    """With records on fewer than ten days there is a window but no interval from days."""
    found = measured(np.arange(days) * 3, [True] + [False] * (days - 1))
    assert (found.share.low is None) == (found.share.high is None) == (days < MIN_BLOCKS)
    assert found.days == days
    assert found.worst is not None


def test_no_records_have_no_share_interval_or_window() -> None:
    """Without records there is no share, interval or window, and the document has null."""
    document = measured([], []).to_json()
    assert document["share"]["value"] is document["worst"] is document["share"]["low"] is None
