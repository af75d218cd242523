"""Verifications that could not be scored in time, finished later by whichever process comes first."""

import asyncio
from contextlib import suppress
from typing import Final, NamedTuple

from scoring_model.service.core.clock import Clock
from scoring_model.service.core.errors import Invalid, RequestError, Unavailable
from scoring_model.service.core.faults import log_fault
from scoring_model.service.core.rows import VerificationRow
from scoring_model.service.core.store import Store, StoreUnavailable
from scoring_model.service.scoring.commit_queue import CommitQueue
from scoring_model.service.scoring.verdicts import MAX_ATTEMPTS, Verdicts
from scoring_model.service.scoring.verifications import Verifications

LEASE: Final = 30_000_000
"""Microseconds for which a process has a row to itself."""

MOST_LEASES: Final = 10
"""Attempts after which a row that nobody ever brought to an end is given up: it may be what ends processes."""

_AT_ONCE: Final = 32
"""Rows that are leased together: what a tenth of the capacity finishes before any of them is given up."""


class _Owner(NamedTuple):
    client: int
    pool: str


class PendingWork:
    """Finishes PENDING verifications of the whole database.

    Parameters
    ----------
    store : Store
    queue : CommitQueue
    verifications : Verifications
    verdicts : Verdicts
    clock : Clock
    interval : float
        Seconds between two looks.
    """

    def __init__(
        self,
        *,
        store: Store,
        queue: CommitQueue,
        verifications: Verifications,
        verdicts: Verdicts,
        clock: Clock,
        interval: float = 1.0,
    ) -> None:
        self._store = store
        self._queue = queue
        self._verifications = verifications
        self._verdicts = verdicts
        self._clock = clock
        self._interval = interval

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            try:
                found = await self.step()
            except (StoreUnavailable, RequestError):
                found = 0  # the next look will find it
            except Exception as error:
                log_fault("looking for pending verifications", error)
                found = 0
            if found == 0:
                await asyncio.sleep(self._interval)

    async def step(self) -> int:
        """Finish some of what waits; the queue gives it a share of its capacity while requests wait.

        Returns
        -------
        int
            How many rows were taken.
        """
        now = self._clock.now()
        async with self._store.writing([]) as transaction:
            taken = await transaction.lease_pending(now, now + LEASE, _AT_ONCE)
            # Counted before the work, so that a row that brings a process down is counted too.
            rows = [row._replace(attempts=row.attempts + 1, leased_until=now + LEASE) for row in taken]
            if rows:
                await transaction.settle(rows)
        if rows:
            async with self._store.reading() as reader:
                pools = {client.client: client.pool for client in await reader.clients()}
            await asyncio.gather(*(self._finish(row, pools[row.client]) for row in rows))
        return len(rows)

    async def _finish(self, row: VerificationRow, pool: str) -> None:
        """Make one attempt; whatever becomes of it, the other rows have theirs."""
        try:
            await self._attempt(row, pool)
        except (StoreUnavailable, Unavailable):
            await self._take_back(row, pool)
        except Exception as error:
            log_fault("finishing a pending verification", error)
            if row.attempts >= MAX_ATTEMPTS:
                await self._fail(row, pool)

    async def _attempt(self, row: VerificationRow, pool: str) -> None:
        candidate = None
        if row.attempts <= MOST_LEASES:
            try:
                candidate = await self._verifications.pending_candidate(row, pool)
            except Invalid:
                if row.attempts < MAX_ATTEMPTS:
                    return  # another process may serve the model that it was meant for
        if candidate is None:
            await self._fail(row, pool)
        else:
            await self._queue.finish(candidate)

    async def _fail(self, row: VerificationRow, pool: str) -> None:
        with suppress(StoreUnavailable, Unavailable):  # the next look will find it
            owner = _Owner(row.client, pool)
            await self._queue.change(owner, None, lambda transaction: self._verdicts.fail(transaction, row))

    async def _take_back(self, row: VerificationRow, pool: str) -> None:
        """Count an attempt as not made: a database that is away says nothing about a verification."""
        with suppress(StoreUnavailable):
            # Under the lock of erasures, so that nothing is written back that was erased.
            async with self._store.writing([pool]) as transaction:
                found = await transaction.verification(row.client, row.id)
                if found is not None and found.attempts:
                    await transaction.settle([found._replace(attempts=found.attempts - 1)])
