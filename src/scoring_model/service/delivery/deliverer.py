"""Delivers events: fans them out, leases deliveries, sends them, and writes the results.

Any number of processes may deliver from one database. A process leases a delivery for a minute; if it dies, another one
takes over when the lease expires, so every delivery is attempted at least once.
"""

import asyncio
import contextlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from scoring_model.contract.event import EventType
from scoring_model.contract.units import SECOND
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.faults import log_fault
from scoring_model.service.core.rows import DeliveryRow, DeliveryStatus, EventRow, WebhookRow
from scoring_model.service.delivery.fair_queue import DeliveryQueue, LeasedDelivery
from scoring_model.service.delivery.fan_out import fan_out
from scoring_model.service.delivery.results import (
    Result,
    ResultWriter,
    RetryDecision,
    after_attempt,
    succeeded,
)
from scoring_model.service.delivery.sender import EXCERPT_LENGTH, Reply, Sender
from scoring_model.service.delivery.signing import payload, secrets_of, signed_headers
from scoring_model.service.events.events import message_id
from scoring_model.service.events.webhooks import destination_of
from scoring_model.service.keys.secrets import Secrets
from scoring_model.service.store import Store, Transaction, attempt

LEASE: Final = 60 * SECOND
"""Microseconds for which a delivery is leased to a process."""

ATTEMPT: Final = 20 * SECOND
"""Minimum microseconds left of a lease when an attempt begins: 15 s to send, the rest to write the result."""

TICK: Final = 0.01
"""Seconds between measurements of how long requests wait."""

TARGET_WAIT: Final = 0.004
"""Target for the average wait of requests in seconds: for the event loop, and then for a transaction."""

_MOST: Final = 10_000.0  # attempts per second; more than a process can begin
_WEIGHT: Final = 0.1  # of one tick in the moving average: commits make the load bursty
_GAIN: Final = 0.2  # of one tick
_WORST: Final = 3.0  # cap of a wait, in targets,
_LONGEST: Final = 5.0  # and of a pause, in ticks: one pause must not reset the rate
_BURST: Final = 0.05  # seconds' worth of attempts that may begin together
_AHEAD: Final = 0.5  # seconds for which deliveries are leased at the present rate
_GATHERED: Final = 50  # results that justify a transaction


@dataclass(frozen=True, kw_only=True, slots=True)
class DeliveryLimits:
    """Concurrency and intervals of a deliverer. A single client gets at most half of each concurrency limit.

    Parameters
    ----------
    at_once : int
        Maximum number of concurrent attempts.
    per_destination : int
        Maximum number of concurrent attempts to one host and port.
    taken : int
        Maximum number of deliveries leased by the process.
    batch : int
        Approximate number of deliveries that a transaction creates; maximum that it leases or writes results of.
    interval : float
        Seconds between polls that find nothing.
    gather : float
        Seconds that results wait for others, and between polls that find less than a batch.
    grace : float
        Seconds for open attempts to finish when the process stops.
    floor : float or None
        Minimum attempts per second, however long requests of the same process wait; None if it answers none.
    """

    at_once: int = 512
    per_destination: int = 64
    taken: int = 1_024
    batch: int = 256
    interval: float = 0.5
    gather: float = 0.05
    grace: float = 10.0
    floor: float | None = None


