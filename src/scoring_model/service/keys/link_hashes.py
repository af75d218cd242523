"""Hashes of link keys, which link the records of a history scope, and masks over the amounts in link rows.

A hash is BLAKE2b (RFC 7693), keyed per history scope, of the name of the link key and each normalised part, all
length-prefixed, so that different link keys never collide. Hashes are equal exactly where `history.key_of` is. A
client's own references have no meaning for other clients of its scope, so they are hashed with the client's number.

An amount can't be sealed under the person's key, because an erasure must not change the sums of others. It is XORed
with a pad of 64 bits derived from the root secret: AES-256 in CBC-MAC over the two blocks (hash; instant and place of
the amount), under the amount key of the history scope. Over messages of one length that is a pseudorandom function
(Bellare, Kilian and Rogaway 2000, doi:10.1006/jcss.1999.1694). Hash, instant and tie are the key of a row, and the tie
is in the upper half of the place, so no two rows share a pad, nor do two amounts of a row. A missing amount is masked
too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, islice
from operator import itemgetter
from struct import Struct
from typing import Final

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB

from scoring_model.arrays import IntArray
from scoring_model.contract.fields import REFERENCE_FIELDS
from scoring_model.history import PERSON, LinkKey
from scoring_model.history.keys import PERSONS
from scoring_model.history.parts import key_part
from scoring_model.service.keys.secrets import Secrets
from scoring_model.service.store import Past

HASH_BYTES: Final = 16
_LENGTH: Final = Struct("<I")
MOST_SCOPES: Final = 4096
"""History scopes whose keyed hashers and ciphers are cached."""

_WORD: Final = np.dtype("<i8")
_TIME, _PERSON, _LABELS, _AMOUNT, _MORE = map(itemgetter, range(5))  # of a `Past`
_TIE = itemgetter(-1)
_TIE_SHIFT: Final = 32
_NONE: Final = -(2**63)
"""Represents a missing amount: far above any real one."""


@dataclass(slots=True)  # not frozen: one is created per request, in a third of the time
class Links:
    """The links of a record to others.

    Parameters
    ----------
    person : bytes or None
        Pseudonym of the person, 16 bytes; None if the record identifies no person.
    hashes : tuple of (str, bytes)
        Name and 16-byte hash of each link key that has a value, in order.
    """

    person: bytes | None
    hashes: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class _Recipe:
    """How one link key is hashed: `head` begins the text; with `of_client`, the client's number follows."""

    name: str
    parts: tuple[str, ...]
    head: bytes
    of_client: bool


def _recipe(name: str, parts: tuple[str, ...]) -> _Recipe:
    head = _framed(name) + len(parts).to_bytes(4, "little")
    return _Recipe(name, parts, head, any(part in REFERENCE_FIELDS for part in parts))


class Linker:
    """Hashes the link keys of records.

    Parameters
    ----------
    link_keys : tuple of LinkKey
        The link keys of the bundle. The key ``person`` is hashed as the person: names and date of birth, else the
        client's reference, else the identity.
    """

    def __init__(self, secrets: Secrets, link_keys: tuple[LinkKey, ...]) -> None:
        self._recipes = tuple(_recipe(key.name, () if key.name == PERSON else key.parts) for key in link_keys)
        self._persons = tuple(_recipe(name, parts) for name, parts in PERSONS)
        used = {part for recipe in (*self._recipes, *self._persons) for part in recipe.parts}
        self._texts = [(part, key_part(part).of) for part in used]
        # Keying costs as much as hashing, so every hash starts from a copy of a keyed hasher.
        self._hasher = lru_cache(MOST_SCOPES)(
            lambda scope: blake2b(digest_size=HASH_BYTES, key=secrets.link_key(scope))
        )

    def link(
        self, history_scope: str, client: int, values: Mapping[str, object], *, person: bytes | None = None
    ) -> Links:
        """Hash all link keys of a record.

        Parameters
        ----------
        values : mapping of str to object
            Canonical values by field name.
        person : bytes, optional
            `Links.person` of the same values, if it is known.
        """
        framed = {part: _framed(text) for part, of in self._texts if (text := of(values)) is not None}
        hasher = self._hasher(history_scope)
        number = client.to_bytes(8, "little", signed=True)
        for recipe in self._persons:
            person = person or _hash(hasher, recipe, number, framed)
        hashes = []
        for recipe in self._recipes:
            found = person if recipe.name == PERSON else _hash(hasher, recipe, number, framed)
            if found is not None:
                hashes.append((recipe.name, found))
        return Links(person, tuple(hashes))


