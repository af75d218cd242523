"""Bootstrap of whole days: how often each draw holds each day, and counts of records under every draw.

Records of one day have more in common than records of different days, so days are drawn, not records (block
bootstrap, Künsch 1989, doi:10.1214/aos/1176347265).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.compiled import compiled
from scoring_model.records.times import DAY

MIN_DAYS: Final = 10
"""Minimum number of days for a bootstrap."""

REPEATS: Final = 1000

_CELLS: Final = 1 << 22
"""Most counts that are held at a time."""


def draw_days(days: int, *, repeats: int = REPEATS) -> IntArray:
    """Draw days with replacement.

    Returns
    -------
    ndarray of shape (repeats, days), int64
        How often each draw holds each day. Without rows with fewer than ten days. Draws depend only on the number of
        days, so that results on the same records are paired.
    """
    if days < MIN_DAYS:
        return np.zeros((0, days), dtype=np.int64)
    drawn = np.random.default_rng(0).integers(0, days, (repeats, days))
    drawn += np.arange(repeats)[:, None] * days
    return np.bincount(drawn.ravel(), minlength=repeats * days).reshape(repeats, days)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class DayDraws:
    """Records by day, and the draws of these days.

    Parameters
    ----------
    day_of : ndarray of shape (n,), int64
        Code of the day of each record, ascending with the day; only days with records have one.
    days : int
        Number of such days.
    weights : ndarray of shape (r, days), int64
        How often each draw holds each day; r = 0 with fewer than ten days.
    """

    day_of: IntArray
    days: int
    weights: IntArray

    @classmethod
    def of(cls, event_times: IntArray, *, repeats: int = REPEATS) -> Self:
        """Draw the days of records.

        Parameters
        ----------
        event_times : ndarray of shape (n,), int64
            Microseconds since 1970-01-01 UTC.
        """
        held, day_of = np.unique(event_times // DAY, return_inverse=True)
        return cls(
            day_of=day_of.astype(np.int64, copy=False),
            days=len(held),
            weights=draw_days(len(held), repeats=repeats),
        )

    def totals(self, values: FloatArray) -> FloatArray:
        """Sum a value of the records by day, of shape (days,); the order of the records changes no bit."""
        order = np.lexsort((values, self.day_of))
        return np.bincount(self.day_of[order], values[order], minlength=self.days).astype(np.float64)

    def counts(self, codes: IntArray, size: int) -> IntArray:
        """Count the records of each day by code.

        Parameters
        ----------
        codes : ndarray of shape (n,), int64
            From 0 to size - 1.

        Returns
        -------
        ndarray of shape (days, size), int64
        """
        return np.bincount(self.day_of * size + codes, minlength=self.days * size).reshape(self.days, size)

    def weighted_counts(self, codes: IntArray, size: int, weights: FloatArray) -> FloatArray:
        """Sum weights of the records of each day by code, of shape (days, size); see `counts`."""
        cells = self.day_of * size + codes
        order = np.lexsort((weights, cells))  # the order of the records changes no bit
        sums = np.bincount(cells[order], weights[order], minlength=self.days * size)
        return sums.astype(np.float64).reshape(self.days, size)

    def drawn(self, by_day: NDArray[np.int64] | FloatArray) -> FloatArray:
        """Sum days under every draw.

        Parameters
        ----------
        by_day : ndarray of shape (days, ...)

        Returns
        -------
        ndarray of shape (r, ...), float64
            Exact for counts.
        """
        return np.tensordot(self.weights.astype(np.float64), by_day.astype(np.float64), axes=1)

    def drawn_counts(self, codes: IntArray, size: int) -> Iterator[IntArray]:
        """Count all records by code under every draw, a chunk of draws at a time.

        The same as `drawn(counts(codes, size))` for many codes, of which each day has few.

        Yields
        ------
        ndarray of shape (c, size), int64
            For the next c draws.
        """
        order = np.argsort(codes, kind="stable")  # neighbours share the cache
        codes, days = codes[order], self.day_of[order]
        step = max(1, _CELLS // max(size, 1))
        for start in range(0, len(self.weights), step):
            weights = np.ascontiguousarray(self.weights[start : start + step].T, dtype=np.int32)
            sums = np.zeros((size, weights.shape[1]), dtype=np.int32)
            _add_weights(codes, days, weights, sums)
            yield np.ascontiguousarray(sums.T, dtype=np.int64)

    def drawn_weights(self, codes: IntArray, size: int, weights: FloatArray) -> Iterator[FloatArray]:
        """Sum weights of all records by code under every draw, a chunk of draws at a time; see `drawn_counts`."""
        order = np.lexsort((weights, codes))
        codes, days, own = codes[order], self.day_of[order], weights[order]
        step = max(1, _CELLS // max(size, 1))
        for start in range(0, len(self.weights), step):
            of_days = np.ascontiguousarray(self.weights[start : start + step].T, dtype=np.float64)
            sums = np.zeros((size, of_days.shape[1]))
            _add_own_weights(codes, days, own, of_days, sums)
            yield np.ascontiguousarray(sums.T)


@compiled
def _add_own_weights(
    codes: IntArray, days: IntArray, own: FloatArray, weights: FloatArray, sums: FloatArray
) -> None:
    """Add the weights of each record's day, times its own, to the sums of its code."""
    for i in range(len(codes)):
        code, day = codes[i], days[i]
        for j in range(weights.shape[1]):
            sums[code, j] += own[i] * weights[day, j]


@compiled
def _add_weights(
    codes: IntArray, days: IntArray, weights: NDArray[np.int32], sums: NDArray[np.int32]
) -> None:
    """Add the weights of each record's day to the sums of its code."""
    for i in range(len(codes)):
        code, day = codes[i], days[i]
        for j in range(weights.shape[1]):
            sums[code, j] += weights[day, j]
