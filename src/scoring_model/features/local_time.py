"""Local time: hour and day of an event in a time zone, whose offsets are stored in the bundle.

Time zone databases differ between machines. The offsets of a zone are stored when a model is trained, so that every
machine that scores with it computes the same hours.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Self
from zoneinfo import ZoneInfo

import numpy as np

from scoring_model.arrays import IntArray

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_STEP: Final = timedelta(days=3)
"""Step in which no zone changes its offset and back again."""
_LAST: Final = datetime(2100, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Offsets:
    """Offsets of a time zone from UTC, in microseconds.

    Parameters
    ----------
    since : tuple of int
        Ascending instants from which each offset holds; the first offset also holds before the first instant.
    offsets : tuple of int
    """

    since: tuple[int, ...] = (0,)
    offsets: tuple[int, ...] = (0,)
    _arrays: tuple[IntArray, IntArray] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        arrays = np.array(self.since[1:], dtype=np.int64), np.array(self.offsets, dtype=np.int64)
        object.__setattr__(self, "_arrays", arrays)

    @classmethod
    def of(cls, name: str) -> Self:
        """Read the offsets of a zone from the machine's database, 1970 to 2100; the last one holds afterwards."""
        zone = ZoneInfo(name)
        since, offsets = [0], [_offset(zone, _EPOCH)]
        at = _EPOCH
        while at < _LAST:
            following = at + _STEP
            if _offset(zone, following) != offsets[-1]:
                change = _change(zone, at, following)
                since.append((change - _EPOCH) // timedelta(microseconds=1))
                offsets.append(_offset(zone, change))
            at = following
        return cls(tuple(since), tuple(offsets))

    def local(self, time: int) -> int:
        """Convert an instant to local time, microseconds since local 1970-01-01 00:00."""
        return time + self.offsets[bisect_right(self.since, time, lo=1) - 1]

    def local_of(self, times: IntArray) -> IntArray:
        """Convert the instants of a table to local times, each as by `local`."""
        since, offsets = self._arrays
        return times + offsets[np.searchsorted(since, times, side="right")]

    def to_json(self) -> dict[str, Sequence[int]]:
        """Return plain values that `from_json` reads back."""
        return {"since": self.since, "offsets": self.offsets}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """Read the result of `to_json`."""
        return cls(tuple(plain["since"]), tuple(plain["offsets"]))


def _offset(zone: ZoneInfo, at: datetime) -> int:
    offset = datetime.fromtimestamp(at.timestamp(), zone).utcoffset() or timedelta()
    return offset // timedelta(microseconds=1)


def _change(zone: ZoneInfo, before: datetime, after: datetime) -> datetime:
    """Find the second at which the offset changes between two instants."""
    low, high = 0, round((after - before).total_seconds())
    old = _offset(zone, before)
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(zone, before + timedelta(seconds=middle)) == old:
            low = middle
        else:
            high = middle
    return before + timedelta(seconds=high)
