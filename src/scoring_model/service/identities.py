"""Identities: bodies, payloads, values sealed under the data keys of persons, and operations.

Erasure applies to a person: it deletes the data key and everything that the key sealed.

Decision record: docs/adr/0030-erasure.md.
"""

import base64
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import partial
from typing import Any, Final, NamedTuple

from pydantic_core import from_json, to_json

from scoring_model.contract.fields import IDENTITY_ID, REQUIRED_FIELDS, field_pointer, signal_field
from scoring_model.contract.identity import (
    Address,
    Identity,
    IdentityContext,
    IdentityInput,
    IdentityStatus,
    ValidationError,
)
from scoring_model.contract.resource import instant
from scoring_model.contract.texts import to_text
from scoring_model.records import rfc3339
from scoring_model.service.clients import Caller
from scoring_model.service.core import ids
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.errors import NotFound, Unavailable, parsed
from scoring_model.service.core.rows import IdempotencyRow, IdentityRow, PersonKeyRow, VerificationRow
from scoring_model.service.events import events_of_identity, write_events
from scoring_model.service.idempotency import Answer, IdempotencyRecord, IdempotencyStore, IdempotentRequest
from scoring_model.service.keys.data_keys import DataKey, Vault
from scoring_model.service.keys.keyring import UnknownMasterKey
from scoring_model.service.keys.link_hashes import Linker
from scoring_model.service.keys.secrets import Secrets
from scoring_model.service.lists import ListFilter, external_hash
from scoring_model.service.scoring.commit_queue import CommitQueue
from scoring_model.service.scoring.jobs import Done
from scoring_model.service.scoring.payload import unpack_payload
from scoring_model.service.store import (
    ERASED_NOTHING,
    ErasedUntil,
    Index,
    Page,
    Position,
    Reader,
    Store,
    Transaction,
)

YOUNGEST: Final = 16  # full years
OLDEST: Final = 120
TOO_YOUNG: Final = ValidationError(pointer="/dob", code="too_young")
TOO_OLD: Final = ValidationError(pointer="/dob", code="too_old")
NO_LETTER: Final = tuple(
    ValidationError(pointer=pointer, code="no_letter") for pointer in ("/firstName", "/lastName")
)
_ADDRESS: Final = "address."


def parse_identity(body: Mapping[str, object], now: int) -> dict[str, object]:
    """Check the body of a new identity and return its canonical values; see `assess` for plausibility.

    Parameters
    ----------
    now : int
        Microseconds since 1970-01-01 UTC; a date of birth must not be later than this day.

    Returns
    -------
    dict of str to object
        Present values by field name, dotted for parts of the address; equal to those of the same record in a file.

    Raises
    ------
    Invalid
        If the body breaks a rule.
    """
    return parsed(IdentityInput, body, IdentityContext(_day(now))).values()


def _day(now: int) -> str:
    return rfc3339(now)[:10]


class Assessment(NamedTuple):
    """What was found when an identity was created.

    Parameters
    ----------
    status : IdentityStatus
        INCOMPLETE (takes precedence), INVALID or VALIDATED.
    errors : tuple of ValidationError
        What is implausible, also of incomplete identities. Codes are `too_young`, `too_old` and `no_letter`.
    missing : tuple of str
        JSON Pointers of the required fields that are not there.
    """

    status: IdentityStatus
    errors: tuple[ValidationError, ...]
    missing: tuple[str, ...]


def assess(values: Mapping[str, object], now: int, required: Sequence[str] = REQUIRED_FIELDS) -> Assessment:
    """Check whether an identity is complete and plausible.

    Implausible: an age below 16 or above 120 full years, and two names without any letter (one of them may be a dash:
    many people have a single name). In non-leap years, a birthday on 29 February counts as 1 March.

    Parameters
    ----------
    values : mapping of str to object
        From `parse_identity`.
    now : int
        Microseconds since 1970-01-01 UTC; ages are computed for this day.
    required : sequence of str
        Names of fields, dotted for parts of the address.
    """
    implausible = (*_implausible_age(values.get("dob"), now), *_implausible_names(values))
    missing = _missing(values, required)
    status = IdentityStatus.INVALID if implausible else IdentityStatus.VALIDATED
    return Assessment(IdentityStatus.INCOMPLETE if missing else status, implausible, missing)


