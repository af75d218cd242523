import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as oracle

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.evaluation.metrics import brier, log_loss

# Few distinct values, so that ties within and between classes are the rule.
ranked = st.lists(st.tuples(st.integers(-4, 4), st.integers(0, 1)), min_size=1, max_size=60).map(
    lambda pairs: (np.array([pair[0] / 2 for pair in pairs]), np.array([pair[1] for pair in pairs]))
)
Sample = tuple[FloatArray, IntArray]


def _probabilities(sample: Sample) -> FloatArray:
    return np.asarray((sample[0] + 2) / 4)


@given(ranked)
def test_brier_score_is_that_of_sklearn(sample: Sample) -> None:
    """The mean squared error of the probabilities agrees with sklearn."""
    probabilities = _probabilities(sample).clip(0, 1)
    expected = oracle.brier_score_loss(sample[1], probabilities, labels=[0, 1])
    assert brier(probabilities, sample[1]) == pytest.approx(expected, abs=1e-12)


@given(ranked)
def test_log_loss_is_that_of_sklearn(sample: Sample) -> None:
    """The mean log loss agrees with sklearn on probabilities kept half a step of 2^-30 from 0 and 1."""
    probabilities = _probabilities(sample).clip(0, 1)
    clipped = probabilities.clip(2.0**-31, 1 - 2.0**-31)
    expected = oracle.log_loss(sample[1], np.column_stack([1 - clipped, clipped]), labels=[0, 1])
    assert log_loss(probabilities, sample[1]) == pytest.approx(expected, abs=1e-9)


METRICS = (brier, log_loss)


@given(ranked, st.integers(0, 2**32))
def test_order_of_records_changes_no_bit(sample: Sample, seed: int) -> None:
    """Shuffled records give the same bits of both metrics."""
    probabilities, labels = _probabilities(sample).clip(0, 1) / 3, sample[1]  # thirds, whose sums are rounded
    order = np.random.default_rng(seed).permutation(len(labels))
    for metric in METRICS:
        assert metric(probabilities[order], labels[order]) == metric(probabilities, labels)


def test_metric_without_records_is_none() -> None:
    """Without records nothing can be said, and nothing warns."""
    nothing = np.empty(0)
    assert [metric(nothing, nothing.astype(np.int64)) for metric in METRICS] == [None, None]
