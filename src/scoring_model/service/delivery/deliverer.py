"""Delivers what waits: takes events, leases deliveries, sends them, and writes down what came of it.

Any number of processes may do so on one database. A delivery is leased for a minute by the process that sends it; if it
dies, another takes over when the lease is over, so that everything arrives at least once.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, NamedTuple

from scoring_model.contract.event import EventType
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.faults import log_fault
from scoring_model.service.core.rows import DeliveryRow, EventRow, WebhookRow
from scoring_model.service.core.store import Store, StoreUnavailable, Transaction
from scoring_model.service.delivery.fair_queue import FairQueue, Job
from scoring_model.service.delivery.fan_out import fan_out
from scoring_model.service.delivery.rate_controller import TICK, RateController
from scoring_model.service.delivery.results import disable
from scoring_model.service.delivery.schedule import (
    SECOND,
    DisabledReason,
    RetryDecision,
    after_attempt,
    succeeded,
)
from scoring_model.service.delivery.sender import Reply, Sender
from scoring_model.service.delivery.signing import message_id, payload, secrets_of, signed_headers
from scoring_model.service.keys.secrets import Secrets
from scoring_model.service.webhooks.deliveries import DeliveryStatus
from scoring_model.service.webhooks.webhook import destination_of

LEASE: Final = 60 * SECOND
"""Microseconds for which a process has a delivery to itself."""

ATTEMPT: Final = 20 * SECOND
"""Microseconds that must be left of a lease when an attempt begins: 15 s for it, and the rest to write it down."""

_TOLD_AGAIN: Final = (
    SECOND  # a webhook's last success is known to the second: each would be a write of its row
)
_EXCERPT: Final = 200
_AHEAD: Final = 0.5  # seconds for which deliveries are leased, at the pace of then
_GATHERED: Final = 50  # results that are worth a transaction


@dataclass(frozen=True, kw_only=True, slots=True)
class DeliveryLimits:
    """How much is done at once, and how often anything is looked for.

    Parameters
    ----------
    at_once : int
        The most attempts under way; one client alone gets no more than half of them.
    per_destination : int
        The most attempts under way to one host and port; one client alone gets no more than half of them.
    taken : int
        The most deliveries that the process has leased; one client alone gets no more than half of them.
    batch : int
        About how many deliveries one transaction makes of events, the most that one leases, and the most results that
        one writes.
    interval : float
        Seconds between two looks that find nothing.
    gather : float
        Seconds for which results wait for others, and between looks that find less than a batch.
    grace : float
        Seconds that attempts have to end when the process stops.
    floor : float or None
        Attempts a second that begin however busy the process is with other things, which they give way to
        otherwise; None where there is nothing else.
    """

    at_once: int = 512
    per_destination: int = 64
    taken: int = 1_024
    batch: int = 256
    interval: float = 0.5
    gather: float = 0.05
    grace: float = 10.0
    floor: float | None = None


class _Result(NamedTuple):
    """A row to write, whether its webhook has just succeeded, and why that is to be disabled."""

    row: DeliveryRow
    webhook: WebhookRow
    arrived: bool = False
    disable: DisabledReason | None = None


class Deliverer:
    """Delivers the events of the whole database.

    It belongs to the event loop in which it is used.

    Parameters
    ----------
    secrets : Secrets
        Opens the secrets of webhooks.
    rng : random.Random, optional
        Lengthens delays.
    woken : asyncio.Event, optional
        To be set when there is something new: it is looked for at once.
    oldest_waits : callable, optional
        For how many seconds a request of this process has waited for its turn.
    """

    def __init__(
        self,
        *,
        store: Store,
        secrets: Secrets,
        clock: Clock,
        sender: Sender,
        limits: DeliveryLimits | None = None,
        rng: Random | None = None,
        woken: asyncio.Event | None = None,
        oldest_waits: Callable[[], float] | None = None,
    ) -> None:
        self._store = store
        self._secrets = secrets
        self._clock = clock
        self._sender = sender
        self._limits = limits or DeliveryLimits()
        self._rng = rng or Random()
        self._queue = FairQueue(at_once=self._limits.at_once, per_destination=self._limits.per_destination)
        self._last_fanned_out = 0
        self._last_due = b""
        self._attempts: set[asyncio.Task[None]] = set()
        self._results: list[_Result] = []
        self._disabled: dict[bytes, tuple[WebhookRow, DisabledReason]] = {}
        self._settling: asyncio.Task[None] | None = None
        self._disabling: asyncio.Task[None] | None = None
        self._pace = RateController(floor=self._limits.floor)
        self._beating: asyncio.Task[None] | None = None
        self._oldest_waits = oldest_waits or (lambda: 0.0)
        self._woken = asyncio.Event() if woken is None else woken
        self._is_full = False
        self._lacks_room = False
        self._behind = False
        self._ending = False

    async def run(self) -> None:
        """Deliver until cancelled; then give back what was not begun and let end what was, within the grace.

        To be called once.
        """
        try:
            while True:
                await self._rest(await self._look())
        finally:
            await self._end()

    async def step(self) -> int:
        """Take events and deliveries, and begin to send those; `finished` waits for what comes of it.

        Returns
        -------
        int
            How many events and deliveries were taken.

        Raises
        ------
        StoreUnavailable
        """
        now, limits = self._clock.now(), self._limits
        # Results that can't be written may belong to deliveries whose leases are over: those would be sent again.
        room = 0 if self._behind else self._room()
        batch = min(limits.batch, room)
        async with self._store.writing([]) as transaction:
            # Where deliveries give way, so does making them.
            events, self._last_fanned_out = await fan_out(
                transaction, now=now, limit=batch, after=self._last_fanned_out
            )
            leased = await self._lease(transaction, now, room, batch) if batch > 0 else []
        self._is_full, self._lacks_room = len(leased) == limits.batch, batch < limits.batch
        self._take([Job._make(one) for one in leased], now)
        return events + len(leased)

    async def _lease(
        self, transaction: Transaction, now: int, room: int, batch: int
    ) -> list[tuple[DeliveryRow, EventRow, WebhookRow]]:
        limit = self._limits.batch
        due = await transaction.due_webhooks(now, limit, self._last_due)
        self._last_due = due[-1].id if len(due) == limit else b""
        shares = self._queue.shares(due, room=room, batch=batch)
        return await transaction.lease_deliveries(now, now + LEASE, shares)

    async def finished(self) -> None:
        """Wait until nothing is under way and all that came of it is written."""
        while under_way := self._under_way():
            await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)

    def _under_way(self) -> list[asyncio.Task[None]]:
        others = (self._settling, self._disabling, self._beating)
        return [*self._attempts, *(task for task in others if task is not None)]

    async def _look(self) -> int:
        self._woken.clear()
        try:
            return await self.step()
        except StoreUnavailable:
            return 0  # the next look will find it
        except Exception as error:
            log_fault("looking for deliveries", error)
            return 0

    async def _rest(self, found: int) -> None:
        """Wait for something to do: not at all after a full batch."""
        if not found:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._limits.interval):
                    await self._woken.wait()
        elif not self._is_full:
            await asyncio.sleep(self._limits.gather)

    def _room(self) -> int:
        """How many deliveries may be leased at the present pace, beside those that are here."""
        most = int(min(self._pace.within(_AHEAD), self._limits.taken))
        return most - self._queue.held - len(self._results)

    def _take(self, jobs: Sequence[Job], now: int) -> None:
        """Begin with what may be sent."""
        wanted = []
        for job in jobs:
            if job.webhook.active or job.event.type == EventType.WEBHOOK_TEST:
                wanted.append(job)
            else:  # it was made inactive while its deliveries were being written
                row = job.delivery._replace(
                    status=DeliveryStatus.DROPPED.value, leased_until=None, finished_at=now
                )
                self._note(_Result(row, job.webhook))
        self._queue.add(wanted)
        if self._pace.steers and self._beating is None and self._queue.held:
            self._beating = asyncio.create_task(self._beat())
        self._begin()

    def _begin(self) -> None:
        while self._queue.waiting and not self._ending:
            if not self._pace.begin(at=time.monotonic()):
                return
            job = self._queue.next(until=self._clock.now() + ATTEMPT)
            if job is None:
                return
            task = asyncio.create_task(self._attempt(job))
            self._attempts.add(task)
            task.add_done_callback(self._attempts.discard)

    async def _beat(self) -> None:
        """Keep pace as long as anything is under way."""
        try:
            while self._queue.held and not self._ending:
                asked = time.monotonic()
                await asyncio.sleep(TICK)
                took = time.monotonic() - asked
                self._pace.tick(waits=took - TICK + self._oldest_waits(), seconds=took)
                self._begin()
        finally:
            self._beating = None

    async def _attempt(self, job: Job) -> None:
        began, answered = self._time(), False
        try:
            reply = await self._send(job)
            answered = reply.status is not None
            now = self._clock.now()
            verdict = after_attempt(job.delivery, job.webhook, reply, now=now, rng=self._rng)
            self._note(_result(job, reply, verdict, now))
        finally:
            if self._queue.done(job, answered=answered, seconds=self._time() - began):
                self._woken.set()
            self._begin()

    async def _send(self, job: Job) -> Reply:
        try:
            now = self._clock.now()
            body = payload(job.event)
            secrets = secrets_of(job.webhook, self._secrets, now=now)
            headers = signed_headers(message_id(job.delivery.id), body, secrets, now=now)
            async with asyncio.timeout(ATTEMPT / SECOND):  # the sender's own is shorter
                url, client = destination_of(job.webhook, self._secrets), job.webhook.client
                return await self._sender.send(url, headers, body, client=client)
        except Exception as error:
            log_fault("sending a delivery", error)
            return Reply(None, None, "the attempt could not be made")

    def _note(self, result: _Result) -> None:
        """Keep a result until it is written."""
        self._results.append(result)
        if result.disable is not None:
            # What waits here is dropped with the rest when it is disabled.
            self._queue.drop(result.webhook.id)
        if self._settling is None:
            self._settling = asyncio.create_task(self._settle())

    async def _settle(self) -> None:
        try:
            while self._results:
                await asyncio.sleep(max(self._limits.gather, _GATHERED / self._pace.rate))
                try:
                    await self._write()
                    self._behind = False
                except StoreUnavailable:
                    self._behind = True
                    await asyncio.sleep(self._limits.interval)
        finally:
            self._settling = None

    async def _write(self) -> None:
        """Write a group of results; webhooks that are to be disabled wait for nobody and hold up nobody."""
        group = self._results[: self._limits.batch]
        await self._write_rows(group)
        del self._results[: len(group)]
        for result in group:
            if result.disable is not None:
                self._disabled[result.webhook.id] = (result.webhook, result.disable)
        if self._disabled and self._disabling is None:
            self._disabling = asyncio.create_task(self._disable_webhooks())
        if self._lacks_room:
            self._woken.set()

    async def _disable_webhooks(self) -> None:
        try:
            while self._disabled:
                resource, (webhook, reason) = next(iter(self._disabled.items()))
                try:
                    await self._disable(webhook, reason)
                    del self._disabled[resource]
                except StoreUnavailable:
                    await asyncio.sleep(self._limits.interval)
        finally:
            self._disabling = None

    async def _write_rows(self, group: Sequence[_Result]) -> None:
        touched = _touched(group)
        try:
            async with self._store.writing([]) as transaction:
                await transaction.settle_deliveries([result.row for result in group])
                for webhook in sorted(touched):
                    await transaction.touch_webhook(webhook, touched[webhook])
        except StoreUnavailable:
            raise
        except Exception as error:
            if len(group) > 1:
                # Whichever of them did it, the others shall not suffer for it.
                middle = len(group) // 2
                await self._write_rows(group[:middle])
                await self._write_rows(group[middle:])
                return
            log_fault("writing what came of a delivery", error)  # it is sent again when its lease is over

    async def _disable(self, webhook: WebhookRow, reason: DisabledReason) -> None:
        try:
            async with self._store.reading() as reader:
                pools = {client.client: client.pool for client in await reader.clients()}
            async with self._store.writing([pools[webhook.client]]) as transaction:
                await disable(transaction, webhook, reason, now=self._clock.now())
        except StoreUnavailable:
            raise
        except Exception as error:
            log_fault("disabling a webhook", error)

    async def _end(self) -> None:
        self._ending = True
        for job in self._queue.clear():
            self._note(_Result(job.delivery._replace(leased_until=None), job.webhook))
        try:
            async with asyncio.timeout(self._limits.grace):
                await self.finished()
        except TimeoutError:
            pass  # leases run out, and others send it again
        finally:
            left = self._under_way()
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    @staticmethod
    def _time() -> float:
        return asyncio.get_running_loop().time()


def _result(job: Job, reply: Reply, verdict: RetryDecision, now: int) -> _Result:
    ended = verdict.status is not DeliveryStatus.WAITING
    arrived = succeeded(reply)
    row = job.delivery._replace(
        status=verdict.status.value,
        attempts=job.delivery.attempts + 1,
        due_at=verdict.due_at,
        leased_until=None,
        finished_at=now if ended else None,
        answered=reply.status,
        excerpt=None if arrived or reply.excerpt is None else reply.excerpt[:_EXCERPT],
    )
    return _Result(row, job.webhook, arrived, verdict.disable)


def _touched(group: Sequence[_Result]) -> dict[bytes, int]:
    """The webhooks that have succeeded, with the last success of each, but for those of which it is known."""
    found: dict[bytes, int] = {}
    for result in group:
        at = result.row.due_at
        if result.arrived and at - result.webhook.succeeded_at >= _TOLD_AGAIN:
            found[result.webhook.id] = max(at, found.get(result.webhook.id, at))
    return found
