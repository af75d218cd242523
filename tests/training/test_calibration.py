from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import minimize

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.decision.probability import Beta, Calibration
from scoring_model.training.calibration import CalibrationError, choose_calibration, fit_beta, fit_platt


def _sample(seed: int, records: int = 3000, slope: float = 0.7) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(seed)
    margins = rng.normal(-3, 2, records)
    return margins, (rng.random(records) < 1 / (1 + np.exp(-(slope * margins + 0.4)))).astype(np.int64)


def _smoothed(labels: IntArray) -> FloatArray:
    """Compute Platt's targets one by one."""
    frauds = int(labels.sum())
    return np.array(
        [(frauds + 1) / (frauds + 2) if label else 1 / (len(labels) - frauds + 2) for label in labels]
    )


@pytest.mark.parametrize("seed", range(5))
def test_parameters_are_those_of_a_general_optimiser(seed: int) -> None:
    """Slope and intercept equal scipy's minimum of the cross-entropy of the smoothed targets."""
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


@pytest.mark.parametrize(("factor", "shift"), [(4.0, 0.0), (1.0, 1000.0), (1e-3, -5.0), (1e4, 3.0)])
def test_units_of_the_margin_do_not_matter(factor: float, shift: float) -> None:
    """Scaled and shifted margins get the same probabilities."""
    margins, labels = _sample(8)
    moved = margins * factor + shift
    expected = fit_platt(margins, labels).probabilities(margins)
    assert fit_platt(moved, labels).probabilities(moved) == pytest.approx(expected, abs=1e-5)


def test_separable_classes_have_a_finite_fit() -> None:
    """If all frauds score above all genuine records, the smoothed targets keep the slope finite."""
    margins = np.concatenate([np.linspace(-9, -1, 400), np.linspace(1, 9, 30)])
    labels = (margins > 0).astype(np.int64)
    platt = fit_platt(margins, labels)
    probabilities = platt.probabilities(margins)
    assert probabilities[labels == 0].max() < probabilities[labels == 1].min()
    assert 0 < probabilities.min() < 0.01
    assert 0.99 < probabilities.max() < 1


def test_two_records_are_enough() -> None:
    """One record of each class gives the smoothed targets 2/3 and 1/3."""
    platt = fit_platt(np.array([-1.0, 1.0]), np.array([0, 1]))
    assert platt.probabilities(np.array([-1.0, 1.0])) == pytest.approx([1 / 3, 2 / 3], abs=1e-6)


@pytest.mark.parametrize(
    ("margins", "labels", "problem"),
    [
        ([1.0, 2.0], [0, 0], "both classes, got 0 frauds and 2 genuine"),
        ([], [], "both classes"),
        ([1.0, np.nan], [0, 1], "1 of 2 are not"),
        ([1.0, 1.0], [0, 1], "all equal"),
        ([2.0, 1.0], [0, 1], "no higher than the genuine"),
    ],
)
def test_data_without_a_fit_are_refused(margins: list[float], labels: list[int], problem: str) -> None:
    """A missing class, equal margins and a model that ranks backwards are refused with the reason."""
    with pytest.raises(CalibrationError, match=problem):
        fit_platt(np.array(margins), np.array(labels, dtype=np.int64))


@pytest.mark.parametrize(
    ("margins", "problem"),
    [([2.0, 1.0], "no higher than the genuine"), ([800.0, 900.0], "too similar")],
)
def test_margins_that_fit_no_beta_are_refused(margins: list[float], problem: str) -> None:
    """Beta needs a positive slope, and margins whose probabilities differ in float64."""
    with pytest.raises(CalibrationError, match=problem):
        fit_beta(np.array(margins), np.array([0, 1], dtype=np.int64))


def _bent(seed: int, records: int, below: float, above: float) -> tuple[FloatArray, IntArray, IntArray]:
    """Draw margins, labels from a member of the beta family, and event times."""
    rng = np.random.default_rng(seed)
    margins = rng.normal(-1, 2.5, records)
    chances = Beta(below=below, above=above, intercept=-0.3).probabilities(margins)
    return margins, (rng.random(records) < chances).astype(np.int64), rng.permutation(records)


