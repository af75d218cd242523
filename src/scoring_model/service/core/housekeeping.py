"""What has become old is deleted: events of links that no window sees any more, answers that are not repeated."""

import asyncio
import math
import random
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from scoring_model.service.core.clock import Clock
from scoring_model.service.core.faults import log_fault, log_warning
from scoring_model.service.core.idempotency import LIFETIME
from scoring_model.service.core.store import Store, StoreUnavailable, Transaction
from scoring_model.service.core.verdicts import SKEW

T = TypeVar("T")

INTERVAL: Final = 3600.0
"""Seconds between two walks, at most; one is made after half of that at the earliest."""

STRETCH: Final = 1_000
"""Rows that one transaction looks at: a millisecond for which others wait."""

KEPT_SINCE: Final = "links_kept_since"
"""Name of the fact that says from when on the history is whole: microseconds, in decimal digits."""

_DAY: Final = 86_400_000_000
_PAUSE: Final = 0.01  # seconds, so that a walk takes no more than a share of a core


class Housekeeping:
    """Deletes what is old, of the whole database, while requests are answered.

    Events of links go for everyone alike, erased or not, when the longest window has passed. Every process may
    do it; what another has deleted already is not there.

    Parameters
    ----------
    store : Store
    clock : Clock
    longest : int
        The longest window, microseconds.
    """

    def __init__(self, *, store: Store, clock: Clock, longest: int) -> None:
        self._store = store
        self._clock = clock
        self._longest = longest

    async def run(self) -> None:
        """Walk again and again, until cancelled."""
        while True:
            await asyncio.sleep(INTERVAL * random.uniform(0.5, 1))
            try:
                await self.walk()
            except StoreUnavailable:
                pass  # the next walk will do it
            except Exception as error:
                log_fault("deleting what is old", error)

    async def walk(self) -> None:
        """Go through everything once.

        Raises
        ------
        StoreUnavailable
            What was deleted before stays deleted.
        """
        now = self._clock.now()
        # Another process may be that far behind, and what it scores now must see its whole window.
        links_before = now - self._longest - SKEW
        async with self._store.writing([]) as transaction:
            since = max(kept_since(await transaction.fact(KEPT_SINCE)), links_before)
            await transaction.set_fact(KEPT_SINCE, b"%d" % since)
        await self._all((b"", 0), lambda t, after: t.drop_links(after, links_before, STRETCH))
        answers_before = now - LIFETIME
        await self._all(b"", lambda t, after: t.drop_answers(after, answers_before, STRETCH))

    async def _all(self, start: T, drop: Callable[[Transaction, T], Awaitable[T | None]]) -> None:
        after: T | None = start
        while after is not None:
            async with self._store.writing([]) as transaction:
                after = await drop(transaction, after)
            await asyncio.sleep(_PAUSE)


def kept_since(fact: bytes | None) -> int:
    """From when on the history is whole: microseconds since 1970-01-01 UTC, 0 if nothing was ever deleted."""
    return 0 if fact is None else int(fact)


async def warn_of_short_history(store: Store, clock: Clock, *, longest: int) -> None:
    """Tell when the history was kept for shorter windows than are counted now: counts are too low for a while."""
    async with store.reading() as reader:
        since = kept_since(await reader.fact(KEPT_SINCE))
    days = math.ceil((since - (clock.now() - longest)) / _DAY)
    if days > 0:
        log_warning(
            "The bundle looks back further than history was kept for the bundles before it: "
            f"what it counts is too low for the next {days} days."
        )
