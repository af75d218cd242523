"""What both stores have in common, over two methods of each database: `_rows` and `_each`.

The methods are described in `core.store`.
"""

import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar, cast

from scoring_model.service.core.expiry import Cutoffs, Expiring, Key, KeyRange
from scoring_model.service.core.rows import (
    ApiKeyRow,
    BundleRow,
    ClientRow,
    DeliveryRow,
    EventRow,
    IdempotencyRow,
    IdentityRow,
    LabelRow,
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
"""One row as the database returns it."""

R = TypeVar("R", bound=Row)


class SqlReader(ABC):
    """A `Reader` over a connection."""

    @abstractmethod
    async def _rows(self, statement: str, *arguments: object) -> Sequence[Values]:
        """Run a statement; returns its rows."""

    @abstractmethod
    async def _each(self, statement: Each, keys: Sequence[Values]) -> Sequence[Values]:
        """Run a statement for many keys; returns the rows of all."""

    async def _all(self, kind: type[R], statement: str, *arguments: object) -> list[R]:
        return _made(kind, await self._rows(statement, *arguments))

    async def _first(self, kind: type[R], statement: str, *arguments: object) -> R | None:
        return next(iter(await self._all(kind, statement, *arguments)), None)

    async def _all_of(self, kind: type[R], statement: Each, keys: Sequence[Values]) -> list[R]:
        return _made(kind, await self._each(statement, keys))

    async def fact(self, name: str) -> bytes | None:
        rows = await self._rows(sql.FACT, name)
        return rows[0][1] if rows else None

    async def bundles(self) -> list[BundleRow]:
        return await self._all(BundleRow, sql.BUNDLES)

    async def credentials(self, digests: Sequence[bytes]) -> Mapping[bytes, tuple[ApiKeyRow, ClientRow]]:
        rows = map(tuple, await self._each(sql.CREDENTIALS, _singles(digests)))
        return {
            row[0]: (ApiKeyRow._make(row[:_KEY_FIELDS]), ClientRow._make(row[_KEY_FIELDS:])) for row in rows
        }

    async def clients(self) -> list[ClientRow]:
        return await self._all(ClientRow, sql.CLIENTS)

    async def api_keys(self, client: int) -> list[ApiKeyRow]:
        return await self._all(ApiKeyRow, sql.API_KEYS, client)

    async def identity(self, client: int, resource: bytes) -> IdentityRow | None:
        return await self._first(IdentityRow, sql.IDENTITY, resource, client)

    async def identity_and_key(
        self, client: int, resource: bytes
    ) -> tuple[IdentityRow, PersonKeyRow | None] | None:
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
        return await self._all(IdentityRow, sql.IDENTITIES_OF, key_id)

    async def verification(self, client: int, resource: bytes) -> VerificationRow | None:
        return await self._first(VerificationRow, sql.VERIFICATION, resource, client)

    async def verification_by_id(self, resource: bytes) -> VerificationRow | None:
        return await self._first(VerificationRow, sql.VERIFICATION_BY_ID, resource)

    async def verifications_of_identity(self, identity_id: bytes) -> list[VerificationRow]:
        return await self._all(VerificationRow, sql.VERIFICATIONS_OF_IDENTITY, identity_id)

    async def completed(
        self, client: int, after: tuple[int, bytes] | None, limit: int
    ) -> list[VerificationRow]:
        return await self._all(VerificationRow, sql.COMPLETED, client, *(after or _BEFORE_ALL), limit)

    async def verifications(self, after: bytes, limit: int) -> list[VerificationRow]:
        return await self._all(VerificationRow, VERIFICATIONS, after, limit)

    async def labels(self, verification_ids: Sequence[bytes]) -> Mapping[bytes, list[tuple[str, int, int]]]:
        found: dict[bytes, list[tuple[str, int, int]]] = {}
        for row in await self._all_of(LabelRow, sql.LABELS, _singles(verification_ids)):
            found.setdefault(row.verification_id, []).append((row.label, row.known_at, row.told_at))
        return found

    async def person_keys(self, key_ids: Sequence[bytes]) -> Mapping[bytes, PersonKeyRow]:
        rows = await self._all_of(PersonKeyRow, sql.PERSON_KEYS, _singles(key_ids))
        return {row.key_id: row for row in rows}

    async def persons(self, persons: Sequence[tuple[int, bytes]]) -> Mapping[tuple[int, bytes], PersonKeyRow]:
        rows = await self._all_of(PersonKeyRow, sql.PERSONS, persons)
        return {(row.client, cast(bytes, row.person)): row for row in rows}

    async def idempotency(self, digests: Sequence[bytes]) -> Mapping[bytes, IdempotencyRow]:
        rows = await self._all_of(IdempotencyRow, sql.IDEMPOTENCY, _singles(digests))
        return {row.digest: row for row in rows}

    async def webhook(self, client: int, resource: bytes) -> WebhookRow | None:
        return await self._first(WebhookRow, sql.WEBHOOK, resource, client)

    async def webhooks(self, client: int, after: bytes | None, limit: int) -> list[WebhookRow]:
        return await self._all(WebhookRow, sql.WEBHOOKS, client, after or b"", limit)

    async def delivery(self, resource: bytes) -> tuple[DeliveryRow, EventRow] | None:
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
        statement = delivery_sql.deliveries(status, client=client is not None, webhook=webhook is not None)
        wanted = [value for value in (client, webhook) if value is not None]
        return await self._all(DeliveryRow, statement, after or b"", limit, *wanted)

    async def deliveries_of(self, event: bytes) -> list[DeliveryRow]:
        return await self._all(DeliveryRow, delivery_sql.OF_EVENT, event)

    async def newest_event(self, after: int) -> int | None:
        newest: int | None = (await self._rows(sql.NEWEST_EVENT, after))[0][0]
        return newest

    async def future_links(self, first: int, after: int) -> list[int]:
        return [row[0] for row in await self._rows(sql.FUTURE_LINKS, *_beginning_with(first), after)]

    async def key_range(self, kind: Expiring, cutoffs: Cutoffs, after: Key | None, limit: int) -> KeyRange:
        spec, before = EXPIRY[kind], cutoffs.of(kind)
        if before is None:
            raise ValueError(f"{kind.value} never expire")
        begin, last = after or spec.first, spec.last(before)
        ends = await self._rows(spec.end, *begin, limit - 1)
        through = min(tuple(ends[0]), last) if ends else last
        counted = await self._rows(spec.count, *begin, *through, *spec.counted(cutoffs))
        return KeyRange(kind=kind, after=begin, through=through, old=counted[0][0], last=through == last)


class SqlTransaction(SqlReader):
    """A `Transaction` over a connection that has begun one."""

    _is_server = False

    def _of_dialect(self, statement: Each) -> str:
        return statement.many if self._is_server else statement.one

    @abstractmethod
    async def _insert(self, kind: type[Row], rows: Sequence[Row]) -> None:
        """Insert rows of one kind."""

    @abstractmethod
    async def histories(
        self,
        hashes: Sequence[bytes],
        *,
        since: int,
        cap: int,
        amounts: int = 0,
        between: tuple[int, int] | None = None,
    ) -> list[list[Past]]: ...

    @abstractmethod
    async def require_truncation(self) -> None: ...

    @abstractmethod
    async def _append_labels(self, hashes: Sequence[bytes], time: int, packed: bytes) -> list[bytes]:
        """Append labels to the events of an instant; returns the hashes that have one."""

    async def insert(self, rows: Sequence[Row]) -> None:
        if not rows:
            return
        kind = type(rows[0])
        await self._insert(kind, rows)
        if kind is LinkRow:
            links = cast(Sequence[LinkRow], rows)
            latest = [(link.hash, _latest(link.labels)) for link in links if link.labels]
            await self._each(sql.LABEL_TIMES, latest)

    async def new_client(self, row: ClientRow) -> int:
        client = int((await self._rows(sql.NEW_CLIENT, *row[1:]))[0][0])
        if not row.pool:
            await self._rows(sql.OWN_POOL, client)
        return client

    async def advance(self, counts: Mapping[int, int]) -> Mapping[int, tuple[int, bool]]:
        rows = await self._each(sql.ADVANCE, list(counts.items()))
        return {client: (before, bool(listens)) for client, before, listens in rows}

    async def settle(self, rows: Sequence[VerificationRow]) -> frozenset[bytes]:
        return frozenset([row[0] for row in await self._each(sql.SETTLE, rows)])

    async def lease_pending(self, now: int, until: int, limit: int) -> list[VerificationRow]:
        rows = await self._all(VerificationRow, self._of_dialect(sql.LEASE), now, until, limit)
        return sorted(rows, key=lambda row: (row.created_at, row.id))

    async def link_labels(self, hashes: Sequence[bytes], time: int, packed: bytes) -> None:
        if not packed:
            return
        latest = _latest(packed)
        there = await self._append_labels(list(dict.fromkeys(hashes)), time, packed)
        await self._each(sql.LABEL_TIMES, [(value, latest) for value in there])

    async def newest(self, hashes: Sequence[bytes]) -> int | None:
        rows = await self._each(sql.NEWEST, _singles(hashes))
        return max((instant for row in rows for instant in row if instant is not None), default=None)

    async def delete_future_links(self, first: int, after: int) -> list[int]:
        return [row[0] for row in await self._rows(sql.DELETE_FUTURE_LINKS, *_beginning_with(first), after)]

    async def erase(self, key_id: bytes, now: int) -> None:
        for statement, dated in sql.ERASE:
            await self._rows(statement, *((key_id, now) if dated else (key_id,)))
        await self.require_truncation()

    async def set_fact(self, name: str, value: bytes) -> None:
        await self._rows(sql.SET_FACT, name, value)

    async def delete_fact(self, name: str) -> None:
        await self._rows(sql.DELETE_FACT, name)

    async def forget_answers(self, digests: Sequence[bytes]) -> None:
        await self._each(sql.FORGET_ANSWERS, _singles(digests))

    async def drop(self, key_range: KeyRange, cutoffs: Cutoffs) -> int:
        spec = EXPIRY[key_range.kind]
        keys = (*key_range.after, *key_range.through)
        return len(await self._rows(self._of_dialect(spec.drop), *keys, *spec.dropped(cutoffs)))

    async def reseal(self, payloads: Sequence[tuple[bytes, bytes, bytes]]) -> frozenset[bytes]:
        resealed = frozenset([row[0] for row in await self._each(RESEAL, payloads)])
        await self.require_truncation()
        return resealed

    async def rewrap(self, rows: Sequence[PersonKeyRow]) -> None:
        await self._each(sql.REWRAP, rows)

    async def keys_under_other_masters(self, master_id: bytes, limit: int) -> list[PersonKeyRow]:
        return await self._all(PersonKeyRow, sql.OTHER_MASTERS, master_id, limit)

    async def update_webhook(self, row: WebhookRow) -> None:
        await self._each(sql.UPDATE_WEBHOOK, [row])

    async def delete_webhook(self, resource: bytes) -> None:
        await self._rows(sql.DELETE_WEBHOOK, resource)

    async def touch_webhook(self, resource: bytes, succeeded_at: int) -> None:
        await self._rows(sql.TOUCH_WEBHOOK, resource, succeeded_at)

    async def webhooks_of(self, clients: Sequence[int]) -> list[WebhookRow]:
        rows = await self._all_of(WebhookRow, sql.WEBHOOKS_OF, _singles(list(dict.fromkeys(clients))))
        return sorted(rows, key=lambda row: row.id)

    async def waiting_clients(self) -> list[int]:
        return [row[0] for row in await self._rows(delivery_sql.WAITING_CLIENTS)]

    async def take_events(self, shares: Mapping[int, int]) -> list[EventRow]:
        rows = await self._all_of(EventRow, delivery_sql.TAKE_EVENTS, list(shares.items()))
        return sorted(rows, key=lambda row: row.id)

    async def due_webhooks(self, now: int, limit: int, after: bytes) -> list[DueWebhook]:
        rows = await self._rows(delivery_sql.SOME_DUE, now, limit)
        if sum(row[3] for row in rows) >= limit:
            rows = await self._rows(delivery_sql.NEXT_DUE, now, limit, after)
        for webhook, client, *_ in rows:
            if client is None:
                # A delivery may have been created while its webhook was being deleted.
                await self.drop_deliveries(webhook, now)
        return sorted(DueWebhook._make(row) for row in rows if row[1] is not None)

    async def lease_deliveries(
        self, now: int, until: int, shares: Mapping[bytes, int]
    ) -> list[tuple[DeliveryRow, EventRow, WebhookRow]]:
        wanted = [(webhook, most, now, until) for webhook, most in shares.items()]
        taken = await self._each(delivery_sql.LEASE, wanted)
        rows = await self._each(delivery_sql.LEASED, [tuple(row) for row in taken])
        return sorted(map(_leased, rows), key=lambda leased: (leased[0].due_at, leased[0].id))

    async def settle_deliveries(self, rows: Sequence[DeliveryRow]) -> frozenset[bytes]:
        in_order = sorted(rows, key=lambda row: row.id)
        return frozenset([row[0] for row in await self._each(delivery_sql.SETTLE, in_order)])

    async def deliver_again(self, resource: bytes, now: int) -> bool:
        return bool(await self._rows(delivery_sql.AGAIN, resource, now))

    async def drop_deliveries(self, webhook: bytes, now: int) -> None:
        await self._rows(self._of_dialect(delivery_sql.DROP), webhook, now)

    async def revoke_api_key(self, digest: bytes, at: int) -> None:
        await self._rows(sql.REVOKE_API_KEY, digest, at)

    async def expire_api_key(self, digest: bytes, at: int) -> None:
        await self._rows(sql.EXPIRE_API_KEY, digest, at)

    async def revoke_client(self, client: int, at: int) -> None:
        await self._rows(sql.REVOKE_CLIENT, client, at)


def _made(kind: type[R], rows: Sequence[Values]) -> list[R]:
    return cast("list[R]", [kind._make(row) for row in rows])


def _beginning_with(first: int) -> tuple[bytes, bytes]:
    """The bounds of all hashes, of 32 bytes at most, with this first byte."""
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
