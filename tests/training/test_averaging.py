"""Averaging of boosters: one forest, one graph, exact sums."""

from collections.abc import Callable
from dataclasses import replace

import lightgbm as lgb
import numpy as np
import pytest

from scoring_model.arrays import FloatArray
from scoring_model.configuration import Configuration, Tuned
from scoring_model.decision.contributions import Contributions
from scoring_model.decision.forest import Forest
from scoring_model.records import RecordTable
from scoring_model.scorer.session import MarginSession
from scoring_model.training.averaging import LEAF_BITS, LeafSumError, average, fit_forest, fix_leaves
from scoring_model.training.export import to_onnx
from scoring_model.training.model_text import UnsupportedModelError, parse_forest
from scoring_model.training.preparation import prepare
from scoring_model.training.run import run_training

MODELS = 3

Boosters = list[lgb.Booster]


@pytest.fixture(scope="module")
def boosters(trainer: Callable[..., lgb.Booster]) -> Boosters:
    """Models that differ by their seed only."""
    return [trainer(seed=seed, bagging_fraction=0.5, bagging_freq=1) for seed in range(MODELS)]


@pytest.fixture(scope="module")
def forest(boosters: Boosters) -> Forest:
    """Their average."""
    return average(boosters)


def fixed(boosters: Boosters) -> Boosters:
    """The boosters with rounded leaves that sum to the average."""
    return [fix_leaves(booster, models=len(boosters)) for booster in boosters]


def test_the_graph_gives_the_sum_of_the_rounded_boosters(
    boosters: Boosters, forest: Forest, hostile_rows: Callable[[Forest, int, int], FloatArray]
) -> None:
    """On hostile rows the graph's margins are the exact sums of LightGBM's margins, in any order."""
    rows = hostile_rows(forest, 20_000, 5)
    graph = to_onnx(forest, cuts=None, feature_names=[f"f{i}" for i in range(forest.feature_count)])
    margins = MarginSession(graph, threads=1).margins(rows)
    each = [booster.predict(rows, raw_score=True) for booster in fixed(boosters)]
    assert margins.tobytes() == (each[0] + each[1] + each[2]).tobytes()
    assert margins.tobytes() == (each[2] + each[0] + each[1]).tobytes()
    assert not np.array_equal(each[0], each[1])


def test_the_sum_is_the_mean_of_the_boosters(
    boosters: Boosters, forest: Forest, hostile_rows: Callable[[Forest, int, int], FloatArray]
) -> None:
    """Rounding changes the mean of the margins by at most half a unit per tree."""
    rows = hostile_rows(forest, 2000, 6)
    mean = np.mean([booster.predict(rows, raw_score=True) for booster in boosters], axis=0)
    sums = np.sum([booster.predict(rows, raw_score=True) for booster in fixed(boosters)], axis=0)
    assert np.abs(sums - mean).max() <= forest.tree_count * 2.0 ** -(LEAF_BITS + 1) + 1e-14
    assert forest.tree_count == sum(booster.num_trees() for booster in boosters)


def test_reasons_are_those_of_the_average(boosters: Boosters, forest: Forest) -> None:
    """Contributions are linear: those of the forest are the sums of LightGBM's for the fixed boosters."""
    rows = np.random.default_rng(3).normal(size=(20, forest.feature_count))
    rows[:, 6:] = np.abs(np.floor(rows[:, 6:]))
    expected = np.sum([booster.predict(rows, pred_contrib=True) for booster in fixed(boosters)], axis=0)
    explainer = Contributions(forest)
    found = np.array([explainer.explain(row) for row in rows])
    assert found == pytest.approx(expected[:, :-1], abs=1e-11)


def test_one_seed_is_the_plain_model(boosters: Boosters) -> None:
    """The average of one booster is that booster with rounded leaves."""
    plain = parse_forest(fix_leaves(boosters[0]).model_to_string()).to_arrays()
    found = average(boosters[:1]).to_arrays()
    assert all(plain[name].tobytes() == found[name].tobytes() for name in plain)


def test_leaves_of_all_models_count(trainer: Callable[..., lgb.Booster]) -> None:
    """Leaves whose sum is too large only over all models are refused."""
    large = trainer(trees=2)
    large.set_leaf_output(0, 0, 2.0**13 - 1.0)
    fix_leaves(large)
    small = trainer(trees=2)
    small.set_leaf_output(0, 0, 2.0**13 - 1.0)
    small.set_leaf_output(1, 0, 2.0**4)
    with pytest.raises(LeafSumError, match="must sum to less than 8192"):
        average([large, small])


def test_models_of_other_features_are_not_joined(trainer: Callable[..., lgb.Booster]) -> None:
    """Models with different numbers of features are refused."""
    narrow = lgb.train(
        {"objective": "binary", "verbosity": -1},
        lgb.Dataset(np.arange(200.0)[:, None], np.arange(200) % 2),
        2,
    )
    with pytest.raises(UnsupportedModelError, match="different numbers of features"):
        parse_forest(trainer(trees=2).model_to_string(), narrow.model_to_string())


def test_seeds_matter_and_threads_do_not(small_table: RecordTable, small_use: Configuration) -> None:
    """An averaged training gives the same bundle on one thread and on two, and another one for another seed."""
    use = replace(small_use, training=replace(small_use.training, seeds=2))
    one, two = (run_training(small_table, use, threads=threads).bundle for threads in (1, 2))
    assert one.files == two.files
    alone = run_training(small_table, small_use, threads=1).bundle
    assert one.contents.forest.tree_count == 2 * alone.contents.forest.tree_count


