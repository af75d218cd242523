"""Webhooks: operations, storage, and the events that they get.

The signing secrets, the query of the destination (where clients put tokens) and the description are sealed under the
root secret. A rotation of the master key rewraps the root secret and does not change them.
"""

import base64
import json
import os
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Final

from scoring_model.contract.delivery import Delivery
from scoring_model.contract.event import ONLY_BY_NAME, EventType
from scoring_model.contract.resource import instant
from scoring_model.contract.texts import to_text
from scoring_model.contract.units import DAY
from scoring_model.contract.webhook import EVERYTHING, Webhook, WebhookContext, WebhookInput, WebhookUpdate
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core import ids
from scoring_model.service.core.errors import NotFound, WebhookLimit, parsed
from scoring_model.service.core.rows import DeliveryRow, EventRow, IdempotencyRow, WebhookRow
from scoring_model.service.events.events import NewEvent, message_id, webhook_data, write_events
from scoring_model.service.keys.secrets import Secrets
from scoring_model.service.requests.idempotency import Answer, IdempotencyRecord, IdempotentRequest
from scoring_model.service.requests.jobs import Change, Done
from scoring_model.service.requests.lists import read_page
from scoring_model.service.requests.operations import Backend, Operations
from scoring_model.service.store import FIRST, Index, Page, Position, Transaction

SECRET_BYTES: Final = 32

_compact: Final = json.JSONEncoder(separators=(",", ":")).encode
_QUERY: Final = "query"
_DESCRIPTION: Final = "description"

MOST: Final = 50
"""Maximum number of webhooks per client."""

OVERLAP: Final = DAY
"""Microseconds after a rotation in which the previous secret also signs."""


_Change = Callable[[Transaction], Awaitable[tuple[WebhookRow, str | None]]]
"""Changes a webhook; returns its row, and its secret if the answer shows it."""


