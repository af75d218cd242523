"""The operations on webhooks; their deliveries are created elsewhere."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

from scoring_model.contract.event import EventType
from scoring_model.service.core import ids
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.errors import NotFound, WebhookLimit
from scoring_model.service.core.resources import Answer, Caller, Webhook
from scoring_model.service.core.rows import IdempotencyRow, WebhookRow
from scoring_model.service.idempotency import IdempotencyRecord, IdempotencyStore, IdempotentRequest
from scoring_model.service.keys.secrets import Secrets
from scoring_model.service.scoring.commit_queue import CommitQueue
from scoring_model.service.scoring.jobs import Change, Done
from scoring_model.service.store import Store, Transaction
from scoring_model.service.webhooks.events import NewEvent, webhook_data, write_events
from scoring_model.service.webhooks.webhook import (
    WebhookFields,
    associated_data,
    fields_of,
    new_secret,
    parse_new_webhook,
    parse_webhook_update,
    updated,
    with_fields,
)

MOST: Final = 50
"""Webhooks that a client may have."""

OVERLAP: Final = 24 * 3600 * 1_000_000
"""Microseconds for which the previous secret signs too after a rotation."""


class Webhooks:
    """The operations on webhooks.

    Parameters
    ----------
    development : bool
        Whether destinations may be plain http and on this machine.
    """

    def __init__(
        self,
        *,
        store: Store,
        queue: CommitQueue,
        idempotency: IdempotencyStore,
        secrets: Secrets,
        clock: Clock,
        development: bool,
    ) -> None:
        self._store = store
        self._queue = queue
        self._idempotency = idempotency
        self._secrets = secrets
        self._clock = clock
        self._development = development

    async def create(
        self, caller: Caller, body: Mapping[str, object], request: IdempotentRequest | None
    ) -> Answer[Webhook]:
        """Create a webhook; the answer shows its secret."""

        async def action(record: IdempotencyRecord | None) -> Answer[Webhook]:
            fields = parse_new_webhook(body, development=self._development)
            return await self._changed(caller, record, lambda tx: self._insert(tx, caller, fields, record))

        return await self._idempotency.run(caller, request, action, self._replay)

    async def get(self, caller: Caller, resource: bytes) -> Webhook:
        """Read a webhook.

        Raises
        ------
        NotFound
            When the client has none of this id.
        """
        async with self._store.reading() as reader:
            row = await reader.webhook(caller.client, resource)
        if row is None:
            raise NotFound
        return self._webhook(row)

    async def page(
        self, caller: Caller, *, limit: int, after: bytes | None
    ) -> tuple[list[Webhook], bytes | None]:
        """Read a page of webhooks in the order of their creation.

        Returns
        -------
        webhooks : list of Webhook
            At most `limit`.
        next : bytes or None
            The id to go on after, when there are more.
        """
        async with self._store.reading() as reader:
            rows = await reader.webhooks(caller.client, after, limit + 1)
        more = len(rows) > limit
        return [self._webhook(row) for row in rows[:limit]], rows[limit - 1].id if more else None

    async def update(self, caller: Caller, resource: bytes, body: Mapping[str, object]) -> Webhook:
        """Change a webhook; what the body leaves out keeps its value.

        Activation clears the reason why it was disabled, and it gets the events from then on; deactivation drops its
        waiting deliveries.
        """
        update = parse_webhook_update(body, development=self._development)

        async def change(transaction: Transaction) -> Done[Webhook]:
            row = await _found(transaction, caller, resource)
            fields = updated(fields_of(row, self._secrets), update)
            now = self._clock.now()
            changed = with_fields(row, fields, self._secrets)._replace(
                disabled_reason=None if fields.active else row.disabled_reason, updated_at=now
            )
            if row.active and not fields.active:
                await transaction.drop_deliveries(resource, now)
            elif fields.active and not row.active:
                # What failed before it was enabled again does not count against it.
                since = await _present_sequence(transaction, caller)
                changed = changed._replace(succeeded_at=now, since_sequence=since)
            await transaction.update_webhook(changed)
            return Done(self._webhook(changed), resource, 200)

        return (await self._queue.change(caller, change)).value

    async def delete(self, caller: Caller, resource: bytes) -> Webhook:
        """Delete a webhook and drop its waiting deliveries; returns it as it was."""

        async def change(transaction: Transaction) -> Done[Webhook]:
            row = await _found(transaction, caller, resource)
            await transaction.drop_deliveries(resource, self._clock.now())
            await transaction.delete_webhook(resource)
            return Done(self._webhook(row), resource, 200)

        return (await self._queue.change(caller, change)).value

    async def test(
        self, caller: Caller, resource: bytes, request: IdempotentRequest | None
    ) -> Answer[Webhook]:
        """Send a test event to a webhook, whatever its event types and even when it is inactive."""

        async def change(transaction: Transaction, record: IdempotencyRecord | None) -> Done[Webhook]:
            row = await _found(transaction, caller, resource)
            now = self._clock.now()
            data = webhook_data(resource)
            event = NewEvent(caller.client, EventType.WEBHOOK_TEST, resource, now, data, always=True)
            await write_events(transaction, [event])
            return self._done(self._webhook(row), record)

        async def action(record: IdempotencyRecord | None) -> Answer[Webhook]:
            return await self._changed(caller, record, lambda tx: change(tx, record))

        return await self._idempotency.run(caller, request, action, self._replay)

    async def rotate_secret(
        self, caller: Caller, resource: bytes, request: IdempotentRequest | None
    ) -> Answer[Webhook]:
        """Create a new secret, which the answer shows; the previous one signs too for a day."""

        async def change(transaction: Transaction, record: IdempotencyRecord | None) -> Done[Webhook]:
            row = await _found(transaction, caller, resource)
            now = self._clock.now()
            secret = new_secret()
            changed = row._replace(
                secret=self._seal(resource, secret),
                old_secret=row.secret,
                old_secret_until=now + OVERLAP,
                updated_at=now,
            )
            await transaction.update_webhook(changed)
            return self._done(self._webhook(changed, secret), record)

        async def action(record: IdempotencyRecord | None) -> Answer[Webhook]:
            return await self._changed(caller, record, lambda tx: change(tx, record))

        return await self._idempotency.run(caller, request, action, self._replay)

    async def _insert(
        self,
        transaction: Transaction,
        caller: Caller,
        fields: WebhookFields,
        record: IdempotencyRecord | None,
    ) -> Done[Webhook]:
        if len(await transaction.webhooks(caller.client, None, MOST)) >= MOST:
            raise WebhookLimit
        now = self._clock.now()
        resource = ids.new_id(now)
        secret = new_secret()
        row = WebhookRow(
            id=resource,
            client=caller.client,
            destination_url="",
            active=0,
            event_types="",
            description=None,
            disabled_reason=None,
            secret=self._seal(resource, secret),
            old_secret=None,
            old_secret_until=None,
            created_at=now,
            updated_at=now,
            succeeded_at=now,
            query=None,
            since_sequence=await _present_sequence(transaction, caller),
        )
        row = with_fields(row, fields, self._secrets)
        await transaction.insert([row])
        return self._done(self._webhook(row, secret), record)

    async def _changed(
        self, caller: Caller, record: IdempotencyRecord | None, change: Change[Webhook]
    ) -> Answer[Webhook]:
        return Answer((await self._queue.change(caller, change, record)).value)

    def _webhook(self, row: WebhookRow, secret: str | None = None) -> Webhook:
        fields = fields_of(row, self._secrets)
        return Webhook(
            id=row.id,
            destination_url=fields.destination_url,
            active=fields.active,
            event_types=fields.event_types,
            description=fields.description,
            secret=secret,
            disabled_reason=row.disabled_reason,
            created_at=row.created_at,
            updated_at=row.updated_at,
        )

    def _seal(self, resource: bytes, secret: str) -> bytes:
        return self._secrets.seal(associated_data("secret", resource), secret.encode())

    def _done(self, webhook: Webhook, record: IdempotencyRecord | None) -> Done[Webhook]:
        if record is None:
            return Done(webhook, webhook.id, 200)
        # It may change or go before the request is repeated, and its secret is shown in answers alone.
        plain = {**asdict(webhook), "id": webhook.id.hex()}
        sealed = self._secrets.seal(_answer_associated_data(record.digest), json.dumps(plain).encode())
        return Done(webhook, webhook.id, 200, sealed)

    async def _replay(self, row: IdempotencyRow) -> Answer[Webhook]:
        if row.answer is None:
            raise ValueError("an answer about a webhook was not kept")
        plain = json.loads(self._secrets.open(_answer_associated_data(row.digest), row.answer))
        plain |= {"id": row.resource, "event_types": tuple(plain["event_types"])}
        return Answer(Webhook(**plain), replayed=True)


def _answer_associated_data(digest: bytes) -> bytes:
    """The associated data of a stored answer: it opens in no other row."""
    return b"idempotency.answer." + digest


async def _found(transaction: Transaction, caller: Caller, resource: bytes) -> WebhookRow:
    row = await transaction.webhook(caller.client, resource)
    if row is None:
        raise NotFound
    return row


async def _present_sequence(transaction: Transaction, caller: Caller) -> int:
    """The sequence of the latest event of a client; it is locked until the transaction ends."""
    advanced = await transaction.advance({caller.client: 0})
    return advanced[caller.client][0]
