"""Local time: hour and day of an event in a time zone, whose offsets travel in the bundle.

Rules of time zones change with the database of the machine. The offsets of a zone are written down when a model is
trained, so that every machine that scores with it has the same hours.
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
"""No zone goes forth and back within it."""
_LAST: Final = datetime(2100, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Offsets:
    """Offsets of a time zone from UTC, in microseconds.

    Parameters
    ----------
    since : tuple of int
        Instants, ascending, from which on another offset holds; the first offset holds before the second instant.
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
        """The offsets of a zone of the machine's database from 1970 to 2100; later ones are as the last."""
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
        """An instant as local time, microseconds since 1970-01-01 00:00 there."""
        return time + self.offsets[bisect_right(self.since, time, lo=1) - 1]

    def local_of(self, times: IntArray) -> IntArray:
        """Instants of a table as local times: `local` of each."""
        since, offsets = self._arrays
        found: IntArray = times + offsets[np.searchsorted(since, times, side="right")]
        return found

    def to_json(self) -> dict[str, Sequence[int]]:
        """Plain values that `from_json` reads back."""
        return {"since": self.since, "offsets": self.offsets}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """Read what `to_json` gave."""
        return cls(tuple(plain["since"]), tuple(plain["offsets"]))


def _offset(zone: ZoneInfo, at: datetime) -> int:
    offset = datetime.fromtimestamp(at.timestamp(), zone).utcoffset() or timedelta()
    return offset // timedelta(microseconds=1)


def _change(zone: ZoneInfo, before: datetime, after: datetime) -> datetime:
    """The second at which the offset changes between two instants."""
    low, high = 0, round((after - before).total_seconds())
    old = _offset(zone, before)
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(zone, before + timedelta(seconds=middle)) == old:
            low = middle
        else:
            high = middle
    return before + timedelta(seconds=high)
