from functools import cache
from itertools import combinations
from math import factorial
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest

from scoring_model.arrays import FloatArray
from scoring_model.decision.contributions import (
    MAX_FEATURES,
    TABLE_BYTES,
    Contributions,
    Patterns,
    Quadrature,
    _groups,
    path_bytes,
)
from scoring_model.decision.forest import Forest
from scoring_model.decision.paths import SplitDecisions, walk
from scoring_model.training.averaging import fix_leaves
from scoring_model.training.model_text import parse_forest

WIDTH = 6
CATEGORIES = [4, 5]
SHAPES: dict[str, dict[str, Any]] = {
    "plain": {},
    "deep": {"num_leaves": 60, "min_data_in_leaf": 1},
    "nothing missing": {"use_missing": False},
    "zero missing": {"zero_as_missing": True},
    "any set of codes": {"min_data_per_group": 1, "cat_smooth": 0.0, "max_cat_threshold": 200},
    "dart": {"boosting": "dart"},
    "bagged": {"bagging_fraction": 0.6, "bagging_freq": 1},
    "one split each": {"num_leaves": 2},
    "constant": {"min_data_in_leaf": 100_000},
}


def draw(count: int, seed: int) -> FloatArray:
    """Draw rows with zeros, gaps and two categories, with codes that training may not have seen."""
    rng = np.random.default_rng(seed)
    rows = np.round(rng.normal(size=(count, WIDTH)), 1)
    rows[rng.random(rows.shape) < 0.15] = np.nan
    rows[:, 4] = rng.integers(-1, 8, count)
    rows[:, 5] = rng.integers(0, 90 + 20 * seed, count)
    return rows


@cache
def model(shape: str, trees: int = 20) -> tuple[lgb.Booster, Forest]:
    """Train a model of a shape."""
    rows = draw(1500, 0)
    numbers = np.nan_to_num(rows)
    logit = numbers[:, 0] * numbers[:, 1] + numbers[:, 2] + np.sin(rows[:, 5]) + (rows[:, 4] == 3)
    data = lgb.Dataset(rows, (logit > 0.7).astype(np.int64), categorical_feature=CATEGORIES)
    options = {"objective": "binary", "num_threads": 1, "deterministic": True, "verbosity": -1}
    booster = fix_leaves(lgb.train(options | {"num_leaves": 12} | SHAPES[shape], data, trees))
    return booster, parse_forest(booster.model_to_string())


@pytest.mark.parametrize("table_bytes", [0, 10_000, TABLE_BYTES])
@pytest.mark.parametrize("shape", SHAPES)
def test_values_are_those_of_lightgbm(shape: str, table_bytes: int) -> None:
    """Values and base are LightGBM's pred_contrib, looked up, computed, or some of either."""
    booster, forest = model(shape)
    rows = draw(150, 1)
    expected = booster.predict(rows, pred_contrib=True)
    contributions = Contributions(forest, table_bytes=table_bytes)
    values = np.array([contributions.explain(row) for row in rows])
    np.testing.assert_allclose(values, expected[:, :-1], rtol=1e-9, atol=1e-11)
    assert contributions.base == pytest.approx(expected[0, -1], rel=1e-9, abs=1e-11)


def test_paths_of_more_features_than_a_table_holds_are_computed() -> None:
    """Where paths read more features than there are tables for, values are LightGBM's all the same."""
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(3000, 14))
    target = (np.sin(rows * 2).sum(axis=1) > 0).astype(np.int64)
    options = {
        "objective": "binary",
        "num_leaves": 250,
        "min_data_in_leaf": 1,
        "num_threads": 1,
        "verbosity": -1,
    }
    booster = fix_leaves(lgb.train(options, lgb.Dataset(rows, target), 3))
    forest = parse_forest(booster.model_to_string())
    assert max(len(path.features) for path in walk(forest)) > MAX_FEATURES
    expected = booster.predict(rows[:50], pred_contrib=True)[:, :-1]
    contributions = Contributions(forest)
    values = np.array([contributions.explain(row) for row in rows[:50]])
    np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("shape", ["plain", "deep", "any set of codes"])
