"""Hashes of references in rows that predate them, added by a command with the master key."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from scoring_model.service.core.rows import IdentityRow, VerificationRow
from scoring_model.service.identities import Persons
from scoring_model.service.keys.data_keys import DataKey, Vault
from scoring_model.service.keys.keyring import Keyring, UnknownMasterKey, Unreadable
from scoring_model.service.keys.secrets import load_or_create
from scoring_model.service.lists import external_hash, subject_hash
from scoring_model.service.store import Reader, Store, Transaction

UNINDEXED_FACT: Final = "references_unindexed"
"""Fact written by a migration without keys, until `index_references` has hashed the references of older rows."""

BATCH: Final = 250
PAUSE: Final = 0.01  # seconds between two batches


@dataclass(frozen=True, slots=True)
class Indexed:
    """The result of `index_references`: hashes that were set, and rows that the keyring could not open."""

    references: int
    unreadable: int


async def index_references(
    store: Store, keyring: Keyring, *, progress: Callable[[int], None] = lambda rows: None
) -> Indexed:
    """Hash the references of rows that predate the hashes, so that lists find them. It can be run again.

    Rows whose master key the keyring lacks are counted, and leave the fact `UNINDEXED_FACT` for another run.
    """
    secrets, vault = await load_or_create(store, keyring), Vault(keyring)
    persons = Persons(vault)
    references = unreadable = seen = 0

    def subject(row: VerificationRow, key: DataKey) -> bytes | None:
        return subject_hash(secrets, row.client, row.identity_id, persons.verification_payload(row, key)[1])

    def external(row: IdentityRow, key: DataKey) -> bytes | None:
        return external_hash(secrets, row.client, persons.identity_values(row, key))

    for read, hashed, write in (
        (Reader.verifications, subject, Transaction.index_subjects),
        (Reader.identities, external, Transaction.index_external),
    ):
        after: bytes | None = b""
        while after is not None:
            async with store.reading() as reader:
                rows: list[Any] = await read(reader, after, BATCH)
                keys = await reader.person_keys(list({row.key_id: None for row in rows}))
            hashes = []
            for row in rows:
                if row.payload is None or row.key_id not in keys:
                    continue  # erased
                try:
                    found = hashed(row, vault.open_key(keys[row.key_id]))
                except (UnknownMasterKey, Unreadable):
                    unreadable += 1
                    continue
                if found is not None:
                    hashes.append((row.id, row.payload, found))
            if hashes:
                async with store.writing([]) as transaction:
                    await write(transaction, hashes)
            references, seen = references + len(hashes), seen + len(rows)
            progress(seen)
            after = rows[-1].id if len(rows) == BATCH else None
            await asyncio.sleep(PAUSE)
    if not unreadable:
        async with store.writing([]) as transaction:
            await transaction.delete_fact(UNINDEXED_FACT)
    return Indexed(references, unreadable)
