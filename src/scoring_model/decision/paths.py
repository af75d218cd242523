"""Decision paths: the splits on the way to each leaf, and which of them a row satisfies."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.decision.forest import ZERO, Forest, Missing


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Path:
    """The path to one leaf: the features that it reads and the split decisions required for each.

    Parameters
    ----------
    value : float
        Contribution of the leaf to the margin.
    features : tuple of M int
        Columns that are read, each once.
    shares : ndarray of shape (M,), float64, in [0, 1]
        Share of the training rows that took this way at the splits on each feature.
    decisions : tuple of M tuples of int
        Required decisions of the splits on each feature: the split's index for left, that index plus the number of
        splits for right.
    """

    value: float
    features: tuple[int, ...]
    shares: FloatArray
    decisions: tuple[tuple[int, ...], ...]


def walk(forest: Forest) -> Iterator[Path]:
    """Walk all trees.

    Yields
    ------
    Path
        For each leaf but those of trees without splits.
    """
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
                share, decisions = way.get(features[node], (1.0, ()))
                for side in (0, 1):
                    taken = (share * shares[node][side], (*decisions, node + side * count))
                    waiting.append((children[node][side], {**way, features[node]: taken}))
            elif way:
                yield Path(
                    value=leaves[~node],
                    features=tuple(way),
                    shares=np.array([share for share, _ in way.values()]),
                    decisions=tuple(decisions for _, decisions in way.values()),
                )


class Needs:
    """Finds which sets of required split decisions a row satisfies.

    Parameters
    ----------
    needs : sequence of n tuples of int
        The split decisions that each needs, at least one; see `Path`.
    """

    def __init__(self, needs: Sequence[tuple[int, ...]]) -> None:
        rounds = max(map(len, needs), default=1)
        self._first = np.array([decisions[0] for decisions in needs], dtype=np.int64)
        # Few paths split on a feature twice: further decisions are looked up only for these.
        further = [
            [(place, decisions[turn]) for place, decisions in enumerate(needs) if len(decisions) > turn]
            for turn in range(1, rounds)
        ]
        self._further = [np.array(pairs, dtype=np.int64).T.copy() for pairs in further]

    def met(self, left: BoolArray) -> BoolArray:
        """Find which needs are met.

        Parameters
        ----------
        left : ndarray of shape (splits,), bool
            At which splits the row goes left.

        Returns
        -------
        ndarray of shape (n,), bool
        """
        # Decisions and their negations are concatenated, since a path may require either.
        taken = np.concatenate([left, ~left])
        met: BoolArray = taken.take(self._first)
        for places, asked in self._further:
            met[places] &= taken.take(asked)
        return met


class SplitDecisions:
    """The decisions of all splits of a forest for a row, also of splits that the row does not reach."""

    def __init__(self, forest: Forest) -> None:
        self._feature = forest.feature
        self._threshold = forest.threshold
        self._missing_zero = forest.missing == Missing.ZERO
        self._any_missing_zero = bool(self._missing_zero.any())
        self._missing_left = forest.missing_left & (forest.category_set < 0)
        self._members = _members(forest)

    def left(self, row: FloatArray) -> BoolArray:
        """Find at which splits a row goes left.

        Parameters
        ----------
        row : ndarray of shape (d,), float64
            The features; categorical ones as integer codes or NaN.

        Returns
        -------
        ndarray of shape (splits,), bool
            True for left.
        """
        # LightGBM reads values of this size as 0.
        values = np.where(np.abs(row) <= ZERO, 0.0, row).take(self._feature)
        missing = np.isnan(values)
        if self._any_missing_zero:
            missing |= self._missing_zero & (values == 0)
        left: BoolArray = values <= self._threshold
        np.copyto(left, self._missing_left, where=missing)
        for feature, splits, members in self._members:
            left[splits] = members[_code(row[feature], len(members) - 1)]
        return left


def _members(forest: Forest) -> list[tuple[int, IntArray, BoolArray]]:
    """Tabulate for each categorical feature which of its splits send each code left; the last code: none."""
    categorical = forest.category_set >= 0
    tables = []
    for feature in sorted(set(forest.feature[categorical].tolist())):
        splits = np.flatnonzero(categorical & (forest.feature == feature))
        sets = [forest.codes(index) for index in forest.category_set[splits].tolist()]
        members = np.zeros((max(codes.max(initial=-1) for codes in sets) + 2, len(sets)), np.bool_)
        for column, codes in enumerate(sets):
            members[codes, column] = True
        tables.append((feature, splits, members))
    return tables


def _code(value: float, end: int) -> int:
    """Return the code, truncated towards 0 as LightGBM does, or `end` for NaN and what is out of range."""
    return int(value) if -1 < value < end else end
