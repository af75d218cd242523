"""Counts under one link key of one record, as plain numbers."""

from typing import Final, NamedTuple

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
