"""A boosted forest as flat arrays: the source of the graph and of reasons."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import BoolArray, FloatArray, Int8Array, IntArray

ZERO: Final = float(np.float32(1e-35))
"""LightGBM reads every value of at most this size as 0 (`kZeroThreshold`, a float32)."""


class Missing(IntEnum):
    """Values that a numeric split treats as missing (LightGBM, `missing_type`)."""

    NONE = 0
    """Nothing: NaN is read as 0."""
    ZERO = 1
    """Values of at most `ZERO` in size, and NaN."""
    NAN = 2
    """NaN."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Forest:
    """Trees of numeric and categorical splits whose margin is the sum of one leaf of each tree.

    The splits of tree ``t`` are ``tree_splits[t]`` to ``tree_splits[t + 1] - 1``, the first one its root, its
    leaves ``tree_leaves[t]`` to ``tree_leaves[t + 1] - 1``. A tree without splits has one leaf.

    Parameters
    ----------
    tree_splits : ndarray of shape (trees + 1,), int64
        Where the splits of each tree begin.
    tree_leaves : ndarray of shape (trees + 1,), int64
        Where the leaves of each tree begin.
    feature : ndarray of shape (splits,), int64
        Column that the split reads.
    category_set : ndarray of shape (splits,), int64
        Index of the set of codes that goes left, -1 for a numeric split.
    threshold : ndarray of shape (splits,), float64
        Numeric splits: values of at most the threshold go left. 0 for categorical ones.
    missing : ndarray of shape (splits,), int8
        `Missing` of numeric splits. 0 for categorical ones, where a missing value goes right.
    default_left : ndarray of shape (splits,), bool
        Whether a missing value goes left.
    left, right : ndarray of shape (splits,), int64
        Where each side leads: split ``i`` as ``i``, leaf ``i`` as ``~i``.
    split_count : ndarray of shape (splits,), int64
        Training rows that reached the split.
    set_starts : ndarray of shape (sets + 1,), int64
        Where the codes of each set begin in `set_codes`.
    set_codes : ndarray of shape (codes,), int64
        Codes of the sets, ascending within each.
    leaf_value : ndarray of shape (leaves,), float64
        What a leaf adds to the margin.
    leaf_count : ndarray of shape (leaves,), int64
        Training rows that reached the leaf.
    """

    feature_count: int
    tree_splits: IntArray
    tree_leaves: IntArray
    feature: IntArray
    category_set: IntArray
    threshold: FloatArray
    missing: Int8Array
    default_left: BoolArray
    left: IntArray
    right: IntArray
    split_count: IntArray
    set_starts: IntArray
    set_codes: IntArray
    leaf_value: FloatArray
    leaf_count: IntArray

    @property
    def tree_count(self) -> int:
        """Number of trees."""
        return len(self.tree_leaves) - 1

    @property
    def missing_left(self) -> BoolArray:
        """Return whether a missing value goes left at each numeric split, NaN read as 0 where nothing is missing."""
        return np.where(self.missing == Missing.NONE, self.threshold >= 0, self.default_left)

    def codes(self, category_set: int) -> IntArray:
        """Return the codes of one set, ascending."""
        return self.set_codes[self.set_starts[category_set] : self.set_starts[category_set + 1]]

    def roots(self) -> IntArray:
        """Return where each tree begins.

        Returns
        -------
        ndarray of shape (trees,), int64
            A split as its index, the leaf of a tree without splits as its complement.
        """
        starts, ends = self.tree_splits[:-1], self.tree_splits[1:]
        return np.where(starts < ends, starts, ~self.tree_leaves[:-1])

    def to_arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return the fields by name, each as an array, for a file of arrays."""
        return {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> "Forest":
        """Build the forest from the arrays of `to_arrays`."""
        names = {field.name for field in fields(cls)}
        if names != set(arrays):
            raise ValueError(
                f"a forest has other arrays: missing {sorted(names - set(arrays))}, "
                f"unknown {sorted(set(arrays) - names)}"
            )
        values: dict[str, object] = dict(arrays)
        values["feature_count"] = int(arrays["feature_count"].item())
        return cls(**values)  # type: ignore[arg-type]


def check_rows(rows: FloatArray, width: int) -> None:
    """Raise ValueError unless rows are float64 of shape (n, width)."""
    if rows.dtype != np.float64 or rows.ndim != 2 or rows.shape[1] != width:
        raise ValueError(
            f"rows must be float64 of shape (n, {width}), got {rows.dtype} of shape {rows.shape}"
        )


_SPLITS: Final = ("category_set", "threshold", "missing", "default_left", "left", "right", "split_count")
_KINDS: Final = {
    "threshold": "f",
    "leaf_value": "f",
    "default_left": "b",
}  # of numpy; all others are integers


def read_forest(arrays: Mapping[str, NDArray[np.generic]]) -> Forest:
    """Build a forest from the arrays of a file.

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
    """Check the paths from the roots to the leaves."""
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
