"""Opens what is sealed under the data keys of persons, and erases persons."""

import base64

from scoring_model.contract.event import EventType
from scoring_model.contract.identity import IdentityStatus
from scoring_model.service.core.errors import Unavailable
from scoring_model.service.core.resources import Identity, Implausible
from scoring_model.service.core.rows import IdentityRow, PersonKeyRow, VerificationRow
from scoring_model.service.core.store import Reader, Transaction
from scoring_model.service.identities.identity import unpack_identity
from scoring_model.service.keys.data_keys import DataKey, Vault
from scoring_model.service.keys.keyring import UnknownMasterKey
from scoring_model.service.scoring.payload import unpack_payload
from scoring_model.service.webhooks.events import NewEvent, identity_data, write_events


class Persons:
    """Opens what belongs to persons, and erases them."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def open_key(self, row: PersonKeyRow) -> DataKey:
        """Unwrap a person's key.

        Raises
        ------
        Unavailable
            While the keyring lacks the master key that wraps it.
        """
        try:
            return self._vault.open_key(row)
        except UnknownMasterKey as error:
            raise Unavailable(5) from error

    async def key_of(self, reader: Reader, key_id: bytes) -> DataKey | None:
        """A person's key, or None after erasure."""
        row = (await reader.person_keys([key_id])).get(key_id)
        return None if row is None else self.open_key(row)

    def identity_values(
        self, row: IdentityRow, key: DataKey
    ) -> tuple[dict[str, object], tuple[Implausible, ...]]:
        """The values and validation errors of an identity that was not erased."""
        if row.payload is None:
            return {}, ()
        return unpack_identity(key.open(row.payload, table="identities", column="payload", row=row.id))

    def verification_payload(
        self, row: VerificationRow, key: DataKey
    ) -> tuple[dict[str, object], str | None, bytes | None]:
        """Signals, subject and packed feature row of a verification that was not erased."""
        if row.payload is None:
            return {}, None, None
        return unpack_payload(key.open(row.payload, table="verifications", column="payload", row=row.id))

    def reference(self, row: VerificationRow, key: DataKey) -> str | None:
        """The idempotency key of a verification that is still PENDING."""
        if row.reference is None:
            return None
        sealed = base64.b64decode(row.reference)
        return key.open(sealed, table="verifications", column="reference", row=row.id).decode()

    def identity(self, row: IdentityRow, key_row: PersonKeyRow | None) -> Identity:
        """The identity as its client sees it; without its person's key it is redacted."""
        if row.payload is None or key_row is None:
            return redacted(row)
        values, errors = self.identity_values(row, self.open_key(key_row))
        return Identity(row.id, values, IdentityStatus(row.status), errors, row.created_at, row.updated_at)

    async def subject(self, reader: Reader, row: VerificationRow) -> str | None:
        """The client's own reference for the person of a verification; None after erasure."""
        key = None if row.payload is None else await self.key_of(reader, row.key_id)
        return None if key is None else self.verification_payload(row, key)[1]


def seal_reference(key: DataKey, resource: bytes, reference: str | None) -> str | None:
    """Seal an idempotency key, which may be personal data, for `Persons.reference`."""
    if reference is None:
        return None
    sealed = key.seal(reference.encode(), table="verifications", column="reference", row=resource)
    return base64.b64encode(sealed).decode()


def redacted(row: IdentityRow) -> Identity:
    """An identity after erasure: its id, status and times."""
    return Identity(row.id, {}, IdentityStatus.REDACTED, (), row.created_at, row.updated_at)


async def erase(transaction: Transaction, key_id: bytes, now: int) -> None:
    """Erase a person: the data key and everything that it sealed. Writes an event per identity.

    Repeating it changes nothing.
    """
    living = [row for row in await transaction.identities_of(key_id) if row.status != IdentityStatus.REDACTED]
    await transaction.erase(key_id, now)
    await write_events(
        transaction,
        [
            NewEvent(
                row.client,
                EventType.IDENTITY_REDACTED,
                row.id,
                now,
                identity_data(row.id, IdentityStatus.REDACTED),
            )
            for row in living
        ],
    )
