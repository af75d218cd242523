"""Stability of the errors of the policy over time, which an interval for independent records would hide."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.evaluation.day_draws import MIN_DAYS
from scoring_model.evaluation.uncertainty import Share, interval_of, share_of
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
    share: Share


class Verdict(StrEnum):
    """Whether a promise was kept: its limit lies above, below or inside the interval of the share of errors."""

    KEPT = "kept"
    BROKEN = "broken"
    UNDECIDED = "undecided"


@dataclass(frozen=True, kw_only=True, slots=True)
class Stability:
    """One error of the policy: overall, its variation by day, and its worst window.

    Parameters
    ----------
    limit : float or None
        Limit promised by the policy; None without a promise.
    share : Share
        Share of errors among all records of the class.
    low, high : float or None
        95 % interval for the same share from days drawn with replacement; None with fewer than ten days.
    days : int
        Number of days with such records.
    worst : Window or None
        The recent window with the highest lower confidence limit; None without records.
    """

    bound: str
    limit: float | None
    share: Share
    low: float | None
    high: float | None
    days: int
    worst: Window | None

    @property
    def verdict(self) -> Verdict | None:
        """Say whether the evaluated records kept the promise; None without a promise.

        The interval covers both that for independent records and that from days, so that neither is too narrow.
        """
        if self.limit is None:
            return None
        ends = (self.share.low, self.share.high, self.low, self.high)
        known = [end for end in ends if end is not None]
        if len(known) < len(ends):
            return Verdict.UNDECIDED
        if max(known) <= self.limit:
            return Verdict.KEPT
        return Verdict.BROKEN if min(known) > self.limit else Verdict.UNDECIDED

    def to_json(self) -> dict[str, Any]:
        """Give the error as a JSON document."""
        worst = self.worst
        window = None if worst is None else {"from": worst.since, "to": worst.until} | worst.share.to_json()
        return {
            "bound": self.bound,
            "limit": self.limit,
            "verdict": self.verdict,
            **self.share.to_json(),
            "day_blocks": {"low": self.low, "high": self.high, "days": self.days},
            "worst_window": window,
        }


def measure_stability(
    bound: str,
    limit: float | None,
    errors: BoolArray,
    event_times: IntArray,
    *,
    drawn: FloatArray,
    share: Share | None = None,
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
    drawn : ndarray of shape (r,), float64
        The share of errors in every draw of days.
    share : Share, optional
        Share of errors where records stand for others; the worst window counts each record once.
    """
    first = int(event_times.min() // DAY) if len(event_times) else 0
    days = event_times // DAY - first
    records = np.bincount(days).astype(np.int64)
    wrong = np.bincount(days[errors], minlength=len(records)).astype(np.int64)
    held = np.flatnonzero(records)
    blocks = interval_of(drawn if len(held) >= MIN_DAYS else drawn[:0])
    return Stability(
        bound=bound,
        limit=limit,
        share=share or share_of(int(wrong.sum()), int(records.sum())),
        low=blocks.low,
        high=blocks.high,
        days=len(held),
        worst=_worst_window(wrong, records, first) if len(held) else None,
    )


def _worst_window(wrong: IntArray, records: IntArray, first: int) -> Window:
    start = max(len(records) - RECENT_DAYS, 0)
    length = min(WINDOW_DAYS, len(records) - start)
    windows = [
        Window(
            since=_date(first + since),
            until=_date(first + since + length - 1),
            share=share_of(
                int(wrong[since : since + length].sum()), int(records[since : since + length].sum())
            ),
        )
        for since in range(start, len(records) - length + 1)
    ]
    with_records = (window for window in windows if window.share.total)
    return max(with_records, key=lambda window: (window.share.low or 0.0, window.since))


def _date(day: int) -> str:
    return str(np.datetime64(day, "D"))
