"""Reliability of probabilities: predicted against observed shares of fraud."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray
from scoring_model.evaluation.uncertainty import Share, share_of

BINS = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class CalibrationBin:
    """Records of similar probability.

    Parameters
    ----------
    probability : float
        Their mean probability of fraud, in [0, 1].
    observed : Share
        Frauds among them.
    """

    probability: float
    observed: Share

    def to_json(self) -> dict[str, Any]:
        """Give the bin as a JSON document."""
        return {"probability": self.probability, "observed": self.observed.to_json()}


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
    distinct, where = np.unique(probabilities, return_inverse=True)
    records = np.bincount(where, minlength=len(distinct))
    frauds = np.bincount(where[labels == 1], minlength=len(distinct))
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
    records = sum(row.observed.total for row in table)
    if not records:
        return None
    return sum(abs(row.probability * row.observed.total - row.observed.count) for row in table) / records
