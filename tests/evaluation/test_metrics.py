from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp
from sklearn import metrics as oracle

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.evaluation.metrics import Ranking, brier, known, log_loss

# Few distinct values, so that ties within and between classes are the rule.
ranked = st.lists(st.tuples(st.integers(-4, 4), st.integers(0, 1)), min_size=1, max_size=60).map(
    lambda pairs: (np.array([pair[0] / 2 for pair in pairs]), np.array([pair[1] for pair in pairs]))
)
Sample = tuple[FloatArray, IntArray]


def _probabilities(sample: Sample) -> FloatArray:
    return np.asarray((sample[0] + 2) / 4)


@given(ranked)
def test_brier_score_is_that_of_sklearn(sample: Sample) -> None:
    """The mean squared error of the probabilities equals sklearn's."""
    probabilities = _probabilities(sample).clip(0, 1)
    expected = oracle.brier_score_loss(sample[1], probabilities, labels=[0, 1])
    assert brier(probabilities, sample[1]) == pytest.approx(expected, abs=1e-12)


@given(ranked)
def test_log_loss_is_that_of_sklearn(sample: Sample) -> None:
    """The mean log loss equals sklearn's on probabilities clipped to half a step of 2^-30 from 0 and 1."""
    probabilities = _probabilities(sample).clip(0, 1)
    clipped = probabilities.clip(2.0**-31, 1 - 2.0**-31)
    expected = oracle.log_loss(sample[1], np.column_stack([1 - clipped, clipped]), labels=[0, 1])
    assert log_loss(probabilities, sample[1]) == pytest.approx(expected, abs=1e-9)


PROBABILITY_METRICS = (brier, log_loss)


@given(ranked, st.integers(0, 2**32))
def test_order_of_records_changes_no_bit_of_a_probability_metric(sample: Sample, seed: int) -> None:
    """Shuffled records give the same bits of both metrics."""
    probabilities, labels = _probabilities(sample).clip(0, 1) / 3, sample[1]  # thirds, whose sums are rounded
    order = np.random.default_rng(seed).permutation(len(labels))
    for metric in PROBABILITY_METRICS:
        assert metric(probabilities[order], labels[order]) == metric(probabilities, labels)


def test_metric_without_records_is_none() -> None:
    """Without records the metrics are None, without a warning."""
    nothing = np.empty(0)
    assert [metric(nothing, nothing.astype(np.int64)) for metric in PROBABILITY_METRICS] == [None, None]


both = ranked.filter(lambda sample: 0 < sample[1].sum() < len(sample[1]))


@given(both)
def test_roc_auc_is_that_of_sklearn(sample: Sample) -> None:
    """The area under the curve equals sklearn's, with ties."""
    assert Ranking.of(*sample).roc_auc() == pytest.approx(
        oracle.roc_auc_score(sample[1], sample[0]), abs=1e-12
    )


@given(both)
def test_average_precision_is_that_of_sklearn(sample: Sample) -> None:
    """Average precision equals sklearn's, with ties."""
    expected = oracle.average_precision_score(sample[1], sample[0])
    assert Ranking.of(*sample).average_precision() == pytest.approx(expected, abs=1e-12)


def at_fpr(ranking: Ranking, limit: float, which: int) -> float | None:
    """Recall (0) or precision (1) of the threshold with the highest recall within a limit on false positives."""
    return known(ranking.counts.at_fpr(np.array([limit]))[which])


@given(both, st.sampled_from([0.0, 0.001, 0.05, 0.1, 0.25, 0.5, 1.0]))
def test_recall_is_the_highest_of_all_thresholds_that_keep_the_limit(sample: Sample, limit: float) -> None:
    """The recall equals the best over all distinct margins, and none, that keep the limit."""
    margins, labels = sample
    best = 0.0
    for threshold in margins:
        flagged = margins >= threshold
        if np.mean(flagged[labels == 0]) <= limit:
            best = max(best, float(np.mean(flagged[labels == 1])))
    assert at_fpr(Ranking.of(margins, labels), limit, 0) == pytest.approx(best, abs=1e-12)