def test_looked_up_and_computed_values_are_the_same_bits(shape: str) -> None:
    """The table of a group of paths holds the very bits that the quadrature gives, for every pattern."""
    _, forest = model(shape)
    paths = list(walk(forest))
    rng = np.random.default_rng(8)
    for length in sorted({len(path.features) for path in paths}):
        exact = Quadrature.of([path for path in paths if len(path.features) == length])
        table = Patterns(exact)
        for _ in range(20):
            obeys = rng.random(exact.shares.shape) < 0.5
            assert table.values(obeys).tobytes() == np.ascontiguousarray(exact.values(obeys)).tobytes()


def test_tables_take_no_more_than_they_may() -> None:
    """The sizes of all tables stay below what is allowed, and every path is counted once."""
    _, forest = model("deep")
    paths = list(walk(forest))
    for table_bytes in (0, 5_000, 100_000, TABLE_BYTES):
        groups = list(_groups(paths, table_bytes))
        taken = [path_bytes(len(alike[0].features)) * len(alike) for alike, tabulated in groups if tabulated]
        assert sum(taken) <= table_bytes
        assert sorted(id(path) for alike, _ in groups for path in alike) == sorted(map(id, paths))
    assert all(tabulated for _, tabulated in groups)


def expectation(forest: Forest, left: np.ndarray, node: int, known: frozenset[int]) -> float:
    """Give the mean of a tree where only some features are known, the others by shares of training rows."""
    if node < 0:
        return float(forest.leaf_value[~node])
    sides = (int(forest.left[node]), int(forest.right[node]))
    if int(forest.feature[node]) in known:
        return expectation(forest, left, sides[0] if left[node] else sides[1], known)
    counts = [int(forest.split_count[side] if side >= 0 else forest.leaf_count[~side]) for side in sides]
    means = [expectation(forest, left, side, known) for side in sides]
    return (counts[0] * means[0] + counts[1] * means[1]) / sum(counts)


def test_values_are_shapley_values_by_definition() -> None:
    """Values are the mean gain of knowing a feature over all orders in which features become known."""
    _, forest = model("plain", trees=3)
    contributions, answers = Contributions(forest), SplitDecisions(forest)
    for row in draw(12, 3):
        left = answers.left(row)
        gains = np.zeros(WIDTH)
        for feature in range(WIDTH):
            others = [other for other in range(WIDTH) if other != feature]
            for size in range(WIDTH):
                weight = factorial(size) * factorial(WIDTH - 1 - size) / factorial(WIDTH)
                for chosen in map(frozenset, combinations(others, size)):
                    for root in forest.roots().tolist():
                        with_it = expectation(forest, left, root, chosen | {feature})
                        gains[feature] += weight * (with_it - expectation(forest, left, root, chosen))
        np.testing.assert_allclose(contributions.explain(row), gains, rtol=0, atol=1e-13)


def test_values_are_the_same_bits_every_time() -> None:
    """Values depend on forest and row alone."""
    _, forest = model("plain")
    again = Forest.from_arrays(forest.to_arrays())
    for row in draw(20, 5):
        assert Contributions(forest).explain(row).tobytes() == Contributions(again).explain(row).tobytes()


def test_ways_that_no_training_row_took_are_no_trouble() -> None:
    """Where a count is 0 the values are still finite and sum to the margin."""
    booster, forest = model("plain")
    empty = {"leaf_count": forest.leaf_count * (np.arange(len(forest.leaf_count)) % 3 > 0)}
    contributions = Contributions(Forest.from_arrays(forest.to_arrays() | empty))
    rows = draw(50, 6)
    values = np.array([contributions.explain(row) for row in rows])
    assert np.isfinite(values).all()
    sums = values.sum(axis=1) + contributions.base
    np.testing.assert_allclose(sums, booster.predict(rows, raw_score=True), rtol=0, atol=1e-9)
