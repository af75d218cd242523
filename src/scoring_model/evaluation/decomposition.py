"""How true probabilities are: bins, decomposition of mean losses, and reliability by isotonic regression (CORP).

Dimitriadis, Gneiting and Jordan 2021, doi:10.1073/pnas.2016191118.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.estimates import Estimate
from scoring_model.evaluation.draws import Draws, draw_blocks
from scoring_model.evaluation.evaluated_records import EvaluatedRecords
from scoring_model.evaluation.metrics import LEAST_PROBABILITY, log_losses, mean_of, squared_errors
from scoring_model.evaluation.uncertainty import band_of, share_of

RESAMPLES: Final = 100
_CELLS: Final = 1000
_GRID: Final = 100
_POINTS: Final = 400


@dataclass(frozen=True, kw_only=True, slots=True)
class Decomposition:
    """A mean loss = miscalibration - discrimination + uncertainty.

    None of the parts has an interval: the first two are distances, which resampling inflates.

    Parameters
    ----------
    loss : float
        Mean Brier score or log loss of the probabilities.
    miscalibration : float
        Loss that isotonic recalibration on the same records removes; at least 0, lower is better.
    discrimination : float
        Loss that the recalibrated probabilities save against the constant share of frauds; at least 0, higher is
        better.
    uncertainty : float
        Loss of the constant share of frauds.
    records : int
    """

    loss: float
    miscalibration: float
    discrimination: float
    uncertainty: float
    records: int


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class IsotonicFit:
    """Share of frauds as a non-decreasing function of the probability: the least squares fit.

    Parameters
    ----------
    probabilities : ndarray of shape (p,), float64, strictly ascending
        Distinct probabilities.
    records, frauds : ndarray of shape (p,), int64
        Numbers at each probability.
    fitted : ndarray of shape (p,), float64, non-decreasing
    """

    probabilities: FloatArray
    records: IntArray
    frauds: IntArray
    fitted: FloatArray

    @classmethod
    def of(cls, probabilities: FloatArray, labels: NDArray[np.integer]) -> Self:
        """Fit the labels of records."""
        distinct, records, frauds = _counted(probabilities, labels)
        return cls(probabilities=distinct, records=records, frauds=frauds, fitted=isotonic(frauds, records))

    def curve(self) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the constant pieces: at most `_POINTS`, evenly spread over the pieces."""
        if not len(self.fitted):
            return self.probabilities, self.fitted
        jumps = np.flatnonzero(np.diff(self.fitted))
        places = np.unique(np.concatenate([[0], jumps, jumps + 1, [len(self.fitted) - 1]]))
        if len(places) > _POINTS:
            places = places[np.linspace(0, len(places) - 1, _POINTS).round().astype(np.int64)]
        return self.probabilities[places], self.fitted[places]


def _counted(probabilities: FloatArray, labels: NDArray[np.integer]) -> tuple[FloatArray, IntArray, IntArray]:
    """Return the distinct probabilities, ascending, and the records and frauds at each."""
    distinct, where = np.unique(probabilities, return_inverse=True)
    records, frauds = (np.bincount(rows, minlength=len(distinct)) for rows in (where, where[labels == 1]))
    return distinct, records, frauds


def isotonic(frauds: IntArray, records: IntArray) -> FloatArray:
    """Fit non-decreasing shares to counts at ascending places: pool adjacent violators until none is left.

    Parameters
    ----------
    frauds, records : ndarray of shape (p,), int64
        0 <= frauds <= records, records above 0.

    Returns
    -------
    ndarray of shape (p,), float64
    """
    block_of = np.arange(len(records))
    while True:
        # Exact: neighbours whose shares fall or are equal have the same fit.
        falls = frauds[:-1] * records[1:] >= frauds[1:] * records[:-1]
        if not falls.any():
            return (frauds / records)[block_of]
        starts = np.flatnonzero(np.concatenate([[True], ~falls]))
        frauds, records = np.add.reduceat(frauds, starts), np.add.reduceat(records, starts)
        block_of = (np.cumsum(np.concatenate([[True], ~falls])) - 1)[block_of]


def decompose(probabilities: FloatArray, labels: NDArray[np.integer]) -> dict[str, Decomposition | None]:
    """Decompose the Brier score and the log loss.

    Parameters
    ----------
    probabilities : ndarray of shape (n,), float64, in [0, 1]
    labels : ndarray of shape (n,), 1 fraud, 0 genuine

    Returns
    -------
    dict of str to Decomposition or None
        `brier` and `log_loss`; None without records. The log loss keeps probabilities 2^-31 away from 0 and 1, but
        not the recalibrated ones.
    """
    if not len(labels):
        return {"brier": None, "log_loss": None}
    fit = IsotonicFit.of(probabilities, labels)
    share = np.array([fit.frauds.sum() / len(labels)])
    found: dict[str, Decomposition | None] = {}
    for name, losses, total in (
        ("brier", squared_errors, _squared_total),
        ("log_loss", log_losses, _log_total),
    ):
        loss = mean_of(losses(probabilities, labels))
        recalibrated = total(fit.fitted, fit.frauds, fit.records) / len(labels)
        constant = total(share, fit.frauds.sum(keepdims=True), fit.records.sum(keepdims=True)) / len(labels)
        found[name] = Decomposition(
            loss=loss,
            miscalibration=loss - recalibrated,
            discrimination=constant - recalibrated,
            uncertainty=constant,
            records=len(labels),
        )
    return found


def _squared_total(shares: FloatArray, frauds: IntArray, records: IntArray) -> float:
    return float(np.sum(frauds * (1 - shares) ** 2 + (records - frauds) * shares**2))


