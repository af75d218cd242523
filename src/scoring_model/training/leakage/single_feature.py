"""Single-feature AUC: no feature may separate frauds near perfectly on its own."""

from typing import Final

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.configuration import LeakageSettings
from scoring_model.evaluation.single_column import single_auc
from scoring_model.findings import Code, Finding, checked, not_applicable
from scoring_model.training.preparation import Prepared

_STREAM: Final = 2  # random stream, distinct from those of other checks
_NAMED: Final = 10
_FEWEST: Final = 6
"""Minimum number of frauds for a meaningful AUC: five of five on one side are too often chance."""


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
    return checked(
        Code.SINGLE_FEATURES,
        records=len(chosen),
        names=tuple(names[place] for place in perfect),
        sentence=f"on its own {', '.join(shown)}, sound is below {settings.max_auc:g}",
        figures={names[place]: areas[place] for place in order[:_NAMED]},
    )


def _sample(prepared: Prepared, most: int, rng: np.random.Generator) -> IntArray:
    """Return indices of training rows: all frauds if they fit, then genuine records, each in random order.

    So every second row is a random half of each class. Leaving out genuine records does not change the expected AUC.
    """
    targets = prepared.split.train_targets
    frauds, genuine = (rng.permutation(np.flatnonzero(targets == target)) for target in (1, 0))
    frauds = frauds[: max(most // 2, most - len(genuine))]
    return np.concatenate([frauds, genuine[: most - len(frauds)]])
