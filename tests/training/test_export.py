import json
from collections.abc import Callable

import lightgbm as lgb
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx.reference import ReferenceEvaluator

from scoring_model.arrays import FloatArray
from scoring_model.decision.forest import ZERO, Forest, Missing
from scoring_model.decision.paths import SplitDecisions
from scoring_model.scorer.session import MarginSession
from scoring_model.training.averaging import fix_leaves
from scoring_model.training.export import to_onnx
from scoring_model.training.model_text import UnsupportedModelError, parse_forest

Model = tuple[lgb.Booster, Forest]
Rows = Callable[[Forest, int, int], FloatArray]


def graph_of(forest: Forest, cuts: FloatArray | None = None) -> bytes:
    """Write the graph of a forest with invented feature names."""
    return to_onnx(forest, cuts=cuts, feature_names=[f"f{place}" for place in range(forest.feature_count)])


def bits(values: FloatArray) -> bytes:
    """Return the bit patterns, so that -0.0 differs from 0.0."""
    return values.tobytes()


def walk(forest: Forest, row: FloatArray) -> list[int]:
    """Return the index of the leaf, within its tree, that a row reaches in every tree."""
    left = SplitDecisions(forest).left(row)
    reached = []
    for root, first_leaf in zip(forest.roots().tolist(), forest.tree_leaves.tolist(), strict=False):
        node = root
        while node >= 0:
            node = int(forest.left[node] if left[node] else forest.right[node])
        reached.append(~node - first_leaf)
    return reached


def test_every_row_reaches_the_leaves_of_lightgbm(model: Model, hostile_rows: Rows) -> None:
    """On hostile rows the forest reaches LightGBM's leaf in every tree."""
    booster, forest = model
    rows = hostile_rows(forest, 150, 11)
    expected = booster.predict(rows, pred_leaf=True).reshape(len(rows), -1)
    assert [walk(forest, row) for row in rows] == expected.tolist()


def test_margins_are_the_bits_of_lightgbm(model: Model, hostile_rows: Rows) -> None:
    """The graph gives LightGBM's margin bit for bit, for any order of the leaves."""
    booster, forest = model
    rows = hostile_rows(forest, 20_000, 12)
    assert bits(MarginSession(graph_of(forest)).margins(rows)) == bits(booster.predict(rows, raw_score=True))


def test_another_engine_gives_the_same_bits(model: Model, hostile_rows: Rows) -> None:
    """ONNX's reference evaluator, which shares no code with the runtime, gives the same margins."""
    booster, forest = model
    rows = hostile_rows(forest, 25, 14)
    (margins,) = ReferenceEvaluator(onnx.load_from_string(graph_of(forest))).run(
        ["margin"], {"features": rows}
    )
    assert bits(np.asarray(margins)) == bits(booster.predict(rows, raw_score=True))


def test_trees_of_one_leaf_at_any_position(trainer: Callable[..., lgb.Booster], hostile_rows: Rows) -> None:
    """A tree without splits adds its leaf at any position."""
    texts = [trainer(trees=2, **options).model_to_string() for options in ({}, {"min_data_in_leaf": 100_000})]
    split, constant = (text.split("\nend of trees")[0].split("\nTree=") for text in texts)
    header = "\n".join(line for line in split[0].split("\n") if not line.startswith("tree_sizes"))
    trees = [tree.split("\n", 1)[1] for tree in (constant[1], split[1], constant[1], split[2])]
    text = (
        header + "".join(f"\nTree={place}\n{tree}" for place, tree in enumerate(trees)) + "\nend of trees\n"
    )
    booster = fix_leaves(lgb.Booster(model_str=text))
    forest = parse_forest(booster.model_to_string())
    assert (forest.roots() < 0).tolist() == [True, False, True, False]
    rows = hostile_rows(forest, 500, 15)
    assert bits(MarginSession(graph_of(forest)).margins(rows)) == bits(booster.predict(rows, raw_score=True))


def test_score_is_the_number_of_cuts_at_most_the_margin(
    trainer: Callable[..., lgb.Booster], hostile_rows: Rows
) -> None:
    """The graph counts the cuts up to the margin exactly: at cuts, next to them, and where many are equal."""
    forest = parse_forest(fix_leaves(trainer()).model_to_string())
    rows = hostile_rows(forest, 2000, 16)
    margins = MarginSession(graph_of(forest)).margins(rows)
    near = np.concatenate(
        [margins[:200], np.nextafter(margins[200:400], 9), np.nextafter(margins[400:600], -9)]
    )
    cuts = np.sort(np.concatenate([near, np.repeat(margins[:4], 50), np.full(200, 1e9)]))
    session = onnxruntime.InferenceSession(graph_of(forest, cuts), providers=["CPUExecutionProvider"])
    again, scores = session.run(["margin", "score"], {"features": rows})
    assert bits(again) == bits(margins)
    assert scores.dtype == np.int64
    assert scores.tolist() == [int((cuts <= margin).sum()) for margin in margins]