def _log_total(shares: FloatArray, frauds: IntArray, records: IntArray) -> float:
    """Sum the log losses; a class that a place lacks costs nothing there, even at a share of 0 or 1."""
    with np.errstate(divide="ignore"):
        of_frauds, of_genuine = np.log(shares), np.log1p(-shares)
    lost = np.where(frauds > 0, frauds * np.where(frauds > 0, of_frauds, 0.0), 0.0)
    held = records > frauds
    return -float(np.sum(lost + np.where(held, (records - frauds) * np.where(held, of_genuine, 0.0), 0.0)))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Reliability:
    """Predicted against recalibrated probability, with the band that a calibrated model would stay in.

    Parameters
    ----------
    predicted, recalibrated : ndarray of shape (m,), float64, in [0, 1]
        Points of a non-decreasing curve, at most 400; draw it as lines between the points.
    grid, low, high : ndarray of shape (g,), float64, in [0, 1]
        95 % consistency band at the predicted probabilities of `grid`, from 100 resamples of whole days whose labels
        are drawn from the probabilities themselves. Empty with fewer than ten days.
    bin_edges : ndarray of shape (b + 1,), float64
    genuine, frauds : ndarray of shape (b,), int64
        Records by predicted probability, for the histogram below the curve.
    records : int
    """

    predicted: FloatArray
    recalibrated: FloatArray
    grid: FloatArray
    low: FloatArray
    high: FloatArray
    bin_edges: FloatArray
    genuine: IntArray
    frauds: IntArray
    records: int


def measure_reliability(records: EvaluatedRecords, draws: Draws) -> Reliability:
    """Compare predicted with recalibrated probabilities.

    The curve rests on every record. For the band, probabilities are gathered in 1,000 cells of equal width in
    log-odds, each with the mean probability of its records.
    """
    probabilities, labels = records.decisions.probabilities, records.labels
    predicted, recalibrated = IsotonicFit.of(probabilities, labels).curve()
    grid, low, high = _consistency_band(probabilities, draws)
    edges = np.linspace(0, 1, 51)
    genuine, frauds = (np.histogram(probabilities[labels == label], edges)[0] for label in (0, 1))
    return Reliability(
        predicted=predicted,
        recalibrated=recalibrated,
        grid=grid,
        low=low,
        high=high,
        bin_edges=edges,
        genuine=genuine,
        frauds=frauds,
        records=len(labels),
    )


def _consistency_band(probabilities: FloatArray, draws: Draws) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Resample blocks, draw labels from the probabilities, and fit each resample."""
    weights = draw_blocks(draws.blocks - draws.rings, draws.rings, repeats=RESAMPLES)
    if not len(weights):
        return np.zeros(0), np.zeros(0), np.zeros(0)
    cells, means = _cells(probabilities)
    sizes = weights @ draws.counts(cells, len(means))
    drawn = np.random.default_rng(0).binomial(sizes, means)
    grid = np.unique(means[np.linspace(0, len(means) - 1, _GRID).round().astype(np.int64)])
    fits = np.array(
        [
            np.interp(grid, means[held], isotonic(frauds[held], records[held]))
            for frauds, records in zip(drawn, sizes, strict=True)
            for held in [records > 0]
        ]
    )
    low, high = band_of(fits)
    return grid, low, high


def _cells(probabilities: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the cell of each record, and the mean probability of each cell, ascending."""
    clipped = np.clip(probabilities, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    log_odds = np.log(clipped) - np.log1p(-clipped)
    edges = np.linspace(log_odds.min(), log_odds.max(), _CELLS + 1)[1:-1]
    held, cells = np.unique(np.searchsorted(edges, log_odds), return_inverse=True)
    order = np.argsort(probabilities, kind="stable")  # so that the order of records changes no bit
    sums = np.bincount(cells[order], probabilities[order], minlength=len(held))
    return cells, sums / np.bincount(cells, minlength=len(held))


BINS = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class CalibrationBin:
    """Records of similar probability.

    Parameters
    ----------
    probability : float
        Their mean probability of fraud, in [0, 1].
    observed : Estimate
        Frauds among them.
    """

    probability: float
    observed: Estimate


def calibration_table(
    probabilities: FloatArray, labels: NDArray[np.integer], *, bins: int = BINS
) -> tuple[CalibrationBin, ...]:
    """Bin records by probability into bins of nearly equal numbers.

    Records of equal probability share the bin of their median, so the table does not depend on the
    order of the records, and has fewer bins if many are equal.

    Parameters
    ----------
    probabilities : ndarray of shape (n,), float64, in [0, 1]
    labels : ndarray of shape (n,), 1 fraud, 0 genuine

    Returns
    -------
    tuple of CalibrationBin
        By ascending probability; none of them empty.
    """
    distinct, records, frauds = _counted(probabilities, labels)
    twice_middle = 2 * np.cumsum(records) - records
    bin_of = twice_middle * bins // (2 * max(len(labels), 1))
    rows = []
    for number in np.unique(bin_of):
        inside = bin_of == number
        total = int(records[inside].sum())
        mean = float(np.sum(records[inside] * distinct[inside])) / total
        rows.append(CalibrationBin(probability=mean, observed=share_of(int(frauds[inside].sum()), total)))
    return tuple(rows)


def expected_calibration_error(table: Sequence[CalibrationBin]) -> float | None:
    """Mean distance of predicted and observed shares, weighted by records.

    Naeini, Cooper and Hauskrecht 2015, doi 10.1609/aaai.v29i1.9602, here with bins of equal numbers.

    Returns
    -------
    float or None
        In [0, 1]; None for an empty table.
    """
    records = sum(row.observed.records for row in table)
    if not records:
        return None
    return (
        sum(abs(row.probability * row.observed.records - (row.observed.count or 0)) for row in table)
        / records
    )
