"""Finishes PENDING verifications; each is leased to one process at a time."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

from scoring_model.service.core.clock import Clock
from scoring_model.service.core.errors import Invalid, RequestError, Unavailable
from scoring_model.service.core.faults import log_fault
from scoring_model.service.core.rows import VerificationRow
from scoring_model.service.requests.commit_queue import CommitQueue
from scoring_model.service.scoring.scoring import MAX_ATTEMPTS
from scoring_model.service.scoring.served import Serving
from scoring_model.service.store import Store, StoreUnavailable

LEASE: Final = 30_000_000
"""Microseconds for which a row is leased to a process."""

MOST_LEASES: Final = 10
"""Number of leases after which an unfinished row becomes an ERROR: it may crash processes."""

_INTERVAL: Final = 1.0
_AT_ONCE: Final = 32
"""Rows per lease: few enough for the background share to finish them before their commit times out."""


class _Owner(NamedTuple):
    client: int
    history_scope: str
    sandbox: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class PendingWork:
    """Finishes PENDING verifications of the whole database; waits `_INTERVAL` seconds when there are none."""

    store: Store
    queue: CommitQueue
    serving: Serving
    clock: Clock

    async def run(self) -> None:
        """Run steps until cancelled; wait after a step that found nothing."""
        while True:
            try:
                found = await self.step()
            except (StoreUnavailable, RequestError):
                found = 0  # the next step retries
            except Exception as error:
                log_fault("finishing pending verifications", error)
                found = 0
            if found == 0:
                await asyncio.sleep(_INTERVAL)

    async def step(self) -> int:
        """Lease some PENDING verifications and finish them; returns their number.

        While requests wait, the queue limits their share.
        """
        now = self.clock.now()
        async with self.store.writing([]) as transaction:
            taken = await transaction.lease_pending(now, now + LEASE, _AT_ONCE)
            # Count before the attempt, so that an attempt that crashes the process counts too.
            rows = [row._replace(attempts=row.attempts + 1, leased_until=now + LEASE) for row in taken]
            if rows:
                await transaction.settle(rows)
        if rows:
            async with self.store.reading() as reader:
                clients = await reader.clients()
            owners = {one.client: _Owner(one.client, one.pool, bool(one.sandbox)) for one in clients}
            await asyncio.gather(*(self._finish(row, owners[row.client]) for row in rows))
        return len(rows)

    async def _finish(self, row: VerificationRow, owner: _Owner) -> None:
        """Make one attempt; a failure does not affect other rows."""
        try:
            await self._attempt(row, owner)
        except (StoreUnavailable, Unavailable):
            await self._take_back(row, owner)
        except Exception as error:
            log_fault("finishing a pending verification", error)
            if row.attempts >= MAX_ATTEMPTS:
                await self._fail(row, owner)

    async def _attempt(self, row: VerificationRow, owner: _Owner) -> None:
        bundle, candidate = self.serving.current, None
        if row.attempts <= MOST_LEASES:
            try:
                candidate = await bundle.candidates.pending(row, owner.history_scope, sandbox=owner.sandbox)
            except Invalid:
                if row.attempts < MAX_ATTEMPTS:
                    return  # another process may serve the model it needs
        if candidate is None:
            await self._fail(row, owner)
        else:
            await self.queue.submit(candidate, bundle.scoring.jobs, candidate, background=True)

    async def _fail(self, row: VerificationRow, owner: _Owner) -> None:
        with suppress(StoreUnavailable, Unavailable):  # the next step retries
            scoring = self.serving.current.scoring
            await self.queue.change(owner, lambda transaction: scoring.fail(transaction, row))

    async def _take_back(self, row: VerificationRow, owner: _Owner) -> None:
        """Uncount an attempt that failed because something was unavailable."""
        with suppress(StoreUnavailable):
            # Erasures hold the same lock: no erased value is written back.
            async with self.store.writing([owner.history_scope]) as transaction:
                found = await transaction.verification(row.client, row.id)
                if found is not None and found.attempts:
                    await transaction.settle([found._replace(attempts=found.attempts - 1)])
