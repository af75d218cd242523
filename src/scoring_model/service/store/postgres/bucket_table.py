"""Token buckets in an unlogged table.

Requests that come while a statement runs share the next one, so that any number at once costs one or two round trips.
The statement computes what `buckets.draw` does.
"""

import asyncio
from collections.abc import Sequence
from typing import Final, NamedTuple

from scoring_model.service.core.store import Bucket
from scoring_model.service.store.buckets import SLACK, describe
from scoring_model.service.store.postgres.connection import Connection, connect, translate

_AHEAD: Final = "b.at > excluded.at + excluded.capacity / excluded.per_second * 1e6"
_TOKENS: Final = (
    f"(CASE WHEN {_AHEAD} THEN excluded.capacity ELSE least(excluded.capacity, "
    "b.tokens + greatest(0, excluded.at - b.at) * excluded.per_second / 1e6) END)"
)
_GRANTED: Final = f"least(excluded.wanted, floor({_TOKENS} + {SLACK!r})::bigint)"
_TAKE: Final = f"""
INSERT INTO buckets AS b (key, tokens, at, capacity, per_second, wanted, granted)
SELECT key, capacity - least(wanted, capacity), at, capacity, per_second, wanted, least(wanted, capacity)
FROM unnest($1::bytea[], $2::bigint[], $3::float8[], $4::float8[], $5::bigint[])
    AS given(key, at, capacity, per_second, wanted)
ON CONFLICT (key) DO UPDATE SET
    tokens = {_TOKENS} - {_GRANTED},
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


class _Wish(NamedTuple):
    key: bytes
    capacity: int
    per_second: float
    now: int
    answer: "asyncio.Future[Bucket]"


class BucketTable:
    """The buckets of one database, over a connection of its own that does not wait for the disk.

    Parameters
    ----------
    seconds : float
        How long the server may take to answer.
    """

    def __init__(self, dsn: str, *, seconds: float) -> None:
        self._dsn = dsn
        self._seconds = seconds
        self._connection: Connection | None = None
        self._wishes: list[_Wish] = []
        self._task: asyncio.Task[None] | None = None
        self._forgotten = 0.0

    async def take(self, key: bytes, *, capacity: int, per_second: float, now: int) -> Bucket:
        """See `Store.take`."""
        loop = asyncio.get_running_loop()
        wish = _Wish(key, capacity, per_second, now, loop.create_future())
        self._wishes.append(wish)
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._run())
        return await wish.answer

    async def close(self) -> None:
        """End what is under way."""
        if self._task is not None:
            await asyncio.wait((self._task,))
        if self._connection is not None:
            self._connection.terminate()

    async def _run(self) -> None:
        while self._wishes:
            wishes = self._gather()
            try:
                await self._answer(wishes)
                await self._forget(wishes[0].now)
            except BaseException as error:
                if self._connection is not None:
                    self._connection.terminate()
                    self._connection = None
                failure = translate(error)
                for wish in wishes:
                    if not wish.answer.done():
                        wish.answer.set_exception(failure)
                if not isinstance(error, Exception):
                    raise

    def _gather(self) -> list[_Wish]:
        """Take the waiting requests; a bucket that is requested with two rates gets one of them at a time."""
        rates: dict[bytes, tuple[int, float]] = {}
        taken: list[_Wish] = []
        left: list[_Wish] = []
        for wish in self._wishes:
            spec = (wish.capacity, wish.per_second)
            (taken if rates.setdefault(wish.key, spec) == spec else left).append(wish)
        self._wishes = left
        return taken

    async def _answer(self, wishes: Sequence[_Wish]) -> None:
        if self._connection is None or self._connection.is_closed():
            self._connection = await connect(
                self._dsn, seconds=self._seconds, settings={"synchronous_commit": "off"}
            )
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
        )
        for key, tokens, granted in rows:
            _share(groups[key], tokens, granted)

    async def _forget(self, now: int) -> None:
        """Delete full buckets, once a minute at most."""
        time = asyncio.get_running_loop().time()
        if self._connection is not None and time - self._forgotten > _FORGET_SECONDS:
            self._forgotten = time
            await self._connection.fetch(_FORGET, now)


def _share(group: Sequence[_Wish], tokens: float, granted: int) -> None:
    """Answer the requests for one bucket, as if they had come one after the other."""
    for place, wish in enumerate(group, 1):
        if not wish.answer.done():
            allowed = place <= granted
            wish.answer.set_result(
                describe(
                    tokens + max(0, granted - place),
                    allowed=allowed,
                    capacity=wish.capacity,
                    per_second=wish.per_second,
                )
            )
