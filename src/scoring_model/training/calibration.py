"""Calibrates margins to probabilities: Platt's sigmoid or the beta family, whichever does better on unseen records.

Both are fitted on unweighted validation records, so their probabilities are those of that population: a class weight
(`scale_pos_weight`) or a thinned class shifts and scales the margins, which intercept and slopes undo. No other
correction is made; none is needed where only the order of margins matters.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.decision.probability import Beta, Calibration, Platt, log_odds_terms
from scoring_model.evaluation.metrics import log_loss

BLOCKS: Final = 5
"""Number of time segments of the validation part; each is evaluated by a fit on the others."""

_MAX_STEPS = 100
_TOLERANCE = 1e-12
_BACKWARDS = (
    "calibration: the model ranks the frauds no higher than the genuine records: its features tell nothing about the "
    "label there; add signals, or check the label and its times"
)
_PARAMETER_STEP = 2.0**-30  # coarser than any difference between two machines' sums


class CalibrationError(ValueError):
    """No probability can be fitted on these margins and labels."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CalibrationChoice:
    """The calibration of a training and the evidence for its choice.

    Parameters
    ----------
    calibration : Platt or Beta
        Fitted on all records.
    platt_loss, beta_loss : float or None
        Mean log loss, in nats, of records unseen by the fit; None if there are too few.
    """

    calibration: Calibration
    platt_loss: float | None
    beta_loss: float | None

    def __str__(self) -> str:
        chosen = "the beta family" if isinstance(self.calibration, Beta) else "Platt's sigmoid"
        if self.platt_loss is None or self.beta_loss is None:
            return (
                f"Margins become probabilities by {chosen}; there were too few frauds to compare with others."
            )
        return (
            f"Margins become probabilities by {chosen}. Log loss on time segments of the validation part that a fit "
            f"on the others had not seen: Platt {self.platt_loss:.5f}, beta {self.beta_loss:.5f}."
        )


def choose_calibration(
    margins: FloatArray, labels: NDArray[np.integer], event_times: IntArray
) -> CalibrationChoice:
    """Fit Platt's sigmoid and the beta family; choose the one with the lower log loss on unseen records.

    The records are cut by time into `BLOCKS` of equal size, to measure how a fit transfers to another time segment.
    Platt's is chosen if both do equally well or the comparison is impossible.

    Parameters
    ----------
    margins : ndarray of shape (n,), float64, finite
    labels : ndarray of shape (n,), 1 fraud, 0 genuine
    event_times : ndarray of shape (n,), int64, microseconds
    """
    platt = fit_platt(margins, labels)
    blocks = np.array_split(np.argsort(event_times, kind="stable"), BLOCKS)
    try:
        beta = fit_beta(margins, labels)
        platt_loss, beta_loss = (
            _loss_not_seen(fit, margins, labels, blocks) for fit in (fit_platt, fit_beta)
        )
    except CalibrationError:
        return CalibrationChoice(calibration=platt, platt_loss=None, beta_loss=None)
    chosen = beta if beta_loss < platt_loss else platt
    return CalibrationChoice(calibration=chosen, platt_loss=platt_loss, beta_loss=beta_loss)


