"""How well margins rank, and how well probabilities tell: numpy alone.

Every metric is a function of the records as a set: their order does not matter, and equal values
are never told apart. A metric that needs a class or a record that is absent is None.
"""

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray, IntArray

LEAST_PROBABILITY = 2.0**-31
"""Half the resolution of a probability: what a probability of 0 may have been."""


def roc_auc(margins: FloatArray, labels: NDArray[np.integer]) -> float | None:
    """Chance that a fraud has a higher margin than a genuine record, ties counting one half.

    Parameters
    ----------
    margins : ndarray of shape (n,), float64
    labels : ndarray of shape (n,), 1 fraud, 0 genuine

    Returns
    -------
    float or None
        In [0, 1]; None unless both classes are there.
    """
    frauds, genuine = _counts_by_margin(margins, labels)
    pairs = int(frauds.sum()) * int(genuine.sum())
    if not pairs:
        return None
    genuine_below = np.cumsum(genuine) - genuine
    wins_twice = int(np.sum(frauds * (2 * genuine_below + genuine)))
    return wins_twice / (2 * pairs)


def average_precision(margins: FloatArray, labels: NDArray[np.integer]) -> float | None:
    """Precision at each distinct margin as threshold, weighted by the recall that it adds.

    Returns
    -------
    float or None
        In [0, 1]; None without frauds.
    """
    frauds, genuine = _counts_by_margin(margins, labels)
    frauds, genuine = frauds[::-1], genuine[::-1]
    total = int(frauds.sum())
    if not total:
        return None
    caught = np.cumsum(frauds)
    precision = caught / (caught + np.cumsum(genuine))
    return float(np.sum(frauds * precision) / total)


def recall_at_fpr(margins: FloatArray, labels: NDArray[np.integer], *, limit: float) -> float | None:
    """Highest recall of a threshold on the margin whose false positive rate is at most the limit.

    Parameters
    ----------
    margins : ndarray of shape (n,), float64
    labels : ndarray of shape (n,), 1 fraud, 0 genuine
    limit : float
        Share of genuine records, in [0, 1], that may be at or above the threshold.

    Returns
    -------
    float or None
        In [0, 1], 0 when no distinct margin keeps the limit; None unless both classes are there.
    """
    frauds, genuine = _counts_by_margin(margins, labels)
    if not (frauds.any() and genuine.any()):
        return None
    false_positive_rates = np.cumsum(genuine[::-1]) / genuine.sum()
    allowed = int(np.searchsorted(false_positive_rates, limit, side="right"))
    return int(frauds[::-1][:allowed].sum()) / int(frauds.sum())


def brier(probabilities: FloatArray, labels: NDArray[np.integer]) -> float | None:
    """Mean squared error of the probabilities (Brier 1950, Monthly Weather Review 78, 1-3)."""
    if not len(labels):
        return None
    return float(np.mean(np.sort((probabilities - labels) ** 2)))


def log_loss(probabilities: FloatArray, labels: NDArray[np.integer]) -> float | None:
    """Mean negative log-likelihood in nats, probabilities kept 2^-31 away from 0 and 1."""
    if not len(labels):
        return None
    clipped = np.clip(probabilities, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    return float(np.mean(np.sort(-np.log(np.where(labels == 1, clipped, 1 - clipped)))))


def _counts_by_margin(margins: FloatArray, labels: NDArray[np.integer]) -> tuple[IntArray, IntArray]:
    """Frauds and genuine records at each distinct margin, ascending."""
    distinct, where = np.unique(margins, return_inverse=True)
    frauds = np.bincount(where[labels == 1], minlength=len(distinct))
    genuine = np.bincount(where[labels == 0], minlength=len(distinct))
    return frauds, genuine
