"""Sweeps: old rows are deleted every hour while serving, or by a command."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from scoring_model.contract.units import DAY
from scoring_model.service.core.clock import SKEW, Clock
from scoring_model.service.requests.idempotency import LIFETIME
from scoring_model.service.retention.kept import KEPT_SINCE, raise_fact
from scoring_model.service.store import Cutoffs, Expiring, Key, Store, attempt

BATCH: Final = 500
"""Rows per key range: deleting all of them blocks other writers for some milliseconds."""

PAUSE: Final = 0.01
"""Pause between two batches in seconds, which frees the CPU core and the lock."""

INTERVAL: Final = 3600.0
"""Maximum seconds between two sweeps of a serving process; the minimum is half of it."""


_WITH_LINKS: Final = (
    Expiring.LINKS,
    Expiring.IMPORTED,
    Expiring.CONTROL_PASSES,
    Expiring.LIST_ENTRIES,
    Expiring.LABEL_TIMES,
)
"""Kinds that are deleted with link records."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ages:
    """Retention periods of settled rows, in microseconds.

    Parameters
    ----------
    deliveries : int
        Since they were delivered or dropped.
    dead_letters : int
        Since they became dead letters.
    events : int
        Since they happened.
    """

    deliveries: int = 30 * DAY
    dead_letters: int = 30 * DAY
    events: int = 30 * DAY

    def cutoffs(self, *, now: int, longest: int | None) -> Cutoffs:
        """Compute the instants from which rows are kept.

        Parameters
        ----------
        now : int
            Microseconds since 1970-01-01 UTC.
        longest : int or None
            The longest window, microseconds; None to keep all link records.
        """
        settled = {
            Expiring.ANSWERS: now - LIFETIME,
            Expiring.DELIVERIES: now - self.deliveries,
            Expiring.DEAD_LETTERS: now - self.dead_letters,
            Expiring.EVENTS: now - self.events,
        }
        if longest is None:
            return settled
        # The clock of another process may be that far behind, and its scores need the whole window.
        links = now - longest - SKEW
        return dict.fromkeys(_WITH_LINKS, links) | settled


@dataclass(kw_only=True, slots=True)
class Housekeeping:
    """Sweeps the whole database periodically while the service runs.

    Several processes may run it. Link records are deleted at their age, whether or not their person was erased.

    Parameters
    ----------
    longest : int
        How long link records are kept, microseconds: at least the longest window of the bundles that serve now or may
        serve again.
    """

    store: Store
    clock: Clock
    longest: int

    async def run(self) -> None:
        """Sweep periodically until cancelled."""
        while True:
            await asyncio.sleep(INTERVAL * random.uniform(0.5, 1))
            await attempt("deleting expired rows", self.walk)

    async def walk(self) -> None:
        """Sweep once; see `sweep`."""
        await sweep(self.store, Ages().cutoffs(now=self.clock.now(), longest=self.longest))


async def sweep(
    store: Store,
    cutoffs: Cutoffs,
    *,
    dry: bool = False,
    progress: Callable[[str, int], None] = lambda kind, count: None,
) -> dict[Expiring, int]:
    """Delete all expired rows, one key range per transaction.

    It can be interrupted and run again, also by several processes concurrently. Keeps waiting deliveries, and leaves
    rows that another transaction has locked to the next sweep.

    Parameters
    ----------
    dry : bool
        Count only.
    progress : callable, optional
        Called after each key range with a kind and its count so far.

    Returns
    -------
    dict of Expiring to int
        Number of rows of each kind that were deleted, or would be.

    Raises
    ------
    StoreUnavailable
        What was deleted before stays deleted.
    """
    swept = {
        kind: await _sweep_kind(store, kind, cutoffs, dry, progress) for kind in Expiring if kind in cutoffs
    }
    if not dry and swept.get(Expiring.LINKS):
        # Link records hold the last data of erased persons: remove it from the write-ahead log too.
        async with store.writing([]) as transaction:
            await transaction.require_truncation()
    return swept


async def _sweep_kind(
    store: Store, kind: Expiring, cutoffs: Cutoffs, dry: bool, progress: Callable[[str, int], None]
) -> int:
    after: Key | None = None
    count = 0
    while True:
        async with store.reading() as reader:
            key_range = await reader.key_range(kind, cutoffs, after, BATCH)
        if dry or not key_range.old:
            count += key_range.old
        else:
            if kind in _WITH_LINKS and not count:
                # Not before there is something to delete: the history of a young service is complete.
                await raise_fact(store, KEPT_SINCE, cutoffs[kind])
            async with store.writing([]) as transaction:
                count += await transaction.drop(key_range, cutoffs)
        progress(kind.value, count)
        if key_range.last:
            return count
        after = key_range.through
        await asyncio.sleep(PAUSE)
