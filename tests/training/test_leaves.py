from collections.abc import Callable

import lightgbm as lgb
import numpy as np
import pytest

from scoring_model.decision.forest import Forest
from scoring_model.training.averaging import LEAF_BITS, LeafSumError, fix_leaves
from scoring_model.training.model_text import parse_forest

Trainer = Callable[..., lgb.Booster]


def with_first_leaf(booster: lgb.Booster, value: float) -> str:
    """Give the text of a booster with another value in its first leaf."""
    before, first, *rest = booster.model_to_string().split("leaf_value=")
    before = "\n".join(line for line in before.split("\n") if not line.startswith("tree_sizes"))
    return "leaf_value=".join([before, f"{value} {first.split(' ', 1)[1]}", *rest])


def test_leaves_are_multiples_of_the_unit(model: tuple[lgb.Booster, Forest]) -> None:
    """Every leaf is a whole number of units, and none is a negative zero."""
    _, forest = model
    units = forest.leaf_value * 2.0**LEAF_BITS
    assert np.array_equal(units, np.round(units))
    assert not np.signbit(forest.leaf_value[forest.leaf_value == 0]).any()


def test_sum_is_exact_in_any_order(model: tuple[lgb.Booster, Forest]) -> None:
    """The leaves of a row sum to the same bits however they are ordered and grouped."""
    _, forest = model
    rng = np.random.default_rng(0)
    for _ in range(50):
        leaves = forest.leaf_value[rng.integers(forest.tree_leaves[:-1], forest.tree_leaves[1:])]
        sums = {float(np.cumsum(rng.permutation(leaves))[-1]) for _ in range(5)}
        assert sums == {float(leaves.sum())}


def test_margins_move_by_half_a_unit_per_tree(
    trainer: Trainer, hostile_rows: Callable[..., np.ndarray]
) -> None:
    """Rounding moves a margin by at most half a unit per tree, and the given booster not at all."""
    booster = trainer()
    before = booster.model_to_string()
    fixed = fix_leaves(booster)
    assert booster.model_to_string() == before
    rows = hostile_rows(parse_forest(before), 2000, 21)
    moved = np.abs(fixed.predict(rows, raw_score=True) - booster.predict(rows, raw_score=True))
    assert 0 < moved.max() <= booster.num_trees() * 2.0 ** -(LEAF_BITS + 1) + 1e-14


def test_best_iterations_are_taken(trainer: Trainer) -> None:
    """The trees behind the best iteration, which LightGBM leaves out of its margins, are left out."""
    booster = trainer()
    booster.best_iteration = 9
    assert fix_leaves(booster).num_trees() == 9 < booster.num_trees()


@pytest.mark.parametrize("leaf", [2.0**13, -(2.0**14), np.inf, np.nan])
def test_leaves_that_sum_to_too_much_are_refused(trainer: Trainer, leaf: float) -> None:
    """A sum that could need more than 53 bits is refused, whatever its sign."""
    text = with_first_leaf(trainer(trees=2), leaf)
    with pytest.raises(LeafSumError, match="must sum to less than 8192"):
        fix_leaves(lgb.Booster(model_str=text))


def test_a_leaf_that_rounds_to_nothing_is_a_positive_zero(trainer: Trainer) -> None:
    """A tiny negative leaf becomes 0.0, since -0.0 would be a bit that sums do not keep."""
    text = with_first_leaf(trainer(trees=2), -1e-20)
    leaf = parse_forest(fix_leaves(lgb.Booster(model_str=text)).model_to_string()).leaf_value[0]
    assert leaf == 0.0
    assert not np.signbit(leaf)