class Webhooks(Operations):
    """The operations on webhooks.

    Parameters
    ----------
    development : bool
        Allow destinations with plain http and on this machine.
    """

    def __init__(self, backend: Backend, *, development: bool) -> None:
        super().__init__(backend)
        self._development = development

    async def create(
        self, caller: Caller, body: Mapping[str, object], request: IdempotentRequest | None
    ) -> Answer[Webhook]:
        """Create a webhook; the answer shows its secret. Without event types it gets all events.

        Does not check whether the destination is allowed: each attempt checks the address that it connects to.
        """

        def prepare() -> _Change:
            sent = parsed(WebhookInput, body, WebhookContext(self._development))
            return lambda transaction: self._insert(transaction, caller, sent)

        return await self._once(caller, request, prepare)

    async def get(self, caller: Caller, resource: bytes) -> Webhook:
        """Read a webhook.

        Raises
        ------
        NotFound
            If the client has no webhook with this id.
        """
        async with self._store.reading() as reader:
            row = await reader.webhook(caller.client, resource)
        if row is None:
            raise NotFound
        return self._shown(row)

    async def page(
        self, caller: Caller, *, limit: int, after: bytes | None
    ) -> tuple[list[Webhook], bytes | None]:
        """Read a page of webhooks in order of creation.

        Returns
        -------
        webhooks : list of Webhook
            At most `limit`.
        next : bytes or None
            The id after which the next page starts; None on the last page.
        """
        async with self._store.reading() as reader:
            rows = await reader.webhooks(caller.client, after or b"", limit + 1)
        more = len(rows) > limit
        return [self._shown(row) for row in rows[:limit]], rows[limit - 1].id if more else None

    async def deliveries(
        self, caller: Caller, resource: bytes, *, status: str | None, after: Position | None, limit: int
    ) -> tuple[list[Delivery], Position | None]:
        """Read a page of a webhook's deliveries, latest first; also returns where the next one begins.

        Raises
        ------
        NotFound
            If the client has no webhook with this id.
        """
        page = Page(
            index=Index.DELIVERIES,
            key=resource,
            after=FIRST if after is None else after,
            filters={} if status is None else {"status": status},
            limit=limit,
        )
        async with self._store.reading() as reader:
            if await reader.webhook(caller.client, resource) is None:
                raise NotFound
        rows, end = await read_page(self._store, page, self._queue.lull)
        async with self._store.reading() as reader:
            pairs = await reader.deliveries_by_ids([row.id for row in rows])
        return [_delivery(row, event) for row, event in pairs], end

    async def update(self, caller: Caller, resource: bytes, body: Mapping[str, object]) -> Webhook:
        """Change a webhook; fields missing from the body keep their values.

        Activation clears the reason why it was disabled; the webhook gets events from then on. Deactivation drops its
        waiting deliveries.
        """
        sent = parsed(WebhookUpdate, body, WebhookContext(self._development))

        async def change(transaction: Transaction) -> Done[tuple[Webhook, bool]]:
            row = await _found(transaction, caller, resource)
            now, more = self._clock.now(), False
            changed = updated(row, sent, self._secrets)._replace(
                disabled_reason=None if sent.active else row.disabled_reason, updated_at=now
            )
            if row.active and not sent.active:
                more = await transaction.drop_deliveries(resource, now)
            elif sent.active and not row.active:
                # Failures from before the activation do not count.
                since = await _present_sequence(transaction, caller)
                changed = changed._replace(succeeded_at=now, since_sequence=since)
            await transaction.update_webhook(changed)
            return Done((self._shown(changed), more), resource, 200)

        return await self._change_and_drop(caller, resource, change)

    async def delete(self, caller: Caller, resource: bytes) -> Webhook:
        """Delete a webhook and drop its waiting deliveries; returns the deleted webhook."""

        async def change(transaction: Transaction) -> Done[tuple[Webhook, bool]]:
            row = await _found(transaction, caller, resource)
            more = await transaction.drop_deliveries(resource, self._clock.now())
            await transaction.delete_webhook(resource)
            return Done((self._shown(row), more), resource, 200)

        return await self._change_and_drop(caller, resource, change)

    async def _change_and_drop(
        self, caller: Caller, resource: bytes, change: Change[tuple[Webhook, bool]]
    ) -> Webhook:
        """Change a webhook, then drop those of its deliveries that the transaction left; deliverers drop them too."""

        async def drop(transaction: Transaction) -> Done[bool]:
            return Done(await transaction.drop_deliveries(resource, self._clock.now()), resource, 200)

        webhook, more = (await self._queue.change(caller, change)).value
        while more:
            with self._queue.aside():
                await self._queue.lull()
            more = (await self._queue.change(caller, drop)).value
        return webhook

    async def test(
        self, caller: Caller, resource: bytes, request: IdempotentRequest | None
    ) -> Answer[Webhook]:
        """Send a test event to a webhook, even if it is inactive, whatever its event types."""

        async def change(transaction: Transaction) -> tuple[WebhookRow, str | None]:
            row = await _found(transaction, caller, resource)
            now, data = self._clock.now(), webhook_data(resource)
            event = NewEvent(caller.client, EventType.WEBHOOK_TEST, resource, now, data, always=True)
            await write_events(transaction, [event])
            return row, None

        return await self._once(caller, request, lambda: change)

    async def rotate_secret(
        self, caller: Caller, resource: bytes, request: IdempotentRequest | None
    ) -> Answer[Webhook]:
        """Create a new secret, shown in the answer; the previous one also signs for a day."""

        async def change(transaction: Transaction) -> tuple[WebhookRow, str | None]:
            row = await _found(transaction, caller, resource)
            now = self._clock.now()
            secret = new_secret()
            changed = row._replace(
                secret=_seal(resource, "secret", secret.encode(), self._secrets),
                old_secret=row.secret,
                old_secret_until=now + OVERLAP,
                updated_at=now,
            )
            await transaction.update_webhook(changed)
            return changed, secret

        return await self._once(caller, request, lambda: change)

    async def _insert(
        self, transaction: Transaction, caller: Caller, sent: WebhookInput
    ) -> tuple[WebhookRow, str | None]:
        if len(await transaction.webhooks(caller.client, b"", MOST)) >= MOST:
            raise WebhookLimit
        now = self._clock.now()
        resource, secret = ids.new_id(now), new_secret()
        row = WebhookRow(
            id=resource,
            client=caller.client,
            destination_url="",
            active=0,
            event_types=pack_event_types((EVERYTHING,)),
            description=None,
            disabled_reason=None,
            secret=_seal(resource, "secret", secret.encode(), self._secrets),
            old_secret=None,
            old_secret_until=None,
            created_at=now,
            updated_at=now,
            succeeded_at=now,
            query=None,
            since_sequence=await _present_sequence(transaction, caller),
        )
        row = updated(row, sent, self._secrets)
        await transaction.insert([row])
        return row, secret

    async def _once(
        self, caller: Caller, request: IdempotentRequest | None, prepare: Callable[[], _Change]
    ) -> Answer[Webhook]:
        """Change a webhook or replay the answer; `prepare` checks the request before it is queued."""

        async def action(record: IdempotencyRecord | None) -> Answer[Webhook]:
            change = prepare()

            async def recorded(transaction: Transaction) -> Done[Webhook]:
                row, secret = await change(transaction)
                plain = self._plain(row, secret)
                if record is None:
                    return Done(_webhook(plain), row.id, 200)
                # The webhook may change before the request is repeated, and only answers show its secret.
                sealed = self._idempotency.seal(record, json.dumps(plain).encode())
                return Done(_webhook(plain), row.id, 200, sealed)

            return Answer((await self._queue.change(caller, recorded, record)).value)

        return await self._idempotency.run(caller.client, request, action, self._replay)

    async def _replay(self, row: IdempotencyRow) -> Answer[Webhook]:
        return Answer(_webhook(json.loads(self._idempotency.open(row))), replayed=True)

    def _shown(self, row: WebhookRow) -> Webhook:
        return _webhook(self._plain(row, None))

    def _plain(self, row: WebhookRow, secret: str | None) -> dict[str, Any]:
        """Return the JSON of a webhook for stored answers: hexadecimal id, instants in microseconds."""
        return {
            "id": row.id.hex(),
            "destination_url": destination_of(row, self._secrets),
            "active": bool(row.active),
            "event_types": unpack_event_types(row.event_types),
            "description": _opened(row, _DESCRIPTION, row.description, self._secrets) or None,
            "secret": secret,
            "disabled_reason": row.disabled_reason,
            "created_at": row.created_at,
            "updated_at": row.updated_at,
        }


