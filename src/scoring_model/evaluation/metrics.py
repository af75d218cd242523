"""Metrics of probabilities and of rankings: numpy alone.

Every metric is a function of the records as a set: their order does not matter. Without records it is None.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import BoolArray, FloatArray, IntArray

Counts: TypeAlias = IntArray | FloatArray
"""Numbers of records, or sums of their weights."""

LEAST_PROBABILITY = 2.0**-31
"""Half the resolution of a probability: the bound used instead of 0 and 1."""


def brier(
    probabilities: FloatArray, labels: NDArray[np.integer], weights: FloatArray | None = None
) -> float | None:
    """Mean squared error of the probabilities (Brier 1950, Monthly Weather Review 78, 1-3)."""
    return known(weighted_mean(squared_errors(probabilities, labels), weights))


def log_loss(
    probabilities: FloatArray, labels: NDArray[np.integer], weights: FloatArray | None = None
) -> float | None:
    """Mean of `log_losses`."""
    return known(weighted_mean(log_losses(probabilities, labels), weights))


def mean_of(losses: FloatArray) -> float:
    """Return the mean, whose bits do not depend on the order; NaN without losses."""
    return float(np.mean(np.sort(losses))) if len(losses) else math.nan


def weighted_mean(losses: FloatArray, weights: FloatArray | None) -> float:
    """Return the mean of losses of records that stand for others; `mean_of` without weights."""
    if weights is None or not len(losses):
        return mean_of(losses)
    return float(np.sort(losses * weights).sum() / np.sort(weights).sum())


def squared_errors(probabilities: FloatArray, labels: NDArray[np.integer]) -> FloatArray:
    """Squared error of each probability, of shape (n,)."""
    return (probabilities - labels) ** 2


def log_losses(probabilities: FloatArray, labels: NDArray[np.integer]) -> FloatArray:
    """Negative log-likelihood of each probability in nats, of shape (n,); they are kept 2^-31 away from 0 and 1."""
    clipped = np.clip(probabilities, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    return -np.log(np.where(labels == 1, clipped, 1 - clipped))


@dataclass(frozen=True, eq=False)
class RankCounts:
    """Numbers of records at ascending places of a ranking, of one set of records or of many at once.

    Metrics have the shape (...) of the sets, and are NaN where a set lacks a class.

    Parameters
    ----------
    frauds, genuine : ndarray of shape (..., p), int64
        Places may hold both classes; records of one place are tied. float64 where records have weights.
    """

    frauds: Counts
    genuine: Counts

    @cached_property
    def caught(self) -> Counts:
        """Frauds at each place and above, of shape (..., p), from the highest place down."""
        return _from_above(self.frauds)

    @cached_property
    def flagged(self) -> Counts:
        """Genuine records at each place and above, of shape (..., p), from the highest place down."""
        return _from_above(self.genuine)

    def roc_auc(self) -> FloatArray:
        """Chance that a fraud has a higher place than a genuine record, ties counting one half."""
        frauds, genuine = self.caught[..., -1], self.flagged[..., -1]
        below = genuine[..., None] - self.flagged
        wins_twice = np.sum(self.frauds[..., ::-1] * (2 * below + self.genuine[..., ::-1]), axis=-1)
        return divide(wins_twice, 2 * frauds * genuine)

    def average_precision(self) -> FloatArray:
        """Precision at each place as threshold, weighted by the recall that it adds."""
        added = self.frauds[..., ::-1]
        precisions = divide(self.caught, self.caught + self.flagged)
        return divide(np.sum(np.where(added > 0, added * precisions, 0.0), axis=-1), self.caught[..., -1])

    def ks(self) -> FloatArray:
        """Largest distance of the distribution functions of both classes (Kolmogorov and Smirnov)."""
        recalls = divide(self.caught, self.caught[..., -1:])
        distances = np.abs(recalls - divide(self.flagged, self.flagged[..., -1:]))
        return np.asarray(np.max(distances, axis=-1))

    def at_fpr(self, limits: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Highest recall of a threshold with a false positive rate at most each limit, and the precision there.

        Of the thresholds with this recall the highest counts, which flags the fewest genuine records.

        Returns
        -------
        recalls, precisions : ndarray of shape (..., l), float64
            The recall is 0 and the precision NaN where no threshold keeps the limit.
        """
        rates = divide(self.flagged, self.flagged[..., -1:])
        allowed = _search(rates, np.broadcast_to(limits, (*rates.shape[:-1], len(limits))), side="right")
        caught = _taken(np.insert(self.caught, 0, 0, axis=-1), allowed)
        places = _search(self.caught, caught, side="left")
        precisions = self._precision(caught, places)
        recalls = divide(caught, self.caught[..., -1:])
        return np.where(self.flagged[..., -1:] > 0, recalls, np.nan), precisions

    def _precision(self, caught: Counts, places: IntArray) -> FloatArray:
        """Precision of thresholds at these places, from their frauds; NaN where none is caught."""
        return divide(caught, np.where(caught > 0, caught + _taken(self.flagged, places), 0))

    def precision_at_recall(self, recalls: FloatArray) -> FloatArray:
        """Precision of the highest threshold that reaches each recall.

        Parameters
        ----------
        recalls : ndarray of shape (l,), float64, in (0, 1]

        Returns
        -------
        ndarray of shape (..., l), float64
        """
        reached = divide(self.caught, self.caught[..., -1:])
        places = _search(reached, np.broadcast_to(recalls, (*reached.shape[:-1], len(recalls))), side="left")
        places = np.minimum(places, reached.shape[-1] - 1)  # without frauds no recall is reached
        caught = _taken(self.caught, places)
        return self._precision(caught, places)


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
    counts : RankCounts
        Number of records at each of p places.
    """

    places: IntArray
    is_fraud: BoolArray
    counts: RankCounts

    @classmethod
    def of(cls, margins: FloatArray, labels: NDArray[np.integer], weights: FloatArray | None = None) -> Self:
        """Rank records.

        Parameters
        ----------
        margins : ndarray of shape (n,), float64
            Finite; higher is riskier.
        labels : ndarray of shape (n,), 1 fraud, 0 genuine
        weights : ndarray of shape (n,), float64, optional
            How many records each stands for.
        """
        is_fraud = labels == 1
        held = np.unique(margins[is_fraud])
        above = np.searchsorted(held, margins, side="left")
        places = above + np.searchsorted(held, margins, side="right")  # odd where a fraud has the same margin
        order = np.lexsort((weights, places)) if weights is not None else slice(None)
        frauds, genuine = (
            np.bincount(
                places[order][rows],
                None if weights is None else weights[order][rows],
                minlength=2 * len(held) + 1,
            )
            for rows in (is_fraud[order], ~is_fraud[order])
        )
        return cls(places, is_fraud, RankCounts(frauds, genuine))

    @property
    def size(self) -> int:
        """Number of places."""
        return len(self.counts.frauds)

    def weighted(self, weights: IntArray) -> Self:
        """Rank the same records, each repeated by its weight.

        Parameters
        ----------
        weights : ndarray of shape (n,), int64
            At least 0.
        """
        frauds, genuine = (
            # Summed as float64, which is exact for counts.
            np.bincount(self.places[rows], weights[rows], minlength=self.size).astype(np.int64)
            for rows in (self.is_fraud, ~self.is_fraud)
        )
        return type(self)(self.places, self.is_fraud, RankCounts(frauds, genuine))

    def roc_auc(self) -> float | None:
        """Chance that a fraud has a higher margin than a genuine record, ties counting one half.

        Returns
        -------
        float or None
            In [0, 1]; None unless both classes are there.
        """
        return known(self.counts.roc_auc())

    def average_precision(self) -> float | None:
        """Precision at each distinct margin as threshold, weighted by the recall that it adds (area under its curve).

        Returns
        -------
        float or None
            In [0, 1]; None without frauds.
        """
        return known(self.counts.average_precision())


def known(value: float | FloatArray) -> float | None:
    """Return a number, or that of an array of one; None for NaN."""
    number = float(np.asarray(value).item())
    return None if math.isnan(number) else number


def divide(
    numerators: FloatArray | IntArray | np.number[Any], denominators: FloatArray | IntArray | np.number[Any]
) -> FloatArray:
    """Divide; NaN where the denominator is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(denominators == 0, np.nan, numerators / denominators)


def _search(
    ascending: FloatArray | IntArray, values: FloatArray | IntArray, *, side: Literal["left", "right"]
) -> IntArray:
    """Search values of shape (..., l) in sorted rows of shape (..., p)."""
    if ascending.ndim == 1:
        return np.searchsorted(ascending, values, side=side)
    return np.array([_search(row, wanted, side=side) for row, wanted in zip(ascending, values, strict=True)])


def _from_above(counts: Counts) -> Counts:
    return cast(Counts, np.cumsum(counts[..., ::-1], axis=-1))


def _taken(rows: Counts, places: IntArray) -> Counts:
    return cast(Counts, np.take_along_axis(rows, places, axis=-1))
