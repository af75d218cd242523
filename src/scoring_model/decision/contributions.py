"""What each feature adds to the margin of one row: exact Shapley values of trees.

They are the path-dependent TreeSHAP values of Lundberg et al. 2020 (doi:10.1038/s42256-019-0138-9), the same
that LightGBM's ``pred_contrib`` gives. A leaf of value v whose path reads M features adds to the value of j

    v (o_j - z_j) integral from 0 to 1 of product over k != j of (t o_k + (1 - t) z_k) dt,

where o_k is 1 if the row obeys every split on k along the path, else 0, and z_k is the share of training rows
that did so, split by split. The integral is the sum over subsets that defines a Shapley value, as
s! (M - 1 - s)! / M! is the beta integral of t^s (1 - t)^(M - 1 - s). Its integrand is a polynomial of degree
M - 1, for which Gauss-Legendre quadrature with M / 2 points is exact.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.decision.answers import Answers
from scoring_model.decision.forest import Forest

LEAST_SHARE: Final = 1e-100
"""Stands for a share of 0, so that a factor can be divided out again."""


class Contributions:
    """The Shapley values of a forest's rows.

    Parameters
    ----------
    forest : Forest
        The trees, with the counts of their training rows.

    Attributes
    ----------
    base : float
        The mean margin, over the training rows as the counts describe them. It and the values of a row sum to
        the row's margin, up to rounding.
    """

    base: float

    def __init__(self, forest: Forest) -> None:
        self._answers = Answers(forest)
        self._feature_count = forest.feature_count
        paths = list(_paths(forest))
        constants = forest.leaf_value[~forest.roots()[forest.roots() < 0]]
        self.base = float(constants.sum() + sum(path.value * float(np.prod(path.shares)) for path in paths))
        by_length: dict[int, list[_Path]] = {}
        for path in paths:
            by_length.setdefault(len(path.features), []).append(path)
        self._groups = [_Group.of(by_length[length]) for length in sorted(by_length)]

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
        left = self._answers.left(row)
        # An answer and its opposite side by side: a path needs some of either.
        answers = np.concatenate([left, ~left])
        values = np.zeros(self._feature_count)
        for group in self._groups:
            values += np.bincount(group.features, group.values(answers), self._feature_count)
        return values


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Path:
    """The way to one leaf: the features that it reads and, for each, the answers that it needs."""

    value: float
    features: tuple[int, ...]
    shares: FloatArray
    answers: tuple[tuple[int, ...], ...]


def _paths(forest: Forest) -> Iterator[_Path]:
    """Walk all trees; a split's answer left is its index, its answer right the index behind all splits."""
    count = len(forest.feature)
    # Leaves are numbered from -1 downwards: they stand, in reverse, behind the splits.
    rows = np.concatenate([forest.split_count, forest.leaf_count[::-1]])
    over = np.maximum(forest.split_count, 1)
    shares = np.stack([rows[forest.left] / over, rows[forest.right] / over], axis=1).tolist()
    children = np.stack([forest.left, forest.right], axis=1).tolist()
    features, leaves = forest.feature.tolist(), forest.leaf_value.tolist()
    for root in forest.roots().tolist():
        waiting: list[tuple[int, dict[int, tuple[float, tuple[int, ...]]]]] = [(root, {})]
        while waiting:
            node, way = waiting.pop()
            if node >= 0:
                share, answers = way.get(features[node], (1.0, ()))
                for side in (0, 1):
                    taken = (share * shares[node][side], (*answers, node + side * count))
                    waiting.append((children[node][side], {**way, features[node]: taken}))
            elif way:
                yield _Path(
                    value=leaves[~node],
                    features=tuple(way),
                    shares=np.array([share for share, _ in way.values()]),
                    answers=tuple(answers for _, answers in way.values()),
                )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Group:
    """Paths that read the same number of features, as arrays of shape (features, points, paths)."""

    features: IntArray
    answers: IntArray
    starts: IntArray
    shares: FloatArray
    obeyed: FloatArray
    broken: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, paths: list[_Path]) -> "_Group":
        """Gather the paths and tabulate the factors that are the same for every row."""
        length = len(paths[0].features)
        points, weights = np.polynomial.legendre.leggauss((length + 1) // 2)
        t = (points + 1)[:, np.newaxis] / 2
        shares = np.stack([path.shares for path in paths], axis=1)
        broken = (1 - t) * np.maximum(shares, LEAST_SHARE)[:, np.newaxis, :]
        needs = [path.answers[place] for place in range(length) for path in paths]
        return cls(
            features=np.array([path.features[place] for place in range(length) for path in paths]),
            answers=np.array([answer for answers in needs for answer in answers]),
            starts=np.cumsum([0, *(len(answers) for answers in needs[:-1])]),
            shares=shares,
            obeyed=broken + t,
            broken=broken,
            weights=np.array([path.value for path in paths]) * (weights / 2)[:, np.newaxis],
        )

    def values(self, answers: BoolArray) -> FloatArray:
        """Return what the feature of each path and place adds, by place and path."""
        obeys = np.logical_and.reduceat(answers[self.answers], self.starts).reshape(self.shares.shape)
        factors = np.where(obeys[:, np.newaxis, :], self.obeyed, self.broken)
        products = self.weights * np.multiply.reduce(factors, axis=0)
        integrals: FloatArray = np.add.reduce(products / factors, axis=1)
        return ((obeys - self.shares) * integrals).ravel()
