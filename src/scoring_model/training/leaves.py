"""Fixed-point leaves: with them every order of summation gives the same bits."""

from typing import Final

import lightgbm as lgb
import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.decision.forest import Forest
from scoring_model.training.model_text import parse_forest

LEAF_BITS: Final = 40
"""Leaves are multiples of 2**-40."""
SUM_LIMIT: Final = 2.0**13
"""Below it a sum of such leaves has at most 53 bits: a float64 holds it exactly."""


class LeafSumError(ValueError):
    """The largest leaves of a model sum to so much that sums would be rounded."""


def fix_leaves(booster: lgb.Booster, *, models: int = 1) -> lgb.Booster:
    """Divide every leaf by the number of models and round it to a multiple of 2**-40.

    A margin moves by at most trees x 2**-41. From then on the returned booster is the reference: every sum of
    its leaves is exact in float64 in any order, so that all engines give the same bits on any number of
    threads.

    Parameters
    ----------
    booster : lightgbm.Booster
        A trained model, left as it is. After early stopping its best iterations are taken.
    models : int
        How many models there are whose margins sum to the average; each is given to this function.

    Returns
    -------
    lightgbm.Booster
        A copy with divided and rounded leaves.

    Raises
    ------
    LeafSumError
        If the sizes of the largest leaves of all trees sum to 2**13 or more.
    UnsupportedModelError
        If the model cannot be exported at all (see `parse_forest`).
    """
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
        What its leaves are to be.

    Raises
    ------
    LeafSumError
        If the sizes of the largest leaves of all trees sum to 2**13 or more.
    """
    total = float(np.maximum.reduceat(np.abs(values), forest.tree_leaves[:-1]).sum())
    if not total < SUM_LIMIT:
        raise LeafSumError(
            f"the largest leaves of the trees sum to {total:g}, they must sum to less than {SUM_LIMIT:g}"
        )
