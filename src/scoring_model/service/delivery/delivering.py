"""Delivery in a process that answers requests, or in a separate one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Final, cast

from scoring_model.contract.verification import VerificationStatus
from scoring_model.service.core.faults import log_fault
from scoring_model.service.core.rows import Row, VerificationRow
from scoring_model.service.core.stop_signals import cancelled_by_signals
from scoring_model.service.delivery.egress import Egress
from scoring_model.service.store import Store, Transaction

FLOOR: Final = 100.0
"""Minimum attempts per second of a process that also answers requests, however long those wait."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Requests:
    """The requests of the same process, which have priority.

    Parameters
    ----------
    committed : asyncio.Event
        Set when requests have committed events.
    oldest_waits : callable
        Returns the seconds that the oldest request has waited for its transaction.
    """

    committed: asyncio.Event
    oldest_waits: Callable[[], float]


class WatchedStore:
    """A `Store` that calls `committed` after each commit, with rows that it inserted and settled verifications.

    Rows of one call are of one kind.
    """

    def __init__(self, store: Store, committed: Callable[[Sequence[Row]], None]) -> None:
        self._store = store
        self._committed = committed
        self.reading = store.reading
        self.take = store.take
        self.close = store.close

    @contextlib.asynccontextmanager
    async def writing(
        self, history_scopes: Sequence[str], *, wait: bool = True
    ) -> AsyncIterator[Transaction]:
        """See `Store.writing`."""
        async with self._store.writing(history_scopes, wait=wait) as transaction:
            watched = _WatchedTransaction(transaction)
            yield cast(Transaction, watched)
        for rows in watched.written:
            self._committed(rows)


class _WatchedTransaction:
    """A transaction that notes what it writes."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self.written: list[Sequence[Row]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transaction, name)

    async def insert(self, rows: Sequence[Row]) -> None:
        """See `Transaction.insert`."""
        await self._transaction.insert(rows)
        if rows:
            self.written.append(rows)

    async def settle(self, rows: Sequence[VerificationRow]) -> frozenset[bytes]:
        """See `Transaction.settle`."""
        settled = await self._transaction.settle(rows)
        ended = [row for row in rows if row.id in settled and row.status != VerificationStatus.PENDING]
        if ended:
            self.written.append(ended)
        return settled


@contextlib.asynccontextmanager
async def delivering(
    store: Store,
    master_source: str,
    egress: Egress,
    *,
    grace_seconds: float,
    beside: Requests | None = None,
) -> AsyncIterator[asyncio.Task[None]]:
    """Deliver events while the context is open; on exit, finish the open attempts.

    Enter it in the main thread: a signal during the exit cancels the open attempts.

    Parameters
    ----------
    master_source : str
        Source of the master keys, which encrypt the secrets of webhooks.
    grace_seconds : float
        Time for open attempts to finish. One that does not is repeated when its lease expires.
    beside : Requests, optional
        The requests of a process that also answers requests.

    Yields
    ------
    asyncio.Task
        Ends by itself only with an error.
    """
    from scoring_model.service.core.clock import SystemClock
    from scoring_model.service.delivery.deliverer import Deliverer, DeliveryLimits
    from scoring_model.service.delivery.sender import AiohttpSender
    from scoring_model.service.keys.keyring import load_master_keys
    from scoring_model.service.keys.secrets import load_or_create

    secrets = await load_or_create(store, load_master_keys(master_source))
    async with AiohttpSender(egress) as sender:
        limits = DeliveryLimits(grace=grace_seconds, floor=None if beside is None else FLOOR)
        deliverer = Deliverer(
            store=store,
            secrets=secrets,
            clock=SystemClock(),
            sender=sender,
            limits=limits,
            woken=None if beside is None else beside.committed,
            oldest_waits=None if beside is None else beside.oldest_waits,
        )
        task = asyncio.create_task(deliverer.run())
        task.add_done_callback(_log_failure)
        try:
            yield task
        finally:
            task.cancel()
            with cancelled_by_signals():
                await asyncio.gather(task, return_exceptions=True)


def deliver(
    database: str,
    master_source: str,
    egress: Egress,
    *,
    grace_seconds: float,
    ready: Callable[[], None],
    beside: Callable[[Store], AbstractAsyncContextManager[None]],
) -> None:
    """Deliver until SIGTERM or SIGINT, then finish the open attempts. Call it in the main thread.

    Parameters
    ----------
    database : str
        URL; the tables must have this version.
    ready : callable
        Called once delivery starts.
    beside : callable
        A context that is open while the store is, such as `Exposition.following`.

    Raises
    ------
    Exception
        Any error that prevents the start; see `standard_error.is_explained`.
    """
    import uvloop

    async def run() -> None:
        from scoring_model.service.store import open_store

        with cancelled_by_signals():
            store = await open_store(database)
            try:
                async with (
                    beside(store),
                    delivering(store, master_source, egress, grace_seconds=grace_seconds) as task,
                ):
                    ready()
                    await asyncio.shield(task)
            finally:
                await store.close()

    with (
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        contextlib.suppress(asyncio.CancelledError, KeyboardInterrupt),
    ):
        runner.run(run())


def _log_failure(task: asyncio.Task[None]) -> None:
    """Log the error that ended a deliverer: a process that answers requests does not await it."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log_fault("delivering", error)
