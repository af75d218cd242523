"""What links records: keyed hashes of their link keys, equal where `history.key_of` is, within one pool.

A hash is BLAKE2b (RFC 7693) under the pool's key of the name of the link key, then each normalised part with
its length before it: neither can a part run into the next, nor one link key meet another. References of a
client's own say nothing to other clients of its pool, so its number is hashed with them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Final

from scoring_model.history import PERSON, LinkKey, key_of
from scoring_model.history.keys import PERSON_PARTS, SUBJECT
from scoring_model.records.fields import REFERENCE_FIELDS
from scoring_model.service.core.secrets import Secrets

HASH_BYTES: Final = 16
_POOLS: Final = 4096  # whose hashers are kept


@dataclass(frozen=True, slots=True)
class Links:
    """What ties one record to others.

    Parameters
    ----------
    person : bytes or None
        16 bytes, the pseudonym of the person; None where nobody is known.
    hashes : tuple of (str, bytes)
        Name of a link key and 16 bytes, in the order of the link keys; those without a value are left out.
    """

    person: bytes | None
    hashes: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class _Recipe:
    """How one link key is hashed."""

    name: str
    parts: tuple[str, ...]
    prefix: bytes = field(init=False)
    of_client: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "prefix", _framed(self.name) + len(self.parts).to_bytes(4, "little"))
        object.__setattr__(self, "of_client", any(part in REFERENCE_FIELDS for part in self.parts))


class _Parts:
    """The parts of one record, each normalised once however many link keys it is in."""

    __slots__ = ("_found", "_singles", "_values")

    def __init__(self, values: Mapping[str, object], singles: Mapping[str, LinkKey]) -> None:
        self._values = values
        self._singles = singles
        self._found: dict[str, bytes | None] = {}

    def joined(self, parts: Sequence[str]) -> bytes | None:
        """Framed parts, or None if one is missing."""
        found = []
        for part in parts:
            framed = self._found[part] if part in self._found else self._normalised(part)
            if framed is None:
                return None
            found.append(framed)
        return b"".join(found)

    def _normalised(self, part: str) -> bytes | None:
        key = key_of(self._values, self._singles[part])
        framed = self._found[part] = None if key is None else _framed(key[0])
        return framed


class Linker:
    """Hashes the link keys of records.

    Parameters
    ----------
    secrets : Secrets
    link_keys : tuple of LinkKey
        Those of the bundle. The key ``person`` is hashed as the person.
    """

    def __init__(self, secrets: Secrets, link_keys: tuple[LinkKey, ...]) -> None:
        self._recipes = tuple(_Recipe(key.name, () if key.name == PERSON else key.parts) for key in link_keys)
        self._persons = (_Recipe(PERSON, PERSON_PARTS), _Recipe(PERSON, (SUBJECT,)))
        used = {part for recipe in (*self._recipes, *self._persons) for part in recipe.parts}
        self._singles = {part: LinkKey(name=part, parts=(part,)) for part in used}
        # Keying a hash costs as much as hashing: every hash starts from a copy of the keyed one.
        self._hasher = lru_cache(_POOLS)(
            lambda pool: blake2b(digest_size=HASH_BYTES, key=secrets.link_key(pool))
        )

    def link(self, pool: str, client: int, values: Mapping[str, object]) -> Links:
        """Hash all link keys of a record.

        Parameters
        ----------
        pool : str
            Whose history the client shares.
        client : int
        values : mapping of str to object
            Canonical values by field name.

        Returns
        -------
        Links
        """
        parts = _Parts(values, self._singles)
        person = self._person(pool, client, parts)
        hashes = []
        for recipe in self._recipes:
            found = person if recipe.name == PERSON else self._hash(recipe, pool, client, parts)
            if found is not None:
                hashes.append((recipe.name, found))
        return Links(person, tuple(hashes))

    def person_key(self, pool: str, client: int, values: Mapping[str, object]) -> bytes | None:
        """Hash the person of a record alone: names and date of birth, else the client's reference.

        Parameters
        ----------
        pool : str
        client : int
        values : mapping of str to object
            Canonical values by field name.

        Returns
        -------
        bytes or None
            `Links.person` of the same record.
        """
        return self._person(pool, client, _Parts(values, self._singles))

    def _person(self, pool: str, client: int, parts: _Parts) -> bytes | None:
        for recipe in self._persons:
            found = self._hash(recipe, pool, client, parts)
            if found is not None:
                return found
        return None

    def _hash(self, recipe: _Recipe, pool: str, client: int, parts: _Parts) -> bytes | None:
        joined = parts.joined(recipe.parts)
        if joined is None:
            return None
        hasher = self._hasher(pool).copy()
        hasher.update(recipe.prefix)
        if recipe.of_client:
            hasher.update(client.to_bytes(8, "little", signed=True))
        hasher.update(joined)
        return hasher.digest()


def _framed(text: str) -> bytes:
    # A lone surrogate is no text, but no reason to fail either.
    encoded = text.encode("utf-8", "surrogatepass")
    return len(encoded).to_bytes(4, "little") + encoded
