"""Sums of amounts over the windows of a whole table, exact in 64-bit integers.

The records of a window are contiguous once sorted by key and time. So a sum is the difference of two prefix sums,
which is exact even if a prefix sum overflows 64 bits, as long as the sum itself does not.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.compiled import compiled, inner
from scoring_model.history.amounts import TableAmounts
from scoring_model.history.link_counts import LinkSums

_HALF: Final = 20  # bits of the lower half of an amount, which has 40
_DIGIT: Final = 30  # bits of a digit
_MASK: Final = (1 << _DIGIT) - 1


def sum_windows(
    sums: LinkSums,
    amounts: TableAmounts,
    order: IntArray,
    rows: IntArray,
    starts: IntArray,
    ends: IntArray,
    above: int,
) -> None:
    """Fill the statistics of one amount.

    Parameters
    ----------
    order : ndarray of shape (m,), int64
        The rows of the table, sorted by key and time.
    rows : ndarray of shape (k,), int64
        The rows of `sums` to fill.
    starts : ndarray of shape (k, W), int64
        Start of each window in `order`.
    ends : ndarray of shape (k,), int64
        End of the windows.
    above : int
        The multiple of the mean above which `LinkSums.above` counts.
    """
    units, present = amounts.units[order], amounts.present[order]
    totals, numbers = _windowed(units, starts, ends), _windowed(present.astype(np.int64), starts, ends)
    sums.units[rows], sums.records[rows] = totals, numbers
    if sums.variances is not None:
        sums.variances[rows] = _variances(units, totals, numbers, starts, ends)
    if sums.highest is not None:
        highest = np.zeros_like(totals)
        _find_highest(units, present, starts, ends, highest)
        sums.highest[rows] = highest
    if sums.above is not None:
        counted = np.zeros(totals.shape, dtype=np.int32)
        _count_above(units, present, starts, ends, totals, numbers, above, counted)
        sums.above[rows] = counted


def _windowed(values: IntArray, starts: IntArray, ends: IntArray) -> IntArray:
    """Return the sum of each window."""
    running = np.concatenate([[0], np.cumsum(values)])
    found: IntArray = running[ends][:, None] - running[starts]
    return found


def _variances(
    units: IntArray, totals: IntArray, numbers: IntArray, starts: IntArray, ends: IntArray
) -> FloatArray:
    """Return the variance of each window times n^2, n * sum(x^2) - sum(x)^2, converted as by `exact_float`."""
    size = np.abs(units)
    upper, lower = size >> _HALF, size & ((1 << _HALF) - 1)
    a, b, c = (
        _windowed(part, starts, ends).ravel() for part in (upper * upper, upper * lower, lower * lower)
    )
    high, low = np.empty_like(a), np.empty_like(a)
    _subtract_square(numbers.ravel(), np.abs(totals).ravel(), a, b, c, high, low)
    return (high.astype(np.float64) * 2.0**60 + low.astype(np.float64)).reshape(totals.shape)


@compiled
def _subtract_square(
    numbers: IntArray,
    totals: IntArray,
    upper: IntArray,
    middle: IntArray,
    lower: IntArray,
    high: IntArray,
    low: IntArray,
) -> None:
    """Fill hi and lo of n * (upper * 2^40 + middle * 2^21 + lower) - total^2 = hi * 2^60 + lo, 0 <= lo < 2^60.

    Uses digits of 30 bits: with fewer than 2^21 records of at most 2^40 units no step overflows 64 bits.
    """
    for i in range(len(numbers)):
        n, a, b, c, s = numbers[i], upper[i], middle[i], lower[i], totals[i]
        q0 = (c & _MASK) + ((b & _MASK) << 21)
        q1 = ((c >> 30) & _MASK) + (((b >> 30) & _MASK) << 21) + ((a & _MASK) << 10) + (q0 >> 30)
        q2 = (c >> 60) + ((b >> 60) << 21) + (((a >> 30) & _MASK) << 10) + (q1 >> 30)
        q3 = ((a >> 60) << 10) + (q2 >> 30)
        s0, s1, s2 = s & _MASK, (s >> 30) & _MASK, s >> 60
        d0 = n * (q0 & _MASK) - s0 * s0
        d1 = n * (q1 & _MASK) - 2 * s0 * s1 + (d0 >> 30)
        d2 = n * (q2 & _MASK) - 2 * s0 * s2 - s1 * s1 + (d1 >> 30)
        d3 = n * q3 - 2 * s1 * s2 + (d2 >> 30)
        d4 = (d3 >> 30) - s2 * s2
        low[i] = (d0 & _MASK) + ((d1 & _MASK) << 30)
        high[i] = (d2 & _MASK) + ((d3 & _MASK) << 30) + (d4 << 60)


@inner
def _same_windows(starts: IntArray, ends: IntArray, i: int) -> bool:
    """Return True if a row has the windows of the row before."""
    # Compiling a comparison of arrays takes seconds; compiling a loop does not.
    for w in range(starts.shape[1]):
        if starts[i, w] != starts[i - 1, w]:
            return False
    return bool(ends[i] == ends[i - 1])


@compiled
def _find_highest(
    units: IntArray, present: NDArray[np.bool_], starts: IntArray, ends: IntArray, highest: IntArray
) -> None:
    """Fill the highest amount of each window; a longer window contains every shorter one."""
    for i in range(len(ends)):
        if i > 0 and _same_windows(starts, ends, i):
            for w in range(starts.shape[1]):
                highest[i, w] = highest[i - 1, w]
            continue
        found, best, end = False, 0, ends[i]
        for w in range(starts.shape[1]):
            for j in range(starts[i, w], end):
                if present[j] and (not found or units[j] > best):
                    found, best = True, units[j]
            end = starts[i, w]
            highest[i, w] = best


@compiled
def _count_above(
    units: IntArray,
    present: NDArray[np.bool_],
    starts: IntArray,
    ends: IntArray,
    totals: IntArray,
    numbers: IntArray,
    above: int,
    counted: NDArray[np.int32],
) -> None:
    """Fill the number of amounts in each window above a multiple of its mean."""
    for i in range(len(ends)):
        if i > 0 and _same_windows(starts, ends, i):
            for w in range(starts.shape[1]):
                counted[i, w] = counted[i - 1, w]
            continue
        for w in range(starts.shape[1]):
            n, total = numbers[i, w], totals[i, w]
            for j in range(starts[i, w], ends[i]):
                # n * x > k * total in integers, without 64-bit overflow.
                counted[i, w] += present[j] and -((-n * units[j]) // above) > total