def fit_platt(margins: FloatArray, labels: NDArray[np.integer]) -> Platt:
    """Fit slope and intercept of the sigmoid by maximum likelihood with Platt's smoothed targets.

    Newton's method with step halving, after Lin, Lin and Weng (doi 10.1007/s10994-007-5018-6).
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
    targets = _targets(margins, labels)
    (slope,), intercept = _fit((margins,), targets)
    if slope <= 0:
        raise CalibrationError(_BACKWARDS)
    return Platt(slope=slope, intercept=intercept)


def fit_beta(margins: FloatArray, labels: NDArray[np.integer]) -> Beta:
    """Fit the beta family by maximum likelihood with Platt's smoothed targets.

    A negative slope is dropped and the rest refitted, after Kull, Silva Filho and Flach (doi 10.1214/17-EJS1338SI,
    section 4).

    Returns
    -------
    Beta
        Its parameters are multiples of 2^-30.
    """
    targets = _targets(margins, labels)
    terms = log_odds_terms(margins)
    for kept in ((0, 1), (1,), (0,)):
        slopes, intercept = _fit(tuple(terms[place] for place in kept), targets)
        if min(slopes) >= 0 and max(slopes) > 0:
            found = dict(zip(kept, slopes, strict=True))
            return Beta(below=found.get(0, 0.0), above=found.get(1, 0.0), intercept=intercept)
    raise CalibrationError(_BACKWARDS)


def _loss_not_seen(
    fit: Callable[[FloatArray, NDArray[np.integer]], Calibration],
    margins: FloatArray,
    labels: NDArray[np.integer],
    blocks: list[IntArray],
) -> float:
    """Return the cross-validated mean log loss: each record is evaluated by a fit on the other blocks."""
    probabilities = np.empty(len(margins), dtype=np.float64)
    for number, block in enumerate(blocks):
        others = np.concatenate([*blocks[:number], *blocks[number + 1 :]])
        probabilities[block] = fit(margins[others], labels[others]).probabilities(margins[block])
    loss = log_loss(probabilities, labels)
    assert loss is not None  # the fits refuse data without records
    return loss


def _targets(margins: FloatArray, labels: NDArray[np.integer]) -> FloatArray:
    """Check the data of a fit, and return the smoothed targets."""
    frauds = int(np.count_nonzero(labels == 1))
    genuine = len(labels) - frauds
    _check(margins, frauds=frauds, genuine=genuine)
    return np.where(labels == 1, (frauds + 1) / (frauds + 2), 1 / (genuine + 2))


def _check(margins: FloatArray, *, frauds: int, genuine: int) -> None:
    """Reject data that no sigmoid fits."""
    if not (frauds and genuine):
        raise CalibrationError(f"calibration: needs both classes, got {frauds} frauds and {genuine} genuine")
    wild = int(np.count_nonzero(~np.isfinite(margins)))
    if wild:
        raise CalibrationError(f"calibration: margins must be finite, {wild} of {len(margins)} are not")
    if not np.std(margins) > 0:
        raise CalibrationError("calibration: the margins are all equal")


def _fit(columns: tuple[FloatArray, ...], targets: FloatArray) -> tuple[tuple[float, ...], float]:
    """Fit a logistic regression; return slopes and intercept as multiples of `_PARAMETER_STEP`."""
    centres, spreads = zip(*((float(np.mean(c)), float(np.std(c))) for c in columns), strict=True)
    if not min(spreads) > 0:
        raise CalibrationError("calibration: the margins are too similar")
    scaled = [(c - centre) / spread for c, centre, spread in zip(columns, centres, spreads, strict=True)]
    *steep, level = _newton(scaled, targets)
    slopes = [value / spread for value, spread in zip(steep, spreads, strict=True)]
    intercept = level - sum(slope * centre for slope, centre in zip(slopes, centres, strict=True))
    rounded = [round(value / _PARAMETER_STEP) * _PARAMETER_STEP for value in (*slopes, intercept)]
    return tuple(rounded[:-1]), rounded[-1]


def _newton(columns: list[FloatArray], targets: FloatArray) -> list[float]:
    """Minimise the cross-entropy of standardised columns; return their slopes, then the intercept."""
    # Sums instead of dot products, whose bits depend on the number of BLAS threads.
    base = float(np.mean(targets))
    parameters = [*(0.0 for _ in columns), float(np.log(base / (1 - base)))]
    loss = _cross_entropy(columns, targets, parameters)
    for _ in range(_MAX_STEPS):
        step, decrement = _step(columns, targets, parameters)
        if decrement <= _TOLERANCE * loss:
            break
        size = 1.0
        while size > _TOLERANCE:
            trial = [value + size * change for value, change in zip(parameters, step, strict=True)]
            trial_loss = _cross_entropy(columns, targets, trial)
            if trial_loss < loss:
                break
            size /= 2
        else:
            break  # no step lowers the loss: the minimum within float64 precision
        parameters, loss = trial, trial_loss
    return parameters


def _step(
    columns: list[FloatArray], targets: FloatArray, parameters: list[float]
) -> tuple[list[float], float]:
    """Return Newton's step in all parameters, and its predicted decrease."""
    probabilities = 0.5 * (1.0 + np.tanh(_logits(columns, parameters) / 2))  # never overflows
    residuals, weights = probabilities - targets, probabilities * (1 - probabilities)
    terms = [*columns, np.ones_like(targets)]
    gradient = np.array([np.sum(residuals * term) for term in terms])
    curvature = np.array([[np.sum(weights * one * other) for other in terms] for one in terms])
    try:
        step = -np.linalg.solve(curvature, gradient)
    except np.linalg.LinAlgError as error:
        raise CalibrationError("calibration: the margins are too similar") from error
    return step.tolist(), float(-np.sum(step * gradient))


def _logits(columns: list[FloatArray], parameters: list[float]) -> FloatArray:
    logits = np.full(len(columns[0]), parameters[-1])
    for column, slope in zip(columns, parameters, strict=False):
        logits += slope * column
    return logits


def _cross_entropy(columns: list[FloatArray], targets: FloatArray, parameters: list[float]) -> float:
    """Return the cross-entropy of the targets, summed over the records."""
    logits = _logits(columns, parameters)
    return float(np.sum(np.logaddexp(0.0, logits) - targets * logits))
