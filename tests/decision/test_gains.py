"""Gains of features against the variances of trees and the counts of LightGBM."""

from functools import cache

import lightgbm as lgb
import numpy as np
import pytest

from scoring_model.decision.forest import Forest
from scoring_model.decision.gains import split_gains
from scoring_model.training.model_text import parse_forest


@cache
def model(leaves: int) -> tuple[lgb.Booster, Forest]:
    """Train on 1,500 rows with a category and a feature that says nothing."""
    rng = np.random.default_rng(3)
    rows = np.round(rng.normal(size=(1500, 5)), 1)
    rows[:, 3] = rng.integers(0, 6, 1500)
    rows[:, 4] = 0
    logit = rows[:, 0] * rows[:, 1] + rows[:, 2] + (rows[:, 3] == 2)
    data = lgb.Dataset(rows, (logit > 0.7).astype(np.int64), categorical_feature=[3])
    options = {"objective": "binary", "num_threads": 1, "deterministic": True, "verbosity": -1}
    booster = lgb.train({**options, "num_leaves": leaves}, data, 12)
    return booster, parse_forest(booster.model_to_string())


@pytest.mark.parametrize("leaves", [2, 20])
def test_gains_sum_to_the_variances_of_all_trees(leaves: int) -> None:
    """What all splits explain is the variance of the trees' outputs over the rows of the training."""
    _, forest = model(leaves)
    variances = []
    for tree in range(forest.tree_count):
        own = slice(forest.tree_leaves[tree], forest.tree_leaves[tree + 1])
        variances.append(np.var(np.repeat(forest.leaf_value[own], forest.leaf_count[own])))
    _, gains = split_gains(forest)
    assert gains.sum() == pytest.approx(sum(variances), rel=1e-12)


def test_a_tree_of_one_split_gives_its_variance_to_its_feature() -> None:
    """Each tree of one split adds the variance of its two leaves to the feature that it reads."""
    _, forest = model(2)
    expected = np.zeros(forest.feature_count)
    for tree, feature in enumerate(forest.feature):
        own = slice(2 * tree, 2 * tree + 2)
        expected[feature] += np.var(np.repeat(forest.leaf_value[own], forest.leaf_count[own]))
    _, gains = split_gains(forest)
    assert gains == pytest.approx(expected, rel=1e-12)


def test_splits_are_those_of_lightgbm() -> None:
    """The number of splits on each feature is LightGBM's own, and a feature without splits has no gain."""
    booster, forest = model(20)
    splits, gains = split_gains(forest)
    assert splits.tolist() == booster.feature_importance("split").tolist()
    assert splits[4] == gains[4] == 0
