"""Stability of the errors of the policy over time, which an interval for independent records would hide."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final, Self

import numpy as np

from scoring_model.arrays import BoolArray, IntArray
from scoring_model.estimates import Estimate
from scoring_model.evaluation.document import members
from scoring_model.evaluation.stopped import Assumed
from scoring_model.evaluation.uncertainty import share_of
from scoring_model.records.times import DAY

WINDOW_DAYS: Final = 14
RECENT_DAYS: Final = 90
"""The worst window is sought among those of 14 days in the last 90."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """A period of whole days in UTC.

    Parameters
    ----------
    since, until : str
        First and last day, `YYYY-MM-DD`.
    """

    since: str
    until: str
    share: Estimate


class Verdict(StrEnum):
    """Whether a promise was kept: its limit lies above, below or inside the interval of the share of errors."""

    KEPT = "kept"
    BROKEN = "broken"
    UNDECIDED = "undecided"

    @classmethod
    def of(cls, low: float, high: float, limit: float) -> Self:
        """Compare the ends of an interval with a limit that must not be exceeded."""
        if high <= limit:
            return cls("kept")
        return cls("broken" if low > limit else "undecided")


@dataclass(frozen=True, kw_only=True, slots=True)
class Stability:
    """One error of the policy: overall, its variation by day, and its worst window.

    Parameters
    ----------
    limit : float or None
        Limit promised by the policy; None without a promise.
    share : Estimate
        Share of errors among all records of the class, as the evaluation has it among its figures.
    days : int
        Number of days with such records.
    worst : Window or None
        The recent window with the highest lower confidence limit; None without records.
    possible : Estimate or None
        Ends of the share over all labels that stopped applicants could have; None if nobody was stopped.
    assumed : Assumed or None
        The share if the probabilities held for stopped applicants; no verdict rests on it.
    """

    bound: str
    limit: float | None
    share: Estimate
    days: int
    worst: Window | None
    possible: Estimate | None = None
    assumed: Assumed | None = None

    @property
    def widest(self) -> Estimate:
        """The share with the interval that the verdict rests on.

        It also covers every label that stopped applicants could have.
        """
        return widest(self.share, self.possible)

    @property
    def verdict(self) -> Verdict | None:
        """Say whether the evaluated records kept the promise; None without a promise."""
        if self.limit is None:
            return None
        low, high = self.widest.low, self.widest.high
        if low is None or high is None or self.share.low is None:
            return Verdict.UNDECIDED
        return Verdict.of(low, high, self.limit)

    @property
    def waits_for_stopped(self) -> bool:
        """Whether the verdict is open for the labels of stopped applicants alone."""
        observed = replace(self, possible=None).verdict
        return self.verdict is Verdict.UNDECIDED and observed is not Verdict.UNDECIDED

    def to_json(self) -> dict[str, Any]:
        """Give the error as a JSON document."""
        return {**members(self), "verdict": self.verdict}


def widest(share: Estimate, possible: Estimate | None) -> Estimate:
    """Return a share with an interval that also covers every label that stopped applicants could have."""
    parts = [one for one in (share, possible) if one is not None]
    lows, highs = (
        [end for end in ends if end is not None]
        for ends in ([one.low for one in parts], [one.high for one in parts])
    )
    return replace(share, low=min(lows, default=None), high=max(highs, default=None))


def measure_stability(
    bound: str,
    limit: float | None,
    errors: BoolArray,
    event_times: IntArray,
    *,
    share: Estimate,
    possible: Estimate | None = None,
    assumed: Assumed | None = None,
) -> Stability:
    """Measure how an error moves over time.

    Days are in UTC. The worst window has the highest lower end of Wilson's interval; ties go to the latest. As the
    worst of many it lies above the average even without change: it is for inspection, not a test.

    Parameters
    ----------
    errors : ndarray of shape (n,), bool
        Whether the policy gets each record of the class wrong.
    event_times : ndarray of shape (n,), int64
        Microseconds since 1970-01-01 UTC.
    share : Estimate
        Share of errors; the worst window counts each record once, also where records stand for others.
    possible : Estimate, optional
        Ends of the share over all labels that stopped applicants could have.
    """
    first = int(event_times.min() // DAY) if len(event_times) else 0
    days = event_times // DAY - first
    records = np.bincount(days)
    wrong = np.bincount(days[errors], minlength=len(records))
    held = np.flatnonzero(records)
    return Stability(
        bound=bound,
        limit=limit,
        share=share,
        days=len(held),
        worst=_worst_window(wrong, records, first) if len(held) else None,
        possible=possible,
        assumed=assumed,
    )


def _worst_window(wrong: IntArray, records: IntArray, first: int) -> Window:
    start = max(len(records) - RECENT_DAYS, 0)
    length = min(WINDOW_DAYS, len(records) - start)
    windows = [
        Window(
            since=date_of(first + since),
            until=date_of(first + since + length - 1),
            share=share_of(
                int(wrong[since : since + length].sum()), int(records[since : since + length].sum())
            ),
        )
        for since in range(start, len(records) - length + 1)
    ]
    with_records = (window for window in windows if window.share.records)
    return max(with_records, key=lambda window: (window.share.low or 0.0, window.since))


def date_of(day: int) -> str:
    """Write a day since 1970-01-01 as `YYYY-MM-DD`."""
    return str(np.datetime64(day, "D"))
