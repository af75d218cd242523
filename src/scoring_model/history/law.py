"""The law of windows, for one record and its past."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

NOTHING_BEFORE = -1
"""Stands in ``since_last`` where no earlier record is in the longest window."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowLaw:
    """Which windows are counted, and how many records each may see.

    Parameters
    ----------
    windows : tuple of int
        Lengths in microseconds, positive and strictly ascending.
    cap : int
        The number of latest records that a window sees; those of the same instant as the last come with it.
    """

    windows: tuple[int, ...]
    cap: int = 256

    def __post_init__(self) -> None:
        problems = []
        if not self.windows:
            problems.append("windows must not be empty")
        if any(length <= 0 for length in self.windows):
            problems.append("every window must be longer than 0 microseconds")
        if any(a >= b for a, b in zip(self.windows, self.windows[1:], strict=False)):
            problems.append("windows must ascend strictly")
        if self.cap < 1:
            problems.append(f"cap must be at least 1, got {self.cap}")
        if problems:
            raise ValueError("; ".join(problems))


@dataclass(frozen=True, slots=True)
class PastRecord:
    """One earlier record under a link key.

    Parameters
    ----------
    time : int
        Event time, microseconds since 1970-01-01 UTC.
    person : hashable
        Whom the record is of.
    labels : tuple of (int, bool)
        The instants at which labels became known, and whether each said fraud, in the order they were told.
    """

    time: int
    person: Hashable
    labels: tuple[tuple[int, bool], ...] = ()

    def known_fraud(self, at: int) -> bool:
        """Whether the latest label known strictly before `at` says fraud."""
        known = [(instant, order) for order, (instant, _) in enumerate(self.labels) if instant < at]
        return bool(known) and self.labels[max(known)[1]][1]


@dataclass(frozen=True, slots=True)
class LinkCounts:
    """Counts of one link key, for n records and W windows.

    Parameters
    ----------
    records, persons, frauds : ndarray of shape (n, W), int32
        Earlier records in the window, distinct persons among them, and those known by then to be fraud.
    since_last : ndarray of shape (n,), int64
        Microseconds since the latest earlier record in the longest window, or ``NOTHING_BEFORE``.
    """

    records: NDArray[np.int32]
    persons: NDArray[np.int32]
    frauds: NDArray[np.int32]
    since_last: NDArray[np.int64] = field(repr=False)

    @classmethod
    def nothing(cls, n: int, windows: int) -> "LinkCounts":
        """Counts of `n` records without any past."""

        def zeros() -> NDArray[np.int32]:
            return np.zeros((n, windows), dtype=np.int32)

        return cls(zeros(), zeros(), zeros(), np.full(n, NOTHING_BEFORE, dtype=np.int64))


def count_before(past: Iterable[PastRecord], *, at: int, law: WindowLaw) -> LinkCounts:
    """Count the past of one record under one link key.

    Parameters
    ----------
    past : iterable of PastRecord
        Records of the same link key in any order; those at or after `at` are left out here. It is enough to
        give the records that the longest window sees.
    at : int
        Event time of the record, microseconds.
    law : WindowLaw

    Returns
    -------
    LinkCounts
        With n = 1.
    """
    seen = sorted((r for r in past if at - law.windows[-1] <= r.time < at), key=lambda r: r.time)
    counts = LinkCounts.nothing(1, len(law.windows))
    if not seen:
        return counts
    oldest_visible = seen[-law.cap].time if len(seen) >= law.cap else seen[0].time
    for w, length in enumerate(law.windows):
        start = max(at - length, oldest_visible)
        inside = [r for r in seen if r.time >= start]
        counts.records[0, w] = len(inside)
        counts.persons[0, w] = len({r.person for r in inside})
        counts.frauds[0, w] = sum(r.known_fraud(at) for r in inside)
    counts.since_last[0] = at - seen[-1].time
    return counts
