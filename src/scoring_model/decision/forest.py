"""A boosted forest as flat arrays: what the graph is written from and what reasons are computed with."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import BoolArray, FloatArray, IntArray

ZERO: Final = float(np.float32(1e-35))
"""LightGBM reads every value of at most this size as 0 (`kZeroThreshold`, a float32)."""


class Missing(IntEnum):
    """What a numeric split takes for a missing value (LightGBM, `missing_type`)."""

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
    feature_count : int
        Number of columns of a row.
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
    missing: NDArray[np.int8]
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
        """Build the forest from the arrays of `to_arrays`.

        Raises
        ------
        ValueError
            If fields are missing or unknown; the text names them.
        """
        names = {field.name for field in fields(cls)}
        if names != set(arrays):
            raise ValueError(
                f"a forest has other arrays: missing {sorted(names - set(arrays))}, "
                f"unknown {sorted(set(arrays) - names)}"
            )
        values: dict[str, object] = dict(arrays)
        values["feature_count"] = int(arrays["feature_count"].item())
        return cls(**values)  # type: ignore[arg-type]
