"""The keys of persons: what is personal is sealed under one of them, and erasure destroys it.

Opened keys are not kept. To unwrap one again takes two microseconds, its row has been read with what it opens,
and a key that is nowhere but in that row is gone when the row is.
"""

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
    """The key of one person, opened.

    Parameters
    ----------
    secret : bytes
        32 bytes.
    """

    __slots__ = ("_cipher",)

    def __init__(self, secret: bytes) -> None:
        self._cipher = AESGCM(secret)

    def seal(self, plaintext: bytes, *, table: str, column: str, row: bytes) -> bytes:
        """Encrypt a value.

        Parameters
        ----------
        table, column : str
            Where it will lie.
        row : bytes
            Id of the row there. What is sealed for one place opens nowhere else.

        Returns
        -------
        bytes
            28 more than the text has.
        """
        return seal(self._cipher, plaintext, _place(table, column, row))

    def open(self, sealed: bytes, *, table: str, column: str, row: bytes) -> bytes:
        """Decrypt a value.

        Raises
        ------
        Unreadable
            If another key sealed it, at another place, or its bytes were changed.
        """
        return unseal(self._cipher, sealed, _place(table, column, row))


class Vault:
    """Makes and opens the keys of persons.

    Parameters
    ----------
    reload : callable or None
        Reads the source of the master keys again. It is asked when a row names a master key that is unknown,
        which another process made current; and after it did not help, not for the same key again for 5 s.
    monotonic : callable
        Seconds, to measure these 5 by.
    """

    def __init__(
        self,
        masters: Keyring,
        *,
        reload: Callable[[], Keyring] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._masters = masters
        self._reload = reload
        self._monotonic = monotonic
        self._not_before: dict[bytes, float] = {}

    @property
    def masters(self) -> Keyring:
        """The master keys as they were read last."""
        return self._masters

    def new_key(self, client: int, person: bytes | None, now: int) -> tuple[PersonKeyRow, DataKey]:
        """Make the key of a person.

        Parameters
        ----------
        person : bytes or None
            Pseudonym; None where nothing ties this person to others.
        now : int
            Microseconds.

        Returns
        -------
        PersonKeyRow
            To be inserted with what the key seals.
        """
        key_id, secret, master = new_id(now), os.urandom(KEY_BYTES), self._masters.current
        wrapped = master.seal(secret, place=_key_place(key_id, client))
        return PersonKeyRow(key_id, client, person, master.id, wrapped), DataKey(secret)

    def open_key(self, row: PersonKeyRow) -> DataKey:
        """Unwrap the key of a person.

        Raises
        ------
        UnknownMasterKey
            If a master key wrapped it that the source does not give, read again or not.
        Unreadable
            If the row was changed.
        """
        return DataKey(self._unwrap(row))

    def rewrap(self, row: PersonKeyRow) -> PersonKeyRow:
        """Wrap the key of a person under the current master key. What it sealed stays as it is.

        Raises
        ------
        UnknownMasterKey, Unreadable
            As `open_key`.
        """
        secret, master = self._unwrap(row), self._masters.current
        wrapped = master.seal(secret, place=_key_place(row.key_id, row.client))
        return row._replace(master_id=master.id, wrapped=wrapped)

    def learn(self, master_id: bytes) -> None:
        """Read the source again if it may have become the current key since; otherwise do nothing.

        Parameters
        ----------
        master_id : bytes
            Of the key that another process wraps under.
        """
        try:
            self._master(master_id)
        except UnknownMasterKey:
            return  # the first to need it will say so

    def _unwrap(self, row: PersonKeyRow) -> bytes:
        return self._master(row.master_id).open(row.wrapped, place=_key_place(row.key_id, row.client))

    def _master(self, master_id: bytes) -> KeyEncryptionKey:
        try:
            return self._masters.find(master_id)
        except UnknownMasterKey:
            return self._reloaded(master_id)

    def _reloaded(self, master_id: bytes) -> KeyEncryptionKey:
        if self._reload is None or self._monotonic() < self._not_before.get(master_id, 0.0):
            raise UnknownMasterKey(master_id)
        try:
            masters = self._reload()
            found = masters.find(master_id)
        except (MasterKeyError, UnknownMasterKey) as error:
            # Every request for such a person would run the operator's command once more.
            self._not_before[master_id] = self._monotonic() + RELOAD_SECONDS
            raise UnknownMasterKey(master_id) from error
        self._masters = masters
        return found


def _place(table: str, column: str, row: bytes) -> bytes:
    return f"{table}\0{column}\0".encode() + row  # names hold no NUL


def _key_place(key_id: bytes, client: int) -> bytes:
    return b"person_keys\0wrapped\0" + key_id + client.to_bytes(8, "big", signed=True)
