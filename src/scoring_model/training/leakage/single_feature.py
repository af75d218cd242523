"""Single-feature AUC: no feature may separate frauds near perfectly on its own."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.configuration import LeakageSettings
from scoring_model.training.leakage.findings import CheckResult, Finding, area_under_curve
from scoring_model.training.preparation import Prepared

_STREAM: Final = 2  # of random numbers, beside those of other checks
_LEVELS: Final = 64
_NAMED: Final = 10
_FEWEST: Final = 6
"""Frauds below which a high area means nothing: five of five on one side come about too often."""
_PRIOR_WEIGHT: Final = 2.0


def check_single_features(prepared: Prepared, settings: LeakageSettings, *, seed: int) -> Finding:
    """Look at each column of the training rows alone.

    A number is judged by its order, with missing values below or above all others, and, like a category, by the
    share of frauds at its levels: those of one half judge the other half, so that a value that only frauds have
    is seen wherever it lies. Only this check can find a leak in columns that users supply.

    Returns
    -------
    Finding
        A leak when a feature's area under the ROC curve reaches `max_auc`, in whichever direction.
    """
    chosen = _sample(prepared, settings.max_records, np.random.default_rng([seed, _STREAM]))
    targets = prepared.split.train_targets[chosen]
    frauds = int(targets.sum())
    if not _FEWEST <= frauds <= len(targets) - _FEWEST:
        return Finding(
            check="single_features",
            verdict=CheckResult.INCONCLUSIVE,
            records=len(chosen),
            detail=f"{frauds} frauds among {len(chosen)} records are too few for a verdict",
        )
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
        check="single_features",
        verdict=CheckResult.LEAK if perfect else CheckResult.SOUND,
        records=len(chosen),
        features=tuple(names[place] for place in perfect),
        detail=f"on its own {', '.join(shown)}, sound is below {settings.max_auc:g}",
        figures={names[place]: areas[place] for place in order[:_NAMED]},
    )


def single_auc(values: FloatArray, targets: NDArray[np.int8], *, categorical: bool) -> float:
    """Area under the ROC curve of one column alone, in the direction in which it is larger.

    Parameters
    ----------
    values : ndarray of shape (n,), float64
        NaN is missing. Among rows of one target the order must have nothing to do with the values.
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
    """Places among the training rows: all frauds if they fit, then genuine records, each in random order.

    So every second row is a random half of either class. Leaving out genuine records leaves the area what it is.
    """
    targets = prepared.split.train_targets
    frauds, genuine = (rng.permutation(np.flatnonzero(targets == target)) for target in (1, 0))
    frauds = frauds[: max(most // 2, most - len(genuine))]
    return np.concatenate([frauds, genuine[: most - len(frauds)]])


def _levels(values: FloatArray, *, categorical: bool) -> IntArray:
    """Codes of the values, those of numbers with many values by quantile; missing is a level of its own."""
    there = values[~np.isnan(values)]
    edges = np.unique(there)
    if len(edges) > _LEVELS and not categorical:
        edges = np.unique(np.quantile(there, np.linspace(0, 1, _LEVELS + 1), method="inverted_cdf"))
    return np.searchsorted(edges, values)  # the last edge is the largest value: only NaN is behind it


def _auc_by_level(levels: IntArray, targets: NDArray[np.int8]) -> float:
    """Judge every second row by the share of frauds at its level among the others, and the other way round."""
    areas = []
    for half in (0, 1):
        known, judged = levels[half::2], levels[1 - half :: 2]
        frauds = np.bincount(known, weights=targets[half::2], minlength=int(levels.max()) + 1)
        total = np.bincount(known, minlength=int(levels.max()) + 1)
        base = float(targets[half::2].mean())
        shares = (frauds + _PRIOR_WEIGHT * base) / (total + _PRIOR_WEIGHT)
        areas.append(area_under_curve(shares[judged], targets[1 - half :: 2]))
    return float(np.mean(areas))
