"""The stream of honest people who verify on their own, for the first time or again."""

from dataclasses import dataclass, field

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.synthetic.behaviour import behave
from scoring_model.synthetic.draws import Draws, KeyArray
from scoring_model.synthetic.events import EventArray, blank
from scoring_model.synthetic.people import homes, households, settle
from scoring_model.synthetic.seasons import DAY, HOUR, Calendar

_NEW = 0.74
_SOON = 0.45
_YEARS_BETWEEN_MOVES = (0.8, 2.5, 6.0, 15.0)


@dataclass(kw_only=True, slots=True)
class Population:
    """Everybody so far: how many, and how many there were when each slice began.

    Parameters
    ----------
    records : int
        Size of the whole history, which fixes how many new people come in a day.
    """

    draws: Draws
    calendar: Calendar
    records: int
    size: int = 0
    _starts: list[int] = field(default_factory=list)
    _sizes: list[int] = field(default_factory=list)

    @property
    def daily(self) -> float:
        """New people a day, on average."""
        return self.records * _NEW / ((self.calendar.end - self.calendar.start) / DAY)

    def verify(self, keys: KeyArray, times: IntArray) -> EventArray:
        """Plan the verifications at these times.

        Parameters
        ----------
        keys : ndarray of shape (n,), uint64
            Keys of the events' own draws.
        times : ndarray of shape (n,), int64
            Ascending, not before those of any earlier call.

        Returns
        -------
        EventArray of shape (n,)
        """
        events = blank(len(times))
        events["key"], events["time"] = keys, times
        events["identity"] = self._who(keys, times)
        events["family"] = households(self.draws, events["identity"], daily=self.daily)
        settle(self.draws, events, homes(self.draws, events["family"]))
        events["address"] = addresses_at(self.draws, events["family"], times)
        behave(self.draws, events, self.calendar.progress(times))
        return events

    def _who(self, keys: KeyArray, times: IntArray) -> KeyArray:
        if not len(keys):
            return keys
        new = self.draws.chance("new", _NEW, keys)
        if self.size == 0:
            new[0] = True
        people = self.size + np.cumsum(new) - 1
        again = np.flatnonzero(~new)
        self._remember(times, new)
        people[again] = self._earlier(times[again] - self._lags(keys[again]), times[new], keys[again])
        self.size += int(new.sum())
        return people.astype(np.uint64)

    def _remember(self, times: IntArray, new: BoolArray) -> None:
        if new.any():
            self._starts.append(int(times[new][0]))
            self._sizes.append(self.size)

    def _lags(self, keys: KeyArray) -> IntArray:
        soon = self.draws.chance("again.soon", _SOON, keys)
        hours = self.draws.lognormal("again.hours", 0.6, 1.8, keys) * HOUR
        days = self.draws.lognormal("again.days", 70.0, 1.1, keys) * DAY
        return np.where(soon, hours, days).astype(np.int64)

    def _earlier(self, times: IntArray, births: IntArray, keys: KeyArray) -> IntArray:
        """Find who came first at about these times; anybody earlier where that is before the start."""
        current = self.size + np.searchsorted(births, times, side="right") - 1
        before = np.floor(np.interp(times, self._starts, self._sizes)).astype(np.int64)
        people = np.where(times >= self._starts[-1], current, before)
        anybody = self.draws.below("again.anybody", max(self.size, 1), keys)
        return np.where(times < self._starts[0], anybody, people)


def addresses_at(draws: Draws, families: KeyArray, times: IntArray) -> KeyArray:
    """Address of each household at each time: everybody moves every few years."""
    years: FloatArray = draws.quantile("moves.years", _YEARS_BETWEEN_MOVES, families)
    phase = draws.uniform("moves.phase", families)
    moves = (times / (DAY * 365.25 * years) + phase).astype(np.uint64)
    return draws.bits("address", families, moves)
