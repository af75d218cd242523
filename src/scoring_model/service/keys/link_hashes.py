"""What links records: keyed hashes of their link keys, equal where `history.key_of` is, within one pool.

A hash is BLAKE2b (RFC 7693) under the pool's key of the name of the link key, then each normalised part with
its length before it: neither can a part run into the next, nor one link key meet another. References of a
client's own say nothing to other clients of its pool, so its number is hashed with them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from struct import Struct
from typing import Final

from scoring_model.contract.fields import REFERENCE_FIELDS
from scoring_model.history import PERSON, LinkKey
from scoring_model.history.keys import PERSON_PARTS, SUBJECT
from scoring_model.history.parts import key_part
from scoring_model.service.keys.secrets import Secrets

HASH_BYTES: Final = 16
_LENGTH: Final = Struct("<I")
POOLS: Final = 4096
"""How many pools' keyed beginnings are kept."""


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


class Linker:
    """Hashes the link keys of records.

    Parameters
    ----------
    link_keys : tuple of LinkKey
        Those of the bundle. The key ``person`` is hashed as the person.
    """

    def __init__(self, secrets: Secrets, link_keys: tuple[LinkKey, ...]) -> None:
        self._recipes = tuple(_Recipe(key.name, () if key.name == PERSON else key.parts) for key in link_keys)
        self._persons = (_Recipe(PERSON, PERSON_PARTS), _Recipe(PERSON, (SUBJECT,)))
        used = {part for recipe in (*self._recipes, *self._persons) for part in recipe.parts}
        self._texts = {part: key_part(part).of for part in used}
        # Keying a hash costs as much as hashing: every hash starts from a copy of the keyed one.
        self._hasher = lru_cache(POOLS)(
            lambda pool: blake2b(digest_size=HASH_BYTES, key=secrets.link_key(pool))
        )

    def link(
        self, pool: str, client: int, values: Mapping[str, object], *, person: bytes | None = None
    ) -> Links:
        """Hash all link keys of a record.

        Parameters
        ----------
        pool : str
            Whose history the client shares.
        values : mapping of str to object
            Canonical values by field name.
        person : bytes, optional
            What `person_key` gave of the same values; found here where it is left out.
        """
        framed: dict[str, bytes | None] = {}
        if person is None:
            person = self._person(pool, client, values, framed)
        hashes = []
        for recipe in self._recipes:
            found = person if recipe.name == PERSON else self._hash(recipe, pool, client, values, framed)
            if found is not None:
                hashes.append((recipe.name, found))
        return Links(person, tuple(hashes))

    def person_key(self, pool: str, client: int, values: Mapping[str, object]) -> bytes | None:
        """Hash the person of a record alone: names and date of birth, else the client's reference.

        Parameters
        ----------
        values : mapping of str to object
            Canonical values by field name.

        Returns
        -------
        bytes or None
            `Links.person` of the same record.
        """
        return self._person(pool, client, values, {})

    def _person(
        self, pool: str, client: int, values: Mapping[str, object], framed: dict[str, bytes | None]
    ) -> bytes | None:
        for recipe in self._persons:
            found = self._hash(recipe, pool, client, values, framed)
            if found is not None:
                return found
        return None

    def _hash(
        self,
        recipe: _Recipe,
        pool: str,
        client: int,
        values: Mapping[str, object],
        framed: dict[str, bytes | None],
    ) -> bytes | None:
        """The hash of one link key; `framed` keeps each part, however many link keys it is in."""
        pieces = [recipe.prefix]
        if recipe.of_client:
            pieces.append(client.to_bytes(8, "little", signed=True))
        for part in recipe.parts:
            if part in framed:
                piece = framed[part]
            else:
                text = self._texts[part](values)
                piece = framed[part] = None if text is None else _framed(text)
            if piece is None:
                return None
            pieces.append(piece)
        hasher = self._hasher(pool).copy()
        hasher.update(b"".join(pieces))
        return hasher.digest()


def _framed(text: str) -> bytes:
    # A lone surrogate is no text, but no reason to fail either.
    encoded = text.encode("utf-8", "surrogatepass")
    return _LENGTH.pack(len(encoded)) + encoded
