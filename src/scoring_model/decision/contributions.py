"""Contributions of features to the margin of one row: exact Shapley values of trees.

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

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.decision.forest import Forest
from scoring_model.decision.paths import Needs, Path, SplitDecisions, walk

LEAST_SHARE: Final = 1e-100
"""Replaces a share of 0, so that a factor can be divided out again."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Quadrature:
    """P paths that read the same number M of features.

    Parameters
    ----------
    shares : ndarray of shape (M, P), float64
        Share of the training rows that took the path at the splits on each feature.
    obeyed, broken : ndarray of shape (M, points, P), float64
        The factor of each feature at each point, for a row that obeys it and for one that does not.
    weights : ndarray of shape (points, P), float64
        The value of the leaf times the weight of the point.
    """

    shares: FloatArray
    obeyed: FloatArray
    broken: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, paths: Sequence[Path]) -> "Quadrature":
        """Tabulate the factors that are the same for every row."""
        length = len(paths[0].features)
        points, weights = np.polynomial.legendre.leggauss((length + 1) // 2)
        t = (points + 1)[:, np.newaxis] / 2
        shares = np.stack([path.shares for path in paths], axis=1)
        broken = (1 - t) * np.maximum(shares, LEAST_SHARE)[:, np.newaxis, :]
        return cls(
            shares=shares,
            obeyed=broken + t,
            broken=broken,
            weights=np.array([path.value for path in paths]) * (weights / 2)[:, np.newaxis],
        )

    def values(self, obeys: BoolArray) -> FloatArray:
        """Return what each feature of each path adds to the margin.

        Parameters
        ----------
        obeys : ndarray of shape (..., M, P) or (..., M, 1), bool
            Whether each row obeys every split on the feature along the path.

        Returns
        -------
        ndarray of shape (..., P, M), float64
        """
        factors = np.where(obeys[..., np.newaxis, :], self.obeyed, self.broken)
        products = self.weights * np.multiply.reduce(factors, axis=-3)
        integrals: FloatArray = np.add.reduce(products[..., np.newaxis, :, :] / factors, axis=-2)
        return np.swapaxes((obeys - self.shares) * integrals, -2, -1)


MAX_FEATURES: Final = 8
"""Paths of more features are not tabulated: a pattern is one byte."""

_FACTORS: Final = 2**15
"""Factors that are computed at once: as many as fit in a processor's cache."""


def path_bytes(length: int) -> int:
    """Size of the table of one path of `length` features."""
    return (length << length) * np.dtype(np.float64).itemsize


class Patterns:
    """P paths that read the same number M of features, at most `MAX_FEATURES`.

    Parameters
    ----------
    exact : Quadrature
        What computes the table: the same bits are looked up as it would give.
    """

    def __init__(self, exact: Quadrature) -> None:
        length, paths = exact.shares.shape
        patterns = np.arange(2**length)[:, np.newaxis, np.newaxis]
        obeys = patterns >> np.arange(length)[:, np.newaxis] & 1 == 1
        table = np.empty((paths, 2**length, length))
        step = max(_FACTORS // exact.obeyed.size, 1)
        for start in range(0, 2**length, step):
            some = slice(start, start + step)
            table[:, some] = exact.values(obeys[some]).swapaxes(0, 1)
        self._table = table.reshape(-1, length)
        self._starts = np.arange(paths) * 2**length

    def values(self, obeys: BoolArray) -> FloatArray:
        """Return what each feature of each path adds to the margin."""
        bits = obeys.view(np.uint8)
        pattern = bits[-1].copy()
        for bit in bits[-2::-1]:
            pattern <<= 1
            pattern |= bit
        values: FloatArray = self._table.take(self._starts + pattern, axis=0)
        return values


TABLE_BYTES: Final = 2**24
"""Maximum size of the tables of one forest."""


class Contributions:
    """The Shapley values of a forest's rows.

    Parameters
    ----------
    table_bytes : int
        Maximum size of the tables, 0 or more. It affects only speed and the order of summation.

    Attributes
    ----------
    base : float
        The mean margin, over the training rows as the counts describe them. It and the values of a row sum to
        the row's margin, up to rounding.
    """

    base: float

    def __init__(self, forest: Forest, *, table_bytes: int = TABLE_BYTES) -> None:
        self._splits = SplitDecisions(forest)
        self._feature_count = forest.feature_count
        paths = list(walk(forest))
        constants = forest.leaf_value[~forest.roots()[forest.roots() < 0]]
        self.base = float(constants.sum() + sum(path.value * float(np.prod(path.shares)) for path in paths))
        groups = list(_groups(paths, table_bytes))
        self._blocks = [_Block.of(alike, tabulated=tabulated) for alike, tabulated in groups]
        # Place by place: so the patterns of all paths of a block are put together at once.
        self._needs = Needs(
            [
                path.decisions[m]
                for alike, _ in groups
                for m in range(len(alike[0].features))
                for path in alike
            ]
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
        obeys = self._needs.met(self._splits.left(row))
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
    features : ndarray of shape (P * M,), int64
        What they read, path by path.
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
    """Paths by how many features they read, and whether they fit in tables."""
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
