"""Metrics of probabilities and of rankings: numpy alone.

Every metric is a function of the records as a set: their order does not matter. Without records it is None.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import BoolArray, FloatArray, IntArray

LEAST_PROBABILITY = 2.0**-31
"""Half the resolution of a probability: the bound used instead of 0 and 1."""


def brier(probabilities: FloatArray, labels: NDArray[np.integer]) -> float | None:
    """Mean squared error of the probabilities (Brier 1950, Monthly Weather Review 78, 1-3)."""
    if not len(labels):
        return None
    return float(np.mean(np.sort(squared_errors(probabilities, labels))))


def log_loss(probabilities: FloatArray, labels: NDArray[np.integer]) -> float | None:
    """Mean of `log_losses`."""
    if not len(labels):
        return None
    return float(np.mean(np.sort(log_losses(probabilities, labels))))


def squared_errors(probabilities: FloatArray, labels: NDArray[np.integer]) -> FloatArray:
    """Squared error of each probability, of shape (n,)."""
    return (probabilities - labels) ** 2


def log_losses(probabilities: FloatArray, labels: NDArray[np.integer]) -> FloatArray:
    """Negative log-likelihood of each probability in nats, of shape (n,); they are kept 2^-31 away from 0 and 1."""
    clipped = np.clip(probabilities, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    return -np.log(np.where(labels == 1, clipped, 1 - clipped))


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Records in ascending order of their margins, counted by class and place.

    A place is the margin of a fraud, or the interval between two such margins. Genuine records of one place are not
    distinguished, since no metric here can distinguish them.

    Attributes
    ----------
    places : ndarray of shape (n,), int64
        Place of each record.
    is_fraud : ndarray of shape (n,), bool
    frauds, genuine : ndarray of shape (p,), int64
        Number of records at each place.
    """

    places: IntArray
    is_fraud: BoolArray
    frauds: IntArray
    genuine: IntArray

    @classmethod
    def of(cls, margins: FloatArray, labels: NDArray[np.integer]) -> Self:
        """Rank records.

        Parameters
        ----------
        margins : ndarray of shape (n,), float64
            Finite; higher is riskier.
        labels : ndarray of shape (n,), 1 fraud, 0 genuine
        """
        is_fraud = labels == 1
        held = np.unique(margins[is_fraud])
        above = np.searchsorted(held, margins, side="left")
        places = above + np.searchsorted(held, margins, side="right")  # odd where a fraud has the same margin
        frauds, genuine = (
            np.bincount(places[rows], minlength=2 * len(held) + 1) for rows in (is_fraud, ~is_fraud)
        )
        return cls(places, is_fraud, frauds, genuine)

    def weighted(self, weights: IntArray) -> Self:
        """Rank the same records, each repeated by its weight.

        Parameters
        ----------
        weights : ndarray of shape (n,), int64
            At least 0.
        """
        frauds, genuine = (
            # Summed as float64, which is exact for counts.
            np.bincount(self.places[rows], weights[rows], minlength=len(self.frauds)).astype(np.int64)
            for rows in (self.is_fraud, ~self.is_fraud)
        )
        return type(self)(self.places, self.is_fraud, frauds, genuine)

    def roc_auc(self) -> float | None:
        """Chance that a fraud has a higher margin than a genuine record, ties counting one half.

        Returns
        -------
        float or None
            In [0, 1]; None unless both classes are there.
        """
        pairs = int(self.frauds.sum()) * int(self.genuine.sum())
        if not pairs:
            return None
        genuine_below = np.cumsum(self.genuine) - self.genuine
        wins_twice = int(np.sum(self.frauds * (2 * genuine_below + self.genuine)))
        return wins_twice / (2 * pairs)

    def average_precision(self) -> float | None:
        """Precision at each distinct margin as threshold, weighted by the recall that it adds.

        Returns
        -------
        float or None
            In [0, 1]; None without frauds.
        """
        total = int(self.frauds.sum())
        if not total:
            return None
        held = np.flatnonzero(self.frauds)[::-1]  # other thresholds add no recall
        caught = np.cumsum(self.frauds[held])
        flagged = caught + np.cumsum(self.genuine[::-1])[::-1][held]
        return float(np.sum(self.frauds[held] * (caught / flagged)) / total)

    def recall_at_fpr(self, limit: float) -> float | None:
        """Highest recall of a threshold on the margin whose false positive rate is at most the limit.

        Parameters
        ----------
        limit : float
            Share of genuine records, in [0, 1], that may be at or above the threshold.

        Returns
        -------
        float or None
            In [0, 1], 0 when no distinct margin keeps the limit; None unless both classes are there.
        """
        if not (self.frauds.any() and self.genuine.any()):
            return None
        false_positive_rates = np.cumsum(self.genuine[::-1]) / self.genuine.sum()
        allowed = int(np.searchsorted(false_positive_rates, limit, side="right"))
        return int(self.frauds[::-1][:allowed].sum()) / int(self.frauds.sum())
