import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.service.core.rows import FactRow
from scoring_model.service.keys.keyring import KeyEncryptionKey, Keyring, UnknownMasterKey, Unreadable
from scoring_model.service.keys.secrets import (
    CHECK_FACT,
    ROOT_FACT,
    Purpose,
    Secrets,
    WrongSecret,
    load_or_create,
    unwrap,
)
from scoring_model.service.store import Reader, Store
from store_story import run_story, with_store

ROOT = bytes(range(32))
SECRETS = Secrets(ROOT)
OTHER = Secrets(bytes(32))
OLD, NEW = KeyEncryptionKey(bytes(range(32, 64))), KeyEncryptionKey(bytes(range(64, 96)))


def _hkdf(secret: bytes, information: bytes, length: int) -> bytes:
    """HKDF with SHA-256 and no salt, as RFC 5869, section 2, writes it."""
    key = hmac.new(bytes(32), secret, hashlib.sha256).digest()
    block, made, number = b"", b"", 0
    while len(made) < length:
        number += 1
        block = hmac.new(key, block + information + bytes([number]), hashlib.sha256).digest()
        made += block
    return made[:length]


def test_derivation_is_that_of_the_standard() -> None:
    """Keys come by HKDF: the oracle gives the vector of RFC 5869, A.3, and the same keys as ours."""
    vector = "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
    assert _hkdf(b"\x0b" * 22, b"", 42).hex() == vector
    assert SECRETS.link_key("pool") == _hkdf(ROOT, b"scoring-model\0link\0pool", 32)
    assert SECRETS.amount_key("pool") == _hkdf(ROOT, b"scoring-model\0amount\0pool", 32)
    assert SECRETS.check == _hkdf(ROOT, b"scoring-model\0check\0", 32)


def test_digest_is_keyed_blake2b() -> None:
    """A digest is BLAKE2b (RFC 7693) under a key of its purpose; its length is hashed with it."""
    key = _hkdf(ROOT, b"scoring-model\0digest\0row", 32)
    assert SECRETS.digest(Purpose.ROW, b"x") == hashlib.blake2b(b"x", digest_size=32, key=key).digest()
    short = SECRETS.digest(Purpose.ROW, b"x", size=16)
    assert short == hashlib.blake2b(b"x", digest_size=16, key=key).digest()
    assert not SECRETS.digest(Purpose.ROW, b"x").startswith(short)


def test_no_two_uses_share_a_key() -> None:
    """History scopes, purposes and databases have independent keys."""
    pools = [
        key(pool)
        for secrets in (SECRETS, OTHER)
        for key in (secrets.link_key, secrets.amount_key)
        for pool in ("1", "2", "", "link", "amount", "1\0")
    ]
    digests = [secrets.digest(purpose, b"") for secrets in (SECRETS, OTHER) for purpose in Purpose]
    assert len({*pools, *digests, SECRETS.check, OTHER.check, ROOT}) == len(pools) + len(digests) + 3


def test_root_has_its_length() -> None:
    """A root secret is 32 bytes, and an error about one does not show it."""
    with pytest.raises(ValueError, match="must be 32 bytes, got 31"):
        Secrets(bytes(31))
    assert "object at" in repr(SECRETS)


@given(st.binary(max_size=100), st.binary(max_size=100))
def test_webhooks_what_was_sealed_opens_again(associated_data: bytes, plaintext: bytes) -> None:
    """What is the service's own opens with its associated data and root secret, and with no others."""
    sealed = SECRETS.seal(associated_data, plaintext)
    assert SECRETS.open(associated_data, sealed) == plaintext
    for secrets, where in ((OTHER, associated_data), (SECRETS, associated_data + b"x")):
        with pytest.raises(Unreadable):
            secrets.open(where, sealed)


def test_wrapped_root_names_its_master_key() -> None:
    """The wrapped root secret begins with the id of its master key, and any of the source opens it."""
    wrapped = SECRETS.wrap(Keyring(OLD))
    assert wrapped[:8] == OLD.id
    assert ROOT not in wrapped
    assert unwrap(wrapped, Keyring(NEW, (OLD,))).check == SECRETS.check
    with pytest.raises(UnknownMasterKey, match=OLD.id.hex()) as caught:
        unwrap(wrapped, Keyring(NEW))
    assert caught.value.master_id == OLD.id
    with pytest.raises(Unreadable):
        unwrap(wrapped[:-1], Keyring(OLD))


def test_a_database_keeps_its_secret(store_url: str) -> None:
    """A root secret is made once, and found again with the master key."""

    async def twice(store: Store) -> tuple[Secrets, Secrets]:
        return await load_or_create(store, Keyring(OLD)), await load_or_create(store, Keyring(NEW, (OLD,)))

    first, second = run_story(store_url, twice)
    assert first.check == second.check
    assert first.check != SECRETS.check


def test_many_that_start_at_once_agree(store_url: str) -> None:
    """Servers that start together on a new database make one root secret."""

    async def together(store: Store) -> list[Secrets]:
        return await asyncio.gather(*(load_or_create(store, Keyring(OLD)) for _ in range(8)))

    assert len({secrets.check for secrets in run_story(store_url, together)}) == 1


class _Overtaken:
    """A reader of a new database between whose first two looks another process makes the root secret."""

    def __init__(self, store: Store, reader: Reader) -> None:
        self._store = store
        self._reader = reader
        self.looks = 0

    async def fact(self, name: str) -> bytes | None:
        self.looks += 1
        if self.looks == 2:
            await load_or_create(self._store, Keyring(OLD))
        return await self._reader.fact(name)


class _OvertakenStore:
    """A store all of whose readers are overtaken."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.writing = store.writing

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[_Overtaken]:
        async with self._store.reading() as reader:
            yield _Overtaken(self._store, reader)


def test_a_server_that_is_overtaken_takes_what_the_other_made(store_url: str) -> None:
    """A root secret that appears between two looks at its facts is no contradiction."""

    async def overtaken(store: Store) -> tuple[Secrets, Secrets]:
        found = await load_or_create(cast(Store, _OvertakenStore(store)), Keyring(OLD))
        return found, await load_or_create(store, Keyring(OLD))

    mine, theirs = run_story(store_url, overtaken)
    assert mine.check == theirs.check


@with_store
async def test_a_foreign_master_key_is_refused(store: Store) -> None:
    """A server without the master key does not start, and does not make another secret."""
    made = await load_or_create(store, Keyring(OLD))
    with pytest.raises(UnknownMasterKey):
        await load_or_create(store, Keyring(NEW))
    assert (await load_or_create(store, Keyring(OLD))).check == made.check


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({ROOT_FACT: SECRETS.wrap(Keyring(OLD)), CHECK_FACT: OTHER.check}, "not the one"),
        ({ROOT_FACT: SECRETS.wrap(Keyring(OLD))}, "lacks the fact root_check"),
        ({CHECK_FACT: SECRETS.check}, "lacks the fact root_secret"),
    ],
)
@with_store
async def test_another_root_secret_is_refused(store: Store, facts: dict[str, bytes], why: str) -> None:
    """History that was hashed with another secret, or one that is gone, is never continued silently."""
    async with store.writing(()) as transaction:
        await transaction.insert([FactRow(name, value) for name, value in facts.items()])
    with pytest.raises(WrongSecret, match=why):
        await load_or_create(store, Keyring(OLD))
