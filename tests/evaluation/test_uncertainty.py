"""Intervals of metrics from whole days, against plain loops and against theory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn import metrics as oracle

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.evaluation.uncertainty import (
    DAY,
    MIN_DAYS,
    REPEATS,
    Uncertainty,
    draw_days,
    interval_of,
    measure_uncertainty,
    share_of,
)

LIMITS = (0.05, 0.2)


def drawn(
    seed: int, *, records: int = 600, days: int = 30
) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
    """Margins with ties, probabilities, labels and times of some days, a few of them without records."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(records) < 0.2).astype(np.int64)
    margins = np.round(rng.normal(1.2 * labels, 1.0), 1)
    times = rng.integers(-days // 2, days - days // 2, records) * 2 * DAY + rng.integers(0, DAY, records)
    return margins, 1 / (1 + np.exp(-margins)), labels, times


def measured(columns: tuple[FloatArray, FloatArray, IntArray, IntArray]) -> Uncertainty:
    """Measure with the limits of these tests."""
    return measure_uncertainty(*columns, limits=LIMITS)


def test_ends_are_those_of_repeating_the_records_of_each_day() -> None:
    """Every draw, taken record by record and measured by sklearn, gives the same ends."""
    columns = margins, probabilities, labels, times = drawn(1)
    days = [np.flatnonzero(times // DAY == day) for day in np.unique(times // DAY)]
    found: dict[str, list[float]] = {name: [] for name in ("auc", "ap", "brier", "loss", "recall")}
    for draw in draw_days(len(days), repeats=REPEATS):
        rows = np.concatenate([np.tile(day, often) for day, often in zip(days, draw, strict=True)])
        truth = labels[rows]
        found["auc"].append(oracle.roc_auc_score(truth, margins[rows]))
        found["ap"].append(oracle.average_precision_score(truth, margins[rows]))
        found["brier"].append(oracle.brier_score_loss(truth, probabilities[rows]))
        found["loss"].append(oracle.log_loss(truth, probabilities[rows]))
        false_positives, recalls, _ = oracle.roc_curve(truth, margins[rows], drop_intermediate=False)
        found["recall"].append(recalls[false_positives <= LIMITS[0]].max())
    ends = measured(columns)
    for name, interval in (
        ("auc", ends.roc_auc),
        ("ap", ends.average_precision),
        ("brier", ends.brier),
        ("loss", ends.log_loss),
        ("recall", ends.recalls[LIMITS[0]]),
    ):
        expected = interval_of(found[name])
        assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_an_interval_leaves_out_a_fortieth_at_either_end() -> None:
    """Of a thousand draws the 26th from below and from above are the ends; draws that gave nothing do not count."""
    found = interval_of([None, *(float(value) for value in range(999, -1, -1)), None])
    assert (found.low, found.high) == (25.0, 974.0)


def test_order_of_records_changes_no_bit() -> None:
    """Shuffled records have the same ends."""
    columns = drawn(2)
    order = np.random.default_rng(3).permutation(len(columns[0]))
    margins, probabilities, labels, times = columns
    assert measured((margins[order], probabilities[order], labels[order], times[order])) == measured(columns)


def test_an_interval_for_independent_records_is_as_wide_as_theory_says() -> None:
    """Of a rate that is the same on all days, here a recall, the ends are those of a binomial share."""
    rng = np.random.default_rng(4)
    labels = np.repeat([0, 1], 5_000)
    margins = np.where(labels == 1, rng.random(10_000) < 0.3, 0.0)
    times = rng.integers(0, 100, 10_000) * DAY
    ends = measure_uncertainty(margins, np.full(10_000, 0.5), labels, times, limits=(0.01,)).recalls[0.01]
    assert ends.low is not None
    assert ends.high is not None
    assert ends.high - ends.low == pytest.approx(2 * 1.96 * np.sqrt(0.3 * 0.7 / 5_000), rel=0.15)


@pytest.mark.parametrize(("days", "labels"), [(MIN_DAYS - 1, [0, 1]), (MIN_DAYS, [0, 0]), (0, [])])
def test_nothing_is_said_of_few_days_or_one_class(days: int, labels: list[int]) -> None:
    """Fewer than ten days give no ends; without frauds only what needs none has some."""
    truth = np.array(labels * days, dtype=np.int64)
    times = np.repeat(np.arange(days), len(labels)) * DAY
    ends = measured((np.linspace(0, 1, len(truth)), np.full(len(truth), 0.5), truth, times))
    assert ends.roc_auc.low is ends.average_precision.high is ends.recalls[0.05].low is None
    assert (ends.brier.low is None) == (ends.log_loss.high is None) == (days < MIN_DAYS)


counts = st.integers(1, 10**6).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total)))


@given(counts)
def test_interval_is_that_of_scipy(pair: tuple[int, int]) -> None:
    """Share and interval agree with scipy's binomial proportion by Wilson's method."""
    share = share_of(*pair)
    expected = binomtest(*pair).proportion_ci(confidence_level=0.95, method="wilson")
    assert share.share == pair[0] / pair[1]
    assert (share.low, share.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


@given(counts)
def test_interval_holds_the_share_and_stays_in_the_unit_interval(pair: tuple[int, int]) -> None:
    """0 <= low <= share <= high <= 1 whatever the rounding, and 0 of n and n of n reach the ends."""
    share = share_of(*pair)
    assert share.share is not None
    assert share.low is not None
    assert share.high is not None
    assert 0 <= share.low <= share.share <= share.high <= 1
    assert (share.low == 0) == (pair[0] == 0)
    assert (share.high == 1) == (pair[0] == pair[1])


def test_share_of_nothing_is_none() -> None:
    """Without records there is no share and no interval."""
    nothing = share_of(0, 0)
    assert (nothing.share, nothing.low, nothing.high) == (None, None, None)
