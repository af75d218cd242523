"""Writes what came of attempts, in groups, and disables the webhooks that this gives up."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from scoring_model.contract.event import EventType
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.faults import log_fault
from scoring_model.service.core.rows import DeliveryRow, WebhookRow
from scoring_model.service.delivery.schedule import SECOND, DisabledReason, is_stale
from scoring_model.service.events import NewEvent, webhook_data, write_events
from scoring_model.service.store import Store, StoreUnavailable, Transaction

_SUCCESS_PRECISION: Final = SECOND  # of a webhook's last success: writing each would lock its row too often


class Result(NamedTuple):
    """A delivery after an attempt, whether the attempt arrived, and why its webhook is to be disabled."""

    row: DeliveryRow
    webhook: WebhookRow
    arrived: bool = False
    disable: DisabledReason | None = None


class ResultWriter:
    """Writes results in the background and retries while the database is away.

    Parameters
    ----------
    batch : int
        The most results in one transaction.
    retry_seconds : float
        Pause after a failure of the database.
    gather_seconds : callable
        For how many seconds results wait for others.
    written : callable
        Called after each group.
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
        """Whether the last group could not be written."""

    @property
    def waiting(self) -> int:
        """How many results are not written yet."""
        return len(self._results)

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        """The background tasks that run now."""
        return [task for task in (self._writing, self._disabling) if task is not None]

    def add(self, result: Result) -> None:
        """Keep a result until it is written."""
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
            # In a task of its own: disabling waits for the lock of a history scope, and results must not.
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
                scopes = {client.client: client.pool for client in await reader.clients()}
            async with self._store.writing([scopes[webhook.client]]) as transaction:
                await _disable(transaction, webhook, reason, now=self._clock.now())
        except StoreUnavailable:
            raise
        except Exception as error:
            log_fault("disabling a webhook", error)


async def _disable(
    transaction: Transaction, webhook: WebhookRow, reason: DisabledReason, *, now: int
) -> None:
    """Disable a webhook, drop what waits for it, and write the event.

    Does nothing if the webhook is deleted or inactive, has another destination by now, or a success meanwhile. The
    transaction holds the lock of the client's history scope, so that it overwrites no change of the client.

    Parameters
    ----------
    webhook : WebhookRow
        As it was when the attempt was made.
    """
    found = await transaction.webhook(webhook.client, webhook.id)
    if found is None or not found.active:
        return
    if (found.destination_url, found.query) != (webhook.destination_url, webhook.query):
        return
    if reason is DisabledReason.FAILING and not is_stale(found, now):
        return
    # First the deliveries, then the webhook: results are written in the same order.
    await transaction.drop_deliveries(webhook.id, now)
    await transaction.update_webhook(found._replace(active=0, disabled_reason=reason.value, updated_at=now))
    data = webhook_data(webhook.id, reason.value)
    await write_events(
        transaction, [NewEvent(webhook.client, EventType.WEBHOOK_DISABLED, webhook.id, now, data)]
    )


def _successes(group: Sequence[Result]) -> dict[bytes, int]:
    """The last success of each webhook in a group, where the row of the webhook has none that is about as late."""
    found: dict[bytes, int] = {}
    for result in group:
        at = result.row.due_at
        if result.arrived and at - result.webhook.succeeded_at >= _SUCCESS_PRECISION:
            found[result.webhook.id] = max(at, found.get(result.webhook.id, at))
    return found
