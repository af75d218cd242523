"""Whether the arrays of a forest are trees: every walk from a root ends at a leaf.

All checks are of whole arrays, so they take milliseconds whatever the arrays hold. LightGBM numbers a split after the
split that it refines, so a split that leads to none before it can't be part of a cycle.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import BoolArray, IntArray
from scoring_model.decision.forest import Forest, Missing

_SPLITS: Final = ("category_set", "threshold", "missing", "default_left", "left", "right", "split_count")
_KINDS: Final = {
    "threshold": "f",
    "leaf_value": "f",
    "default_left": "b",
}  # of numpy; all others are integers


def read_forest(arrays: Mapping[str, NDArray[np.generic]]) -> Forest:
    """Build a forest from the arrays of a file.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        As `Forest.to_arrays` gives them.

    Returns
    -------
    Forest

    Raises
    ------
    ValueError
        If fields are missing or unknown, or are no trees: with one problem of each kind, naming tree and split.
    """
    forest = Forest.from_arrays(arrays)
    problems = (
        [*_type_problems(forest)]
        or [*_shape_problems(forest)]
        or [*_link_problems(forest), *_value_problems(forest)]
    )
    if problems:
        raise ValueError("the arrays are not trees: " + "; ".join(problems))
    return forest


def _type_problems(forest: Forest) -> Iterator[str]:
    for name, array in forest.to_arrays().items():
        wanted = _KINDS.get(name, "i")
        if name != "feature_count" and (array.ndim != 1 or array.dtype.kind != wanted):
            yield f"{name} must have one dimension and type {wanted}, got {array.ndim} of {array.dtype}"


def _shape_problems(forest: Forest) -> Iterator[str]:
    lengths = {name: array.size for name, array in forest.to_arrays().items()}
    for name in _SPLITS:
        if lengths[name] != lengths["feature"]:
            yield f"{name} must have {lengths['feature']} values, got {lengths[name]}"
    if lengths["leaf_count"] != lengths["leaf_value"]:
        yield f"leaf_count must have {lengths['leaf_value']} values, got {lengths['leaf_count']}"
    for name, starts, end in (
        ("tree_splits", forest.tree_splits, lengths["feature"]),
        ("tree_leaves", forest.tree_leaves, lengths["leaf_value"]),
        ("set_starts", forest.set_starts, lengths["set_codes"]),
    ):
        if not starts.size or starts[0] != 0 or starts[-1] != end or (np.diff(starts) < 0).any():
            yield f"{name} must ascend from 0 to {end}"


def _link_problems(forest: Forest) -> Iterator[str]:
    """What is wrong with the ways from the roots to the leaves."""
    splits, leaves = np.diff(forest.tree_splits), np.diff(forest.tree_leaves)
    if len(splits) != len(leaves) or (leaves != splits + 1).any():
        yield "each tree must have one leaf more than it has splits"
        return
    parent = np.tile(np.arange(len(forest.feature)), 2)
    child = np.concatenate([forest.left, forest.right])
    tree = np.tile(np.repeat(np.arange(len(splits)), splits), 2)
    is_split, leaf = child >= 0, ~child
    back = is_split & (child <= parent)
    outside = np.where(
        is_split,
        child >= forest.tree_splits[tree + 1],
        (leaf < forest.tree_leaves[tree]) | (leaf >= forest.tree_leaves[tree + 1]),
    )
    yield from _first(
        back, tree, parent, "leads back to a split before it or to itself: the tree has a cycle"
    )
    yield from _first(outside, tree, parent, "leads out of its tree")
    if not (back | outside).any() and not _is_each_met_once(forest, child):
        yield "each split but the first of a tree, and each leaf, must be led to exactly once"


def _is_each_met_once(forest: Forest, child: IntArray) -> bool:
    """Whether every split and every leaf has one parent, or is the root of a tree and has none."""
    met = np.concatenate([child, forest.roots()])
    splits = np.bincount(met[met >= 0], minlength=len(forest.feature))
    leaves = np.bincount(~met[met < 0], minlength=len(forest.leaf_value))
    return bool((splits == 1).all() and (leaves == 1).all())


def _first(wrong: BoolArray, tree: IntArray, split: IntArray, words: str) -> Iterator[str]:
    if wrong.any():
        place = int(np.argmax(wrong))
        yield f"tree {tree[place]}: split {split[place]} {words}"


def _value_problems(forest: Forest) -> Iterator[str]:
    sets = len(forest.set_starts) - 1
    ranges: dict[str, tuple[NDArray[np.integer], int, int]] = {
        "feature": (forest.feature, 0, forest.feature_count - 1),
        "category_set": (forest.category_set, -1, sets - 1),
        "missing": (forest.missing, min(Missing), max(Missing)),
    }
    for name, (values, least, most) in ranges.items():
        if ((values < least) | (values > most)).any():
            yield f"{name} must be {least} to {most}"
    for name, counts in (("split_count", forest.split_count), ("leaf_count", forest.leaf_count)):
        if (counts < 0).any():
            yield f"{name} must be at least 0"
    if np.isnan(forest.threshold).any() or not np.isfinite(forest.leaf_value).all():
        yield "thresholds must be numbers, and leaves finite ones"
