"""Delivering within a process that answers requests, or in one that does nothing else."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scoring_model.service.egress import Egress
from scoring_model.service.process import cancelled_by_signals

if TYPE_CHECKING:
    from scoring_model.service.store import Store

FLOOR: Final = 100.0
"""Attempts a second that a process which answers requests begins at least, however long those wait."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Requests:
    """The requests that the same process answers, which come first.

    Parameters
    ----------
    committed : asyncio.Event
        Set when they have committed events.
    oldest_waits : callable
        For how many seconds the oldest one has waited for its transaction.
    """

    committed: asyncio.Event
    oldest_waits: Callable[[], float]


@contextlib.asynccontextmanager
async def delivering(
    store: Store,
    master_source: str,
    egress: Egress,
    *,
    grace_seconds: float,
    beside: Requests | None = None,
) -> AsyncIterator[asyncio.Task[None]]:
    """Deliver as long as the context lasts; on leaving, end the attempts that are under way.

    To be entered in the main thread: a signal that comes while they end cuts them off.

    Parameters
    ----------
    store : Store
        Closed by the caller, afterwards.
    master_source : str
        Where the master keys come from, which the secrets of webhooks are encrypted under.
    egress : Egress
    grace_seconds : float
        Time that attempts get to end. One that does not is repeated when its lease is over.
    beside : Requests, optional
        Of a process that answers requests too.

    Yields
    ------
    asyncio.Task
        It ends by itself only with an error.
    """
    from scoring_model.service.core.clock import SystemClock
    from scoring_model.service.delivery.deliverer import Deliverer, DeliveryLimits
    from scoring_model.service.delivery.sender import AiohttpSender
    from scoring_model.service.keys.keyring import load_master_keys
    from scoring_model.service.keys.secrets import load_or_create
    from scoring_model.service.webhooks import seal_migrated

    secrets = await load_or_create(store, load_master_keys(master_source))
    await seal_migrated(store, secrets)
    async with AiohttpSender(egress.networks, development=egress.development, proxy=egress.proxy) as sender:
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
    database: str, master_source: str, egress: Egress, *, grace_seconds: float, ready: Callable[[], None]
) -> None:
    """Deliver until SIGTERM or SIGINT, then end what is under way. To be called in the main thread.

    Parameters
    ----------
    database : str
        URL; the tables must be those of this version.
    master_source : str
    egress : Egress
    grace_seconds : float
        See `delivering`.
    ready : callable
        Called once, when it begins to look for deliveries.

    Raises
    ------
    Exception
        What prevents the start; `standard_error.is_explained` says whether its text is enough.
    """
    import uvloop

    async def run() -> None:
        from scoring_model.service.store import open_store

        with cancelled_by_signals():
            store = await open_store(database)
            try:
                async with delivering(store, master_source, egress, grace_seconds=grace_seconds) as task:
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
    """Log the error that ended a deliverer: a process that answers requests does not wait for it."""
    from scoring_model.service.core.faults import log_fault

    if not task.cancelled() and (error := task.exception()) is not None:
        log_fault("delivering", error)
