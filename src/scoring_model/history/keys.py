"""Link keys: normalised values that tie records together, of one record and of a table.

Offline the normalisers run on the distinct values of a column, online on one value: the same functions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.records import RecordTable, normaliser

PERSON = "person"
"""The link key of a person; always there, since distinct persons are counted and kept apart by it."""

PERSON_PARTS = ("firstName", "lastName", "dob")
SUBJECT = "subjectId"


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkKey:
    """A named combination of fields.

    Parameters
    ----------
    name : str
        Such as ``address`` or ``device``.
    parts : tuple of str
        Field names. A record that lacks one of them, or has nothing left of it after normalisation, has no
        such key. Of ``imageUrls`` the first counts.
    """

    name: str
    parts: tuple[str, ...]


def key_of(values: Mapping[str, object], key: LinkKey) -> tuple[str, ...] | None:
    """The key of one record, or None; equal keys tie records together."""
    if key.name == PERSON:
        return person_of(values)
    return _parts_of(values, key.parts)


def person_of(values: Mapping[str, object]) -> tuple[str, ...] | None:
    """The person of one record: normalised names and date of birth, else the client's own reference."""
    parts = _parts_of(values, PERSON_PARTS)
    return parts if parts is not None else _parts_of(values, (SUBJECT,))


def key_codes(table: RecordTable, key: LinkKey) -> IntArray:
    """Codes of a table's keys, equal where `key_of` is equal.

    Returns
    -------
    ndarray of shape (n,), int64
        Negative where a record has no such key.
    """
    if key.name == PERSON:
        return person_codes(table, alone=False)
    return _part_codes(table, key.parts)


def person_codes(table: RecordTable, *, alone: bool) -> IntArray:
    """Codes of a table's persons.

    Parameters
    ----------
    table : RecordTable
    alone : bool
        Whether a record of nobody known is a person of its own, or negative.

    Returns
    -------
    ndarray of shape (n,), int64
    """
    codes = _part_codes(table, PERSON_PARTS)
    subjects = _part_codes(table, (SUBJECT,))
    by_subject = (codes < 0) & (subjects >= 0)
    codes[by_subject] = subjects[by_subject] + codes.max(initial=-1) + 1
    if alone:
        unknown = codes < 0
        codes[unknown] = np.arange(unknown.sum()) + codes.max(initial=-1) + 1
    return codes


def _normaliser(part: str) -> Callable[[Any], str | None]:
    """How one field becomes a part of a key; None is nothing."""
    normalise = normaliser(part)
    if part == "imageUrls":
        return lambda urls: normalise(urls[0]) if urls else None
    return normalise


def _parts_of(values: Mapping[str, object], parts: Sequence[str]) -> tuple[str, ...] | None:
    found = []
    for part in parts:
        value = values.get(part)
        text = None if value is None else _normaliser(part)(value)
        if text is None:
            return None
        found.append(text)
    return tuple(found)


def _part_codes(table: RecordTable, parts: Sequence[str]) -> IntArray:
    combined = np.zeros(len(table), dtype=np.int64)
    for part in parts:
        codes = _normal_codes(table, part)
        combined = np.where((combined < 0) | (codes < 0), -1, combined * (codes.max(initial=0) + 1) + codes)
        # Numbered anew after every part, so that the product above stays far below 2**63.
        combined = np.unique(combined, return_inverse=True)[1] - int((combined < 0).any())
    return combined.astype(np.int64)


def _normal_codes(table: RecordTable, part: str) -> IntArray:
    """Codes of one column's normalised values, negative where nothing is left."""
    column = table.column(part)
    normalise = _normaliser(part)
    numbers: dict[str | None, int] = {None: -1}
    of_value = [numbers.setdefault(normalise(value), len(numbers) - 1) for value in column.values]
    return np.array([*of_value, -1], dtype=np.int64)[column.codes]
