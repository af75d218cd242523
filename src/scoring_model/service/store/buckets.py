"""Token buckets: in memory for SQLite, which one process serves, and in an unlogged table for PostgreSQL.

A bucket holds at most `capacity` tokens and gains `per_second` tokens per second. If the capacity is the quota of a
period and the rate is quota per period, a client that stays within its quota in every period is never refused, however
bursty its requests; and at most `capacity + rate * t` requests pass in a time t.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from scoring_model.contract.units import SECOND

if TYPE_CHECKING:
    from scoring_model.service.store.postgres_connection import PostgresConnection

SLACK: Final = 1e-6
"""Tokens by which a bucket may be overdrawn: more than a client within its quota can lose by rounding. The overdraft is
owed, so it does not accumulate."""

MOST_BUCKETS: Final = 65_536
"""Maximum number of buckets in memory; the least recently used is evicted, which makes it full again."""

_AHEAD: Final = "b.at > excluded.at + excluded.capacity / excluded.per_second * 1e6"
_TOKENS: Final = (
    f"(CASE WHEN {_AHEAD} THEN excluded.capacity ELSE least(excluded.capacity, "
    "b.tokens + greatest(0, excluded.at - b.at) * excluded.per_second / 1e6) END)"
)
_GRANTED: Final = f"least(excluded.wanted, floor(({_TOKENS} + {SLACK!r}) / $6::bigint)::bigint)"
_TAKE: Final = f"""
INSERT INTO buckets AS b (key, tokens, at, capacity, per_second, wanted, granted)
SELECT key, capacity - least(wanted, floor(capacity / $6::bigint)) * $6::bigint, at, capacity, per_second, wanted,
    least(wanted, floor(capacity / $6::bigint))
FROM unnest($1::bytea[], $2::bigint[], $3::float8[], $4::float8[], $5::bigint[])
    AS given(key, at, capacity, per_second, wanted)
ON CONFLICT (key) DO UPDATE SET
    tokens = {_TOKENS} - {_GRANTED} * $6::bigint,
    at = CASE WHEN {_AHEAD} THEN excluded.at ELSE greatest(b.at, excluded.at) END,
    capacity = excluded.capacity,
    per_second = excluded.per_second,
    wanted = excluded.wanted,
    granted = {_GRANTED}