class RateController:
    """A token bucket of attempts per second that yields to requests of the same process.

    An attempt costs CPU time when it begins and ends, not while the receiver processes it. So the controller limits the
    rate at which attempts begin: it falls while requests wait, and grows while they don't.

    Parameters
    ----------
    floor : float or None
        Minimum attempts per second, however long requests wait; None for no limit.

    References
    ----------
    RFC 6817 (LEDBAT) controls background transfers in the same way, by the difference between delay and target.

    Examples
    --------
    >>> rate_controller = RateController(floor=200)
    >>> for _ in range(100):
    ...     rate_controller.tick(waits=0.02)
    >>> rate_controller.rate, rate_controller.within(0.5)
    (200.0, 100.0)
    """

    def __init__(self, *, floor: float | None) -> None:
        self._floor = math.inf if floor is None else float(floor)
        self._rate = max(self._floor, _MOST)
        self._waits = 0.0
        self._tokens = 0.0
        self._at = -math.inf

    @property
    def limits(self) -> bool:
        """True if there is any limit."""
        return self._floor < math.inf

    @property
    def rate(self) -> float:
        """Attempts per second that may begin now."""
        return self._rate

    def within(self, seconds: float) -> float:
        """Return how many attempts may begin within some seconds, at least one."""
        return max(1.0, self._rate * seconds)

    def tick(self, *, waits: float, seconds: float = TICK) -> None:
        """Adjust the rate to the current wait of requests in seconds; `seconds` is the time since the last tick."""
        ticks = min(seconds / TICK, _LONGEST)
        self._waits += (1.0 - (1.0 - _WEIGHT) ** ticks) * (min(waits, _WORST * TARGET_WAIT) - self._waits)
        change = math.exp(_GAIN * ticks * (1.0 - self._waits / TARGET_WAIT))
        self._rate = max(self._floor, min(_MOST, self._rate * change))

    def begin(self, *, at: float) -> bool:
        """Take a token for an attempt, if there is one; `at` is in seconds of a monotonic clock."""
        if not self.limits:
            return True
        gained = (at - self._at) * self._rate
        self._tokens = min(self._tokens + gained, max(1.0, self._rate * _BURST))
        self._at = at
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


