"""Groups of records with one author: their start, size and spread over time."""

from dataclasses import dataclass

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.records.times import DAY, HOUR
from scoring_model.synthetic.countries import WEIGHTS
from scoring_model.synthetic.draws import Draws, KeyArray
from scoring_model.synthetic.events import EventArray, blank
from scoring_model.synthetic.seasons import Calendar

LONGEST = 60 * DAY
"""Maximum duration of a group; bounds the data kept for later slices."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Plot:
    """One way for a group to act.

    Parameters
    ----------
    name : str
        Purpose of its draws.
    kind : int
        What is true of its records.
    share : tuple of float
        Share of all records at the start and at the end of the history.
    sizes : tuple of float
        Evenly spaced quantiles of the number of records.
    hours : float
        Median duration.
    """

    name: str
    kind: int
    share: tuple[float, float]
    sizes: tuple[float, ...]
    hours: float

    @property
    def mean_size(self) -> float:
        """Expected number of records of one group."""
        points = np.asarray(self.sizes)
        return float((points[1:] + points[:-1]).mean() / 2.0)

    def share_at(self, progress: float) -> float:
        """Share of all records at this part of the history."""
        return self.share[0] + (self.share[1] - self.share[0]) * progress


@dataclass(frozen=True, kw_only=True, slots=True)
class Slice:
    """A slice of the history with a fixed number of records."""

    number: int
    of: int
    records: int

    def shares(self, within: FloatArray) -> FloatArray:
        """Shares of the whole history at these parts of the slice (in [0, 1])."""
        return (self.number + within) / self.of


@dataclass(frozen=True, kw_only=True, slots=True)
class Members:
    """The records of some groups of one plot, group by group.

    Parameters
    ----------
    events : EventArray of shape (n,)
        With time, key and kind.
    group : ndarray of shape (n,), uint64
        Key of the group, for what its members share.
    place : ndarray of shape (n,), uint64
        Position within the group, from 0.
    country : ndarray of shape (n,), int64
        Where the group acts, position in COUNTRIES.
    progress : ndarray of shape (n,), in [0, 1]
        Elapsed part of the history.
    """

    events: EventArray
    group: KeyArray
    place: KeyArray
    country: IntArray
    progress: FloatArray


def gather(draws: Draws, calendar: Calendar, part: Slice, plot: Plot) -> Members:
    """Create the groups of a plot that start in a slice.

    Returns
    -------
    Members
        All records of these groups, also those after the slice; at most `LONGEST` after it.
    """
    groups = _groups(draws, part, plot)
    begins = calendar.instants(part.shares(draws.uniform("group.begin", groups)))
    sizes = np.maximum(np.round(draws.quantile("group.size", plot.sizes, groups)), 1).astype(np.int64)
    lasts = np.minimum(draws.lognormal("group.hours", plot.hours, 0.8, groups) * HOUR, LONGEST)
    group = np.repeat(groups, sizes)
    place = np.concatenate([np.arange(size, dtype=np.uint64) for size in sizes] or [groups])
    events = blank(len(group))
    events["key"] = draws.bits("group.member", group, place)
    after = draws.uniform("group.after", events["key"]) * np.repeat(lasts, sizes)
    events["time"] = np.repeat(begins, sizes) + after.astype(np.int64)
    events["kind"] = plot.kind
    return Members(
        events=events,
        group=group,
        place=place,
        country=draws.choice("group.country", WEIGHTS, group),
        progress=calendar.progress(events["time"]),
    )


def _groups(draws: Draws, part: Slice, plot: Plot) -> KeyArray:
    slice_key = np.array([part.number], dtype=np.uint64)
    expected = plot.share_at((part.number + 0.5) / part.of) * part.records / plot.mean_size
    count = int(expected + draws.uniform(f"groups.{plot.name}", slice_key)[0])
    return draws.bits(f"group.{plot.name}", np.repeat(slice_key, count), np.arange(count, dtype=np.uint64))


def drifting(first: float, last: float, progress: FloatArray) -> FloatArray:
    """Interpolate between two values over the history."""
    return first + (last - first) * progress


def own(draws: Draws, purpose: str, members: Members) -> KeyArray:
    """Keys that differ for every member."""
    return draws.bits(purpose, members.events["key"])


def common(draws: Draws, purpose: str, members: Members, among: int | IntArray = 1) -> KeyArray:
    """Return keys shared by the members of a group; with `among` above 1, members rotate among that many."""
    turn = draws.below(f"{purpose}.turn", np.broadcast_to(among, members.group.shape), members.events["key"])
    return draws.bits(purpose, members.group, turn.astype(np.uint64))
