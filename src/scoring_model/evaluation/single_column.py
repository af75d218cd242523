"""The AUC of one column alone."""

from typing import Final

import numpy as np

from scoring_model.arrays import FloatArray, Int8Array, IntArray
from scoring_model.evaluation.metrics import Ranking

_LEVELS: Final = 64
_PRIOR_WEIGHT: Final = 2.0


def single_auc(values: FloatArray, targets: Int8Array, *, categorical: bool) -> float:
    """Return the AUC of one column alone, in the direction in which it is larger.

    Parameters
    ----------
    values : ndarray of shape (n,), float64
        NaN is missing. Within one target the order must be independent of the values.
    targets : ndarray of shape (n,), 1 fraud, 0 genuine, both among the even and among the odd rows
    categorical : bool
        Whether values are codes without order.

    Returns
    -------
    float
        About 0.5 (by shares of levels also a little less) to 1.
    """
    by_level = _auc_by_level(_levels(values, categorical=categorical), targets)
    if categorical:
        return by_level
    ends = (np.where(np.isnan(values), end, values) for end in (-np.inf, np.inf))
    areas = [area_under_curve(filled, targets) for filled in ends]
    return max(by_level, *areas, *(1 - area for area in areas))


def _levels(values: FloatArray, *, categorical: bool) -> IntArray:
    """Return codes of the values, by quantile for numbers with many values; missing is a separate level."""
    there = values[~np.isnan(values)]
    edges = np.unique(there)
    if len(edges) > _LEVELS and not categorical:
        edges = np.unique(np.quantile(there, np.linspace(0, 1, _LEVELS + 1), method="inverted_cdf"))
    return np.searchsorted(edges, values)  # the last edge is the largest value: only NaN is beyond it


def _auc_by_level(levels: IntArray, targets: Int8Array) -> float:
    """Score every second row by the share of frauds at its level among the other rows, and vice versa."""
    areas = []
    for half in (0, 1):
        known, judged = levels[half::2], levels[1 - half :: 2]
        frauds = np.bincount(known, weights=targets[half::2], minlength=int(levels.max()) + 1)
        total = np.bincount(known, minlength=int(levels.max()) + 1)
        base = float(targets[half::2].mean())
        shares = (frauds + _PRIOR_WEIGHT * base) / (total + _PRIOR_WEIGHT)
        areas.append(area_under_curve(shares[judged], targets[1 - half :: 2]))
    return float(np.mean(areas))


def area_under_curve(values: FloatArray, targets: Int8Array) -> float:
    """Return the AUC: the probability that a fraud has a higher value than a genuine record; ties count one half.

    Parameters
    ----------
    values : ndarray of shape (n,), float64, without NaN
    targets : ndarray of shape (n,), 1 fraud, 0 genuine

    Returns
    -------
    float
        In [0, 1]; one half if a class is absent.
    """
    area = Ranking.of(values, targets).roc_auc()
    return 0.5 if area is None else area
