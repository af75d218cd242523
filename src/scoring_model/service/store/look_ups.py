"""Look-ups of keys that concurrent callers share."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class LookUps(Generic[T]):
    """Looks up keys, one query at a time. Calls during a query share the next one.

    Parameters
    ----------
    query : callable
        Returns what it finds for each of the keys.
    pause : float
        Seconds between queries.
    """

    def __init__(
        self, query: Callable[[Sequence[bytes]], Awaitable[Mapping[bytes, T]]], *, pause: float = 0.0
    ) -> None:
        self._query = query
        self._pause = pause
        self._wanted: dict[bytes, asyncio.Future[T]] = {}
        self._task: asyncio.Task[None] | None = None

    async def find(self, key: bytes) -> T:
        """Look up a key, in a query that begins after this call."""
        if key not in self._wanted:
            self._wanted[key] = asyncio.get_running_loop().create_future()
        found = self._wanted[key]
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        return await asyncio.shield(found)  # other callers still need it if this one is cancelled

    async def _run(self) -> None:
        while self._wanted:
            wanted, self._wanted = self._wanted, {}
            try:
                found = await self._query(list(wanted))
            except Exception as error:
                for future in wanted.values():
                    future.set_exception(error)
                    future.exception()  # mark as retrieved, in case all callers were cancelled
            else:
                for key, future in wanted.items():
                    future.set_result(found[key])
            await asyncio.sleep(self._pause)
        self._task = None
