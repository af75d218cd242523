"""Single-feature AUC: no feature may separate frauds near perfectly on its own."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.configuration import LeakageSettings
from scoring_model.evaluation.metrics import Ranking
from scoring_model.findings import Code, Finding, State, not_applicable
from scoring_model.training.preparation import Prepared

_STREAM: Final = 2  # random stream, distinct from those of other checks
_LEVELS: Final = 64
_NAMED: Final = 10
_FEWEST: Final = 6
"""Minimum number of frauds for a meaningful AUC: five of five on one side are too often chance."""
_PRIOR_WEIGHT: Final = 2.0


def check_single_features(prepared: Prepared, settings: LeakageSettings, *, seed: int) -> Finding:
    """Check each column of the training rows separately.

    A number is evaluated by its order, with missing values below or above all others, and, like a category, by the
    share of frauds at its levels: shares of one half score the other half, to detect values that only frauds have.
    Only this check can find a leak in user-supplied columns.

    Returns
    -------
    Finding
        Found if the AUC of a feature reaches `max_auc` in either direction.
    """
    chosen = _sample(prepared, settings.max_records, np.random.default_rng([seed, _STREAM]))
    targets = prepared.split.train_targets[chosen]
    frauds = int(targets.sum())
    if not _FEWEST <= frauds <= len(targets) - _FEWEST:
        reason = f"{frauds} frauds among {len(chosen)} records are too few for a verdict"
        return not_applicable(Code.SINGLE_FEATURES, reason, records=len(chosen))
    rows = prepared.rows[prepared.split.train[chosen]]
    categorical = set(prepared.feature_options["categorical"])
    areas = [
        single_auc(column, targets, categorical=place in categorical) for place, column in enumerate(rows.T)
    ]
    order = sorted(range(len(areas)), key=lambda place: -areas[place])
    names = prepared.matrix.names
    perfect = [place for place in order if areas[place] >= settings.max_auc]
    shown = [f"{names[place]} has an AUC of {areas[place]:.4f}" for place in (perfect or order[:1])[:_NAMED]]
    return Finding(
        code=Code.SINGLE_FEATURES,
        state=State.FOUND if perfect else State.CLEAR,
        count=len(perfect),
        records=len(chosen),
        names=tuple(names[place] for place in perfect),
        sentence=f"on its own {', '.join(shown)}, sound is below {settings.max_auc:g}",
        figures={names[place]: areas[place] for place in order[:_NAMED]},
    )


def single_auc(values: FloatArray, targets: NDArray[np.int8], *, categorical: bool) -> float:
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


def _sample(prepared: Prepared, most: int, rng: np.random.Generator) -> IntArray:
    """Return indices of training rows: all frauds if they fit, then genuine records, each in random order.

    So every second row is a random half of each class. Leaving out genuine records does not change the expected AUC.
    """
    targets = prepared.split.train_targets
    frauds, genuine = (rng.permutation(np.flatnonzero(targets == target)) for target in (1, 0))
    frauds = frauds[: max(most // 2, most - len(genuine))]
    return np.concatenate([frauds, genuine[: most - len(frauds)]])


def _levels(values: FloatArray, *, categorical: bool) -> IntArray:
    """Return codes of the values, by quantile for numbers with many values; missing is a separate level."""
    there = values[~np.isnan(values)]
    edges = np.unique(there)
    if len(edges) > _LEVELS and not categorical:
        edges = np.unique(np.quantile(there, np.linspace(0, 1, _LEVELS + 1), method="inverted_cdf"))
    return np.searchsorted(edges, values)  # the last edge is the largest value: only NaN is beyond it


def _auc_by_level(levels: IntArray, targets: NDArray[np.int8]) -> float:
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


def area_under_curve(values: FloatArray, targets: NDArray[np.int8]) -> float:
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