@pytest.mark.parametrize("seed", range(3))
def test_beta_parameters_are_those_of_a_general_optimiser(seed: int) -> None:
    """Both slopes and the intercept equal scipy's minimum of the smoothed cross-entropy."""
    margins, labels, _ = _bent(seed, 3000, 0.5, 2.0)
    targets, terms = _smoothed(labels), (-np.logaddexp(0, -margins), np.logaddexp(0, margins))

    def loss(parameters: FloatArray) -> float:
        logits = parameters[0] * terms[0] + parameters[1] * terms[1] + parameters[2]
        return float(np.sum(np.logaddexp(0, logits) - targets * logits))

    found = minimize(
        loss, np.ones(3), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 5000}
    )
    beta = fit_beta(margins, labels)
    assert (beta.below, beta.above, beta.intercept) == pytest.approx(tuple(found.x), abs=1e-4)


def test_a_slope_is_never_negative() -> None:
    """If high margins are frauds less often than middle ones, the slope that would be negative is dropped."""
    rng = np.random.default_rng(0)
    margins = rng.normal(0, 3, 20_000)
    chances = np.where(margins < 0, 1 / (1 + np.exp(-margins)), np.exp(-margins) / 2)
    beta = fit_beta(margins, (rng.random(20_000) < chances).astype(np.int64))
    assert beta.above == 0
    assert beta.below > 0


def test_the_better_method_on_held_out_records_is_chosen() -> None:
    """The method with the lower loss on held-out records is chosen, and fits where the other one does not."""
    margins, labels, times = _bent(1, 60_000, 0.4, 2.5)
    choice = choose_calibration(margins, labels, times)
    assert isinstance(choice.calibration, Beta)
    assert choice.platt_loss is not None
    assert choice.beta_loss is not None
    assert choice.beta_loss < choice.platt_loss
    fresh, _, _ = _bent(2, 20_000, 0.4, 2.5)
    true = Beta(below=0.4, above=2.5, intercept=-0.3).probabilities(fresh)
    off = np.abs(fit_platt(margins, labels).probabilities(fresh) - true).mean()
    assert np.abs(choice.calibration.probabilities(fresh) - true).mean() < off / 5
    straight, marks = _sample(3, records=60_000)
    found = choose_calibration(straight, marks, np.arange(len(straight)))
    assert found.calibration == fit_platt(straight, marks)


def test_losses_are_of_held_out_segments() -> None:
    """Each time segment is judged by a fit on the other segments; the oracle computes them one by one."""
    margins, labels, times = _bent(4, 2000, 0.5, 1.5)
    choice = choose_calibration(margins, labels, times)
    losses = []
    for block in range(5):
        inside = (times >= 400 * block) & (times < 400 * (block + 1))
        chances = fit_platt(margins[~inside], labels[~inside]).probabilities(margins[inside])
        losses.append(-np.log(np.where(labels[inside] == 1, chances, 1 - chances)).mean())
    assert choice.platt_loss == pytest.approx(np.mean(losses), rel=1e-9)


def test_platt_is_used_if_frauds_are_in_one_segment() -> None:
    """If one time segment holds all frauds, no comparison is possible: Platt is used, and the text says so."""
    margins, labels = _sample(5, records=500)
    labels = np.where(np.arange(500) < 20, 1, 0)
    margins = margins + 3 * labels
    choice = choose_calibration(margins, labels, np.arange(500))
    assert choice.calibration == fit_platt(margins, labels)
    assert (choice.platt_loss, choice.beta_loss) == (None, None)
    assert "too few frauds" in str(choice)


@pytest.mark.parametrize("fit", [fit_platt, fit_beta])
@pytest.mark.parametrize("weight", [0.1, 20.0])
def test_a_class_weight_changes_no_probability(
    fit: Callable[[FloatArray, IntArray], Calibration], weight: float
) -> None:
    """Margins shifted by the logarithm of a class weight get the population's probabilities."""
    rng = np.random.default_rng(6)
    true = rng.normal(-4, 1.5, 100_000)
    labels = (rng.random(len(true)) < 1 / (1 + np.exp(-true))).astype(np.int64)
    found = fit(true + np.log(weight), labels).probabilities(true + np.log(weight))
    assert found.mean() == pytest.approx(labels.mean(), rel=0.01)
    for low, high in ((-9, -5), (-5, -3), (-3, 0), (0, 3)):
        inside = (true > low) & (true < high)
        assert found[inside].mean() == pytest.approx((1 / (1 + np.exp(-true[inside]))).mean(), rel=0.1)