def _missing(values: Mapping[str, object], required: Sequence[str]) -> tuple[str, ...]:
    return tuple([field_pointer(name) for name in dict.fromkeys(required) if name not in values])


def _implausible_age(dob: object, now: int) -> tuple[ValidationError, ...]:
    if not isinstance(dob, str):
        return ()
    born, today = date.fromisoformat(dob), date.fromisoformat(_day(now))
    age = today.year - born.year - ((today.month, today.day) < (born.month, born.day))
    if age < YOUNGEST:
        return (TOO_YOUNG,)
    return (TOO_OLD,) if age > OLDEST else ()


def _implausible_names(values: Mapping[str, object]) -> tuple[ValidationError, ...]:
    names = (values.get("firstName"), values.get("lastName"))
    written = [name for name in names if isinstance(name, str)]
    lettered = any(map(str.isalpha, "".join(written)))
    return NO_LETTER if len(written) == len(names) and not lettered else ()


class StoredIdentity(NamedTuple):
    """The sealed part of an identity; empty after erasure."""

    values: dict[str, Any]
    errors: tuple[ValidationError, ...] = ()
    missing: tuple[str, ...] = ()


def pack_identity(identity: StoredIdentity) -> bytes:
    """Pack an identity for storage: UTF-8 JSON of values, pointer and code of each error, and missing fields."""
    errors = [(error.pointer, error.code) for error in identity.errors]
    return to_json([identity.values, errors, identity.missing])


def unpack_identity(packed: bytes) -> StoredIdentity:
    """Unpack the result of `pack_identity`, with equal values and types."""
    values: dict[str, Any]
    values, errors, missing = from_json(packed, cache_strings=False)
    if "imageUrls" in values:
        values["imageUrls"] = tuple(values["imageUrls"])
    found = tuple([ValidationError(pointer=pointer, code=code) for pointer, code in errors])
    return StoredIdentity(values, found, tuple(missing))


def shown(row: IdentityRow, stored: StoredIdentity) -> Identity:
    """Return the identity that its client sees."""
    values = stored.values
    fields = {name: value for name, value in values.items() if not name.startswith(_ADDRESS)}
    parts = {name.removeprefix(_ADDRESS): values[name] for name in values.keys() - fields.keys()}
    if "dob" in fields:
        fields["dob"] = date.fromisoformat(fields["dob"])
    return Identity(
        **fields,
        address=Address(**parts) if parts else None,
        id=to_text(row.id),
        validated=row.status == IdentityStatus.VALIDATED,
        status=row.status,
        missing_fields=stored.missing,
        validation_errors=stored.errors,
        created_at=instant(row.created_at),
        updated_at=instant(row.updated_at),
    )