def test_directions_of_the_catalogue_hold(small_table: RecordTable, small_use: Configuration) -> None:
    """A feature that may only lower the risk never raises a margin, in one model or in an average."""
    prepared = prepare(small_table, small_use)
    place = prepared.matrix.names.index("signal_email_age_days")
    assert prepared.matrix.features[place].direction == -1
    tuned = Tuned(
        params={"num_leaves": 15, "learning_rate": 0.2, "bagging_fraction": 0.7, "bagging_freq": 1}, rounds=20
    )
    forest = fit_forest(
        prepared.rows[prepared.split.train],
        prepared.split.train_targets,
        tuned=tuned,
        seed=3,
        seeds=2,
        threads=1,
        **prepared.feature_options,
    )
    session = MarginSession(to_onnx(forest, cuts=None, feature_names=prepared.matrix.names), threads=1)
    rows = np.repeat(prepared.rows[prepared.split.test[:100]], 30, axis=0)
    rows[:, place] = np.tile(np.geomspace(0.1, 10_000, 30), 100)
    margins = session.margins(rows).reshape(100, 30)
    assert np.all(np.diff(margins, axis=1) <= 0)
    assert margins.min() < margins.max()


def test_a_class_weight_keeps_probabilities_calibrated(
    small_table: RecordTable, small_use: Configuration
) -> None:
    """With a class weight of 20 the probabilities remain calibrated on the validation period."""
    params = {"num_leaves": 4, "min_data_in_leaf": 100, "learning_rate": 0.2, "scale_pos_weight": 20.0}
    weighted = replace(small_use, training=replace(small_use.training, tuned=Tuned(params=params, rounds=10)))
    contents = run_training(small_table, weighted, threads=1).bundle.contents
    prepared = prepare(small_table, small_use)
    margins = MarginSession(contents.graph, threads=1).margins(prepared.rows[prepared.split.validation])
    frauds = int(prepared.split.validation_targets.sum())
    # Platt's smoothed targets add about one fraud.
    assert contents.rules.calibration.probabilities(margins).sum() == pytest.approx(frauds + 1, abs=1.5)
    assert (1 / (1 + np.exp(-margins))).sum() > 3 * frauds


Trainer = Callable[..., lgb.Booster]


def with_first_leaf(booster: lgb.Booster, value: float) -> str:
    """Replace the value of the first leaf in the text of a booster."""
    before, first, *rest = booster.model_to_string().split("leaf_value=")
    before = "\n".join(line for line in before.split("\n") if not line.startswith("tree_sizes"))
    return "leaf_value=".join([before, f"{value} {first.split(' ', 1)[1]}", *rest])


def test_leaves_are_multiples_of_the_unit(model: tuple[lgb.Booster, Forest]) -> None:
    """Every leaf is a whole number of units, and no leaf is a negative zero."""
    _, forest = model
    units = forest.leaf_value * 2.0**LEAF_BITS
    assert np.array_equal(units, np.round(units))
    assert not np.signbit(forest.leaf_value[forest.leaf_value == 0]).any()


def test_sum_is_exact_in_any_order(model: tuple[lgb.Booster, Forest]) -> None:
    """The leaves of a row sum to the same bits in any order and grouping."""
    _, forest = model
    rng = np.random.default_rng(0)
    for _ in range(50):
        leaves = forest.leaf_value[rng.integers(forest.tree_leaves[:-1], forest.tree_leaves[1:])]
        sums = {float(np.cumsum(rng.permutation(leaves))[-1]) for _ in range(5)}
        assert sums == {float(leaves.sum())}


def test_rounding_changes_margins_by_half_a_unit_per_tree(
    trainer: Trainer, hostile_rows: Callable[..., np.ndarray]
) -> None:
    """Rounding changes a margin by at most half a unit per tree and leaves the input booster unchanged."""
    booster = trainer()
    before = booster.model_to_string()
    fixed = fix_leaves(booster)
    assert booster.model_to_string() == before
    rows = hostile_rows(parse_forest(before), 2000, 21)
    moved = np.abs(fixed.predict(rows, raw_score=True) - booster.predict(rows, raw_score=True))
    assert 0 < moved.max() <= booster.num_trees() * 2.0 ** -(LEAF_BITS + 1) + 1e-14


def test_trees_after_the_best_iteration_are_dropped(trainer: Trainer) -> None:
    """Trees after the best iteration, which LightGBM does not use for its margins, are dropped."""
    booster = trainer()
    booster.best_iteration = 9
    assert fix_leaves(booster).num_trees() == 9 < booster.num_trees()


@pytest.mark.parametrize("leaf", [2.0**13, -(2.0**14), np.inf, np.nan])
def test_sums_beyond_53_bits_are_refused(trainer: Trainer, leaf: float) -> None:
    """A sum that could need more than 53 bits is refused, for either sign."""
    text = with_first_leaf(trainer(trees=2), leaf)
    with pytest.raises(LeafSumError, match="must sum to less than 8192"):
        fix_leaves(lgb.Booster(model_str=text))


def test_a_tiny_negative_leaf_rounds_to_positive_zero(trainer: Trainer) -> None:
    """A tiny negative leaf becomes 0.0, since sums would not keep the sign of -0.0."""
    text = with_first_leaf(trainer(trees=2), -1e-20)
    leaf = parse_forest(fix_leaves(lgb.Booster(model_str=text)).model_to_string()).leaf_value[0]
    assert leaf == 0.0
    assert not np.signbit(leaf)
