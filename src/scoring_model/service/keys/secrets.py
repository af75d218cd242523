"""The root secret of a database, and the keys that come from it.

It is made once and kept in the database, wrapped by the master key: links must stay equal for as long as
there is history, whatever becomes of master keys.
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
from scoring_model.service.core.store import Reader, Store
from scoring_model.service.keys.keyring import ID_BYTES, Keyring, seal, unseal

ROOT_FACT: Final = "root_secret"
CHECK_FACT: Final = "root_check"
ROOT_POOL: Final = ""
"""The lock under which the root secret is written: no client's pool has this name."""

_ROOT_BYTES: Final = 32
_ROOT_PLACE: Final = b"facts\0root_secret"


class WrongSecret(Exception):
    """The root secret of a database is not the one that its history was hashed with, or is gone."""


class Purpose(StrEnum):
    """What a digest is of. Digests of different purposes have nothing to do with each other."""

    REQUEST = "request"  # client, method, path and idempotency key
    BODY = "body"  # of a request
    ROW = "row"  # of features
    ADDRESS = "address"  # that a failed login came from


class Secrets:
    """What comes from a root secret.

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
        """32 bytes that no other root secret gives, and that reveal nothing of this one."""
        return self._derive("check")

    def link_key(self, pool: str) -> bytes:
        """The key that hashes what links the records of a pool.

        Returns
        -------
        bytes
            32 bytes.
        """
        return self._derive("link", pool)

    def amount_key(self, pool: str) -> bytes:
        """The key that masks the amounts in the link rows of a pool.

        Returns
        -------
        bytes
            32 bytes.
        """
        return self._derive("amount", pool)

    def digest(self, purpose: Purpose, data: bytes, *, size: Literal[16, 32] = 32) -> bytes:
        """Hash data so that nobody without the root secret can find what it was, or guess and compare.

        Parameters
        ----------
        size : 16 or 32
            Bytes.
        """
        return blake2b(data, digest_size=size, key=self._digest_keys[purpose]).digest()

    def seal(self, place: bytes, plaintext: bytes) -> bytes:
        """Encrypt what is the service's own, such as the secrets of webhooks.

        Parameters
        ----------
        place : bytes
            Table, column and row where it will lie; it opens nowhere else.
        """
        return seal(self._cipher, plaintext, place)

    def open(self, place: bytes, sealed: bytes) -> bytes:
        """Decrypt what `seal` returned for the same place.

        Raises
        ------
        Unreadable
            If another root secret sealed it, at another place, or its bytes were changed.
        """
        return unseal(self._cipher, sealed, place)

    def wrap(self, masters: Keyring) -> bytes:
        """The root secret under the current master key: the key's id, then what is sealed."""
        return masters.current.id + masters.current.seal(self._root, place=_ROOT_PLACE)

    def _derive(self, use: str, name: str = "") -> bytes:
        # No use holds a NUL, so that no two pairs give one text.
        information = f"scoring-model\0{use}\0{name}".encode("utf-8", "surrogatepass")
        return HKDF(algorithm=SHA256(), length=32, salt=None, info=information).derive(self._root)


def unwrap(wrapped: bytes, masters: Keyring) -> Secrets:
    """Undo `Secrets.wrap`.

    Raises
    ------
    UnknownMasterKey
        If a master key wrapped it that is not among these.
    Unreadable
        If its bytes were changed.
    """
    master = masters.find(wrapped[:ID_BYTES])
    return Secrets(master.open(wrapped[ID_BYTES:], place=_ROOT_PLACE))


async def load_or_create(store: Store, masters: Keyring) -> Secrets:
    """Read the root secret of a database, or make that of a new one.

    Raises
    ------
    UnknownMasterKey, Unreadable
        If it can't be unwrapped.
    WrongSecret
        If it is not the one that the database began with, or only one of the two facts about it is there.
    StoreUnavailable
    """
    async with store.reading() as reader:
        wrapped, check = await _facts(reader)
    if wrapped is None or check is None:
        return await _create(store, masters)
    return _checked(wrapped, check, masters)


async def _create(store: Store, masters: Keyring) -> Secrets:
    # Under the lock, since another process may make both facts between two looks at them.
    async with store.writing((ROOT_POOL,)) as transaction:
        wrapped, check = await _facts(transaction)
        if wrapped is not None and check is not None:
            return _checked(wrapped, check, masters)
        if wrapped is not None or check is not None:
            raise WrongSecret(f"the database lacks the fact {ROOT_FACT if wrapped is None else CHECK_FACT}")
        made = Secrets(os.urandom(_ROOT_BYTES))
        await transaction.insert([FactRow(ROOT_FACT, made.wrap(masters)), FactRow(CHECK_FACT, made.check)])
    return made


async def _facts(reader: Reader) -> tuple[bytes | None, bytes | None]:
    return await reader.fact(ROOT_FACT), await reader.fact(CHECK_FACT)


def _checked(wrapped: bytes, check: bytes, masters: Keyring) -> Secrets:
    found = unwrap(wrapped, masters)
    if not hmac.compare_digest(found.check, check):
        raise WrongSecret("the root secret of the database is not the one that its history was hashed with")
    return found