class Persons:
    """Opens the sealed values of persons."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def open_key(self, row: PersonKeyRow) -> DataKey:
        """Unwrap a person's key; raises `Unavailable` while the keyring lacks the master key that wraps it."""
        try:
            return self._vault.open_key(row)
        except UnknownMasterKey as error:
            raise Unavailable(5) from error

    async def key_of(self, reader: Reader, key_id: bytes) -> DataKey | None:
        """Return a person's key; None after erasure."""
        row = (await reader.person_keys([key_id])).get(key_id)
        return None if row is None else self.open_key(row)

    def stored_identity(self, row: IdentityRow, key: DataKey) -> StoredIdentity:
        """Open the sealed part of an identity."""
        if row.payload is None:
            return StoredIdentity({})
        return unpack_identity(key.open(row.payload, table="identities", column="payload", row=row.id))

    def identity_values(self, row: IdentityRow, key: DataKey) -> dict[str, Any]:
        """Return the values of an identity by field name, with its id; none after erasure."""
        if row.payload is None:
            return {}
        return {**self.stored_identity(row, key).values, IDENTITY_ID: to_text(row.id)}

    async def record_values(self, reader: Reader, row: VerificationRow, key: DataKey) -> dict[str, Any]:
        """Return the values of a verification that was not erased, by field name."""
        signals, subject, _ = self.verification_payload(row, key)
        values: dict[str, Any] = {signal_field(name): value for name, value in signals.items()}
        if subject is not None:
            values["subjectId"] = subject
        identity = None if row.identity_id is None else await reader.identity(row.client, row.identity_id)
        return values if identity is None else {**self.identity_values(identity, key), **values}

    def verification_payload(
        self, row: VerificationRow, key: DataKey
    ) -> tuple[dict[str, object], str | None, bytes | None]:
        """Return signals, subject and packed feature row of a verification that was not erased."""
        if row.payload is None:
            return {}, None, None
        return unpack_payload(key.open(row.payload, table="verifications", column="payload", row=row.id))

    def reference(self, row: VerificationRow, key: DataKey) -> str | None:
        """Return the idempotency key of a PENDING verification."""
        if row.reference is None:
            return None
        sealed = base64.b64decode(row.reference)
        return key.open(sealed, table="verifications", column="reference", row=row.id).decode()

    def identity(self, row: IdentityRow, key_row: PersonKeyRow | None) -> Identity:
        """Return the identity as its client sees it; redacted if its person's key was deleted."""
        if row.payload is None or key_row is None:
            return shown(row._replace(status=IdentityStatus.REDACTED), StoredIdentity({}))
        return shown(row, self.stored_identity(row, self.open_key(key_row)))

    async def subject(self, reader: Reader, row: VerificationRow) -> str | None:
        """Return the client's reference for the person of a verification; None after erasure."""
        key = None if row.payload is None else await self.key_of(reader, row.key_id)
        return None if key is None else self.verification_payload(row, key)[1]


def seal_reference(key: DataKey, resource: bytes, reference: str | None) -> str | None:
    """Seal an idempotency key, which may be personal data, for `Persons.reference`."""
    if reference is None:
        return None
    sealed = key.seal(reference.encode(), table="verifications", column="reference", row=resource)
    return base64.b64encode(sealed).decode()


async def erase(transaction: Transaction, key_id: bytes, now: int, *, begun: bool) -> bool:
    """Erase a person: the data key at once, and a step of all that it sealed. Writes an event per identity.

    Idempotent. Returns True until the last step. A fact says where the next step begins, for whoever calls next, so
    that an interrupted erasure goes on, and several at once take no more steps than one.

    Parameters
    ----------
    begun : bool
        Whether something of the person is erased already. Without the fact everything is then.
    """
    name = f"erasing.{key_id.hex()}"
    kept = await transaction.fact(name)
    if begun and kept is None:
        return False
    after = ERASED_NOTHING
    if kept is not None:
        after = ErasedUntil(*[(at, bytes.fromhex(id_)) for at, id_ in from_json(kept)])
    step = await transaction.erase(key_id, now, after)
    await write_events(
        transaction, [event for row in step.identities for event in events_of_identity(row, now)]
    )
    if step.until is not None:
        await transaction.set_fact(name, to_json([(at, id_.hex()) for at, id_ in step.until]))
    elif kept is not None:
        await transaction.delete_fact(name)
    return step.until is not None


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
        secrets: Secrets,
        clock: Clock,
        required: Callable[[], Sequence[str]],
    ) -> None:
        self._secrets = secrets
        self._store = store
        self._queue = queue
        self._idempotency = idempotency
        self._persons = persons
        self._vault = vault
        self._linker = linker
        self._clock = clock
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
        async with self._store.reading() as reader:
            rows, end = await reader.page(page)
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
