"""Which way a row goes at every split of a forest, as LightGBM decides."""

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.decision.forest import ZERO, Forest, Missing


class SplitDecisions:
    """The answers of all splits to a row, whether or not the row reaches them.

    Parameters
    ----------
    forest : Forest
        The trees.
    """

    def __init__(self, forest: Forest) -> None:
        self._feature = forest.feature
        self._threshold = forest.threshold
        self._missing_zero = forest.missing == Missing.ZERO
        self._any_missing_zero = bool(self._missing_zero.any())
        missing_left = np.where(forest.missing == Missing.NONE, forest.threshold >= 0, forest.default_left)
        self._missing_left = missing_left & (forest.category_set < 0)
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
    for feature in np.unique(forest.feature[categorical]).tolist():
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
