"""A store that reports new events, so that a deliverer in the same process need not poll for them."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, cast

from scoring_model.service.core.rows import EventRow, Row
from scoring_model.service.store import Bucket, Reader, Store, Transaction


class WatchedStore(Store):
    """A store that calls `committed` after each commit of an event that waits for delivery."""

    def __init__(self, store: Store, committed: Callable[[], None]) -> None:
        self._store = store
        self._committed = committed

    def reading(self) -> AbstractAsyncContextManager[Reader]:
        """See `Store.reading`."""
        return self._store.reading()

    @asynccontextmanager
    async def writing(
        self, history_scopes: Sequence[str], *, wait: bool = True
    ) -> AsyncIterator[Transaction]:
        """See `Store.writing`."""
        async with self._store.writing(history_scopes, wait=wait) as transaction:
            watched = _WatchedTransaction(transaction)
            yield cast(Transaction, watched)
        if watched.has_events:
            self._committed()

    async def take(self, key: bytes, *, capacity: int, per_second: float, now: int) -> Bucket:
        """See `Store.take`."""
        return await self._store.take(key, capacity=capacity, per_second=per_second, now=now)

    async def close(self) -> None:
        """See `Store.close`."""
        await self._store.close()


class _WatchedTransaction:
    """A transaction that notes whether it inserts events that wait."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self.has_events = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transaction, name)

    async def insert(self, rows: Sequence[Row]) -> None:
        """See `Transaction.insert`."""
        await self._transaction.insert(rows)
        self.has_events = self.has_events or any(isinstance(row, EventRow) and row.waiting for row in rows)
