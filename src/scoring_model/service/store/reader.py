"""What both stores do alike, over two things that each database does its own way: `_rows` and `_each`."""

import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from scoring_model.service.core.expiry import Cutoffs, Expiring, KeyRange
from scoring_model.service.core.rows import (
    ApiKeyRow,
    BundleRow,
    ClientRow,
    DeliveryRow,
    EventRow,
    IdempotencyRow,
    IdentityRow,
    LinkRow,
    PersonKeyRow,
    Row,
    VerificationRow,
    WebhookRow,
)
from scoring_model.service.core.store import DueWebhook, Past
from scoring_model.service.store import delivery_statements as delivery_sql
from scoring_model.service.store import statements as sql
from scoring_model.service.store.expiry_statements import EXPIRY, RESEAL, VERIFICATIONS
from scoring_model.service.store.statements import Each

_LABEL: Final = struct.Struct("<qb")
_BEFORE_ALL: Final = (-(2**63), b"")
_KEY_FIELDS: Final = len(ApiKeyRow._fields)
_IDENTITY_FIELDS: Final = len(IdentityRow._fields)
_DELIVERY_FIELDS: Final = len(DeliveryRow._fields)
_EVENT_END: Final = _DELIVERY_FIELDS + len(EventRow._fields)

Values = Sequence[Any]
"""One row as the database gives it."""


