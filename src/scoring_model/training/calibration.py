"""Calibrate margins to probabilities by Platt's method."""

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray
from scoring_model.decision.probability import Platt

_MAX_STEPS = 100
_TOLERANCE = 1e-12
_PARAMETER_STEP = 2.0**-30  # coarser than any difference between two machines' sums


class CalibrationError(ValueError):
    """Margins and labels that no probability can be fitted on."""


def fit_platt(margins: FloatArray, labels: NDArray[np.integer]) -> Platt:
    """Fit slope and intercept of the sigmoid by maximum likelihood with Platt's smoothed targets.

    Newton's method with step halving, as Lin, Lin and Weng give it (doi 10.1007/s10994-007-5018-6).
    The targets are (F + 1)/(F + 2) for F frauds and 1/(G + 2) for G genuine, so that separable
    classes have a finite fit.

    Parameters
    ----------
    margins : ndarray of shape (n,), float64, finite
    labels : ndarray of shape (n,), 1 fraud, 0 genuine

    Returns
    -------
    Platt
        Its parameters are multiples of 2^-30.

    Raises
    ------
    CalibrationError
        If a class is absent, the margins are not finite or all equal, or the fitted slope is not
        positive: frauds then have no higher margins than genuine records.
    """
    frauds = int(np.count_nonzero(labels == 1))
    genuine = len(labels) - frauds
    _check(margins, frauds=frauds, genuine=genuine)
    targets = np.where(labels == 1, (frauds + 1) / (frauds + 2), 1 / (genuine + 2))
    centre, spread = float(np.mean(margins)), float(np.std(margins))
    slope, intercept = _newton((margins - centre) / spread, targets)
    slope, intercept = slope / spread, intercept - slope * centre / spread
    slope, intercept = (round(value / _PARAMETER_STEP) * _PARAMETER_STEP for value in (slope, intercept))
    if slope <= 0:
        raise CalibrationError(
            "calibration: the slope must be positive; frauds have no higher margins than genuine"
        )
    return Platt(slope=slope, intercept=intercept)


def _check(margins: FloatArray, *, frauds: int, genuine: int) -> None:
    """Refuse what no sigmoid fits."""
    if not (frauds and genuine):
        raise CalibrationError(f"calibration: needs both classes, got {frauds} frauds and {genuine} genuine")
    wild = int(np.count_nonzero(~np.isfinite(margins)))
    if wild:
        raise CalibrationError(f"calibration: margins must be finite, {wild} of {len(margins)} are not")
    if not np.std(margins) > 0:
        raise CalibrationError("calibration: the margins are all equal")


def _newton(margins: FloatArray, targets: FloatArray) -> tuple[float, float]:
    """Minimise the cross-entropy of standardised margins."""
    # Sums throughout, no dot products: the bits of those depend on the number of BLAS threads.
    base = float(np.mean(targets))
    slope, intercept = 0.0, float(np.log(base / (1 - base)))
    loss = _cross_entropy(margins, targets, slope, intercept)
    for _ in range(_MAX_STEPS):
        slope_step, intercept_step, decrement = _step(margins, targets, slope, intercept)
        if decrement <= _TOLERANCE * loss:
            break
        size = 1.0
        while size > _TOLERANCE:
            trial = slope + size * slope_step, intercept + size * intercept_step
            trial_loss = _cross_entropy(margins, targets, *trial)
            if trial_loss < loss:
                break
            size /= 2
        else:
            break  # no step lowers the loss: the minimum, as far as float64 tells
        (slope, intercept), loss = trial, trial_loss
    return slope, intercept


def _step(
    margins: FloatArray, targets: FloatArray, slope: float, intercept: float
) -> tuple[float, float, float]:
    """Newton's step in both parameters, and the decrease that it promises."""
    probabilities = 0.5 * (1.0 + np.tanh((slope * margins + intercept) / 2))  # never overflows
    residuals = probabilities - targets
    weights = probabilities * (1 - probabilities)
    gradient_slope, gradient_intercept = float(np.sum(residuals * margins)), float(np.sum(residuals))
    h_slope = float(np.sum(weights * margins * margins))
    h_cross = float(np.sum(weights * margins))
    h_intercept = float(np.sum(weights))
    determinant = h_slope * h_intercept - h_cross * h_cross
    slope_step = (h_cross * gradient_intercept - h_intercept * gradient_slope) / determinant
    intercept_step = (h_cross * gradient_slope - h_slope * gradient_intercept) / determinant
    return slope_step, intercept_step, -(slope_step * gradient_slope + intercept_step * gradient_intercept)


def _cross_entropy(margins: FloatArray, targets: FloatArray, slope: float, intercept: float) -> float:
    """Cross-entropy of the targets, summed over the records."""
    logits = slope * margins + intercept
    return float(np.sum(np.logaddexp(0.0, logits) - targets * logits))
