"""The data keys of the persons in a batch, as they stand under the locks of their history scopes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from scoring_model.service.core.errors import Unavailable
from scoring_model.service.core.rows import PersonKeyRow
from scoring_model.service.keys.data_keys import DataKey, Vault
from scoring_model.service.keys.keyring import UnknownMasterKey
from scoring_model.service.scoring.candidate import Candidate
from scoring_model.service.store import Transaction

KEY_RETRY_SECONDS: Final = 5
"""`Retry-After` while a key-encryption key is missing: another process may have rotated it."""


class PersonKey(NamedTuple):
    """A data key and its identifier."""

    key_id: bytes
    key: DataKey


@dataclass(frozen=True, slots=True)
class PersonKeys:
    """The keys of a batch.

    Parameters
    ----------
    opened : dict of bytes to PersonKey
        By the id of the candidate; one that is missing here and in `unavailable` was erased.
    unavailable : dict of bytes to Unavailable
        Candidates whose key-encryption key is missing.
    new : list of PersonKeyRow
        Keys of persons without one; not written yet.
    """

    opened: dict[bytes, PersonKey] = field(default_factory=dict, repr=False)
    unavailable: dict[bytes, Unavailable] = field(default_factory=dict)
    new: list[PersonKeyRow] = field(default_factory=list)


async def read_keys(
    transaction: Transaction, candidates: Sequence[Candidate], vault: Vault, now: int
) -> PersonKeys:
    """Read and open the key of each candidate; a new person gets a new key."""
    needed = [c.key_row.key_id for c in candidates if c.key_row is not None]
    named = [
        (c.client, c.links.person) for c in candidates if c.key_row is None and c.links.person is not None
    ]
    living = await transaction.person_keys(needed) if needed else {}
    persons = dict(await transaction.persons(named)) if named else {}
    keys = PersonKeys()
    for candidate in candidates:
        person, known = candidate.links.person, candidate.key_row
        if known is not None:
            row = living.get(known.key_id)
        else:
            row = None if person is None else persons.get((candidate.client, person))
        if row is not None:
            _open(keys, candidate, row, vault)
        elif known is None:
            row, key = vault.new_key(candidate.client, person, now)
            keys.opened[candidate.id] = PersonKey(row.key_id, key)
            keys.new.append(row)
            if person is not None:
                persons[candidate.client, person] = row
    return keys


def _open(keys: PersonKeys, candidate: Candidate, row: PersonKeyRow, vault: Vault) -> None:
    key = candidate.opened if row == candidate.key_row else None
    try:
        keys.opened[candidate.id] = PersonKey(row.key_id, vault.open_key(row) if key is None else key)
    except UnknownMasterKey:
        keys.unavailable[candidate.id] = Unavailable(KEY_RETRY_SECONDS)
