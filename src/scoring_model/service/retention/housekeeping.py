"""While requests are answered, what has become old is deleted, about every hour."""

import asyncio
import math
import random
from typing import Final

from scoring_model.records.times import DAY
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.faults import log_fault, log_warning
from scoring_model.service.core.store import Store, StoreUnavailable
from scoring_model.service.retention.sweep import KEPT_SINCE, Ages, kept_since, sweep

INTERVAL: Final = 3600.0
"""Seconds between two walks, at most; one is made after half of that at the earliest."""


class Housekeeping:
    """Deletes what is old, of the whole database, while requests are answered.

    Events of links go for everyone alike, erased or not, when the longest window has passed. Every process may
    do it; what another has deleted already is not there.

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
        await sweep(self._store, Ages().cutoffs(now=self._clock.now(), longest=self._longest))


async def warn_of_short_history(store: Store, clock: Clock, *, longest: int) -> None:
    """Warn when the history was kept for shorter windows than are counted now: counts are too low for a while."""
    async with store.reading() as reader:
        since = kept_since(await reader.fact(KEPT_SINCE))
    days = math.ceil((since - (clock.now() - longest)) / DAY)
    if days > 0:
        log_warning(
            "The bundle looks back further than history was kept for the bundles before it: "
            f"what it counts is too low for the next {days} days."
        )
