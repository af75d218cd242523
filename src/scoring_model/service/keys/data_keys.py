"""Data keys: personal data is sealed under a key per person, and erasure destroys that key.

Unwrapped keys are not cached: unwrapping takes two microseconds, and a key that exists only in its row is gone
with the row.
"""

import contextlib
import os
import time
from collections.abc import Callable
from typing import Final

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from scoring_model.service.core.ids import new_id
from scoring_model.service.core.rows import PersonKeyRow
from scoring_model.service.keys.keyring import (
    KEY_BYTES,
    KeyEncryptionKey,
    Keyring,
    MasterKeyError,
    UnknownMasterKey,
    seal,
    unseal,
)

RELOAD_SECONDS: Final = 5.0


class DataKey:
    """The unwrapped key of one person.

    Parameters
    ----------
    secret : bytes
        32 bytes.
    """

    __slots__ = ("_cipher",)

    def __init__(self, secret: bytes) -> None:
        self._cipher = AESGCM(secret)

    def seal(self, plaintext: bytes, *, table: str, column: str, row: bytes) -> bytes:
        """Encrypt the value of a column in the row of this id; it opens nowhere else. Adds 28 bytes."""
        return seal(self._cipher, plaintext, _associated_data(table, column, row))

    def open(self, sealed: bytes, *, table: str, column: str, row: bytes) -> bytes:
        """Decrypt a value.

        Raises
        ------
        Unreadable
            If another key or another column or row sealed it, or its bytes were changed.
        """
        return unseal(self._cipher, sealed, _associated_data(table, column, row))


class Vault:
    """Creates, unwraps and rewraps data keys.

    Parameters
    ----------
    reload : callable or None
        Reads the keyring again. Called when a row names an unknown master key, which another process may have made
        the primary one; at most once in 5 s for the same unknown key.
    monotonic : callable
        Clock for these 5 s.
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
        """The keyring as it was read last."""
        return self._keyring

    def new_key(self, client: int, person: bytes | None, now: int) -> tuple[PersonKeyRow, DataKey]:
        """Create the key of a person, and its row, which is to be inserted with what the key seals.

        Parameters
        ----------
        person : bytes or None
            Pseudonym; None where nothing ties this person to others.
        now : int
            Microseconds since 1970-01-01 UTC.
        """
        key_id, secret = new_id(now), os.urandom(KEY_BYTES)
        return self._wrapped(key_id, client, person, secret), DataKey(secret)

    def open_key(self, row: PersonKeyRow) -> DataKey:
        """Unwrap the key of a person.

        Raises
        ------
        UnknownMasterKey
            If the keyring, read again, does not have the master key that wrapped it.
        Unreadable
            If the row was changed.
        """
        return DataKey(self._unwrap(row))

    def rewrap(self, row: PersonKeyRow) -> PersonKeyRow:
        """Wrap the key of a person under the primary master key. What it sealed stays as it is.

        Raises
        ------
        UnknownMasterKey, Unreadable
            As `open_key`.
        """
        return self._wrapped(row.key_id, row.client, row.person, self._unwrap(row))

    def learn(self, master_id: bytes) -> None:
        """Read the keyring again if it lacks the key under which another process wraps."""
        with contextlib.suppress(UnknownMasterKey):  # the first to need the key reports it
            self._master(master_id)

    def _wrapped(self, key_id: bytes, client: int, person: bytes | None, secret: bytes) -> PersonKeyRow:
        master = self._keyring.primary
        wrapped = master.seal(secret, associated_data=_key_associated_data(key_id, client))
        return PersonKeyRow(key_id, client, person, master.id, wrapped)

    def _unwrap(self, row: PersonKeyRow) -> bytes:
        context = _key_associated_data(row.key_id, row.client)
        return self._master(row.master_id).open(row.wrapped, associated_data=context)

    def _master(self, master_id: bytes) -> KeyEncryptionKey:
        try:
            return self._keyring.find(master_id)
        except UnknownMasterKey:
            return self._reloaded(master_id)

    def _reloaded(self, master_id: bytes) -> KeyEncryptionKey:
        if self._reload is None or self._monotonic() < self._not_before.get(master_id, 0.0):
            raise UnknownMasterKey(master_id)
        try:
            keyring = self._reload()
            found = keyring.find(master_id)
        except (MasterKeyError, UnknownMasterKey) as error:
            # Every request for such a person would run the operator's command once more.
            self._not_before[master_id] = self._monotonic() + RELOAD_SECONDS
            raise UnknownMasterKey(master_id) from error
        self._keyring = keyring
        return found


def _associated_data(table: str, column: str, row: bytes) -> bytes:
    return f"{table}\0{column}\0".encode() + row  # names hold no NUL


def _key_associated_data(key_id: bytes, client: int) -> bytes:
    return b"person_keys\0wrapped\0" + key_id + client.to_bytes(8, "big", signed=True)
