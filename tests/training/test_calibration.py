import numpy as np
import pytest
from scipy.optimize import minimize

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.training.calibration import CalibrationError, fit_platt


def _sample(seed: int, records: int = 3000, slope: float = 0.7) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(seed)
    margins = rng.normal(-3, 2, records)
    return margins, (rng.random(records) < 1 / (1 + np.exp(-(slope * margins + 0.4)))).astype(np.int64)


def _smoothed(labels: IntArray) -> FloatArray:
    """Platt's targets, one by one."""
    frauds = int(labels.sum())
    return np.array(
        [(frauds + 1) / (frauds + 2) if label else 1 / (len(labels) - frauds + 2) for label in labels]
    )


@pytest.mark.parametrize("seed", range(5))
def test_parameters_are_those_of_a_general_optimiser(seed: int) -> None:
    """Slope and intercept are where scipy finds the minimum of the cross-entropy of the smoothed targets."""
    margins, labels = _sample(seed)
    targets = _smoothed(labels)

    def loss(parameters: FloatArray) -> float:
        logits = parameters[0] * margins + parameters[1]
        return float(np.sum(np.logaddexp(0, logits) - targets * logits))

    found = minimize(
        loss, np.array([1.0, 0.0]), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}
    )
    platt = fit_platt(margins, labels)
    assert (platt.slope, platt.intercept) == pytest.approx(tuple(found.x), abs=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_residuals_are_orthogonal_to_the_margin(seed: int) -> None:
    """At the fit the residuals sum to zero, by themselves and times the margin."""
    margins, labels = _sample(seed)
    residuals = fit_platt(margins, labels).probabilities(margins) - _smoothed(labels)
    assert np.sum(residuals) == pytest.approx(0, abs=1e-4)
    assert np.sum(residuals * margins) == pytest.approx(0, abs=1e-4)


def test_parameters_of_a_logistic_population_are_found() -> None:
    """A hundred thousand records drawn with slope 0.7 and intercept 0.4 give them back."""
    platt = fit_platt(*_sample(7, records=100_000))
    assert (platt.slope, platt.intercept) == pytest.approx((0.7, 0.4), abs=0.05)


@pytest.mark.parametrize(("factor", "shift"), [(4.0, 0.0), (1.0, 1000.0), (1e-3, -5.0), (1e4, 3.0)])
def test_units_of_the_margin_do_not_matter(factor: float, shift: float) -> None:
    """Scaled and shifted margins get the same probabilities."""
    margins, labels = _sample(8)
    moved = margins * factor + shift
    expected = fit_platt(margins, labels).probabilities(margins)
    assert fit_platt(moved, labels).probabilities(moved) == pytest.approx(expected, abs=1e-5)


def test_separable_classes_have_a_finite_fit() -> None:
    """Where frauds lie above every genuine record the smoothed targets keep the slope finite."""
    margins = np.concatenate([np.linspace(-9, -1, 400), np.linspace(1, 9, 30)])
    labels = (margins > 0).astype(np.int64)
    platt = fit_platt(margins, labels)
    probabilities = platt.probabilities(margins)
    assert probabilities[labels == 0].max() < probabilities[labels == 1].min()
    assert 0 < probabilities.min() < 0.01
    assert 0.99 < probabilities.max() < 1


def test_two_records_are_enough() -> None:
    """One record of each class gives the smoothed targets, two thirds and one third."""
    platt = fit_platt(np.array([-1.0, 1.0]), np.array([0, 1]))
    assert platt.probabilities(np.array([-1.0, 1.0])) == pytest.approx([1 / 3, 2 / 3], abs=1e-6)


@pytest.mark.parametrize(
    ("margins", "labels", "problem"),
    [
        ([1.0, 2.0], [0, 0], "both classes, got 0 frauds and 2 genuine"),
        ([], [], "both classes"),
        ([1.0, np.nan], [0, 1], "1 of 2 are not"),
        ([1.0, 1.0], [0, 1], "all equal"),
        ([2.0, 1.0], [0, 1], "slope must be positive"),
    ],
)
def test_what_has_no_probability_is_refused(margins: list[float], labels: list[int], problem: str) -> None:
    """A class or a spread that is absent, and a model that ranks backwards, are refused by name."""
    with pytest.raises(CalibrationError, match=problem):
        fit_platt(np.array(margins), np.array(labels, dtype=np.int64))
