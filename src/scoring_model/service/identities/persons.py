"""What is stored of persons, sealed under their data keys.

Erasure applies to a person: it deletes the data key and everything that the key sealed.

Decision record: docs/adr/0030-erasure.md.
"""

import base64
from datetime import date
from typing import Any, Final, NamedTuple

from pydantic_core import from_json, to_json

from scoring_model.contract.fields import IDENTITY_ID, signal_field
from scoring_model.contract.identity import (
    Address,
    Identity,
    IdentityStatus,
    ValidationError,
)
from scoring_model.contract.resource import instant
from scoring_model.contract.texts import to_text
from scoring_model.service.core.errors import Unavailable
from scoring_model.service.core.payload import unpack_payload
from scoring_model.service.core.rows import IdentityRow, PersonKeyRow, VerificationRow
from scoring_model.service.events.events import events_of_identity, write_events
from scoring_model.service.keys.data_keys import DataKey, Vault
from scoring_model.service.keys.keyring import UnknownMasterKey
from scoring_model.service.keys.restored import erasing_fact
from scoring_model.service.store import (
    ERASED_NOTHING,
    ErasedUntil,
    Reader,
    Transaction,
)

_ADDRESS: Final = "address."


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
    name = erasing_fact(key_id)
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
