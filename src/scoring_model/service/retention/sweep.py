"""How long rows are kept, and the sweep that deletes older ones: every hour while serving, or by a command."""

import asyncio
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from scoring_model.records.times import DAY
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.expiry import Cutoffs, Expiring, Key
from scoring_model.service.core.faults import log_fault, log_warning
from scoring_model.service.core.store import Store, StoreUnavailable
from scoring_model.service.idempotency import LIFETIME
from scoring_model.service.scoring.score import SKEW

BATCH: Final = 500
"""Rows in a key range: deleting all of them makes other writers wait for some milliseconds."""

PAUSE: Final = 0.01
"""Seconds between two key ranges, which leave the core and the lock to others."""

INTERVAL: Final = 3600.0
"""Seconds between two sweeps of a serving process, at most; at least half of it."""

KEPT_SINCE: Final = "links_kept_since"
"""Fact with the instant since which the history is complete: microseconds, in decimal digits."""

KEPT_FOR: Final = "links_kept_for"
"""Fact with the longest window of the bundle that was opened last, likewise."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ages:
    """How long settled rows are kept, in microseconds.

    Parameters
    ----------
    deliveries : int
        Since they arrived or were dropped.
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
            The longest window, microseconds; None keeps all link records.
        """
        return Cutoffs(
            # The clock of another process may be that far behind, and what it scores must see its whole window.
            links=None if longest is None else now - longest - SKEW,
            answers=now - LIFETIME,
            deliveries=now - self.deliveries,
            dead_letters=now - self.dead_letters,
            events=now - self.events,
        )


class Housekeeping:
    """Sweeps the whole database regularly while requests are answered.

    Every process may do so. Link records are deleted when the longest window has passed, whether or not their person
    was erased.

    Parameters
    ----------
    longest : int
        The longest window, microseconds.
    """

    def __init__(self, *, store: Store, clock: Clock, longest: int) -> None:
        self._store = store
        self._clock = clock
        self._longest = longest

    async def run(self) -> None:
        """Sweep again and again, until cancelled."""
        while True:
            await asyncio.sleep(INTERVAL * random.uniform(0.5, 1))
            try:
                await self.walk()
            except StoreUnavailable:
                pass  # the next sweep does it
            except Exception as error:
                log_fault("deleting what is old", error)

    async def walk(self) -> None:
        """Sweep once; see `sweep`."""
        await sweep(self._store, Ages().cutoffs(now=self._clock.now(), longest=self._longest))


async def sweep(
    store: Store,
    cutoffs: Cutoffs,
    *,
    dry: bool = False,
    progress: Callable[[Expiring, int], None] | None = None,
) -> dict[Expiring, int]:
    """Delete all rows that are older than they are kept, a key range per transaction.

    It may stop at any moment and be run again, also by several processes at once. Waiting deliveries stay, and rows
    that another transaction has locked are left to the next sweep.

    Parameters
    ----------
    dry : bool
        Count only.
    progress : callable, optional
        Called after each key range with a kind and its count so far.

    Returns
    -------
    dict of Expiring to int
        How many rows of each kind were deleted, or would be.

    Raises
    ------
    StoreUnavailable
        What was deleted before stays deleted.
    """
    if cutoffs.links is not None and not dry:
        await _note_kept_since(store, cutoffs.links)
    swept = {
        kind: await _sweep_kind(store, kind, cutoffs, dry, progress)
        for kind in Expiring
        if cutoffs.of(kind) is not None
    }
    if not dry and swept.get(Expiring.LINKS):
        # The last data of erased persons goes with link records: remove it from the write-ahead log too.
        async with store.writing([]) as transaction:
            await transaction.require_truncation()
    return swept


async def _sweep_kind(
    store: Store,
    kind: Expiring,
    cutoffs: Cutoffs,
    dry: bool,
    progress: Callable[[Expiring, int], None] | None,
) -> int:
    after: Key | None = None
    count = 0
    while True:
        async with store.reading() as reader:
            key_range = await reader.key_range(kind, cutoffs, after, BATCH)
        if dry or not key_range.old:
            count += key_range.old
        else:
            async with store.writing([]) as transaction:
                count += await transaction.drop(key_range, cutoffs)
        if progress is not None:
            progress(kind, count)
        if key_range.last:
            return count
        after = key_range.through
        await asyncio.sleep(PAUSE)


async def _note_kept_since(store: Store, before: int) -> None:
    async with store.writing([]) as transaction:
        since = kept_since(await transaction.fact(KEPT_SINCE))
        if before > since:
            await transaction.set_fact(KEPT_SINCE, b"%d" % before)


def kept_since(fact: bytes | None) -> int:
    """Since when the history is complete: microseconds since 1970-01-01 UTC, 0 if nothing was ever deleted."""
    return 0 if fact is None else int(fact)


async def note_window(store: Store, longest: int) -> None:
    """Store the longest window of the served bundle, microseconds, for commands that have no bundle."""
    if await noted_window(store) != longest:
        async with store.writing([]) as transaction:
            await transaction.set_fact(KEPT_FOR, b"%d" % longest)


async def noted_window(store: Store) -> int | None:
    """Return the longest window of the bundle that was opened last, microseconds; None if there was none."""
    async with store.reading() as reader:
        fact = await reader.fact(KEPT_FOR)
    return None if fact is None else int(fact)


async def warn_of_short_history(store: Store, clock: Clock, *, longest: int) -> None:
    """Warn when the history is shorter than the longest window of this bundle, so that its counts are too low."""
    async with store.reading() as reader:
        since = kept_since(await reader.fact(KEPT_SINCE))
    days = math.ceil((since - (clock.now() - longest)) / DAY)
    if days > 0:
        log_warning(
            "The bundle looks back further than history was kept for the bundles before it: "
            f"what it counts is too low for the next {days} days."
        )
