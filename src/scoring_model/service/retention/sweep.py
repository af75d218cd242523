"""How long things are kept, and the walk that deletes what is older."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from scoring_model.records.times import DAY
from scoring_model.service.core.expiry import Cutoffs, Expiring
from scoring_model.service.core.idempotency import LIFETIME
from scoring_model.service.core.store import Store
from scoring_model.service.scoring.verdicts import SKEW

STRETCH: Final = 500
"""Rows that are looked at at a time: where all of them are old, others wait some milliseconds for the deletion."""

PAUSE: Final = 0.01
"""Seconds between two stretches, so that a walk takes no more than a share of a core and of the turns to write."""

KEPT_SINCE: Final = "links_kept_since"
"""Name of the fact that says from when on the history is whole: microseconds, in decimal digits."""

KEPT_FOR: Final = "links_kept_for"
"""Name of the fact that says how far the bundle that was opened last looks back, likewise."""

Told = Callable[[Expiring, int], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ages:
    """How long what is over is kept, in microseconds.

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
        """From when on everything is kept.

        Parameters
        ----------
        now : int
            Microseconds since 1970-01-01 UTC.
        longest : int or None
            The longest window, in microseconds; None leaves links alone.
        """
        return Cutoffs(
            # Another process may be that far behind, and what it scores now must see its whole window.
            links=None if longest is None else now - longest - SKEW,
            answers=now - LIFETIME,
            deliveries=now - self.deliveries,
            dead_letters=now - self.dead_letters,
            events=now - self.events,
        )


async def sweep(
    store: Store, cutoffs: Cutoffs, *, dry: bool = False, told: Told | None = None
) -> dict[Expiring, int]:
    """Delete all that is older than it is kept, a stretch of rows in each transaction.

    It may stop at any instant and be run again, by several processes at a time too: what one has deleted is not there
    for the others. What waits is left alone, and so is what somebody is changing at the moment.

    Parameters
    ----------
    dry : bool
        Whether nothing is deleted, only counted.
    told : callable, optional
        Called with a kind and how many there were of it so far, after each stretch.

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
        kind: await _sweep_kind(store, kind, cutoffs, dry, told)
        for kind in Expiring
        if cutoffs.of(kind) is not None
    }
    if not dry and swept.get(Expiring.LINKS):
        # The last that is known of erased persons goes with them, from the log too.
        async with store.writing([]) as transaction:
            await transaction.require_truncation()
    return swept


async def _sweep_kind(store: Store, kind: Expiring, cutoffs: Cutoffs, dry: bool, told: Told | None) -> int:
    after: tuple[bytes | int, ...] | None = None
    count = 0
    while True:
        async with store.reading() as reader:
            stretch = await reader.stretch(kind, cutoffs, after, STRETCH)
        if dry or not stretch.old:
            count += stretch.old
        else:
            async with store.writing([]) as transaction:
                count += await transaction.drop(stretch, cutoffs)
        if told is not None:
            told(kind, count)
        if stretch.last:
            return count
        after = stretch.through
        await asyncio.sleep(PAUSE)


async def _note_kept_since(store: Store, before: int) -> None:
    async with store.writing([]) as transaction:
        since = kept_since(await transaction.fact(KEPT_SINCE))
        if before > since:
            await transaction.set_fact(KEPT_SINCE, b"%d" % before)


def kept_since(fact: bytes | None) -> int:
    """From when on the history is whole: microseconds since 1970-01-01 UTC, 0 if nothing was ever deleted."""
    return 0 if fact is None else int(fact)


async def note_window(store: Store, longest: int) -> None:
    """Write down how far the served bundle looks back, for who deletes without having a bundle.

    Parameters
    ----------
    longest : int
        The longest window, in microseconds.
    """
    if await noted_window(store) != longest:
        async with store.writing([]) as transaction:
            await transaction.set_fact(KEPT_FOR, b"%d" % longest)


async def noted_window(store: Store) -> int | None:
    """How far the bundle that was opened last looks back, in microseconds; None where none ever was."""
    async with store.reading() as reader:
        fact = await reader.fact(KEPT_FOR)
    return None if fact is None else int(fact)
