"""What each feature adds to the margin of one row: exact Shapley values of trees.

They are the path-dependent TreeSHAP values of Lundberg et al. 2020 (doi:10.1038/s42256-019-0138-9), the same
that LightGBM's ``pred_contrib`` gives. A leaf of value v whose path reads M features adds to the value of j

    v (o_j - z_j) integral from 0 to 1 of product over k != j of (t o_k + (1 - t) z_k) dt,

where o_k is 1 if the row obeys every split on k along the path, else 0, and z_k is the share of training rows
that did so, split by split. The integral is the sum over subsets that defines a Shapley value, as
s! (M - 1 - s)! / M! is the beta integral of t^s (1 - t)^(M - 1 - s). Its integrand is a polynomial of degree
M - 1, for which Gauss-Legendre quadrature with M / 2 points is exact. Paths of few features, nearly all, have
their values for every combination of o in a table that the quadrature fills once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.decision.forest import Forest
from scoring_model.decision.paths import Needs, Path, walk
from scoring_model.decision.patterns import MAX_FEATURES, Patterns, path_bytes
from scoring_model.decision.quadrature import Quadrature
from scoring_model.decision.split_decisions import SplitDecisions

TABLE_BYTES: Final = 2**24
"""The most that the tables of one forest may take."""


class Contributions:
    """The Shapley values of a forest's rows.

    Parameters
    ----------
    forest : Forest
        The trees, with the counts of their training rows.
    table_bytes : int
        The most that tables may take, 0 or more. It is a matter of speed: values are the same up to the order
        of their sums.

    Attributes
    ----------
    base : float
        The mean margin, over the training rows as the counts describe them. It and the values of a row sum to
        the row's margin, up to rounding.
    """

    base: float

    def __init__(self, forest: Forest, *, table_bytes: int = TABLE_BYTES) -> None:
        self._answers = SplitDecisions(forest)
        self._feature_count = forest.feature_count
        paths = list(walk(forest))
        constants = forest.leaf_value[~forest.roots()[forest.roots() < 0]]
        self.base = float(constants.sum() + sum(path.value * float(np.prod(path.shares)) for path in paths))
        groups = list(_groups(paths, table_bytes))
        self._blocks = [_Block.of(alike, tabulated=tabulated) for alike, tabulated in groups]
        # Place by place: so the patterns of all paths of a block are put together at once.
        self._needs = Needs(
            [path.answers[m] for alike, _ in groups for m in range(len(alike[0].features)) for path in alike]
        )

    def explain(self, row: FloatArray) -> FloatArray:
        """Return what each feature adds to the margin of a row.

        Parameters
        ----------
        row : ndarray of shape (d,), float64
            The features; categorical ones as integer codes or NaN.

        Returns
        -------
        ndarray of shape (d,), float64
            In log-odds, positive where the feature pushes the margin up.
        """
        obeys = self._needs.met(self._answers.left(row))
        total = np.zeros(self._feature_count)
        start = 0
        for block in self._blocks:
            end = start + len(block.features)
            values = block.values.values(obeys[start:end].reshape(block.length, -1))
            # Summed block by block: short sums round less than long ones.
            total += np.bincount(block.features, values.ravel(), self._feature_count)
            start = end
        return total


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Block:
    """P paths that read the same number M of features.

    Parameters
    ----------
    length : int
        M.
    features : ndarray of shape (P * M,), int64
        What they read, path by path.
    values : Patterns or Quadrature
        What gives the values.
    """

    length: int
    features: IntArray
    values: Patterns | Quadrature

    @classmethod
    def of(cls, paths: Sequence[Path], *, tabulated: bool) -> "_Block":
        length, exact = len(paths[0].features), Quadrature.of(paths)
        return cls(
            length=length,
            features=np.array([feature for path in paths for feature in path.features], dtype=np.int64),
            values=Patterns(exact) if tabulated else exact,
        )


def _groups(paths: Sequence[Path], table_bytes: int) -> Iterator[tuple[list[Path], bool]]:
    """Paths by how many features they read, and whether there is room for them in tables."""
    by_length: dict[int, list[Path]] = {}
    for path in paths:
        by_length.setdefault(len(path.features), []).append(path)
    for length, alike in sorted(by_length.items()):
        count = min(table_bytes // path_bytes(length), len(alike)) if length <= MAX_FEATURES else 0
        table_bytes -= count * path_bytes(length)
        if count:
            yield alike[:count], True
        if count < len(alike):
            yield alike[count:], False
