"""Decomposition of proper scores and reliability by isotonic regression (CORP)."""

from dataclasses import asdict, dataclass
from typing import Any

from scoring_model.arrays import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Decomposition:
    """A mean loss = miscalibration - discrimination + uncertainty.

    Dimitriadis, Gneiting and Jordan 2021, doi:10.1073/pnas.2016191118.

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

    def to_json(self) -> dict[str, Any]:
        """Give the parts as a JSON document."""
        return asdict(self)


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
