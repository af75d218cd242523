"""Shapley values of the features of paths, looked up.

What a path adds depends on nothing but which of its M features the row obeys: one of 2**M patterns. For the few
features that most paths read all patterns fit in a table, and a row costs one look-up for each path.
"""

from typing import Final

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray
from scoring_model.decision.quadrature import Quadrature

MAX_FEATURES: Final = 8
"""Paths of more features are not tabulated: a pattern is one byte."""


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
        table = np.empty((paths, 2**length, length))
        for pattern in range(2**length):
            bits = [pattern >> place & 1 == 1 for place in range(length)]
            table[:, pattern] = exact.values(np.array(bits)[:, np.newaxis])
        self._table = table.reshape(-1, length)
        self._starts = np.arange(paths) * 2**length

    def values(self, obeys: BoolArray) -> FloatArray:
        """Return what each feature of each path adds to the margin.

        Parameters
        ----------
        obeys : ndarray of shape (M, P), bool
            Whether the row obeys every split on the feature along the path.

        Returns
        -------
        ndarray of shape (P, M), float64
        """
        bits = obeys.view(np.uint8)
        pattern = bits[-1].copy()
        for bit in bits[-2::-1]:
            pattern <<= 1
            pattern |= bit
        values: FloatArray = self._table.take(self._starts + pattern, axis=0)
        return values
