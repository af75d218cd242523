"""The root secret of a database, and the keys derived from it.

It is created once and stored in the database, wrapped by the master key: hashes of link keys must stay the same for
the lifetime of the history, across rotations of the master key.
"""

import hmac
import os
from enum import StrEnum
from hashlib import blake2b
from typing import Final, Literal

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from scoring_model.service.core.rows import FactRow
from scoring_model.service.keys.keyring import ID_BYTES, Keyring, UnknownMasterKey, seal, unseal
from scoring_model.service.store import Reader, Store

ROOT_FACT: Final = "root_secret"
CHECK_FACT: Final = "root_check"
ROOT_POOL: Final = ""
"""The lock for writing the root secret; no history scope has this name."""

_ROOT_BYTES: Final = 32
_ROOT_ASSOCIATED_DATA: Final = b"facts\0root_secret"


class WrongSecret(Exception):
    """The root secret of a database is missing, or is not the one that its history was hashed with."""


class Purpose(StrEnum):
    """The input of a digest; each purpose has its own key."""

    REQUEST = "request"  # client, method, path and idempotency key
    BODY = "body"  # of a request
    ROW = "row"  # of features
    ADDRESS = "address"  # of a failed login
    SUBJECT = "subject"  # client and its reference for a person
    EXTERNAL = "external"  # client and its reference for an identity
    RECORD = "record"  # client and its id of an imported record
    CURSOR = "cursor"  # client, list, filters and position
    CONTROL = "control"  # person and version of the policy


class Secrets:
    """Keys, digests and encryption derived from a root secret.

    Parameters
    ----------
    root : bytes
        32 bytes.

    References
    ----------
    RFC 5869 (HKDF, with SHA-256 and no salt: the root is uniform already); RFC 7693 (BLAKE2b, keyed).
    """

    def __init__(self, root: bytes) -> None:
        if len(root) != _ROOT_BYTES:
            raise ValueError(f"a root secret must be {_ROOT_BYTES} bytes, got {len(root)}")
        self._root = root
        self._digest_keys = {purpose: self._derive("digest", purpose) for purpose in Purpose}
        self._cipher = AESGCM(self._derive("seal"))

    @property
    def check(self) -> bytes:
        """32 bytes that identify the root secret without revealing it."""
        return self._derive("check")

    def link_key(self, history_scope: str) -> bytes:
        """Return the 32-byte key for hashing the link keys of a history scope."""
        return self._derive("link", history_scope)

    def amount_key(self, history_scope: str) -> bytes:
        """Return the 32-byte key for masking the amounts in the link rows of a history scope."""
        return self._derive("amount", history_scope)

    def digest(self, purpose: Purpose, data: bytes, *, size: Literal[16, 32] = 32) -> bytes:
        """Hash data with the key of a purpose, so that without the root secret it can't be looked up or guessed."""
        return blake2b(data, digest_size=size, key=self._digest_keys[purpose]).digest()

    def reference(self, purpose: Purpose, client: int, reference: str) -> bytes:
        """Hash a reference of a client, 16 bytes; equal references of two clients differ."""
        return self.digest(purpose, f"{client}\0{reference}".encode("utf-8", "surrogatepass"), size=16)

    def seal(self, associated_data: bytes, plaintext: bytes) -> bytes:
        """Encrypt a value that belongs to no person, such as the signing secret of a webhook."""
        return seal(self._cipher, plaintext, associated_data)

    def open(self, associated_data: bytes, sealed: bytes) -> bytes:
        """Decrypt a value from `seal`; raises `Unreadable` if the associated data differs."""
        return unseal(self._cipher, sealed, associated_data)

    def wrap(self, keyring: Keyring) -> bytes:
        """Encrypt the root secret under the primary master key; returns the key's id and the ciphertext."""
        return keyring.primary.id + seal(keyring.primary.cipher, self._root, _ROOT_ASSOCIATED_DATA)

    def _derive(self, use: str, name: str = "") -> bytes:
        # No use contains a NUL, so different pairs give different texts.
        information = f"scoring-model\0{use}\0{name}".encode("utf-8", "surrogatepass")
        return HKDF(algorithm=SHA256(), length=32, salt=None, info=information).derive(self._root)


def unwrap(wrapped: bytes, keyring: Keyring) -> Secrets:
    """Undo `Secrets.wrap`; raises `UnknownMasterKey` or `Unreadable`."""
    master = keyring.by_id.get(wrapped[:ID_BYTES])
    if master is None:
        raise UnknownMasterKey(wrapped[:ID_BYTES])
    return Secrets(unseal(master.cipher, wrapped[ID_BYTES:], _ROOT_ASSOCIATED_DATA))


async def load_or_create(store: Store, keyring: Keyring) -> Secrets:
    """Read the root secret of a database, or create that of a new one.

    Raises
    ------
    UnknownMasterKey, Unreadable
        If it can't be unwrapped.
    WrongSecret
        If it is not the original one of the database, or one of the two facts about it is missing.
    StoreUnavailable
    """
    async with store.reading() as reader:
        wrapped, check = await _facts(reader)
    if wrapped is not None and check is not None:
        return _checked(wrapped, check, keyring)
    # Read again under the lock: another process may have written both facts in the meantime.
    async with store.writing((ROOT_POOL,)) as transaction:
        wrapped, check = await _facts(transaction)
        if wrapped is not None and check is not None:
            return _checked(wrapped, check, keyring)
        if wrapped is not None or check is not None:
            raise WrongSecret(f"the database lacks the fact {ROOT_FACT if wrapped is None else CHECK_FACT}")
        made = Secrets(os.urandom(_ROOT_BYTES))
        await transaction.insert([FactRow(ROOT_FACT, made.wrap(keyring)), FactRow(CHECK_FACT, made.check)])
    return made


async def _facts(reader: Reader) -> tuple[bytes | None, bytes | None]:
    return await reader.fact(ROOT_FACT), await reader.fact(CHECK_FACT)


def _checked(wrapped: bytes, check: bytes, keyring: Keyring) -> Secrets:
    found = unwrap(wrapped, keyring)
    if not hmac.compare_digest(found.check, check):
        raise WrongSecret("the root secret of the database is not the one that its history was hashed with")
    return found
