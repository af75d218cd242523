"""The model of a training: one booster, or the average of several that differ only by seed.

The average is exact: the leaves of each booster are divided by the number of boosters and then rounded, so that the
margins sum to it without error in any order. One forest holds the trees of all boosters.
"""

from typing import TYPE_CHECKING, Final, Unpack

import numpy as np

from scoring_model.arrays import FloatArray, Int8Array
from scoring_model.configuration import Tuned
from scoring_model.decision.forest import Forest
from scoring_model.training.fitting import FeatureOptions, fit
from scoring_model.training.model_text import parse_forest

if TYPE_CHECKING:
    import lightgbm as lgb

LEAF_BITS: Final = 40
"""Leaves are multiples of 2**-40."""
SUM_LIMIT: Final = 2.0**13
"""Sums of such leaves below this have at most 53 bits, which a float64 holds exactly."""


class LeafSumError(ValueError):
    """The largest leaves of a model have a sum so large that it would be rounded."""


def fix_leaves(booster: "lgb.Booster", *, models: int = 1) -> "lgb.Booster":
    """Divide every leaf by the number of models and round it to a multiple of 2**-40.

    A margin changes by at most trees x 2**-41. The returned booster is the reference from here on: every sum of its
    leaves is exact in float64 in any order, so all engines give the same bits with any number of threads.

    Parameters
    ----------
    booster : lightgbm.Booster
        A trained model, which is not changed. After early stopping its best iterations are used.
    models : int
        Number of models whose margins sum to the average; call this function for each.
    """
    import lightgbm as lgb

    text = booster.model_to_string()
    forest = parse_forest(text)
    fixed = lgb.Booster(model_str=text)
    values = np.round(forest.leaf_value / models * 2.0**LEAF_BITS) * 2.0**-LEAF_BITS
    check_sum(forest, values)
    for tree, start in enumerate(forest.tree_leaves[:-1].tolist()):
        for leaf, value in enumerate(values[start : forest.tree_leaves[tree + 1]].tolist()):
            fixed.set_leaf_output(tree, leaf, value)
    return fixed


def check_sum(forest: Forest, values: FloatArray) -> None:
    """Refuse leaves whose sums would be rounded.

    Parameters
    ----------
    values : ndarray of shape (leaves,), float64
        The intended leaves.
    """
    total = float(np.maximum.reduceat(np.abs(values), forest.tree_leaves[:-1]).sum())
    if not total < SUM_LIMIT:
        raise LeafSumError(
            f"the largest leaves of the trees sum to {total:g}, they must sum to less than {SUM_LIMIT:g}"
        )


def fit_forest(
    rows: FloatArray,
    targets: Int8Array,
    *,
    tuned: Tuned,
    seed: int,
    seeds: int,
    threads: int,
    weights: FloatArray | None = None,
    **features: Unpack[FeatureOptions],
) -> Forest:
    """Fit boosters with different seeds, and join them.

    Parameters
    ----------
    seed : int
        Seed of the first booster; the seed of the k-th is derived from it and k.
    seeds : int
        Number of boosters, at least 1. Their average has less variance than one if the parameters sample rows or
        features at random; otherwise all are equal.
    weights : ndarray of shape (n,), float64, optional
        How much each record counts.
    """
    boosters = [
        fit(
            rows,
            targets,
            params=tuned.params,
            rounds=tuned.rounds,
            seed=seed if member == 0 else _seed(seed, member),
            threads=threads,
            weights=weights,
            **features,
        )
        for member in range(seeds)
    ]
    return average(boosters)


def average(boosters: list["lgb.Booster"]) -> Forest:
    """Join boosters into one forest whose margin is their mean, up to the rounding of leaves."""
    fixed = (fix_leaves(booster, models=len(boosters)) for booster in boosters)
    forest = parse_forest(*(booster.model_to_string() for booster in fixed))
    check_sum(forest, forest.leaf_value)
    return forest


def _seed(seed: int, member: int) -> int:
    return int(np.random.SeedSequence([seed, member]).generate_state(1)[0]) % 2**31