@given(both)
def test_ks_is_that_of_scipy(sample: Sample) -> None:
    """The largest distance of both distribution functions agrees with scipy, ties included."""
    margins, labels = sample
    with np.errstate(all="ignore"):  # of the p-value, which is not used
        expected = ks_2samp(margins[labels == 1], margins[labels == 0], method="asymp").statistic
    assert Ranking.of(margins, labels).counts.ks() == pytest.approx(expected, abs=1e-12)


@given(both, st.sampled_from([0.0, 0.05, 0.25, 0.5, 1.0]))
def test_precision_is_that_of_the_highest_threshold_with_the_best_recall(
    sample: Sample, limit: float
) -> None:
    """Among thresholds that keep the limit, recall decides, then the height."""
    margins, labels = sample
    found: list[tuple[float, float, float]] = []
    for threshold in margins:
        flagged = margins >= threshold
        if np.mean(flagged[labels == 0]) <= limit and flagged[labels == 1].any():
            found.append((float(np.mean(flagged[labels == 1])), threshold, float(np.mean(labels[flagged]))))
    best = max(found)[2] if found else None
    assert at_fpr(Ranking.of(margins, labels), limit, 1) == pytest.approx(best, abs=1e-12)


@given(both)
def test_precision_at_recall_is_that_of_the_curve_of_sklearn(sample: Sample) -> None:
    """At each recall, sklearn's curve has this precision at its highest threshold that reaches it."""
    margins, labels = sample
    precisions, recalls, _ = oracle.precision_recall_curve(labels, margins)
    wanted = np.array([0.01, 0.5, 1.0])
    reached = [precisions[:-1][recalls[:-1] >= level][-1] for level in wanted]
    found = Ranking.of(margins, labels).counts.precision_at_recall(wanted)
    assert found.tolist() == pytest.approx(reached, abs=1e-12)


@given(ranked, st.integers(0, 2**32))
def test_weights_are_repetitions(sample: Sample, seed: int) -> None:
    """A record with weight w counts as w records; with weight 0 it does not count."""
    margins, labels = sample
    weights = np.random.default_rng(seed).integers(0, 4, len(labels))
    weighted = Ranking.of(margins, labels).weighted(weights)
    repeated = Ranking.of(np.repeat(margins, weights), np.repeat(labels, weights))
    for metric in RANKING_METRICS:
        assert metric(weighted) == pytest.approx(metric(repeated), abs=1e-12)


RANKING_METRICS: list[Callable[[Ranking], float | None]] = [
    Ranking.roc_auc,
    Ranking.average_precision,
    lambda ranking: at_fpr(ranking, 0.25, 0),
    lambda ranking: known(ranking.counts.ks()),
    lambda ranking: at_fpr(ranking, 0.25, 1),
]


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 1)), max_size=40), st.integers(0, 2**32))
def test_order_of_records_changes_no_bit(pairs: list[tuple[float, int]], seed: int) -> None:
    """Shuffled records give the same bits of every metric."""
    values, labels = (
        np.array([pair[0] for pair in pairs]),
        np.array([pair[1] for pair in pairs], dtype=np.int64),
    )
    order = np.random.default_rng(seed).permutation(len(pairs))
    for metric in RANKING_METRICS:
        assert metric(Ranking.of(values[order], labels[order])) == metric(Ranking.of(values, labels))


@pytest.mark.parametrize(
    ("labels", "absent"), [([], [True] * 5), ([0, 0], [True] * 5), ([1, 1], [True, False, True, True, True])]
)
def test_metric_without_its_class_is_none(labels: list[int], absent: list[bool]) -> None:
    """Metrics without records, or without the class they need, are None; nothing warns or is NaN."""
    ranking = Ranking.of(np.linspace(0.2, 0.8, len(labels)), np.array(labels, dtype=np.int64))
    assert [metric(ranking) is None for metric in RANKING_METRICS] == absent
