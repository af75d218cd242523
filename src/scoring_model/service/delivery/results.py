"""Results of attempts: retrying or giving up a delivery, disabling its webhook, and writing the results.

Instants are microseconds since 1970-01-01 UTC.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum
from random import Random
from typing import Final, NamedTuple

from scoring_model.contract.event import EventType
from scoring_model.contract.units import HOUR, MINUTE, SECOND
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.faults import log_fault
from scoring_model.service.core.metrics import ATTEMPTS, DELIVERY_SECONDS
from scoring_model.service.core.rows import DeliveryRow, DeliveryStatus, WebhookRow
from scoring_model.service.delivery.sender import Reply
from scoring_model.service.events.events import NewEvent, webhook_data, write_events
from scoring_model.service.store import Store, StoreUnavailable, Transaction

DELAYS: Final = (
    0,
    5 * SECOND,
    5 * MINUTE,
    30 * MINUTE,
    2 * HOUR,
    5 * HOUR,
    10 * HOUR,
    14 * HOUR,
    20 * HOUR,
    24 * HOUR,
)
"""Microseconds before each attempt, since the end of the previous one; for the first, since the event."""

JITTER: Final = 0.2
"""Maximum relative increase of a delay, so that deliveries that failed together are not retried together."""

MAX_RETRY_AFTER: Final = 24 * HOUR
"""Maximum ``Retry-After`` that is honoured, microseconds."""

DISABLE_AFTER: Final = 120 * HOUR
"""Microseconds without a success after which a failure disables a webhook."""

_SUCCESS_PRECISION: Final = (
    SECOND  # of a webhook's last success: writing each one would lock its row too often
)
_GONE: Final = 410
_BUSY: Final = frozenset((429, 503))
_SECONDS: Final = re.compile(r"[0-9]+")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class DisabledReason(StrEnum):
    """Why the service disabled a webhook."""

    GONE = "gone"
    FAILING = "failing"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryDecision:
    """The consequences of an attempt.

    Parameters
    ----------
    status : DeliveryStatus
        WAITING if there will be another attempt.
    due_at : int
        Instant of the next attempt; otherwise the end of this attempt.
    disable : DisabledReason or None
        Reason to disable the webhook, which drops its waiting deliveries including this one.
    """

    status: DeliveryStatus
    due_at: int
    disable: DisabledReason | None = None


def succeeded(reply: Reply) -> bool:
    """Return True if an attempt succeeded: any 2xx; a redirect is a failure."""
    return reply.status is not None and 200 <= reply.status < 300


def after_attempt(
    delivery: DeliveryRow, webhook: WebhookRow, reply: Reply, *, now: int, rng: Random
) -> RetryDecision:
    """Decide the consequences of an attempt that ended now; `delivery` has the state from before."""
    if succeeded(reply):
        return RetryDecision(status=DeliveryStatus.DELIVERED, due_at=now)
    disable = None
    if webhook.active:  # otherwise it was a test of an inactive webhook
        if reply.status == _GONE:
            disable = DisabledReason.GONE
        elif is_stale(webhook, now):
            disable = DisabledReason.FAILING
    made = delivery.attempts + 1
    if made >= len(DELAYS):
        return RetryDecision(status=DeliveryStatus.DEAD, due_at=now, disable=disable)
    delay = DELAYS[made]
    if reply.status in _BUSY:
        delay = max(delay, min(requested_delay(reply.retry_after, now=now), MAX_RETRY_AFTER))
    due_at = now + round(delay * (1 + rng.uniform(0, JITTER)))
    return RetryDecision(status=DeliveryStatus.WAITING, due_at=due_at, disable=disable)


def requested_delay(retry_after: str | None, *, now: int) -> int:
    """Parse a ``Retry-After``: whole seconds, or a date in any of the three HTTP formats.

    Returns
    -------
    int
        Microseconds; 0 for a date in the past or a malformed value.

    References
    ----------
    RFC 9110, section 10.2.3 (Retry-After) and section 5.6.7 (dates).

    Examples
    --------
    >>> requested_delay("120", now=0), requested_delay("Thu, 01 Jan 1970 00:00:30 GMT", now=0)
    (120000000, 30000000)
    """
    text = (retry_after or "").strip()
    if _SECONDS.fullmatch(text):
        # Longer numbers exceed every limit anyway.
        return int(text[:18]) * SECOND
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return 0
    # The third format, asctime, has no zone and means UTC.
    aware = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
    return max(0, (aware - _EPOCH) // _MICROSECOND - now)


def is_stale(webhook: WebhookRow, now: int) -> bool:
    """Return True if a webhook has had no success for so long that a failure disables it."""
    return now - webhook.succeeded_at >= DISABLE_AFTER


class Result(NamedTuple):
    """A delivery, whether an attempt was made and succeeded, and the reason to disable its webhook."""

    row: DeliveryRow
    webhook: WebhookRow
    attempted: bool = False
    arrived: bool = False
    disable: DisabledReason | None = None


class ResultWriter:
    """Writes results in the background and retries while the database is unavailable.

    Parameters
    ----------
    batch : int
        Maximum number of results in one transaction.
    retry_seconds : float
        Pause after a failure of the database.
    gather_seconds : callable
        Returns the seconds that results wait for others.
    written : callable
        Called after each transaction.
    """

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        batch: int,
        retry_seconds: float,
        gather_seconds: Callable[[], float],
        written: Callable[[], None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._batch = batch
        self._retry_seconds = retry_seconds
        self._gather_seconds = gather_seconds
        self._written = written
        self._results: list[Result] = []
        self._to_disable: dict[bytes, tuple[WebhookRow, DisabledReason]] = {}
        self._writing: asyncio.Task[None] | None = None
        self._disabling: asyncio.Task[None] | None = None
        self.is_behind = False
        """True if the last group could not be written."""

    @property
    def waiting(self) -> int:
        """Number of results not written yet."""
        return len(self._results)

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        """The running background tasks."""
        return [task for task in (self._writing, self._disabling) if task is not None]

    def add(self, result: Result) -> None:
        """Queue a result for writing."""
        self._results.append(result)
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())

    async def _write(self) -> None:
        try:
            while self._results:
                await asyncio.sleep(self._gather_seconds())
                try:
                    await self._write_group()
                    self.is_behind = False
                except StoreUnavailable:
                    self.is_behind = True
                    await asyncio.sleep(self._retry_seconds)
        finally:
            self._writing = None

    async def _write_group(self) -> None:
        group = self._results[: self._batch]
        await self._write_rows(group)
        del self._results[: len(group)]
        for result in group:
            if result.disable is not None:
                self._to_disable[result.webhook.id] = (result.webhook, result.disable)
        if self._to_disable and self._disabling is None:
            # In a separate task: disabling waits for the lock of a history scope, which must not delay results.
            self._disabling = asyncio.create_task(self._disable_webhooks())
        self._written()

    async def _write_rows(self, group: Sequence[Result]) -> None:
        successes = _successes(group)
        try:
            async with self._store.writing([]) as transaction:
                await transaction.settle_deliveries([result.row for result in group])
                for webhook in sorted(successes):
                    await transaction.touch_webhook(webhook, successes[webhook])
        except StoreUnavailable:
            raise
        except Exception as error:
            if len(group) > 1:
                # Bisect the group so that one bad result does not fail the rest.
                middle = len(group) // 2
                await self._write_rows(group[:middle])
                await self._write_rows(group[middle:])
                return
            log_fault("writing the result of a delivery", error)  # it is sent again when its lease ends
        else:
            _count(group)

    async def _disable_webhooks(self) -> None:
        try:
            while self._to_disable:
                resource, (webhook, reason) = next(iter(self._to_disable.items()))
                try:
                    await self._disable(webhook, reason)
                    del self._to_disable[resource]
                except StoreUnavailable:
                    await asyncio.sleep(self._retry_seconds)
        finally:
            self._disabling = None

    async def _disable(self, webhook: WebhookRow, reason: DisabledReason) -> None:
        try:
            async with self._store.reading() as reader:
                scopes = await reader.history_scopes()
            async with self._store.writing([scopes[webhook.client]]) as transaction:
                await _disable(transaction, webhook, reason, now=self._clock.now())
        except StoreUnavailable:
            raise
        except Exception as error:
            log_fault("disabling a webhook", error)


async def _disable(
    transaction: Transaction, webhook: WebhookRow, reason: DisabledReason, *, now: int
) -> None:
    """Disable a webhook, drop its waiting deliveries, and write the event.

    Does nothing if the webhook is deleted or inactive, or if its destination changed or a delivery succeeded since the
    attempt. The transaction holds the lock of the client's history scope, so it overwrites no change by the client.
    """
    found = await transaction.webhook(webhook.client, webhook.id)
    if found is None or not found.active:
        return
    if (found.destination_url, found.query) != (webhook.destination_url, webhook.query):
        return
    if reason is DisabledReason.FAILING and not is_stale(found, now):
        return
    # Deliveries before the webhook: the writes of results use the same order.
    await transaction.drop_deliveries(webhook.id, now)
    await transaction.update_webhook(found._replace(active=0, disabled_reason=reason.value, updated_at=now))
    data = webhook_data(webhook.id, reason.value)
    await write_events(
        transaction, [NewEvent(webhook.client, EventType.WEBHOOK_DISABLED, webhook.id, now, data)]
    )


def _count(group: Sequence[Result]) -> None:
    for result in group:
        if result.attempted:
            ATTEMPTS.count(result.row.status)
        if result.arrived:
            DELIVERY_SECONDS.observe((result.row.due_at - result.row.created_at) / SECOND)


def _successes(group: Sequence[Result]) -> dict[bytes, int]:
    """Return the last success per webhook in a group, unless its row has one that is about as late."""
    found: dict[bytes, int] = {}
    for result in group:
        at = result.row.due_at
        if result.arrived and at - result.webhook.succeeded_at >= _SUCCESS_PRECISION:
            found[result.webhook.id] = max(at, found.get(result.webhook.id, at))
    return found
