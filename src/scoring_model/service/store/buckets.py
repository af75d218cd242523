"""Token buckets: their arithmetic, and those of SQLite, which its one serving process keeps in memory.

A bucket holds at most `capacity` tokens and gains `per_second` of them every second. With a capacity of what a
client may do in a period, and that capacity a period as its rate, a client that never does more in any period is
never refused, however its requests bunch; and never do more than `capacity + rate * t` pass in a time t.
"""

import math
from dataclasses import dataclass
from typing import Final

from scoring_model.service.core.store import Bucket

SLACK: Final = 1e-6
"""By how many tokens a bucket may be overdrawn: more than rounding can take from a client that keeps to its quota.
What is overdrawn is owed, so that it does not add up."""

MOST_BUCKETS: Final = 65_536
"""In memory. Of more, the one that was drawn from longest ago is forgotten, as if it were full again."""

_SECOND: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Level:
    """The state of a bucket.

    Parameters
    ----------
    tokens : float
        At that instant; at least -`SLACK`.
    at : int
        Microseconds since 1970-01-01 UTC.
    """

    tokens: float
    at: int


def draw(
    level: Level | None, *, now: int, capacity: int, per_second: float, wanted: int = 1
) -> tuple[Level, int]:
    """Take up to `wanted` tokens.

    Parameters
    ----------
    level : Level or None
        The state before; None for a full bucket.
    now : int
        Microseconds. A clock that steps back a little gains nothing. A state further ahead than a full refill takes
        comes from a clock that was wrong: the bucket starts anew.
    capacity, wanted : int
        At least 1.
    per_second : float
        Above 0.

    Returns
    -------
    Level
        The state after.
    int
        Tokens taken, 0 to `wanted`.
    """
    if level is None or level.at - now > capacity / per_second * _SECOND:
        tokens, at = float(capacity), now
    else:
        gained = max(0, now - level.at) * per_second / _SECOND
        tokens, at = min(float(capacity), level.tokens + gained), max(now, level.at)
    taken = min(wanted, math.floor(tokens + SLACK))
    return Level(tokens - taken, at), taken


def describe(tokens: float, *, allowed: bool, capacity: int, per_second: float) -> Bucket:
    """What a caller learns of its bucket.

    Parameters
    ----------
    tokens : float
        After the request.
    allowed : bool
        Whether the request took one.
    """
    left = math.floor(tokens + SLACK)
    return Bucket(
        allowed=allowed,
        left=left,
        full_in=max(0.0, (capacity - tokens) / per_second),
        next_in=0.0 if left >= 1 else (1 - tokens) / per_second,
    )


class MemoryBuckets:
    """The buckets of one process. They are full again when it starts again."""

    def __init__(self) -> None:
        self._levels: dict[bytes, Level] = {}  # the one that was drawn from longest ago comes first

    def take(self, key: bytes, *, capacity: int, per_second: float, now: int) -> Bucket:
        """See `Store.take`."""
        before = self._levels.pop(key, None)
        level, taken = draw(before, now=now, capacity=capacity, per_second=per_second)
        if len(self._levels) >= MOST_BUCKETS:
            del self._levels[next(iter(self._levels))]
        self._levels[key] = level
        return describe(level.tokens, allowed=taken == 1, capacity=capacity, per_second=per_second)
