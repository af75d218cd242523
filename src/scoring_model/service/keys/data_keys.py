"""Data keys: personal data is sealed under a key per person, and erasure destroys that key.

Unwrapped keys are not cached: unwrapping takes two microseconds, and deleting a row then destroys the only copy of its
key.

A rotation rewraps the data keys and the root secret while servers keep running. The source lists the new master key
first and the older ones after it; a server that can't reread its source (an environment variable is fixed when a
process starts) must be restarted with it. `rotate` wraps everything under the new key. Servers switch to it by
`follow`, or when they first read a key under it; keys that they wrapped under the older key in the meantime need
another `rotate`. The older key may leave the source when `finished` returns True after all servers have followed.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from scoring_model.service.core.ids import new_id
from scoring_model.service.core.rows import PersonKeyRow
from scoring_model.service.keys.keyring import (
    ID_BYTES,
    KEY_BYTES,
    KeyEncryptionKey,
    Keyring,
    MasterKeyError,
    UnknownMasterKey,
    seal,
    unseal,
)
from scoring_model.service.keys.secrets import ROOT_FACT, ROOT_POOL, unwrap
from scoring_model.service.store import Store

RELOAD_SECONDS: Final = 5.0

BATCH: Final = 500
"""Keys per transaction of a rotation: other writers wait a few milliseconds."""


@dataclass(slots=True)  # not frozen: one is created per request, in a third of the time
class DataKey:
    """The unwrapped key of one person. `table`, `column` and `row` are bound to each ciphertext as associated data."""

    cipher: AESGCM = field(repr=False)

    def seal(self, plaintext: bytes, *, table: str, column: str, row: bytes) -> bytes:
        """Encrypt the value of a column in the row with this id. Adds 28 bytes."""
        associated_data = f"{table}\0{column}\0".encode() + row  # names contain no NUL
        return seal(self.cipher, plaintext, associated_data)

    def open(self, sealed: bytes, *, table: str, column: str, row: bytes) -> bytes:
        """Decrypt a value; raises `Unreadable` unless key and associated data match."""
        associated_data = f"{table}\0{column}\0".encode() + row
        return unseal(self.cipher, sealed, associated_data)


class Vault:
    """Creates, unwraps and rewraps data keys.

    Parameters
    ----------
    reload : callable or None
        Reads the keyring again. Called when a row names an unknown master key, as after a rotation by another process;
        at most once in 5 s for the same unknown key.
    monotonic : callable
        Clock for this limit.
    """

    def __init__(
        self,
        keyring: Keyring,
        *,
        reload: Callable[[], Keyring] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._keyring = keyring
        self._reload = reload
        self._monotonic = monotonic
        self._not_before: dict[bytes, float] = {}

    @property
    def keyring(self) -> Keyring:
        """The keyring that was read last."""
        return self._keyring

    def new_key(self, client: int, person: bytes | None, now: int) -> tuple[PersonKeyRow, DataKey]:
        """Create the key of a person and its row, to be inserted together with the values that the key seals.

        Parameters
        ----------
        person : bytes or None
            Pseudonym; None if nothing links this person to other records.
        """
        key_id, secret = new_id(now), os.urandom(KEY_BYTES)
        return self._wrapped(key_id, client, person, secret), DataKey(AESGCM(secret))

    def open_key(self, row: PersonKeyRow) -> DataKey:
        """Unwrap the key of a person.

        Raises
        ------
        UnknownMasterKey
            If the keyring lacks the master key that wrapped it, even after rereading.
        Unreadable
            If the row was changed.
        """
        return DataKey(AESGCM(self._unwrap(row)))

    def rewrap(self, row: PersonKeyRow) -> PersonKeyRow:
        """Rewrap the key of a person under the primary master key; sealed values stay valid. Raises as `open_key`."""
        return self._wrapped(row.key_id, row.client, row.person, self._unwrap(row))

    def learn(self, master_id: bytes) -> None:
        """Read the keyring again if it lacks the master key that another process uses."""
        if master_id not in self._keyring.by_id:
            with contextlib.suppress(UnknownMasterKey):  # reported when the key is first needed
                self._reloaded(master_id)

    def _wrapped(self, key_id: bytes, client: int, person: bytes | None, secret: bytes) -> PersonKeyRow:
        master = self._keyring.primary
        wrapped = seal(master.cipher, secret, _associated_data(key_id, client))
        return PersonKeyRow(key_id, client, person, master.id, wrapped)

    def _unwrap(self, row: PersonKeyRow) -> bytes:
        master = self._keyring.by_id.get(row.master_id) or self._reloaded(row.master_id)
        return unseal(master.cipher, row.wrapped, _associated_data(row.key_id, row.client))

    def _reloaded(self, master_id: bytes) -> KeyEncryptionKey:
        if self._reload is None or self._monotonic() < self._not_before.get(master_id, 0.0):
            raise UnknownMasterKey(master_id)
        try:
            keyring = self._reload()
            found = keyring.by_id[master_id]
        except (MasterKeyError, KeyError) as error:
            # Otherwise every request for such a person would run the operator's command again.
            self._not_before[master_id] = self._monotonic() + RELOAD_SECONDS
            raise UnknownMasterKey(master_id) from error
        self._keyring = keyring
        return found


def _associated_data(key_id: bytes, client: int) -> bytes:
    return b"person_keys\0wrapped\0" + key_id + client.to_bytes(8, "big", signed=True)


async def rotate(
    store: Store,
    keyring: Keyring,
    *,
    progress: Callable[[int], None] | None = None,
    batch: int = BATCH,
) -> int:
    """Wrap the root secret and every data key under the primary master key; returns the number of data keys wrapped.

    It can be interrupted and run again: it skips keys that are already wrapped.

    Parameters
    ----------
    progress : callable or None
        Called after each transaction with the number of data keys wrapped so far.
    batch : int
        Keys per transaction, at least 1.

    Raises
    ------
    UnknownMasterKey
        If the keyring lacks a key that wraps something.
    Unreadable
        If a row was changed.
    StoreUnavailable
        Keys wrapped by earlier transactions stay wrapped.
    """
    # The root secret first: servers detect the rotation by it.
    async with store.writing((ROOT_POOL,)) as transaction:
        wrapped = await transaction.fact(ROOT_FACT)
        if wrapped is not None and wrapped[:ID_BYTES] != keyring.primary.id:
            await transaction.set_fact(ROOT_FACT, unwrap(wrapped, keyring).wrap(keyring))
    vault, done = Vault(keyring), 0
    while True:
        async with store.writing(()) as transaction:
            rows = await transaction.keys_under_other_masters(keyring.primary.id, batch)
            await transaction.rewrap([vault.rewrap(row) for row in rows])
        if not rows:
            return done
        done += len(rows)
        if progress is not None:
            progress(done)


async def finished(store: Store, keyring: Keyring) -> bool:
    """Return True if the primary master key wraps everything, so that no rotation is needed."""
    if await _root_master(store) not in (None, keyring.primary.id):
        return False
    async with store.writing(()) as transaction:
        return not await transaction.keys_under_other_masters(keyring.primary.id, 1)


async def follow(store: Store, vault: Vault) -> None:
    """Follow a rotation by another process: wrap new data keys under the new primary key."""
    master_id = await _root_master(store)
    if master_id is not None:
        # The source may be a command that takes seconds: requests must not wait for it.
        await asyncio.to_thread(vault.learn, master_id)


async def _root_master(store: Store) -> bytes | None:
    async with store.reading() as reader:
        wrapped = await reader.fact(ROOT_FACT)
    return None if wrapped is None else wrapped[:ID_BYTES]
