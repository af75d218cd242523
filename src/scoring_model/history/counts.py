"""Counts under one link key: of one record as plain numbers, of a table as arrays."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from scoring_model.history.spec import WindowSpec

NOTHING_BEFORE: Final = -1
"""Placeholder for the time since an earlier record if there is none."""


class Sums(NamedTuple):
    """One amount under one link key for one record and W windows.

    Parameters
    ----------
    units : tuple of W int
        Sum of the amounts in the window.
    records : tuple of W int
        Number of records in the window that have an amount.
    scale : float
        Units per one.
    highest : tuple of W int
        The highest amount; 0 without any. Empty if the specification does not request it, like the next two.
    above : tuple of W int
        Number of amounts above the multiple of the mean.
    variances : tuple of W float
        n * sum(x^2) - sum(x)^2 as a float, see `exact_float`.
    """

    units: tuple[int, ...]
    records: tuple[int, ...]
    scale: float
    highest: tuple[int, ...] = ()
    above: tuple[int, ...] = ()
    variances: tuple[float, ...] = ()


class DelayedCounts(NamedTuple):
    """Counts of the delayed windows: records and known frauds."""

    records: tuple[int, ...]
    frauds: tuple[int, ...]


class FraudTimes(NamedTuple):
    """Times of the known frauds in the windows.

    Parameters
    ----------
    first, last : int
        Microseconds since the oldest and the latest one, or ``NOTHING_BEFORE``.
    run : int
        Number of known frauds later than every record that is past the delay and not known to be fraud.
    """

    first: int
    last: int
    run: int


class Counts(NamedTuple):
    """Counts of one link key for one record and W windows.

    Parameters
    ----------
    records, persons, frauds : tuple of W int
        Earlier records in the window, distinct persons among them, and frauds known by the event time.
    since_last : int
        Microseconds since the latest earlier record in the longest window, or ``NOTHING_BEFORE``.
    age : int
        Microseconds since the oldest record in any window, or ``NOTHING_BEFORE``.
    sums : tuple of Sums
        One for each amount that is summed.
    delayed : DelayedCounts
    known : FraudTimes or None
        None if the specification does not request it.
    """

    records: tuple[int, ...]
    persons: tuple[int, ...]
    frauds: tuple[int, ...]
    since_last: int
    age: int
    sums: tuple[Sums, ...] = ()
    delayed: DelayedCounts = DelayedCounts((), ())
    known: FraudTimes | None = None


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
    def nothing(cls, n: int, spec: "WindowSpec", place: int) -> "LinkSums":
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
    def nothing(cls, n: int, spec: "WindowSpec") -> "LinkCounts":
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
