"""The state of a process that accepts requests."""

import asyncio
from dataclasses import dataclass
from typing import Final

from scoring_model.contract.units import SECOND
from scoring_model.service.core.clock import SKEW, Clock
from scoring_model.service.core.faults import log_warning
from scoring_model.service.core.rows import BundleActivationRow
from scoring_model.service.scoring.served import Serving
from scoring_model.service.store import TRUNCATION_FACT, Store, StoreUnavailable

CLOCK_INTERVAL: Final = 5.0
"""Seconds between checks of the newest events: a check reads an index per client."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedSince:
    """What a process serves.

    Parameters
    ----------
    since : int
        Instant since which it serves the bundle, microseconds since 1970-01-01 UTC.
    problem : str or None
        Why it does not serve the active bundle; None if it does.
    refused : BundleActivationRow or None
        The last candidate that was refused.
    """

    model_version: str
    policy_version: str
    since: int
    problem: str | None = None
    refused: BundleActivationRow | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessState:
    """The state of a process that accepts requests.

    Parameters
    ----------
    erasure_incomplete_since : int or None
        Instant since which an erasure has waited for the truncation of the write-ahead log, microseconds since
        1970-01-01 UTC. None if every erasure is complete in the database files, and always with PostgreSQL.
    clock_behind : int
        Microseconds by which the newest event with link records is ahead of this process's clock; 0 up to `SKEW`.
    """

    erasure_incomplete_since: int | None
    clock_behind: int
    serves: ServedSince


class ReadinessCheck:
    """Checks the database for one process."""

    def __init__(self, store: Store, clock: Clock, serving: Serving) -> None:
        self._store = store
        self._clock = clock
        self._serving = serving
        self._behind = 0
        self._next_check = 0.0

    async def check(self) -> ProcessState | None:
        """Return the state; None while the database does not answer."""
        try:
            async with self._store.reading() as reader:
                since = await reader.fact(TRUNCATION_FACT)
            await self._check_clock()
        except StoreUnavailable:
            return None
        manifest = self._serving.current.scorer.manifest
        return ProcessState(
            erasure_incomplete_since=None if since is None else int(since),
            clock_behind=self._behind,
            serves=ServedSince(
                model_version=manifest.model_version,
                policy_version=manifest.policy_version,
                since=self._serving.since,
                problem=self._serving.problem,
                refused=self._serving.refused,
            ),
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
                f"The newest event is {(newest - now) // SECOND} s ahead of this process's clock: verifications "
                "that share a link key with such an event are answered 503. See 'Clocks' in docs/service.md."
            )
        self._behind = 0 if newest is None else newest - now
        self._next_check = present + CLOCK_INTERVAL
