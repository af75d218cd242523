"""Link keys: normalised values that link records, for one record and for a table.

The same normalisers run offline on the distinct values of a column and online on one value.

Decision record: docs/adr/0009-persons-and-identities.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.contract.fields import IDENTITY_ID
from scoring_model.contract.violation import Invalid
from scoring_model.history.parts import combined_codes, key_part, part_violations
from scoring_model.records import RecordTable

PERSON = "person"
"""The link key of a person; always present, since it identifies distinct persons."""

PERSON_PARTS = ("firstName", "lastName", "dob")
PERSONS = (
    (PERSON, PERSON_PARTS),
    (PERSON, ("subjectId",)),
    (f"{PERSON} of identity", (IDENTITY_ID,)),
)
"""What a person is known by, in this order, and the name under which it is hashed.

An identity has a name of its own: a client may use the id of one as its reference for another person.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkKey:
    """A named combination of fields.

    Parameters
    ----------
    name : str
        Such as ``address`` or ``device``.
    parts : tuple of str
        Field names, or parts as in `parts`: ``lastName:phonetic``, ``firstName+lastName``. A record has no key if
        normalisation leaves nothing of one part. Of ``imageUrls`` only the first counts.

    Raises
    ------
    Invalid
        With all violations of the parts.
    """

    name: str
    parts: tuple[str, ...]

    def __post_init__(self) -> None:
        if violations := part_violations(self.parts):
            raise Invalid(violations, f"link key {self.name}")

    @property
    def fields(self) -> tuple[str, ...]:
        """List the distinct fields read, in the order of the parts."""
        return tuple(dict.fromkeys(field for part in self.parts for field in key_part(part).fields))


def key_of(values: Mapping[str, object], key: LinkKey) -> tuple[str, ...] | None:
    """Return the key of one record, or None; equal keys link records."""
    if key.name == PERSON:
        return person_of(values)
    return _parts_of(values, key.parts)


def person_of(values: Mapping[str, object]) -> tuple[str, ...] | None:
    """Return the person of one record: normalised names and date of birth, else client's reference, else identity."""
    for name, parts in PERSONS:
        found = _parts_of(values, parts)
        if found is not None:
            return found if name == PERSON else (name, *found)
    return None


def key_codes(table: RecordTable, key: LinkKey) -> IntArray:
    """Return the codes of a table's keys, equal where `key_of` is equal.

    Returns
    -------
    ndarray of shape (n,), int64
        Negative where a record has no such key.
    """
    if key.name == PERSON:
        return person_codes(table, alone=False)
    return _part_codes(table, key.parts)


def person_codes(table: RecordTable, *, alone: bool) -> IntArray:
    """Return the codes of a table's persons.

    Parameters
    ----------
    alone : bool
        Whether a record without a known person counts as a separate person; otherwise its code is negative.

    Returns
    -------
    ndarray of shape (n,), int64
    """
    codes = _part_codes(table, PERSON_PARTS)
    for _, parts in PERSONS[1:]:
        references = _part_codes(table, parts)
        by_reference = (codes < 0) & (references >= 0)
        codes[by_reference] = references[by_reference] + codes.max(initial=-1) + 1
    if alone:
        unknown = codes < 0
        codes[unknown] = np.arange(unknown.sum()) + codes.max(initial=-1) + 1
    return codes


def _parts_of(values: Mapping[str, object], parts: Sequence[str]) -> tuple[str, ...] | None:
    found = []
    for part in parts:
        text = key_part(part).of(values)
        if text is None:
            return None
        found.append(text)
    return tuple(found)


def _part_codes(table: RecordTable, parts: Sequence[str]) -> IntArray:
    return combined_codes([key_part(part).codes(table) for part in parts])
