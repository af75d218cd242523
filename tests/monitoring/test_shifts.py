"""Shares of two samples under one limit: false alarms, power, and what the standard errors are made of."""

from statistics import NormalDist

import numpy as np
import pytest

from scoring_model.arrays import FloatArray
from scoring_model.monitoring.shifts import MIN_BLOCKS, Blocks, block_of_days, gather_blocks, measure_shifts

FEATURES = 16
CUTS = np.array([NormalDist().inv_cdf(share) for share in np.arange(0.1, 1, 0.1)])
CDF = np.vectorize(NormalDist().cdf)


def weeks(
    rng: np.random.Generator, sizes: list[int], spread: FloatArray, *, shifted: int | None = None
) -> Blocks:
    """Draw normal features whose weekly means differ; one of them is 0.5 higher in half the rows."""
    hits = []
    for size in sizes:
        below = CDF(CUTS - rng.normal(0, spread)[:, np.newaxis])
        if shifted is not None:
            higher = CDF(CUTS - 0.5 - rng.normal(0, spread[shifted]))
            below[shifted] = (below[shifted] + higher) / 2
        shares = np.diff(below, axis=1, prepend=0.0, append=1.0)
        counts = rng.multinomial(size, shares / shares.sum(axis=1, keepdims=True))
        hits.append(size - counts.cumsum(axis=1)[:, :-1].ravel())
    return Blocks(records=np.array(sizes), hits=np.array(hits))


def spread_of(rng: np.random.Generator, week: float) -> FloatArray:
    """Spreads of weekly means that give the shares of a week design effects of 1.4 to 3.3."""
    effects = rng.uniform(1.4, 3.3, FEATURES)
    return np.sqrt((effects - 1) * 0.25 / (week * NormalDist().pdf(0) ** 2))


def test_false_alarms_and_power() -> None:
    """Of 100 fresh samples at most 11 raise an alarm; a shift is named first in 95 of 100."""
    rng, alarms, first = np.random.default_rng(5), 0, 0
    for _ in range(100):
        spread = spread_of(rng, 1250)
        reference = weeks(rng, rng.integers(800, 1700, 14).tolist(), spread)
        found = measure_shifts(reference, weeks(rng, [1250] * 8, spread), draws=150)
        assert found.limit is not None
        alarms += int(found.statistics.max() > found.limit)
        moved = measure_shifts(reference, weeks(rng, [1250] * 8, spread, shifted=7), draws=40)
        largest = int(np.argmax(moved.statistics))
        first += int(largest // len(CUTS) == 7 and moved.statistics[largest] > found.limit)
    assert alarms <= 11
    assert first >= 95


def test_errors_without_variation_between_blocks_are_those_of_independent_records() -> None:
    """The standard error of a difference of shares is the textbook's, but for estimated variation between blocks."""
    rng = np.random.default_rng(0)
    sizes = [2000] * 40
    found = measure_shifts(
        weeks(rng, sizes, np.zeros(FEATURES)), weeks(rng, sizes[:20], np.zeros(FEATURES)), draws=100
    )
    share = np.tile(1 - np.arange(0.1, 1, 0.1), FEATURES)
    expected = np.sqrt(share * (1 - share) * (1 / 80_000 + 1 / 40_000))
    ratios = found.errors / expected
    assert np.all(ratios > 0.97)
    assert np.median(ratios) < 1.15
    assert np.all(found.smallest > (found.limit or 0) * found.errors)


def test_fewer_records_and_more_subjects_widen_the_limit() -> None:
    """The limit knows the number of shares; the smallest visible difference knows the size of the window."""
    rng = np.random.default_rng(1)
    spread = spread_of(rng, 1250)
    reference, window = weeks(rng, [1250] * 12, spread), weeks(rng, [1250] * 4, spread)
    whole = measure_shifts(reference, window)
    one = measure_shifts(
        Blocks(records=reference.records, hits=reference.hits[:, :9]),
        Blocks(records=window.records, hits=window.hits[:, :9]),
    )
    small = measure_shifts(reference, Blocks(records=window.records // 10, hits=window.hits // 10))
    assert (one.limit or 0) < (whole.limit or 0)
    assert np.nanmedian(small.smallest) > 1.5 * np.nanmedian(whole.smallest)


def test_a_new_category_is_found_and_a_rare_one_is_not_tested() -> None:
    """A property that no reference record has is compared if the window has enough of it."""
    reference = Blocks(records=np.full(10, 1000), hits=np.array([[0, 0, 500]] * 10))
    window = Blocks(records=np.full(4, 1000), hits=np.array([[40, 1, 500]] * 4))
    found = measure_shifts(reference, window)
    assert found.tested.tolist() == [True, False, True]
    assert found.statistics[0] > (found.limit or np.inf)
    assert (found.statistics[1], np.isnan(found.differences[1])) == (0, True)


def test_without_enough_blocks_there_is_no_limit() -> None:
    """Differences stay, and nothing says which of them chance explains."""
    reference = Blocks(records=np.full(MIN_BLOCKS - 1, 100), hits=np.full((MIN_BLOCKS - 1, 1), 50))
    found = measure_shifts(reference, Blocks(records=np.array([100]), hits=np.array([[80]])))
    assert found.limit is None
    assert found.differences == pytest.approx([0.3])


def test_days_become_weeks() -> None:
    """A short rest joins the last week, a long one is a week, and weeks without records have no code."""
    assert block_of_days(np.arange(16)).tolist() == [0] * 7 + [1] * 9
    assert block_of_days(np.arange(18)).tolist() == [0] * 7 + [1] * 7 + [2] * 4
    assert block_of_days(np.array([5, 30])).tolist() == [0, 1]
    summed = gather_blocks(np.array([3, 4]), np.array([[1], [2]]), np.array([0, 0]))
    assert (summed.records.tolist(), summed.hits.tolist()) == ([7], [[3]])