class Deliverer:
    """Delivers the events of the whole database. It is bound to the event loop in which it is used.

    Parameters
    ----------
    rng : random.Random, optional
        Draws the jitter of delays.
    woken : asyncio.Event, optional
        Set by others when there are new events: the database is then polled immediately.
    oldest_waits : callable, optional
        Returns the seconds that the oldest request of this process has waited.
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
        self._limits = limits = limits or DeliveryLimits()
        self._rng = rng or Random()
        self._woken = woken or asyncio.Event()
        self._oldest_waits = oldest_waits or (lambda: 0.0)
        self._queue = DeliveryQueue(at_once=limits.at_once, per_destination=limits.per_destination)
        self._rate_controller = RateController(floor=limits.floor)
        self._results = ResultWriter(
            store=store,
            clock=clock,
            batch=limits.batch,
            retry_seconds=limits.interval,
            gather_seconds=lambda: max(limits.gather, _GATHERED / self._rate_controller.rate),
            written=self._wake_for_capacity,
        )
        self._attempts: set[asyncio.Task[None]] = set()
        self._ticking: asyncio.Task[None] | None = None
        self._last_fanned_out = 0
        self._last_due = b""
        self._is_full = False
        self._lacks_room = False
        self._ending = False

    async def run(self) -> None:
        """Deliver until cancelled; then release the leases of waiting deliveries and finish attempts within the grace.

        Call it once.
        """
        try:
            while True:
                await self._rest(await self._poll())
        finally:
            await self._end()

    async def step(self) -> int:
        """Fan out events, lease deliveries and begin to send them; returns the number of events and deliveries taken.

        `finished` waits for the results.

        Raises
        ------
        StoreUnavailable
        """
        now, limits = self._clock.now(), self._limits
        # The leases of unwritten results may expire, and their deliveries would be sent again.
        capacity = 0 if self._results.is_behind else self._capacity()
        batch = min(limits.batch, capacity)
        async with self._store.writing([]) as transaction:
            # Fan-out yields to requests, like deliveries.
            events, self._last_fanned_out = await fan_out(
                transaction, now=now, limit=batch, after=self._last_fanned_out
            )
            found = await self._lease(transaction, now, capacity, batch) if batch > 0 else []
        self._is_full, self._lacks_room = len(found) == limits.batch, batch < limits.batch
        self._take([LeasedDelivery._make(one) for one in found], now)
        return events + len(found)

    async def finished(self) -> None:
        """Wait until all attempts have ended and all results are written."""
        while under_way := self._under_way():
            await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)

    def _under_way(self) -> list[asyncio.Task[None]]:
        ticking = [] if self._ticking is None else [self._ticking]
        return [*self._attempts, *self._results.tasks, *ticking]

    async def _lease(
        self, transaction: Transaction, now: int, capacity: int, batch: int
    ) -> list[tuple[DeliveryRow, EventRow, WebhookRow]]:
        limit = self._limits.batch
        due = await transaction.due_webhooks(now, limit, self._last_due)
        self._last_due = due[-1].id if len(due) == limit else b""
        shares = self._queue.shares(due, capacity=capacity, batch=batch)
        return await transaction.lease_deliveries(now, now + LEASE, shares)

    async def _poll(self) -> int:
        self._woken.clear()
        return await attempt("looking for deliveries", self.step) or 0

    async def _rest(self, found: int) -> None:
        """Wait before the next poll, except after a full batch."""
        if not found:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._limits.interval):
                    await self._woken.wait()
        elif not self._is_full:
            await asyncio.sleep(self._limits.gather)

    def _capacity(self) -> int:
        """Return how many more deliveries may be leased at the current rate."""
        most = int(min(self._rate_controller.within(_AHEAD), self._limits.taken))
        return most - self._queue.held - self._results.waiting

    def _wake_for_capacity(self) -> None:
        if self._lacks_room:
            self._woken.set()

    def _take(self, deliveries: Sequence[LeasedDelivery], now: int) -> None:
        """Queue leased deliveries and begin to send."""
        wanted = []
        for leased in deliveries:
            if leased.webhook.active or leased.event.type == EventType.WEBHOOK_TEST:
                wanted.append(leased)
            else:  # the webhook was deactivated while its deliveries were being written
                row = leased.delivery._replace(
                    status=DeliveryStatus.DROPPED.value, leased_until=None, finished_at=now
                )
                self._results.add(Result(row, leased.webhook))
        self._queue.add(wanted)
        if self._rate_controller.limits and self._ticking is None and self._queue.held:
            self._ticking = asyncio.create_task(self._tick())
        self._begin()

    def _begin(self) -> None:
        while self._queue.waiting and not self._ending:
            if not self._rate_controller.begin(at=time.monotonic()):
                return
            leased = self._queue.next(until=self._clock.now() + ATTEMPT)
            if leased is None:
                return
            task = asyncio.create_task(self._attempt(leased))
            self._attempts.add(task)
            task.add_done_callback(self._attempts.discard)

    async def _tick(self) -> None:
        """Adjust the rate while deliveries are queued or being sent."""
        try:
            while self._queue.held and not self._ending:
                asked = time.monotonic()
                await asyncio.sleep(TICK)
                took = time.monotonic() - asked
                self._rate_controller.tick(waits=took - TICK + self._oldest_waits(), seconds=took)
                self._begin()
        finally:
            self._ticking = None

    async def _attempt(self, leased: LeasedDelivery) -> None:
        began, answered = time.monotonic(), False
        try:
            reply = await self._send(leased)
            answered = reply.status is not None
            now = self._clock.now()
            decision = after_attempt(leased.delivery, leased.webhook, reply, now=now, rng=self._rng)
            self._results.add(_result(leased, reply, decision, now))
            if decision.disable is not None:
                self._queue.drop(leased.webhook.id)  # disabling drops them in the database
        finally:
            if self._queue.done(leased, answered=answered, seconds=time.monotonic() - began):
                self._woken.set()
            self._begin()

    async def _send(self, leased: LeasedDelivery) -> Reply:
        try:
            now = self._clock.now()
            body = payload(leased.event)
            secrets = secrets_of(leased.webhook, self._secrets, now=now)
            headers = signed_headers(message_id(leased.delivery.id), body, secrets, now=now)
            async with asyncio.timeout(ATTEMPT / SECOND):  # the sender's own timeout is shorter
                url, client = destination_of(leased.webhook, self._secrets), leased.webhook.client
                return await self._sender.send(url, headers, body, client=client)
        except Exception as error:
            log_fault("sending a delivery", error)
            return Reply(None, None, "the attempt could not be made")

    async def _end(self) -> None:
        self._ending = True
        for leased in self._queue.clear():
            self._results.add(Result(leased.delivery._replace(leased_until=None), leased.webhook))
        try:
            async with asyncio.timeout(self._limits.grace):
                await self.finished()
        except TimeoutError:
            pass  # the leases expire, and other processes send again
        finally:
            left = self._under_way()
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)


def _result(leased: LeasedDelivery, reply: Reply, decision: RetryDecision, now: int) -> Result:
    arrived = succeeded(reply)
    row = leased.delivery._replace(
        status=decision.status.value,
        attempts=leased.delivery.attempts + 1,
        due_at=decision.due_at,
        leased_until=None,
        finished_at=None if decision.status is DeliveryStatus.WAITING else now,
        answered=reply.status,
        excerpt=None if arrived or reply.excerpt is None else reply.excerpt[:EXCERPT_LENGTH],
    )
    return Result(row, leased.webhook, True, arrived, decision.disable)