class SqlReader(ABC):
    """A `Reader` over a connection."""

    @abstractmethod
    async def _rows(self, statement: str, *arguments: object) -> Sequence[Values]:
        """Run a statement; returns its rows."""

    @abstractmethod
    async def _each(self, statement: Each, keys: Sequence[Values]) -> Sequence[Values]:
        """Run a statement for many keys; returns the rows of all."""

    async def fact(self, name: str) -> bytes | None:
        """See `Reader.fact`."""
        rows = await self._rows(sql.FACT, name)
        return rows[0][1] if rows else None

    async def bundles(self) -> list[BundleRow]:
        """See `Reader.bundles`."""
        return [BundleRow._make(row) for row in await self._rows(sql.BUNDLES)]

    async def credentials(self, digests: Sequence[bytes]) -> Mapping[bytes, tuple[ApiKeyRow, ClientRow]]:
        """See `Reader.credentials`."""
        rows = map(tuple, await self._each(sql.CREDENTIALS, _singles(digests)))
        return {
            row[0]: (ApiKeyRow._make(row[:_KEY_FIELDS]), ClientRow._make(row[_KEY_FIELDS:])) for row in rows
        }

    async def clients(self) -> list[ClientRow]:
        """See `Reader.clients`."""
        return [ClientRow._make(row) for row in await self._rows(sql.CLIENTS)]

    async def api_keys(self, client: int) -> list[ApiKeyRow]:
        """See `Reader.api_keys`."""
        return [ApiKeyRow._make(row) for row in await self._rows(sql.API_KEYS, client)]

    async def identity(self, client: int, resource: bytes) -> IdentityRow | None:
        """See `Reader.identity`."""
        rows = await self._rows(sql.IDENTITY, resource, client)
        return IdentityRow._make(rows[0]) if rows else None

    async def identity_and_key(
        self, client: int, resource: bytes
    ) -> tuple[IdentityRow, PersonKeyRow | None] | None:
        """See `Reader.identity_and_key`."""
        values = await self._identity_and_key(resource)
        if values is None:
            return None
        identity, key = IdentityRow._make(values[:_IDENTITY_FIELDS]), values[_IDENTITY_FIELDS:]
        if identity.client != client:
            return None
        return identity, None if key[0] is None else PersonKeyRow._make(key)

    async def _identity_and_key(self, resource: bytes) -> Values | None:
        """Both as one row, of any client."""
        rows = await self._each(sql.IDENTITY_AND_KEY, [(resource,)])
        return tuple(rows[0]) if rows else None

    async def identities_of(self, key_id: bytes) -> list[IdentityRow]:
        """See `Reader.identities_of`."""
        return [IdentityRow._make(row) for row in await self._rows(sql.IDENTITIES_OF, key_id)]

    async def verification(self, client: int, resource: bytes) -> VerificationRow | None:
        """See `Reader.verification`."""
        rows = await self._rows(sql.VERIFICATION, resource, client)
        return VerificationRow._make(rows[0]) if rows else None

    async def verification_by_id(self, resource: bytes) -> VerificationRow | None:
        """See `Reader.verification_by_id`."""
        rows = await self._rows(sql.VERIFICATION_BY_ID, resource)
        return VerificationRow._make(rows[0]) if rows else None

    async def verifications_of_identity(self, identity_id: bytes) -> list[VerificationRow]:
        """See `Reader.verifications_of_identity`."""
        rows = await self._rows(sql.VERIFICATIONS_OF_IDENTITY, identity_id)
        return [VerificationRow._make(row) for row in rows]

    async def completed(
        self, client: int, after: tuple[int, bytes] | None, limit: int
    ) -> list[VerificationRow]:
        """See `Reader.completed`."""
        rows = await self._rows(sql.COMPLETED, client, *(after or _BEFORE_ALL), limit)
        return [VerificationRow._make(row) for row in rows]

    async def verifications(self, after: bytes, limit: int) -> list[VerificationRow]:
        """See `Reader.verifications`."""
        return [VerificationRow._make(row) for row in await self._rows(VERIFICATIONS, after, limit)]

    async def labels(self, verification_ids: Sequence[bytes]) -> Mapping[bytes, list[tuple[str, int, int]]]:
        """See `Reader.labels`."""
        found: dict[bytes, list[tuple[str, int, int]]] = {}
        for _, of, label, known_at, told_at in await self._each(sql.LABELS, _singles(verification_ids)):
            found.setdefault(of, []).append((label, known_at, told_at))
        return found

    async def person_keys(self, key_ids: Sequence[bytes]) -> Mapping[bytes, PersonKeyRow]:
        """See `Reader.person_keys`."""
        rows = map(PersonKeyRow._make, await self._each(sql.PERSON_KEYS, _singles(key_ids)))
        return {row.key_id: row for row in rows}

    async def persons(self, persons: Sequence[tuple[int, bytes]]) -> Mapping[tuple[int, bytes], PersonKeyRow]:
        """See `Reader.persons`."""
        rows = map(PersonKeyRow._make, await self._each(sql.PERSONS, persons))
        return {(row.client, cast(bytes, row.person)): row for row in rows}

    async def idempotency(self, digests: Sequence[bytes]) -> Mapping[bytes, IdempotencyRow]:
        """See `Reader.idempotency`."""
        rows = map(IdempotencyRow._make, await self._each(sql.IDEMPOTENCY, _singles(digests)))
        return {row.digest: row for row in rows}

    async def webhook(self, client: int, resource: bytes) -> WebhookRow | None:
        """See `Reader.webhook`."""
        rows = await self._rows(sql.WEBHOOK, resource, client)
        return WebhookRow._make(rows[0]) if rows else None

    async def webhooks(self, client: int, after: bytes | None, limit: int) -> list[WebhookRow]:
        """See `Reader.webhooks`."""
        return [WebhookRow._make(row) for row in await self._rows(sql.WEBHOOKS, client, after or b"", limit)]

    async def delivery(self, resource: bytes) -> tuple[DeliveryRow, EventRow] | None:
        """See `Reader.delivery`."""
        rows = await self._rows(delivery_sql.DELIVERY, resource)
        if not rows:
            return None
        values = tuple(rows[0])
        return DeliveryRow._make(values[:_DELIVERY_FIELDS]), EventRow._make(values[_DELIVERY_FIELDS:])

    async def deliveries(
        self,
        *,
        status: str | None = None,
        client: int | None = None,
        webhook: bytes | None = None,
        after: bytes | None = None,
        limit: int,
    ) -> list[DeliveryRow]:
        """See `Reader.deliveries`."""
        statement = delivery_sql.deliveries(status, client=client is not None, webhook=webhook is not None)
        wanted = [value for value in (client, webhook) if value is not None]
        rows = await self._rows(statement, after or b"", limit, *wanted)
        return [DeliveryRow._make(row) for row in rows]

    async def deliveries_of(self, event: bytes) -> list[DeliveryRow]:
        """See `Reader.deliveries_of`."""
        return [DeliveryRow._make(row) for row in await self._rows(delivery_sql.OF_EVENT, event)]

    async def newest_event(self, after: int) -> int | None:
        """See `Reader.newest_event`."""
        newest: int | None = (await self._rows(sql.NEWEST_EVENT, after))[0][0]
        return newest

    async def future_links(self, first: int, after: int) -> list[int]:
        """See `Reader.future_links`."""
        return [row[0] for row in await self._rows(sql.FUTURE_LINKS, *_beginning_with(first), after)]

    async def stretch(
        self, kind: Expiring, cutoffs: Cutoffs, after: tuple[bytes | int, ...] | None, limit: int
    ) -> KeyRange:
        """See `Reader.stretch`."""
        spec, before = EXPIRY[kind], cutoffs.of(kind)
        if before is None:
            raise ValueError(f"{kind.value} are kept for ever")
        begin, last = after or spec.first, spec.last(before)
        ends = await self._rows(spec.end, *begin, limit - 1)
        through = min(tuple(ends[0]), last) if ends else last
        counted = await self._rows(spec.count, *begin, *through, *spec.counted(cutoffs))
        return KeyRange(kind=kind, after=begin, through=through, old=counted[0][0], last=through == last)


