"""Whether a process can take requests, and what its operators should know."""

import asyncio
from dataclasses import dataclass
from typing import Final

from scoring_model.service.core.clock import Clock
from scoring_model.service.core.faults import log_warning
from scoring_model.service.scoring.score import SKEW
from scoring_model.service.store import TRUNCATION_FACT, Store, StoreUnavailable

INTERVAL: Final = 5.0
"""Seconds between two checks of the newest events: a check reads an index for each client."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Readiness:
    """The state of a process that can take requests.

    Parameters
    ----------
    erasure_incomplete_since : int or None
        Since when an erasure waits for the truncation of the write-ahead log: microseconds since 1970-01-01 UTC. None
        when every erasure is complete on the live files, and always on a server.
    clock_behind : int
        Microseconds by which the newest event that has link records is ahead of this process's clock; 0 where that is
        no more than `SKEW`.
    """

    erasure_incomplete_since: int | None
    clock_behind: int


class ReadinessCheck:
    """Checks the database for one process.

    Parameters
    ----------
    store : Store
    clock : Clock
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._behind = 0
        self._next_check = 0.0

    async def check(self) -> Readiness | None:
        """Check; None while the database does not answer."""
        try:
            async with self._store.reading() as reader:
                since = await reader.fact(TRUNCATION_FACT)
            await self._check_clock()
        except StoreUnavailable:
            return None
        return Readiness(
            erasure_incomplete_since=None if since is None else int(since), clock_behind=self._behind
        )

    async def _check_clock(self) -> None:
        present = asyncio.get_running_loop().time()
        if present < self._next_check:
            return
        now = self._clock.now()
        async with self._store.reading() as reader:
            newest = await reader.newest_event(now + SKEW)
        if newest is not None and not self._behind:
            log_warning(
                f"The newest event is {(newest - now) // 1_000_000} s ahead of this process's clock: verifications "
                "that share a link key with such an event are answered 503. See 'Clocks' in docs/service.md."
            )
        self._behind = 0 if newest is None else newest - now
        self._next_check = present + INTERVAL
