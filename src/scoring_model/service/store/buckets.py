"""The law of a token bucket, as numbers: where its state is kept is another matter.

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
    """Take tokens, as many as there are.

    Parameters
    ----------
    level : Level or None
        The state before; None for a bucket that is full.
    now : int
        Microseconds. A clock that steps back a little gains nothing; a state that lies further ahead than a full
        refill takes is that of a clock that was wrong, and the bucket starts anew.
    capacity : int
        At least 1.
    per_second : float
        Above 0.
    wanted : int
        At least 1.

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
    """Answer a caller with its bucket.

    Parameters
    ----------
    tokens : float
        After the request.
    allowed : bool
        Whether the request took one.
    capacity : int
    per_second : float

    Returns
    -------
    Bucket
    """
    left = math.floor(tokens + SLACK)
    return Bucket(
        allowed=allowed,
        left=left,
        full_in=max(0.0, (capacity - tokens) / per_second),
        next_in=0.0 if left >= 1 else (1 - tokens) / per_second,
    )


def full_at(level: Level, *, capacity: int, per_second: float) -> int:
    """When a bucket that nobody draws from is full again, in microseconds since 1970-01-01 UTC, rounded up."""
    return level.at + math.ceil((capacity - level.tokens) / per_second * _SECOND)