class SqlTransaction(SqlReader):
    """A `Transaction` over a connection that has begun one."""

    _lease = sql.LEASE
    _drop_deliveries = delivery_sql.DROP
    _skipping = False

    @abstractmethod
    async def _insert(self, kind: type[Row], rows: Sequence[Row]) -> None:
        """Insert rows of one kind."""

    @abstractmethod
    async def histories(
        self, hashes: Sequence[bytes], *, since: int, cap: int, amounts: bool = False
    ) -> list[list[Past]]:
        """See `Transaction.histories`."""

    @abstractmethod
    async def require_truncation(self) -> None:
        """See `Transaction.require_truncation`."""

    @abstractmethod
    async def _append_labels(self, hashes: Sequence[bytes], time: int, packed: bytes) -> list[bytes]:
        """Append labels to the events of an instant; returns the hashes that have one."""

    async def insert(self, rows: Sequence[Row]) -> None:
        """See `Transaction.insert`."""
        if not rows:
            return
        kind = type(rows[0])
        await self._insert(kind, rows)
        if kind is LinkRow:
            links = cast(Sequence[LinkRow], rows)
            told = [(link.hash, _latest(link.labels)) for link in links if link.labels]
            await self._each(sql.LABEL_TIMES, told)

    async def new_client(self, row: ClientRow) -> int:
        """See `Transaction.new_client`."""
        client = int((await self._rows(sql.NEW_CLIENT, *row[1:]))[0][0])
        if not row.pool:
            await self._rows(sql.OWN_POOL, client)
        return client

    async def advance(self, counts: Mapping[int, int]) -> Mapping[int, tuple[int, bool]]:
        """See `Transaction.advance`."""
        rows = await self._each(sql.ADVANCE, list(counts.items()))
        return {client: (before, bool(listens)) for client, before, listens in rows}

    async def settle(self, rows: Sequence[VerificationRow]) -> frozenset[bytes]:
        """See `Transaction.settle`."""
        return frozenset([row[0] for row in await self._each(sql.SETTLE, rows)])

    async def lease_pending(self, now: int, until: int, limit: int) -> list[VerificationRow]:
        """See `Transaction.lease_pending`."""
        rows = map(VerificationRow._make, await self._rows(self._lease, now, until, limit))
        return sorted(rows, key=lambda row: (row.created_at, row.id))

    async def link_labels(self, hashes: Sequence[bytes], time: int, packed: bytes) -> None:
        """See `Transaction.link_labels`."""
        if not packed:
            return
        latest = _latest(packed)
        there = await self._append_labels(list(dict.fromkeys(hashes)), time, packed)
        await self._each(sql.LABEL_TIMES, [(value, latest) for value in there])

    async def newest(self, hashes: Sequence[bytes]) -> int | None:
        """See `Transaction.newest`."""
        rows = await self._each(sql.NEWEST, _singles(hashes))
        return max((instant for row in rows for instant in row if instant is not None), default=None)

    async def delete_future_links(self, first: int, after: int) -> list[int]:
        """See `Transaction.delete_future_links`."""
        return [row[0] for row in await self._rows(sql.DELETE_FUTURE_LINKS, *_beginning_with(first), after)]

    async def erase(self, key_id: bytes, now: int) -> None:
        """See `Transaction.erase`."""
        for statement, dated in sql.ERASE:
            await self._rows(statement, *((key_id, now) if dated else (key_id,)))
        await self.require_truncation()

    async def set_fact(self, name: str, value: bytes) -> None:
        """See `Transaction.set_fact`."""
        await self._rows(sql.SET_FACT, name, value)

    async def delete_fact(self, name: str) -> None:
        """See `Transaction.delete_fact`."""
        await self._rows(sql.DELETE_FACT, name)

    async def forget_answers(self, digests: Sequence[bytes]) -> None:
        """See `Transaction.forget_answers`."""
        await self._each(sql.FORGET_ANSWERS, _singles(digests))

    async def drop(self, stretch: KeyRange, cutoffs: Cutoffs) -> int:
        """See `Transaction.drop`."""
        spec = EXPIRY[stretch.kind]
        statement = spec.drop_skipping if self._skipping else spec.drop
        return len(await self._rows(statement, *stretch.after, *stretch.through, *spec.dropped(cutoffs)))

    async def reseal(self, payloads: Sequence[tuple[bytes, bytes, bytes]]) -> frozenset[bytes]:
        """See `Transaction.reseal`."""
        resealed = frozenset([row[0] for row in await self._each(RESEAL, payloads)])
        await self.require_truncation()
        return resealed

    async def rewrap(self, rows: Sequence[PersonKeyRow]) -> None:
        """See `Transaction.rewrap`."""
        await self._each(sql.REWRAP, rows)

    async def keys_under_other_masters(self, master_id: bytes, limit: int) -> list[PersonKeyRow]:
        """See `Transaction.keys_under_other_masters`."""
        return [PersonKeyRow._make(row) for row in await self._rows(sql.OTHER_MASTERS, master_id, limit)]

    async def update_webhook(self, row: WebhookRow) -> None:
        """See `Transaction.update_webhook`."""
        await self._each(sql.UPDATE_WEBHOOK, [row])

    async def delete_webhook(self, resource: bytes) -> None:
        """See `Transaction.delete_webhook`."""
        await self._rows(sql.DELETE_WEBHOOK, resource)

    async def touch_webhook(self, resource: bytes, succeeded_at: int) -> None:
        """See `Transaction.touch_webhook`."""
        await self._rows(sql.TOUCH_WEBHOOK, resource, succeeded_at)

    async def webhooks_of(self, clients: Sequence[int]) -> list[WebhookRow]:
        """See `Transaction.webhooks_of`."""
        rows = map(
            WebhookRow._make, await self._each(sql.WEBHOOKS_OF, _singles(list(dict.fromkeys(clients))))
        )
        return sorted(rows, key=lambda row: row.id)

    async def waiting_clients(self) -> list[int]:
        """See `Transaction.waiting_clients`."""
        return [row[0] for row in await self._rows(delivery_sql.WAITING_CLIENTS)]

    async def take_events(self, shares: Mapping[int, int]) -> list[EventRow]:
        """See `Transaction.take_events`."""
        rows = map(EventRow._make, await self._each(delivery_sql.TAKE_EVENTS, list(shares.items())))
        return sorted(rows, key=lambda row: row.id)

    async def due_webhooks(self, now: int, limit: int, after: bytes) -> list[DueWebhook]:
        """See `Transaction.due_webhooks`."""
        rows = await self._rows(delivery_sql.SOME_DUE, now, limit)
        if sum(row[3] for row in rows) >= limit:
            rows = await self._rows(delivery_sql.NEXT_DUE, now, limit, after)
        for webhook, client, *_ in rows:
            if client is None:
                # The maker of a delivery may not have known that its webhook was being deleted.
                await self.drop_deliveries(webhook, now)
        return sorted(DueWebhook._make(row) for row in rows if row[1] is not None)

    async def lease_deliveries(
        self, now: int, until: int, shares: Mapping[bytes, int]
    ) -> list[tuple[DeliveryRow, EventRow, WebhookRow]]:
        """See `Transaction.lease_deliveries`."""
        wanted = [(webhook, most, now, until) for webhook, most in shares.items()]
        taken = await self._each(delivery_sql.LEASE, wanted)
        rows = await self._each(delivery_sql.LEASED, [tuple(row) for row in taken])
        return sorted(map(_leased, rows), key=lambda leased: (leased[0].due_at, leased[0].id))

    async def settle_deliveries(self, rows: Sequence[DeliveryRow]) -> frozenset[bytes]:
        """See `Transaction.settle_deliveries`."""
        in_order = sorted(rows, key=lambda row: row.id)
        return frozenset([row[0] for row in await self._each(delivery_sql.SETTLE, in_order)])

    async def deliver_again(self, resource: bytes, now: int) -> bool:
        """See `Transaction.deliver_again`."""
        return bool(await self._rows(delivery_sql.AGAIN, resource, now))

    async def drop_deliveries(self, webhook: bytes, now: int) -> None:
        """See `Transaction.drop_deliveries`."""
        await self._rows(self._drop_deliveries, webhook, now)

    async def revoke_api_key(self, digest: bytes, at: int) -> None:
        """See `Transaction.revoke_api_key`."""
        await self._rows(sql.REVOKE_API_KEY, digest, at)

    async def expire_api_key(self, digest: bytes, at: int) -> None:
        """See `Transaction.expire_api_key`."""
        await self._rows(sql.EXPIRE_API_KEY, digest, at)

    async def revoke_client(self, client: int, at: int) -> None:
        """See `Transaction.revoke_client`."""
        await self._rows(sql.REVOKE_CLIENT, client, at)


def _beginning_with(first: int) -> tuple[bytes, bytes]:
    """The bounds of all hashes, of 32 bytes at most, whose first byte this is."""
    return bytes([first]), bytes([first]) + b"\xff" * 32


def _singles(keys: Sequence[object]) -> list[tuple[object]]:
    return [(key,) for key in keys]


def _leased(row: Values) -> tuple[DeliveryRow, EventRow, WebhookRow]:
    values = tuple(row)
    return (
        DeliveryRow._make(values[:_DELIVERY_FIELDS]),
        EventRow._make(values[_DELIVERY_FIELDS:_EVENT_END]),
        WebhookRow._make(values[_EVENT_END:]),
    )


def _latest(packed: bytes) -> int:
    return max(int(instant) for instant, _ in _LABEL.iter_unpack(packed))
