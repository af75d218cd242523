"""The model of a training: one booster, or the average of several that differ by their seed alone.

The average is exact: the leaves of each are divided by their number before they are rounded, so that the margins
of all sum to it without an error in any order, and one forest holds the trees of all.
"""

from typing import Unpack

import lightgbm as lgb
import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray
from scoring_model.configuration import Tuned
from scoring_model.decision.forest import Forest
from scoring_model.training.fitting import fit
from scoring_model.training.leaves import check_sum, fix_leaves
from scoring_model.training.model_text import parse_forest
from scoring_model.training.preparation import FeatureOptions


def fit_forest(
    rows: FloatArray,
    targets: NDArray[np.int8],
    *,
    tuned: Tuned,
    seed: int,
    seeds: int,
    threads: int,
    **features: Unpack[FeatureOptions],
) -> Forest:
    """Fit boosters of one seed each, and join them.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float64
    targets : ndarray of shape (n,), 1 fraud, 0 genuine
    tuned : Tuned
        Parameters and number of trees of each booster.
    seed : int
        Of the first booster; that of the k-th follows from it and k.
    seeds : int
        Number of boosters, at least 1. Their average varies less than one, where parameters draw rows or
        features at random; elsewhere all are the same.
    threads : int
        They change no bit.
    **features
        As for `fitting.fit`.

    Returns
    -------
    Forest
        With fixed leaves.

    Raises
    ------
    LeafSumError
        If the sizes of the largest leaves of all trees sum to 2**13 or more.
    """
    boosters = [
        fit(
            rows,
            targets,
            params=tuned.params,
            rounds=tuned.rounds,
            seed=seed if member == 0 else _seed(seed, member),
            threads=threads,
            **features,
        )
        for member in range(seeds)
    ]
    return average(boosters)


def average(boosters: list[lgb.Booster]) -> Forest:
    """Join boosters into the forest whose margin is the mean of theirs, up to the rounding of leaves.

    Raises
    ------
    LeafSumError
        If the sizes of the largest leaves of all trees sum to 2**13 or more.
    """
    fixed = (fix_leaves(booster, models=len(boosters)) for booster in boosters)
    forest = parse_forest(*(booster.model_to_string() for booster in fixed))
    check_sum(forest, forest.leaf_value)
    return forest


def _seed(seed: int, member: int) -> int:
    return int(np.random.SeedSequence([seed, member]).generate_state(1)[0]) % 2**31
