"""Identities: created, read, erased."""

from collections.abc import Mapping

from scoring_model.contract.identity import IdentityStatus
from scoring_model.service.core import ids
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.errors import NotFound
from scoring_model.service.core.resources import Answer, Caller, Identity
from scoring_model.service.core.rows import IdempotencyRow, IdentityRow
from scoring_model.service.idempotency import IdempotencyRecord, IdempotencyStore, IdempotentRequest
from scoring_model.service.identities.identity import assess, pack_identity, parse_identity
from scoring_model.service.identities.persons import Persons, erase, redacted
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.keys.link_hashes import Linker
from scoring_model.service.scoring.commit_queue import CommitQueue
from scoring_model.service.scoring.jobs import Done
from scoring_model.service.store import Store, Transaction
from scoring_model.service.webhooks.events import (
    NewEvent,
    events_of_new_identity,
    identity_data,
    write_events,
)


class Identities:
    """The operations on identities."""

    def __init__(
        self,
        *,
        store: Store,
        queue: CommitQueue,
        idempotency: IdempotencyStore,
        persons: Persons,
        vault: Vault,
        linker: Linker,
        clock: Clock,
    ) -> None:
        self._store = store
        self._queue = queue
        self._idempotency = idempotency
        self._persons = persons
        self._vault = vault
        self._linker = linker
        self._clock = clock

    async def create(
        self, caller: Caller, body: Mapping[str, object], request: IdempotentRequest | None
    ) -> Answer[Identity]:
        """Create an identity of what is known; see `parse_identity` for its rules."""

        async def action(record: IdempotencyRecord | None) -> Answer[Identity]:
            values = parse_identity(body, self._clock.now())
            done = await self._queue.change(
                caller, lambda transaction: self._insert(transaction, caller, values), record
            )
            return Answer(done.value)

        async def replay(row: IdempotencyRow) -> Answer[Identity]:
            return Answer(await self.get(caller, row.resource), replayed=True)

        return await self._idempotency.run(caller, request, action, replay)

    async def get(self, caller: Caller, resource: bytes) -> Identity:
        """Read an identity.

        Raises
        ------
        NotFound
            When the client has none of this id.
        """
        async with self._store.reading() as reader:
            found = await reader.identity_and_key(caller.client, resource)
        if found is None:
            raise NotFound
        return self._persons.identity(*found)

    async def erase(self, caller: Caller, resource: bytes) -> Identity:
        """Erase the person of an identity; doing it again answers the same."""
        done = await self._queue.change(
            caller, lambda transaction: self._redact(transaction, caller, resource)
        )
        return done.value

    async def _insert(
        self, transaction: Transaction, caller: Caller, values: Mapping[str, object]
    ) -> Done[Identity]:
        now = self._clock.now()
        status, errors = assess(values, now)
        resource = ids.new_id(now)
        person = self._linker.person_key(caller.history_scope, caller.client, values)
        known = {} if person is None else await transaction.persons([(caller.client, person)])
        if person is not None and (caller.client, person) in known:
            key_row = known[caller.client, person]
            key = self._persons.open_key(key_row)
        else:
            key_row, key = self._vault.new_key(caller.client, person, now)
            await transaction.insert([key_row])
        sealed = key.seal(pack_identity(values, errors), table="identities", column="payload", row=resource)
        row = IdentityRow(resource, caller.client, key_row.key_id, status.value, sealed, now, now)
        await transaction.insert([row])
        data = identity_data(resource, status)
        await write_events(
            transaction,
            [NewEvent(caller.client, kind, resource, now, data) for kind in events_of_new_identity(status)],
        )
        return Done(Identity(resource, dict(values), status, errors, now, now), resource)

    async def _redact(self, transaction: Transaction, caller: Caller, resource: bytes) -> Done[Identity]:
        row = await transaction.identity(caller.client, resource)
        if row is None:
            raise NotFound
        if row.status != IdentityStatus.REDACTED:
            await erase(transaction, row.key_id, self._clock.now())
            row = await transaction.identity(caller.client, resource)
            if row is None:
                raise NotFound
        return Done(redacted(row), resource, 200)
