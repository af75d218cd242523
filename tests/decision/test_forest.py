import io
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.arrays import IntArray
from scoring_model.decision.forest import Forest, Missing, read_forest
from scoring_model.decision.paths import walk


def small() -> Forest:
    """Build two trees: one of a numeric and a categorical split, one of a single leaf."""
    return Forest(
        feature_count=3,
        tree_splits=np.array([0, 2, 2]),
        tree_leaves=np.array([0, 3, 4]),
        feature=np.array([2, 0]),
        category_set=np.array([-1, 0]),
        threshold=np.array([0.1, 0.0]),
        missing=np.array([Missing.NAN, 0], np.int8),
        default_left=np.array([True, False]),
        left=np.array([1, ~0]),
        right=np.array([~2, ~1]),
        split_count=np.array([10, 6]),
        set_starts=np.array([0, 2]),
        set_codes=np.array([1, 5]),
        leaf_value=np.array([0.5, -0.25, 0.125, -3.0]),
        leaf_count=np.array([4, 2, 4, 10]),
    )


def test_arrays_survive_a_file_without_pickle() -> None:
    """A forest read from a file of arrays is equal, array by array."""
    file = io.BytesIO()
    np.savez(file, **small().to_arrays())  # type: ignore[arg-type] # its stub takes the names for options
    file.seek(0)
    with np.load(file, allow_pickle=False) as loaded:
        forest = Forest.from_arrays(dict(loaded))
    assert forest.feature_count == 3
    for name, array in small().to_arrays().items():
        again = forest.to_arrays()[name]
        assert again.dtype == array.dtype
        assert np.array_equal(again, array)


def test_a_tree_begins_with_its_first_split_or_its_only_leaf() -> None:
    """Roots are splits by index and lone leaves by complement."""
    assert small().roots().tolist() == [0, ~3]
    assert small().tree_count == 2


def test_other_arrays_are_refused_by_name() -> None:
    """Missing and unknown arrays are named together."""
    arrays = small().to_arrays()
    del arrays["threshold"]
    with pytest.raises(ValueError, match=r"missing \['threshold'\], unknown \['colour'\]"):
        Forest.from_arrays(arrays | {"colour": np.zeros(1)})


Arrays = dict[str, Any]


def chains(trees: int, depth: int) -> Arrays:
    """Trees whose splits lead to one leaf on the left and to the next split on the right."""
    splits, leaves = trees * depth, trees * (depth + 1)
    place = np.arange(splits) % depth
    leaf = np.arange(splits) + np.arange(splits) // depth
    forest = Forest(
        feature_count=2,
        tree_splits=np.arange(trees + 1) * depth,
        tree_leaves=np.arange(trees + 1) * (depth + 1),
        feature=np.zeros(splits, np.int64),
        category_set=np.full(splits, -1),
        threshold=np.zeros(splits),
        missing=np.full(splits, Missing.NAN, np.int8),
        default_left=np.zeros(splits, np.bool_),
        left=~leaf,
        right=np.where(place < depth - 1, np.arange(splits) + 1, ~(leaf + 1)),
        split_count=np.full(splits, 9),
        set_starts=np.array([0, 2]),
        set_codes=np.array([1, 5]),
        leaf_value=np.zeros(leaves),
        leaf_count=np.full(leaves, 3),
    )
    return forest.to_arrays()


def with_value(name: str, place: int, value: object) -> Callable[[Arrays], None]:
    """Change one value of an array."""

    def change(arrays: Arrays) -> None:
        arrays[name] = arrays[name].copy()
        arrays[name][place] = value

    return change


def swap(arrays: Arrays) -> None:
    """Let two splits of the second tree lead to each other, apart from its root, each being met once."""
    arrays["left"], arrays["right"] = arrays["left"].copy(), arrays["right"].copy()
    arrays["right"][3], arrays["right"][5] = arrays["right"][5], 4


BROKEN: list[tuple[Callable[[Arrays], None], str]] = [
    (with_value("right", 3, 3), "tree 1: split 3 leads back"),
    (with_value("right", 5, 3), "tree 1: split 5 leads back"),
    (swap, "tree 1: split 5 leads back"),
    (with_value("right", 0, 4), "tree 0: split 0 leads out of its tree"),
    (with_value("right", 0, 6_000), "tree 0: split 0 leads out of its tree"),
    (with_value("left", 4, ~0), "tree 1: split 4 leads out of its tree"),
    (with_value("left", 4, ~8), "tree 1: split 4 leads out of its tree"),
    (with_value("left", 4, ~4), "led to exactly once"),
    (with_value("right", 3, 5), "led to exactly once"),
    (with_value("tree_splits", 1, 2), "one leaf more"),
    (with_value("tree_splits", 1, 7), "tree_splits must ascend"),
    (with_value("tree_leaves", 0, 1), "tree_leaves must ascend"),
    (with_value("set_starts", 1, 3), "set_starts must ascend"),
    (with_value("feature", 2, 2), "feature must be 0 to 1"),
    (with_value("feature", 2, -1), "feature must be 0 to 1"),
    (with_value("category_set", 2, 1), "category_set must be -1 to 0"),
    (with_value("missing", 2, 3), "missing must be 0 to 2"),
    (with_value("split_count", 2, -1), "split_count must be at least 0"),
    (with_value("leaf_count", 2, -1), "leaf_count must be at least 0"),
    (with_value("threshold", 2, np.nan), "thresholds must be numbers"),
    (with_value("leaf_value", 2, np.inf), "leaves finite"),
    (lambda arrays: arrays.update(left=arrays["left"][:-1]), "left must have 6 values, got 5"),
    (lambda arrays: arrays.update(leaf_count=arrays["leaf_count"][:-1]), "leaf_count must have 8 values"),
    (lambda arrays: arrays.update(right=arrays["right"].astype(float)), "right must have one dimension"),
    (lambda arrays: arrays.update(left=arrays["left"].reshape(2, 3)), "left must have one dimension"),
    (lambda arrays: arrays.update(tree_splits=np.empty(0, np.int64)), "tree_splits must ascend"),
]


@pytest.mark.parametrize(("change", "word"), BROKEN)
def test_what_is_no_tree_is_named(change: Callable[[Arrays], None], word: str) -> None:
    """Cycles, ways out of a tree, parts that nothing leads to and values out of range are refused by name."""
    arrays = chains(2, 3)
    assert len(list(walk(read_forest(arrays)))) == 8
    change(arrays)
    with pytest.raises(ValueError, match=word):
        read_forest(arrays)


@given(st.permutations([1, 2, *(~leaf for leaf in range(4))]).map(np.array))
def test_whatever_is_accepted_can_be_walked(children: IntArray) -> None:
    """However the parts of a tree lead to each other, it is refused or has as many ways as leaves."""
    arrays = chains(1, 3) | {"left": children[:3], "right": children[3:]}
    try:
        forest = read_forest(arrays)
    except ValueError:
        return
    assert len(list(walk(forest))) == 4


def test_large_trees_are_checked_in_milliseconds() -> None:
    """A cycle at the end of half a million splits is found without a walk."""
    arrays = chains(5, 100_000)
    with_value("right", 499_999, 400_000)(arrays)
    begun = time.thread_time()
    with pytest.raises(ValueError, match="tree 4: split 499999 leads back"):
        read_forest(arrays)
    assert time.thread_time() - begun < 1
