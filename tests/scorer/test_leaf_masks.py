import dataclasses
from functools import cache

import lightgbm as lgb
import numpy as np
import pytest

from scoring_model.arrays import FloatArray
from scoring_model.decision.forest import ZERO, Forest, Missing
from scoring_model.scorer.leaf_masks import LeafMasks
from scoring_model.training.averaging import fix_leaves
from scoring_model.training.model_text import parse_forest

WIDTH, CATEGORY = 5, 4


def draw(count: int) -> FloatArray:
    """Draw rows with gaps and a category of sixty codes."""
    rng = np.random.default_rng(count)
    rows = rng.normal(size=(count, WIDTH))
    rows[rng.random(rows.shape) < 0.1] = np.nan
    rows[:, CATEGORY] = rng.integers(-1, 60, count)
    return rows


@cache
def model(leaves: int, zero_as_missing: bool = False) -> tuple[lgb.Booster, Forest]:
    """Train a small model of trees with up to so many leaves."""
    rows = draw(3000)
    targets = (np.nan_to_num(rows[:, 0]) + np.sin(rows[:, CATEGORY]) > 0.5).astype(np.int64)
    data = lgb.Dataset(rows, targets, categorical_feature=[CATEGORY])
    options = {
        "objective": "binary",
        "num_leaves": leaves,
        "min_data_in_leaf": 5,
        "zero_as_missing": zero_as_missing,
        "num_threads": 1,
        "deterministic": True,
        "verbosity": -1,
    }
    booster = fix_leaves(lgb.train(options, data, 10))
    return booster, parse_forest(booster.model_to_string())


def awkward_rows(forest: Forest) -> FloatArray:
    """Combine at random the thresholds, their neighbours, gaps, infinities, zeros and unseen codes."""
    rng = np.random.default_rng(1)
    cuts = forest.threshold[forest.category_set < 0]
    near = np.concatenate([cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf)])
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, ZERO, -ZERO, np.nextafter(ZERO, 1), 5e-324]
    rows = rng.choice(np.concatenate([near, np.repeat(special, len(near) // 9)]), size=(3001, WIDTH))
    rows[:, CATEGORY] = rng.choice([np.nan, -2, -1, -0.5, 0, 59, 60, 1e9, *range(1, 59)], len(rows))
    return rows


@pytest.mark.parametrize("zero_as_missing", [False, True])
@pytest.mark.parametrize("leaves", [2, 31, 64, 65, 255])
def test_margins_are_those_of_lightgbm(leaves: int, zero_as_missing: bool) -> None:
    """Rows at and beside every threshold have the margins of LightGBM, bit for bit, with one word of bits and more."""
    booster, forest = model(leaves, zero_as_missing)
    assert np.diff(forest.tree_leaves).max() == leaves
    rows = awkward_rows(forest)
    expected = booster.predict(rows, raw_score=True)
    assert LeafMasks(forest).margins(rows).tobytes() == np.asarray(expected).tobytes()


@pytest.mark.parametrize("count", [0, 1, 255, 256, 257])
@pytest.mark.parametrize("threads", [1, 3])
def test_margins_do_not_depend_on_blocks_and_threads(count: int, threads: int) -> None:
    """Any number of rows, in any layout, gives the margins of each row."""
    forest = model(31)[1]
    rows = draw(600)
    expected = LeafMasks(forest).margins(rows)[:count]
    assert (
        LeafMasks(forest).margins(np.asfortranarray(rows[:count]), threads=threads).tolist()
        == expected.tolist()
    )


def test_trees_without_splits_add_their_only_leaf() -> None:
    """A tree that is one leaf adds it to every margin."""
    nothing = np.zeros(0, np.int64)
    single = dataclasses.replace(
        model(2)[1],
        tree_splits=np.array([0, 0, 0]),
        tree_leaves=np.array([0, 1, 2]),
        feature=nothing,
        category_set=nothing,
        threshold=np.zeros(0),
        missing=np.zeros(0, np.int8),
        default_left=np.zeros(0, np.bool_),
        left=nothing,
        right=nothing,
        split_count=nothing,
        leaf_value=np.array([0.5, -2.0]),
        leaf_count=np.array([1, 1]),
    )
    assert LeafMasks(single).margins(draw(3)).tolist() == [-1.5, -1.5, -1.5]


@pytest.mark.parametrize("threshold", [-1.0, 0.0, 0.5])
def test_gaps_are_zero_where_nothing_is_missing(threshold: float) -> None:
    """Without missing values NaN goes where 0 goes."""
    forest = model(2)[1]
    numeric = forest.category_set < 0
    plain = dataclasses.replace(
        forest,
        missing=np.where(numeric, Missing.NONE, 0).astype(np.int8),
        threshold=np.where(numeric, threshold, 0.0),
    )
    rows = draw(300)
    filled = np.where(np.arange(WIDTH) < CATEGORY, np.nan_to_num(rows), rows)
    assert LeafMasks(plain).margins(rows).tolist() == LeafMasks(plain).margins(filled).tolist()


@pytest.mark.parametrize("rows", [draw(3).astype(np.float32), draw(3)[:, :4], draw(3)[0]])
def test_rows_of_another_kind_are_refused(rows: FloatArray) -> None:
    """Rows that are not float64, or not as wide as the model, are refused with the shape that was given."""
    with pytest.raises(ValueError, match=r"float64 of shape \(n, 5\), got"):
        LeafMasks(model(2)[1]).margins(rows)
