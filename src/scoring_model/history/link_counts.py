"""Counts under one link key of a table, as arrays."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.history.counts import NOTHING_BEFORE
from scoring_model.history.spec import WindowSpec


@dataclass(frozen=True, slots=True)
class LinkSums:
    """One amount under one link key, for n records and W windows.

    Parameters
    ----------
    units : ndarray of shape (n, W), int64
        Sum of the amounts in the window.
    records : ndarray of shape (n, W), int32
        Number of records in the window that have an amount.
    scale : float
        Units per one.
    highest, above, variances : ndarray of shape (n, W), int64, int32 and float64
        As in `Sums`; None if the specification does not request it.
    """

    units: IntArray = field(repr=False)
    records: NDArray[np.int32] = field(repr=False)
    scale: float
    highest: IntArray | None = field(default=None, repr=False)
    above: NDArray[np.int32] | None = field(default=None, repr=False)
    variances: FloatArray | None = field(default=None, repr=False)

    @classmethod
    def nothing(cls, n: int, spec: WindowSpec, place: int) -> "LinkSums":
        """Return the sums of `n` records without history."""
        shape = (n, len(spec.windows))
        return cls(
            np.zeros(shape, np.int64),
            np.zeros(shape, np.int32),
            spec.amounts[place].scale,
            np.zeros(shape, np.int64) if spec.of_highest else None,
            np.zeros(shape, np.int32) if spec.of_above else None,
            np.zeros(shape) if spec.of_squares else None,
        )


@dataclass(frozen=True, slots=True)
class LinkFraudTimes:
    """`FraudTimes` of n records: two arrays of int64, and the runs as int32."""

    first: IntArray = field(repr=False)
    last: IntArray = field(repr=False)
    run: NDArray[np.int32] = field(repr=False)


@dataclass(frozen=True, slots=True)
class LinkCounts:
    """Counts of one link key, for n records, W windows and D delayed windows; see `Counts`.

    Parameters
    ----------
    records, persons, frauds : ndarray of shape (n, W), int32
    since_last, age : ndarray of shape (n,), int64
    delayed_records, delayed_frauds : ndarray of shape (n, D), int32
    """

    records: NDArray[np.int32]
    persons: NDArray[np.int32]
    frauds: NDArray[np.int32]
    since_last: IntArray = field(repr=False)
    age: IntArray = field(repr=False)
    sums: tuple[LinkSums, ...]
    delayed_records: NDArray[np.int32]
    delayed_frauds: NDArray[np.int32]
    known: LinkFraudTimes | None = None

    @classmethod
    def nothing(cls, n: int, spec: WindowSpec) -> "LinkCounts":
        """Return the counts of `n` records without history."""

        def zeros(width: int) -> NDArray[np.int32]:
            return np.zeros((n, width), dtype=np.int32)

        def never() -> IntArray:
            return np.full(n, NOTHING_BEFORE, dtype=np.int64)

        w, d = len(spec.windows), len(spec.delayed)
        return cls(
            zeros(w),
            zeros(w),
            zeros(w),
            never(),
            never(),
            tuple(LinkSums.nothing(n, spec, place) for place in spec.places),
            zeros(d),
            zeros(d),
            LinkFraudTimes(never(), never(), np.zeros(n, np.int32)) if spec.of_frauds else None,
        )