RETURNING key, tokens, granted
"""
_FORGET: Final = """
DELETE FROM buckets WHERE key = any(ARRAY(
    SELECT key FROM buckets WHERE at + (capacity - tokens) / per_second * 1e6 < $1 LIMIT 10000 FOR UPDATE SKIP LOCKED
))
"""
_FORGET_SECONDS: Final = 60.0


@dataclass(slots=True)  # not frozen: one is created per request, in a third of the time
class Bucket:
    """A token bucket after a request for tokens.

    Parameters
    ----------
    allowed : bool
        Whether they were available; otherwise none was taken.
    left : int
        Whole tokens left.
    full_in : float
        Seconds until the bucket is full.
    next_in : float
        Seconds until as many are available; 0 if they are.
    """

    allowed: bool
    left: int
    full_in: float
    next_in: float

    @classmethod
    def of(cls, tokens: float, *, allowed: bool, capacity: int, per_second: float, size: int = 1) -> Self:
        """Create it from the tokens left after a request for `size` of them."""
        left = math.floor(tokens + SLACK)
        return cls(
            allowed=allowed,
            left=left,
            full_in=max(0.0, (capacity - tokens) / per_second),
            next_in=0.0 if left >= size else (size - tokens) / per_second,
        )


class MemoryBuckets:
    """The buckets of one process. A restart makes them full."""

    def __init__(self) -> None:
        # Tokens, at least -`SLACK`, and their instant; least recently used first.
        self._levels: dict[bytes, tuple[float, int]] = {}

    async def take(self, key: bytes, *, capacity: int, per_second: float, now: int, size: int = 1) -> Bucket:
        """See `Store.take`.

        A clock that steps back slightly adds no tokens. A state that is ahead by more than a full refill comes from a
        wrong clock: the bucket is reset.
        """
        tokens, at = self._levels.pop(key, (float(capacity), now))
        if at - now > capacity / per_second * SECOND:
            tokens, at = float(capacity), now
        else:
            gained = max(0, now - at) * per_second / SECOND
            tokens, at = min(float(capacity), tokens + gained), max(now, at)
        allowed = tokens + SLACK >= size
        if allowed:
            tokens -= size
        if len(self._levels) >= MOST_BUCKETS:
            del self._levels[next(iter(self._levels))]
        self._levels[key] = (tokens, at)
        return Bucket.of(tokens, allowed=allowed, capacity=capacity, per_second=per_second, size=size)


class _Wish(NamedTuple):
    key: bytes
    capacity: int
    per_second: float
    now: int
    size: int
    answer: "asyncio.Future[Bucket]"


class BucketTable:
    """The buckets in a PostgreSQL database.

    Requests that arrive while a statement runs share the next one, so that any number of concurrent requests costs one
    or two round trips. The statement computes the same as `MemoryBuckets.take`.

    Parameters
    ----------
    connect : callable
        Opens a separate connection that does not wait for the disk.
    """

    def __init__(self, connect: "Callable[[], Awaitable[PostgresConnection]]") -> None:
        self._connect = connect
        self._connection: PostgresConnection | None = None
        self._wishes: list[_Wish] = []
        self._task: asyncio.Task[None] | None = None
        self._forgotten = 0.0

    async def take(self, key: bytes, *, capacity: int, per_second: float, now: int, size: int = 1) -> Bucket:
        """See `Store.take`."""
        loop = asyncio.get_running_loop()
        wish = _Wish(key, capacity, per_second, now, size, loop.create_future())
        self._wishes.append(wish)
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._run())
        return await wish.answer

    async def close(self) -> None:
        """Wait for the running statement and close the connection."""
        if self._task is not None:
            await asyncio.wait((self._task,))
        if self._connection is not None:
            self._connection.terminate()

    async def _run(self) -> None:
        while self._wishes:
            wishes = self._gather()
            try:
                await self._answer(wishes)
            except BaseException as error:
                if self._connection is not None:
                    self._connection.terminate()
                    self._connection = None
                for wish in wishes:
                    if not wish.answer.done():
                        wish.answer.set_exception(error)
                if not isinstance(error, Exception):
                    raise

    def _gather(self) -> list[_Wish]:
        """Take the waiting requests of one size; a bucket requested with two rates is processed for one at a time."""
        size = self._wishes[0].size
        rates: dict[bytes, tuple[int, float]] = {}
        taken: list[_Wish] = []
        left: list[_Wish] = []
        for wish in self._wishes:
            spec = (wish.capacity, wish.per_second)
            is_next = wish.size == size and rates.setdefault(wish.key, spec) == spec
            (taken if is_next else left).append(wish)
        self._wishes = left
        return taken

    async def _answer(self, wishes: Sequence[_Wish]) -> None:
        if self._connection is None or self._connection.is_closed():
            self._connection = await self._connect()
        groups: dict[bytes, list[_Wish]] = {}
        for wish in sorted(wishes, key=lambda wish: wish.key):  # all processes lock rows in the same order
            groups.setdefault(wish.key, []).append(wish)
        rows = await self._connection.fetch(
            _TAKE,
            list(groups),
            [max(wish.now for wish in group) for group in groups.values()],
            [float(group[0].capacity) for group in groups.values()],
            [group[0].per_second for group in groups.values()],
            [len(group) for group in groups.values()],
            wishes[0].size,
        )
        for key, tokens, granted in rows:
            _share(groups[key], tokens, granted)
        time = asyncio.get_running_loop().time()
        if time - self._forgotten > _FORGET_SECONDS:  # delete full buckets
            self._forgotten = time
            await self._connection.fetch(_FORGET, wishes[0].now)


def _share(group: Sequence[_Wish], tokens: float, granted: int) -> None:
    """Answer the requests for one bucket as if they had arrived one by one."""
    for place, wish in enumerate(group, 1):
        if not wish.answer.done():
            wish.answer.set_result(
                Bucket.of(
                    tokens + max(0, granted - place) * wish.size,
                    allowed=place <= granted,
                    capacity=wish.capacity,
                    per_second=wish.per_second,
                    size=wish.size,
                )
            )