def split_hashes(packed: bytes | None) -> list[bytes]:
    """Split the concatenated hashes of a verification; none after erasure."""
    packed = packed or b""
    return [packed[at : at + HASH_BYTES] for at in range(0, len(packed), HASH_BYTES)]


def _framed(text: str) -> bytes:
    # Lone surrogates are accepted.
    encoded = text.encode("utf-8", "surrogatepass")
    return _LENGTH.pack(len(encoded)) + encoded


def _hash(hasher: blake2b, recipe: _Recipe, client: bytes, framed: Mapping[str, bytes]) -> bytes | None:
    """Return the hash of one link key; None if the record lacks a part of it."""
    pieces = [recipe.head, client] if recipe.of_client else [recipe.head]
    for part in recipe.parts:
        if part not in framed:
            return None
        pieces.append(framed[part])
    keyed = hasher.copy()
    keyed.update(b"".join(pieces))
    return keyed.digest()


class Masks:
    """Masks and unmasks amounts."""

    def __init__(self, secrets: Secrets) -> None:
        # ECB encrypts single blocks only: the chaining is done here, for many rows in one call.
        self._cipher = lru_cache(MOST_SCOPES)(lambda scope: Cipher(AES(secrets.amount_key(scope)), ECB()))

    def mask(
        self,
        history_scope: str,
        hashes: Sequence[bytes],
        time: int,
        units: int | None,
        place: int = 0,
        ties: Sequence[int] = (),
    ) -> list[int]:
        """Mask an amount of one event, `Amount.units`, for each of its link rows: 64 bits as a signed number.

        `place` is the index of the amount among those of the history; `ties` are those of the rows, by default 0.
        """
        times = np.full(len(hashes), time, dtype=_WORD)
        places = np.array(ties or [0] * len(hashes), dtype=_WORD) << _TIE_SHIFT | place
        pads = self._pads(history_scope, hashes, [1] * len(hashes), times, places)
        masked: list[int] = (pads ^ (_NONE if units is None else units)).tolist()
        return masked

    def unmask(
        self, history_scope: str, pasts: Mapping[bytes, Sequence[Past]], amounts: int = 1
    ) -> dict[bytes, list[Past]]:
        """Unmask the amounts in the histories of some hashes of one history scope.

        Parameters
        ----------
        pasts : mapping of bytes to sequence of Past
            With the first amount, any others packed into one value, and the tie.
        amounts : int
            Number of amounts per event.
        """
        events = list(chain.from_iterable(pasts.values()))
        hashes, counts = list(pasts), [len(past) for past in pasts.values()]
        times = np.fromiter(map(_TIME, events), _WORD, len(events))
        masked = [np.fromiter(map(_AMOUNT, events), _WORD, len(events))]
        if amounts > 1:
            more = np.frombuffer(b"".join(map(_MORE, events)), dtype=_WORD)
            masked.extend(more.reshape(-1, amounts - 1).T)
        ties = np.fromiter(map(_TIE, events), _WORD, len(events)) << _TIE_SHIFT
        columns = [
            _without_none((column ^ self._pads(history_scope, hashes, counts, times, ties | place)).tolist())
            for place, column in enumerate(masked)
        ]
        clear = zip(*(map(part, events) for part in (_TIME, _PERSON, _LABELS)), *columns, strict=True)
        # Each history takes one pad per event.
        return {value: list(islice(clear, count)) for value, count in zip(hashes, counts, strict=True)}

    def _pads(
        self,
        history_scope: str,
        hashes: Sequence[bytes],
        counts: Sequence[int],
        times: IntArray,
        places: IntArray,
    ) -> IntArray:
        """Return the pads of one amount for each instant; `counts` has the number of instants per hash."""
        encrypt = self._cipher(history_scope).encryptor().update
        first = np.frombuffer(encrypt(b"".join(hashes)), dtype=_WORD).reshape(-1, 2)
        blocks = np.repeat(first, counts, axis=0)
        blocks[:, 0] ^= times
        blocks[:, 1] ^= places
        return np.frombuffer(encrypt(blocks.tobytes()), dtype=_WORD)[::2]


def _without_none(units: list[int]) -> Sequence[int | None]:
    return [None if one == _NONE else one for one in units] if _NONE in units else units
