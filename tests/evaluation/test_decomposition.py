"""Isotonic fit, decompositions and reliability, against scikit-learn, model-diagnostics and a simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_diagnostics.scoring import LogLoss, SquaredError
from model_diagnostics.scoring import decompose as oracle
from sklearn.isotonic import IsotonicRegression

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.decision.rules import Decisions
from scoring_model.evaluation import EvaluatedRecords
from scoring_model.evaluation.decomposition import IsotonicFit, decompose, measure_reliability
from scoring_model.evaluation.draws import Draws
from scoring_model.records.times import DAY

Sample = tuple[FloatArray, IntArray]
samples = st.lists(st.tuples(st.integers(1, 19), st.integers(0, 1)), min_size=1, max_size=60).map(
    lambda pairs: (np.array([pair[0] / 20 for pair in pairs]), np.array([pair[1] for pair in pairs]))
)


@given(samples)
def test_the_fit_is_that_of_sklearn(sample: Sample) -> None:
    """Isotonic regression of the labels on the probabilities, ties pooled, agrees with sklearn."""
    probabilities, labels = sample
    fit = IsotonicFit.of(probabilities, labels)
    expected = IsotonicRegression().fit(probabilities, labels).predict(fit.probabilities)
    assert fit.fitted == pytest.approx(expected, abs=1e-9)


@given(samples.filter(lambda sample: 0 < sample[1].sum() < len(sample[1])))
def test_parts_are_those_of_model_diagnostics(sample: Sample) -> None:
    """Miscalibration, discrimination and uncertainty of both losses agree; together they are the loss."""
    probabilities, labels = sample
    for name, scoring in (("brier", SquaredError()), ("log_loss", LogLoss())):
        found = decompose(probabilities, labels)[name]
        assert found is not None
        expected = oracle(labels, probabilities, scoring_function=scoring).row(0, named=True)
        assert found.miscalibration == pytest.approx(expected["miscalibration"], abs=1e-6)
        assert found.discrimination == pytest.approx(expected["discrimination"], abs=1e-6)
        assert found.uncertainty == pytest.approx(expected["uncertainty"], abs=1e-6)
        parts = found.miscalibration - found.discrimination + found.uncertainty
        assert parts == pytest.approx(found.loss, abs=1e-12)


def test_nothing_is_decomposed_without_records() -> None:
    """No records have no parts."""
    assert decompose(np.empty(0), np.empty(0, dtype=np.int8)) == {"brier": None, "log_loss": None}


def records_of(probabilities: FloatArray, truth: FloatArray, seed: int) -> EvaluatedRecords:
    """Records of forty days whose labels follow the true probabilities."""
    rng, size = np.random.default_rng(seed), len(probabilities)
    zeros = np.zeros(size, dtype=np.int64)
    return EvaluatedRecords(
        decisions=Decisions(probabilities, zeros, zeros.astype(np.int8), probabilities),
        labels=(rng.random(size) < truth).astype(np.int8),
        event_times=rng.integers(0, 40, size) * DAY,
    )


def test_the_band_holds_a_calibrated_model_and_not_another() -> None:
    """About 95 % of the curve of calibrated probabilities lies in the band; doubled odds leave it."""
    rng = np.random.default_rng(1)
    inside = []
    for seed in range(10):
        probabilities = rng.beta(1, 6, 4000)
        records = records_of(probabilities, probabilities, seed)
        found = measure_reliability(records, Draws.of(records.event_times))
        curve = np.interp(found.grid, found.predicted, found.recalibrated)
        inside.append(np.mean((curve >= found.low - 1e-12) & (curve <= found.high + 1e-12)))
    assert 0.88 <= np.mean(inside) <= 0.99
    odds = 2 * probabilities / (1 - probabilities)
    wrong = records_of(probabilities, odds / (1 + odds), 0)
    found = measure_reliability(wrong, Draws.of(wrong.event_times))
    curve = np.interp(found.grid, found.predicted, found.recalibrated)
    assert np.mean(curve > found.high) > 0.5
    assert len(found.predicted) <= 400
    assert found.genuine.sum() + found.frauds.sum() == found.records == 4000