def test_bytes_are_the_same_every_time(model: Model) -> None:
    """The graph depends on the forest only, and its file passes ONNX's full check."""
    _, forest = model
    first = graph_of(forest, np.linspace(-3, 3, 1000))
    assert first == graph_of(Forest.from_arrays(forest.to_arrays()), np.linspace(-3, 3, 1000))
    onnx.checker.check_model(onnx.load_from_string(first), full_check=True)


def test_metadata_name_the_features(trainer: Callable[..., lgb.Booster]) -> None:
    """The file has the names of the features in order."""
    forest = parse_forest(fix_leaves(trainer(trees=2)).model_to_string())
    metadata = {entry.key: entry.value for entry in onnx.load_from_string(graph_of(forest)).metadata_props}
    assert json.loads(metadata["features"]) == [f"f{place}" for place in range(9)]
    with pytest.raises(ValueError, match="must have 9 names, got 1"):
        to_onnx(forest, cuts=None, feature_names=["f0"])


def test_mixed_missing_types_are_refused_by_name(trainer: Callable[..., lgb.Booster]) -> None:
    """A feature whose zeros are missing values in one split and numbers in another is named in the error."""
    forest = parse_forest(fix_leaves(trainer(zero_as_missing=True)).model_to_string())
    split = int(np.flatnonzero(forest.feature == 0)[0])
    forest.missing[split] = Missing.NAN
    with pytest.raises(UnsupportedModelError, match=r"\['f0'\]"):
        graph_of(forest)


def test_missing_none_and_nan_may_be_mixed(trainer: Callable[..., lgb.Booster], hostile_rows: Rows) -> None:
    """Trees that read NaN as 0 and trees that do not can be in one model."""
    kept, zero = (trainer(trees=4, **options).model_to_string() for options in ({}, {"use_missing": False}))
    header, *trees = kept.split("\nend of trees")[0].split("\nTree=")
    trees += zero.split("\nend of trees")[0].split("\nTree=")[1:]
    header = "\n".join(line for line in header.split("\n") if not line.startswith("tree_sizes"))
    blocks = [f"\nTree={place}\n{tree.split(chr(10), 1)[1]}" for place, tree in enumerate(trees)]
    booster = fix_leaves(lgb.Booster(model_str=header + "".join(blocks) + "\nend of trees\n"))
    forest = parse_forest(booster.model_to_string())
    assert set(forest.missing.tolist()) == {Missing.NONE, Missing.NAN}
    rows = hostile_rows(forest, 5000, 17)
    assert bits(MarginSession(graph_of(forest)).margins(rows)) == bits(booster.predict(rows, raw_score=True))


@pytest.mark.parametrize("options", [{}, {"use_missing": False}, {"zero_as_missing": True}])
def test_any_threshold_is_exact(
    trainer: Callable[..., lgb.Booster], hostile_rows: Rows, options: dict[str, bool]
) -> None:
    """Thresholds that training never writes, tiny or infinite, are read as LightGBM reads them."""
    odd = [0.0, ZERO, 1e-36, 5e-324, np.inf, 1e308]
    thresholds = np.random.default_rng(0).choice([*odd, *(-value for value in odd)], 1000).tolist()
    forest = parse_forest(trainer(**options).model_to_string())
    lines = trainer(**options).model_to_string().split("\n")
    tree = -1
    for place, line in enumerate(lines):
        tree += line.startswith("Tree=")
        if line.startswith("threshold="):
            splits = slice(*forest.tree_splits[tree : tree + 2])
            words = zip(line[10:].split(), forest.category_set[splits].tolist(), strict=True)
            lines[place] = "threshold=" + " ".join(
                word if category >= 0 else repr(thresholds.pop()) for word, category in words
            )
    text = "\n".join(line for line in lines if not line.startswith("tree_sizes"))
    booster = fix_leaves(lgb.Booster(model_str=text))
    forest = parse_forest(booster.model_to_string())
    rows = hostile_rows(forest, 20_000, 18)
    assert bits(MarginSession(graph_of(forest)).margins(rows)) == bits(booster.predict(rows, raw_score=True))
    expected = booster.predict(rows[:50], pred_leaf=True).reshape(50, -1)
    assert [walk(forest, row) for row in rows[:50]] == expected.tolist()
