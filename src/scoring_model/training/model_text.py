"""Reads LightGBM's model text into a `Forest` without loss: doubles round-trip in the text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.decision.forest import Forest

CATEGORICAL: Final = 1
DEFAULT_LEFT: Final = 2
MISSING_SHIFT: Final = 2


class UnsupportedModelError(ValueError):
    """A model without an exact counterpart as a `Forest`; the message lists every reason."""


def parse_forest(*texts: str) -> Forest:
    """Read model texts into one forest, whose margin is the sum of their margins.

    Parameters
    ----------
    *texts : str
        Results of ``Booster.model_to_string()`` for models with the same features; at least one.

    Raises
    ------
    UnsupportedModelError
        If the model has linear trees, several classes, averaged trees, an objective other than binary, or no
        tree at all.
    """
    trees, widths = [], set()
    for text in texts:
        header, *blocks = text.split("\nend of trees", 1)[0].split("\nTree=")
        settings = _settings(header)
        found = [_settings(block) for block in blocks]
        reasons = _refusals(settings, found)
        if reasons:
            raise UnsupportedModelError("the model cannot be exported: " + "; ".join(reasons))
        trees += [_read_tree(tree) for tree in found]
        widths.add(int(settings["max_feature_idx"]) + 1)
    if len(widths) != 1:
        raise UnsupportedModelError(f"the models have different numbers of features: {sorted(widths)}")
    return _join(trees, widths.pop())


def _settings(block: str) -> dict[str, str]:
    """Read the lines ``name=value`` of a block; a line without ``=`` is a flag."""
    pairs = (line.partition("=") for line in block.split("\n"))
    return {name: value for name, _, value in pairs}


def _refusals(settings: Mapping[str, str], trees: Sequence[Mapping[str, str]]) -> list[str]:
    """List why a model cannot be exported."""
    reasons = []
    if settings.get("num_class") != "1" or settings.get("num_tree_per_iteration") != "1":
        reasons.append("it has several classes (multiclass), one margin is needed")
    if "average_output" in settings:
        reasons.append("its trees are averaged (boosting=rf), a sum is needed")
    objective = settings.get("objective", "none")
    if objective.split(" ")[0] != "binary":
        reasons.append(f"its objective is {objective.split(' ')[0]}, binary is needed")
    if any(tree.get("is_linear", "0") != "0" for tree in trees):
        reasons.append("its leaves are linear models (linear_tree), constants are needed")
    if not trees:
        reasons.append("it has no trees")
    return reasons


@dataclass(frozen=True, kw_only=True, slots=True)
class _Tree:
    """One tree of the text, its splits, leaves and sets numbered from 0."""

    feature: IntArray
    decision: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    split_count: IntArray
    leaf_value: FloatArray
    leaf_count: IntArray
    sets: tuple[IntArray, ...]


def _integers(text: str | None) -> IntArray:
    return np.array((text or "").split(), np.int64)


def _floats(text: str | None) -> FloatArray:
    # float() is correctly rounded, as the 17 digits of the text require.
    return np.array([float(word) for word in (text or "").split()], np.float64)


def _read_tree(tree: Mapping[str, str]) -> _Tree:
    leaf_value = _floats(tree.get("leaf_value"))
    leaf_count = _integers(tree.get("leaf_count"))
    return _Tree(
        feature=_integers(tree.get("split_feature")),
        decision=_integers(tree.get("decision_type")),
        threshold=_floats(tree.get("threshold")),
        left=_integers(tree.get("left_child")),
        right=_integers(tree.get("right_child")),
        split_count=_integers(tree.get("internal_count")),
        leaf_value=leaf_value,
        # The only leaf of a constant tree may have no count.
        leaf_count=leaf_count if len(leaf_count) else np.zeros(len(leaf_value), np.int64),
        sets=_read_sets(_integers(tree.get("cat_boundaries")), _integers(tree.get("cat_threshold"))),
    )


def _read_sets(boundaries: IntArray, words: IntArray) -> tuple[IntArray, ...]:
    """Read sets of codes from the bits of 32-bit words, lowest bit first."""
    bits = (words[:, np.newaxis] >> np.arange(32)) & 1
    return tuple(np.flatnonzero(bits[start:end]) for start, end in pairwise(boundaries))


def _join(trees: Sequence[_Tree], feature_count: int) -> Forest:
    """Join the trees, with continuous numbers of splits, leaves and sets."""
    tree_splits = _starts([len(tree.feature) for tree in trees])
    tree_leaves = _starts([len(tree.leaf_value) for tree in trees])
    set_offsets = _starts([len(tree.sets) for tree in trees])
    sets = [codes for tree in trees for codes in tree.sets]
    decision = np.concatenate([tree.decision for tree in trees])
    threshold = np.concatenate([tree.threshold for tree in trees])
    categorical = (decision & CATEGORICAL) != 0
    # A categorical split holds the number of its set in place of a threshold.
    set_numbers = np.where(categorical, threshold, 0).astype(np.int64)
    set_numbers += np.repeat(set_offsets[:-1], np.diff(tree_splits))
    return Forest(
        feature_count=feature_count,
        tree_splits=tree_splits,
        tree_leaves=tree_leaves,
        feature=np.concatenate([tree.feature for tree in trees]),
        category_set=np.where(categorical, set_numbers, -1),
        threshold=np.where(categorical, 0.0, threshold),
        missing=np.where(categorical, 0, decision >> MISSING_SHIFT & 3).astype(np.int8),
        default_left=~categorical & ((decision & DEFAULT_LEFT) != 0),
        left=_children([tree.left for tree in trees], tree_splits, tree_leaves),
        right=_children([tree.right for tree in trees], tree_splits, tree_leaves),
        split_count=np.concatenate([tree.split_count for tree in trees]),
        set_starts=_starts([len(codes) for codes in sets]),
        set_codes=np.concatenate([*sets, np.zeros(0, np.int64)]),
        leaf_value=np.concatenate([tree.leaf_value for tree in trees]),
        leaf_count=np.concatenate([tree.leaf_count for tree in trees]),
    )


def _starts(lengths: Sequence[int]) -> IntArray:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def _children(sides: Sequence[IntArray], tree_splits: IntArray, tree_leaves: IntArray) -> IntArray:
    """Renumber children: offset splits by the tree's first split, leaves (negative numbers) by its first leaf."""
    child = np.concatenate(sides)
    counts = np.diff(tree_splits)
    return np.where(
        child >= 0, child + np.repeat(tree_splits[:-1], counts), child - np.repeat(tree_leaves[:-1], counts)
    )
