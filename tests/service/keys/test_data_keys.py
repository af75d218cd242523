import os
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.service.keys.data_keys import DataKey, Vault
from scoring_model.service.keys.keyring import (
    KeyEncryptionKey,
    Keyring,
    MasterKeyError,
    UnknownMasterKey,
    Unreadable,
)
from stored_rows import broken

OLD, NEW, THIRD = (KeyEncryptionKey(bytes(range(first, first + 32))) for first in range(3))
NOW = 1_700_000_000_000_000
PERSON = b"p" * 16
ROW = b"r" * 16


def _sealed(key: DataKey, plaintext: bytes = b"text") -> bytes:
    return key.seal(plaintext, table="identities", column="payload", row=ROW)


def _opened(key: DataKey, sealed: bytes) -> bytes:
    return key.open(sealed, table="identities", column="payload", row=ROW)


@given(st.binary(max_size=3000))
def test_what_was_sealed_opens_again(plaintext: bytes) -> None:
    """A key that went through its row opens what it sealed before."""
    vault = Vault(Keyring(OLD))
    row, key = vault.new_key(7, PERSON, NOW)
    assert _opened(vault.open_key(row), _sealed(key, plaintext)) == plaintext


def test_row_says_whose_key_it_is() -> None:
    """The row names client, person and master key; its id is of version 7; the key itself is not in it."""
    row, key = Vault(Keyring(OLD)).new_key(7, PERSON, NOW)
    assert (row.client, row.person, row.master_id) == (7, PERSON, OLD.id)
    assert uuid.UUID(bytes=row.key_id).version == 7
    assert len(row.wrapped) == 12 + 32 + 16
    assert repr(key) == "DataKey()"


def test_every_key_is_another() -> None:
    """No two keys are equal, of one person or of none."""
    vault = Vault(Keyring(OLD))
    keys = [vault.new_key(7, person, NOW) for person in (PERSON, PERSON, None, None)]
    assert len({row.key_id for row, _ in keys}) == 4
    sealed = _sealed(keys[0][1])
    for _, key in keys[1:]:
        with pytest.raises(Unreadable):
            _opened(key, sealed)


@pytest.mark.parametrize(
    "column",
    [
        ("verifications", "payload", ROW),
        ("identities", "links", ROW),
        ("identities", "payload", b"s" * 16),
        ("identitie", "spayload", ROW),
        ("identities", "payloa", b"d\0" + ROW),
    ],
)
def test_privacy_a_ciphertext_opens_in_its_own_column_and_row_alone(column: tuple[str, str, bytes]) -> None:
    """Table, column and row are bound, and none of them can run into the next."""
    _, key = Vault(Keyring(OLD)).new_key(7, PERSON, NOW)
    with pytest.raises(Unreadable):
        key.open(_sealed(key), table=column[0], column=column[1], row=column[2])


def test_wrapped_key_belongs_to_its_row_and_client() -> None:
    """A wrapped key that was put into another row, or given to another client, does not open."""
    vault = Vault(Keyring(OLD))
    (row, _), (other, _) = vault.new_key(7, PERSON, NOW), vault.new_key(7, PERSON, NOW)
    for wrong in (
        row._replace(wrapped=other.wrapped),
        row._replace(client=8),
        row._replace(wrapped=broken(row.wrapped)),
        row._replace(wrapped=b""),
    ):
        with pytest.raises(Unreadable):
            vault.open_key(wrong)


def test_rewrapping_keeps_the_key() -> None:
    """After a rotation the new master key alone opens what was sealed before it."""
    row, key = Vault(Keyring(OLD)).new_key(7, PERSON, NOW)
    wrapped = Vault(Keyring(NEW, (OLD,))).rewrap(row)
    assert (wrapped.master_id, wrapped[:3]) == (NEW.id, row[:3])
    assert _opened(Vault(Keyring(NEW)).open_key(wrapped), _sealed(key)) == b"text"
    with pytest.raises(UnknownMasterKey):
        Vault(Keyring(OLD)).open_key(wrapped)


class _Source:
    """A source of master keys that can be changed, and counts how often it is read."""

    def __init__(self, keys: Keyring) -> None:
        self.keys: Keyring | None = keys
        self.reads = 0

    def __call__(self) -> Keyring:
        self.reads += 1
        if self.keys is None:
            raise MasterKeyError("it is gone")
        return self.keys


def test_unknown_master_key_is_looked_for_in_the_source() -> None:
    """A vault that meets a key of a rotation reads its source once, and wraps under the new key from then on."""
    row, _ = Vault(Keyring(NEW)).new_key(7, PERSON, NOW)
    source = _Source(Keyring(NEW, (OLD,)))
    vault = Vault(Keyring(OLD), reload=source)
    vault.open_key(row)
    vault.open_key(row)
    assert source.reads == 1
    assert vault.keyring == source.keys
    assert vault.new_key(7, PERSON, NOW)[0].master_id == NEW.id


def test_source_that_does_not_help_is_left_alone_for_a_while() -> None:
    """A lost master key does not run the operator's command for every request, but is found once it is back."""
    clock = [1000.0]
    row, _ = Vault(Keyring(NEW)).new_key(7, PERSON, NOW)
    source = _Source(Keyring(OLD))
    vault = Vault(Keyring(OLD), reload=source, monotonic=lambda: clock[0])
    for _ in range(3):
        with pytest.raises(UnknownMasterKey):
            vault.open_key(row)
    assert source.reads == 1
    source.keys = None
    clock[0] += 5.0
    with pytest.raises(UnknownMasterKey):
        vault.open_key(row)
    assert (source.reads, vault.keyring) == (2, Keyring(OLD))
    source.keys = Keyring(THIRD)
    clock[0] += 5.0
    with pytest.raises(UnknownMasterKey):
        vault.open_key(row)
    assert (source.reads, vault.keyring) == (3, Keyring(OLD))
    source.keys = Keyring(NEW, (OLD,))
    clock[0] += 5.0
    vault.open_key(row)
    assert source.reads == 4


def test_learning_reads_only_for_what_is_unknown() -> None:
    """A vault that learns of a rotation takes the new key; a known or unknown key changes nothing."""
    source = _Source(Keyring(NEW, (OLD,)))
    vault = Vault(Keyring(OLD), reload=source)
    vault.learn(OLD.id)
    assert source.reads == 0
    vault.learn(NEW.id)
    assert vault.keyring.primary == NEW
    vault.learn(os.urandom(8))
    assert vault.keyring.primary == NEW


def test_privacy_erasure_is_not_defeated_by_what_was_opened() -> None:
    """A vault keeps nothing of a key: without its row nothing opens, however often it was opened before."""
    vault = Vault(Keyring(OLD))
    row, _ = vault.new_key(7, PERSON, NOW)
    opened = vault.open_key(row)
    assert vault.open_key(row) is not opened
    assert not [
        held for held in vars(vault).values() if isinstance(held, DataKey) or row.key_id in _keys(held)
    ]


def _keys(held: object) -> set[object]:
    return set(held) if isinstance(held, dict) else set()
