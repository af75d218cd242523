"""Recall of a team that reviews the K riskiest records of each day."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.evaluation.day_draws import DayDraws
from scoring_model.evaluation.evaluated_records import EvaluatedRecords


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class DailyQueues:
    """Frauds by their place in the queue of their day; records with the same margin share their places.

    Parameters
    ----------
    day_of : ndarray of shape (t,), int64
        Day of each group of tied records that holds a fraud.
    ahead, tied, frauds : ndarray of shape (t,), int64
        Records of the day with a higher margin, records in the group, and frauds among these.
    days, longest : int
        Number of days, and records of the fullest one.
    """

    day_of: IntArray
    ahead: IntArray
    tied: IntArray
    frauds: IntArray
    days: int
    longest: int

    @classmethod
    def of(cls, records: EvaluatedRecords, draws: DayDraws) -> Self:
        """Rank the records of each day by margin."""
        order = np.lexsort((-records.decisions.margins, draws.day_of))
        days, margins = draws.day_of[order], records.decisions.margins[order]
        new_day = np.diff(days, prepend=-1) != 0
        starts = np.flatnonzero(new_day | (np.diff(margins, prepend=np.nan) != 0))
        day_starts = np.flatnonzero(new_day)
        tied = np.diff(starts, append=len(order))
        frauds = np.add.reduceat(records.labels[order].astype(np.int64), starts) if len(order) else tied
        held = frauds > 0
        return cls(
            day_of=days[starts][held],
            ahead=(starts - day_starts[days[starts]])[held],
            tied=tied[held],
            frauds=frauds[held],
            days=draws.days,
            longest=int(np.diff(day_starts, append=len(order)).max(initial=0)),
        )

    def caught(self, capacity: int) -> FloatArray:
        """Return the frauds reviewed on each day, of shape (days,).

        Of tied records at the end of the queue, a random choice is reviewed: the mean over such choices.
        """
        reviewed = np.clip(capacity - self.ahead, 0, self.tied)
        weights = self.frauds * reviewed / self.tied
        return np.bincount(self.day_of, weights, minlength=self.days).astype(np.float64)
