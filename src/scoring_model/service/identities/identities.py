"""The operations on identities."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from scoring_model.contract.identity import (
    Identity,
    IdentityStatus,
)
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core import ids
from scoring_model.service.core.errors import NotFound
from scoring_model.service.core.rows import IdempotencyRow, IdentityRow
from scoring_model.service.events.events import events_of_identity, write_events
from scoring_model.service.identities.assessment import assess, parse_identity
from scoring_model.service.identities.persons import Persons, StoredIdentity, erase, pack_identity, shown
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.keys.link_hashes import Linker
from scoring_model.service.requests.idempotency import Answer, IdempotencyRecord, IdempotentRequest
from scoring_model.service.requests.jobs import Done
from scoring_model.service.requests.lists import ListFilter, external_hash, read_page
from scoring_model.service.requests.operations import Backend, Operations
from scoring_model.service.store import Index, Page, Position, Transaction


class Identities(Operations):
    """The operations on identities."""

    def __init__(
        self,
        backend: Backend,
        *,
        persons: Persons,
        vault: Vault,
        linker: Linker,
        required: Callable[[], Sequence[str]],
    ) -> None:
        super().__init__(backend)
        self._persons = persons
        self._vault = vault
        self._linker = linker
        self._required = required

    async def create(
        self, caller: Caller, body: Mapping[str, object], request: IdempotentRequest | None
    ) -> Answer[Identity]:
        """Create an identity; see `parse_identity` for the rules."""

        async def action(record: IdempotencyRecord | None) -> Answer[Identity]:
            values = parse_identity(body, self._clock.now())
            done = await self._queue.change(
                caller, lambda transaction: self._insert(transaction, caller, values), record
            )
            return Answer(done.value)

        async def replay(row: IdempotencyRow) -> Answer[Identity]:
            return Answer(await self.get(caller, row.resource), replayed=True)

        return await self._idempotency.run(caller.client, request, action, replay)

    async def get(self, caller: Caller, resource: bytes) -> Identity:
        """Read an identity.

        Raises
        ------
        NotFound
            If the client has no identity with this id.
        """
        async with self._store.reading() as reader:
            found = await reader.identity_and_key(caller.client, resource)
        if found is None:
            raise NotFound
        return self._persons.identity(*found)

    async def page(
        self, caller: Caller, wanted: ListFilter, *, after: Position | None, limit: int
    ) -> tuple[list[Identity], Position | None]:
        """Read a page of identities, latest first; also returns where the next one begins, None on the last."""
        external = external_hash(self._secrets, caller.client, {"externalId": wanted.external_id})
        page = Page(
            index=Index.IDENTITIES if external is None else Index.OF_EXTERNAL,
            key=caller.client if external is None else external,
            after=wanted.begin(after),
            created_after=wanted.earliest,
            filters={} if wanted.status is None else {"status": wanted.status},
            limit=limit,
        )
        rows, end = await read_page(self._store, page, self._queue.lull)
        async with self._store.reading() as reader:
            keys = await reader.person_keys(list({row.key_id: None for row in rows}))
        return [self._persons.identity(row, keys.get(row.key_id)) for row in rows], end

    async def erase(self, caller: Caller, resource: bytes) -> Identity:
        """Erase the person of an identity, in steps that delay nobody. Idempotent."""
        more = True
        while more:
            step = partial(self._redact, caller=caller, resource=resource)
            identity, more = (await self._queue.change(caller, step)).value
        return identity

    async def _insert(
        self, transaction: Transaction, caller: Caller, values: dict[str, object]
    ) -> Done[Identity]:
        now = self._clock.now()
        status, errors, missing = assess(values, now, self._required())
        stored = StoredIdentity(values, errors, missing)
        resource = ids.new_id(now)
        person = self._linker.link(caller.history_scope, caller.client, values).person
        known = {} if person is None else await transaction.persons([(caller.client, person)])
        if known:
            (key_row,) = known.values()
            key = self._persons.open_key(key_row)
        else:
            key_row, key = self._vault.new_key(caller.client, person, now)
            await transaction.insert([key_row])
        sealed = key.seal(pack_identity(stored), table="identities", column="payload", row=resource)
        row = IdentityRow(
            id=resource,
            client=caller.client,
            key_id=key_row.key_id,
            status=status.value,
            payload=sealed,
            created_at=now,
            updated_at=now,
            external=external_hash(self._secrets, caller.client, values),
        )
        await transaction.insert([row])
        await write_events(transaction, events_of_identity(row, now))
        return Done(shown(row, stored), resource)

    async def _redact(
        self, transaction: Transaction, *, caller: Caller, resource: bytes
    ) -> Done[tuple[Identity, bool]]:
        row = await transaction.identity(caller.client, resource)
        if row is None:
            raise NotFound
        begun = row.status == IdentityStatus.REDACTED
        more = await erase(transaction, row.key_id, self._clock.now(), begun=begun)
        row = await transaction.identity(caller.client, resource) or row
        return Done((shown(row, StoredIdentity({})), more), resource, 200)