def _webhook(plain: Mapping[str, Any]) -> Webhook:
    times = {name: instant(plain[name]) for name in ("created_at", "updated_at")}
    resource, event_types = to_text(bytes.fromhex(plain["id"])), tuple(plain["event_types"])
    return Webhook(**{**plain, **times, "id": resource, "event_types": event_types})


def _delivery(row: DeliveryRow, event: EventRow) -> Delivery:
    finished = row.finished_at
    return Delivery(
        id=message_id(row.id),
        event_id=to_text(row.event),
        event_type=event.type,
        resource_id=to_text(event.resource),
        sequence=event.sequence,
        status=row.status,
        attempts=row.attempts,
        response_status=row.answered,
        error=row.excerpt,
        created_at=instant(row.created_at),
        due_at=instant(row.due_at) if finished is None else None,
        finished_at=None if finished is None else instant(finished),
    )


async def _found(transaction: Transaction, caller: Caller, resource: bytes) -> WebhookRow:
    row = await transaction.webhook(caller.client, resource)
    if row is None:
        raise NotFound
    return row


async def _present_sequence(transaction: Transaction, caller: Caller) -> int:
    """Return the sequence of a client's latest event, and lock it until the transaction ends."""
    advanced = await transaction.advance({caller.client: 0})
    return advanced[caller.client].before


def pack_event_types(event_types: Collection[str]) -> str:
    """Pack the event types of a webhook for storage, as a JSON list."""
    return _compact(list(event_types))


def unpack_event_types(packed: str) -> tuple[str, ...]:
    """Unpack the result of `pack_event_types`."""
    return tuple(json.loads(packed))


def wants(event_types: Collection[str], event_type: str) -> bool:
    """Return True if a webhook with these event types gets events of a type.

    ``verification.completed`` duplicates the event of the outcome, and the client reports labels itself: only webhooks
    that list these exactly get them.

    Examples
    --------
    >>> wants(["verification.*"], "verification.failed"), wants(["*"], "verification.completed")
    (True, False)
    """
    if event_type in event_types:
        return True
    if event_type in ONLY_BY_NAME:
        return False
    return EVERYTHING in event_types or f"{event_type.partition('.')[0]}.*" in event_types


def new_secret() -> str:
    """Create a signing secret: ``whsec_`` and base64 of 32 random bytes (Standard Webhooks 1.0)."""
    return "whsec_" + base64.b64encode(os.urandom(SECRET_BYTES)).decode()


def associated_data(column: str, webhook: bytes) -> bytes:
    """Return the associated data of a sealed column, which binds its ciphertext to this column and webhook."""
    return f"webhooks.{column}.".encode() + webhook


def destination_of(row: WebhookRow, secrets: Secrets) -> str:
    """Return the destination of a webhook with its query; raises `Unreadable` if its bytes were changed."""
    return row.destination_url + _opened(row, _QUERY, row.query, secrets)


def updated(row: WebhookRow, sent: WebhookUpdate, secrets: Secrets) -> WebhookRow:
    """Apply an update to the row of a webhook.

    Missing fields keep their values, a blank description removes it, and an unchanged sealed field keeps its
    ciphertext.
    """
    destination, question_mark, query = sent.destination_url.partition("?")
    changed = row._replace(
        destination_url=destination,
        query=_resealed(row, _QUERY, row.query, question_mark + query, secrets),
        active=int(sent.active),
    )
    if sent.event_types is not None:
        changed = changed._replace(event_types=pack_event_types(sent.event_types))
    if sent.description is not None:
        description = _resealed(row, _DESCRIPTION, row.description, sent.description, secrets)
        changed = changed._replace(description=description)
    return changed


def _seal(resource: bytes, column: str, plain: bytes, secrets: Secrets) -> bytes:
    return secrets.seal(associated_data(column, resource), plain)


def _opened(row: WebhookRow, column: str, sealed: bytes | None, secrets: Secrets) -> str:
    return "" if sealed is None else secrets.open(associated_data(column, row.id), sealed).decode()


def _resealed(
    row: WebhookRow, column: str, sealed: bytes | None, wanted: str, secrets: Secrets
) -> bytes | None:
    if _opened(row, column, sealed, secrets) == wanted:
        return sealed
    return _seal(row.id, column, wanted.encode(), secrets) if wanted else None
