"""Parts of a link key: a field with its encodings, or several fields whose values are compared without order.

A part is written ``lastName``, ``lastName:phonetic:start4`` (encodings, applied from left to right) or
``firstName+lastName:phonetic`` (each value is encoded, then all are compared without order).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.contract.fields import IDENTITY_FIELDS, REFERENCE_FIELDS, SIGNAL_PREFIX
from scoring_model.contract.violation import Invalid, Violation
from scoring_model.records import Column, RecordTable
from scoring_model.records.key_encodings import encoded_normaliser, encodings_of
from scoring_model.records.near_misses import did_you_mean
from scoring_model.records.normalisation import Normaliser

_MOST_CODES: Final = 2**62


@dataclass(frozen=True, slots=True)
class KeyPart:
    """One part of a link key.

    Parameters
    ----------
    fields : tuple of str
        Field names. With several, swapped values are equal and missing ones are left out.
    encodings : tuple of str
        Names of the encodings applied to every field, in order.
    """

    fields: tuple[str, ...]
    encodings: tuple[str, ...] = ()
    _normalisers: tuple[Normaliser, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        found = [encoded_normaliser(name, self.encodings) for name in self.fields]
        object.__setattr__(self, "_normalisers", tuple(found))

    def of(self, values: Mapping[str, object]) -> str | None:
        """The part of one record, or None if nothing is left of any field."""
        if len(self.fields) == 1:
            value = values.get(self.fields[0])
            return None if value is None else self._normalisers[0](value)
        pairs = zip(self.fields, self._normalisers, strict=True)
        texts = [text for name, normalise in pairs if (text := _text(values, name, normalise)) is not None]
        # With lengths before them, so that no text can run into the next.
        return "".join([f"{len(text)}:{text}" for text in sorted(texts)]) or None

    def of_column(self, values: Sequence[object]) -> list[str | None]:
        """Return the part of each value of its only field."""
        (normalise,) = self._normalisers
        return [normalise(value) for value in values]

    def codes(self, table: RecordTable) -> IntArray:
        """Return the codes of a table's parts, equal where `of` is equal.

        Returns
        -------
        ndarray of shape (n,), int64
            Negative where nothing is left of any field.
        """
        numbers: dict[str | None, int] = {None: -1}
        columns = [
            _column_codes(table.column(name), normalise, numbers)
            for name, normalise in zip(self.fields, self._normalisers, strict=True)
        ]
        if len(columns) == 1:
            return columns[0]
        without_order = np.sort(np.stack(columns), axis=0)
        combined = combined_codes(without_order + 1)  # a missing value counts as a further value
        return np.where(without_order[-1] < 0, -1, combined)


@cache
def key_part(text: str) -> KeyPart:
    """Parse a part in the form of the configuration.

    Parameters
    ----------
    text : str
        Field names with ``+`` between them, then encodings with ``:`` before each.

    Raises
    ------
    Invalid
        With all that `part_violations` lists.
    """
    if violations := part_violations([text]):
        raise Invalid(violations)
    return KeyPart(*_split(text))


def part_violations(parts: Iterable[str]) -> tuple[Violation, ...]:
    """List the violations of the parts of a key.

    Returns
    -------
    tuple of Violation
        One for each unknown field and each encoding unsupported by its field, with the nearest known name, and each
        misplaced field; empty if all parts are valid.
    """
    return tuple(
        Violation("", "invalid_part", f"part {part!r}: {problem}")
        for part in parts
        for problem in _problems(*_split(part))
    )


def combined_codes(columns: Sequence[IntArray] | IntArray) -> IntArray:
    """Number rows by their combination of codes in several columns.

    Parameters
    ----------
    columns : sequence of ndarray of shape (n,), int64
        At least one column; negative codes are missing values.

    Returns
    -------
    ndarray of shape (n,), int64
        Equal where all columns are equal; below n if there are several columns; negative where any column is.
    """
    combined, *others = columns
    size = int(combined.max(initial=0)) + 1
    for codes in others:
        distinct = int(codes.max(initial=0)) + 1
        if size * distinct > _MOST_CODES:
            combined = _renumbered(combined)
            size = int(combined.max(initial=0)) + 1
        combined = np.where((combined < 0) | (codes < 0), -1, combined * distinct + codes)
        size *= distinct
    return _renumbered(combined) if others else combined


def _text(values: Mapping[str, object], name: str, normalise: Normaliser) -> str | None:
    value = values.get(name)
    return None if value is None else normalise(value)


def _column_codes(column: Column, normalise: Normaliser, numbers: dict[str | None, int]) -> IntArray:
    of_value = [numbers.setdefault(normalise(value), len(numbers) - 1) for value in column.values]
    return np.array([*of_value, -1], dtype=np.int64)[column.codes]


def _renumbered(codes: IntArray) -> IntArray:
    """Renumber codes from 0 without gaps; negative codes stay negative."""
    numbers = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    return numbers - int((codes < 0).any())


def _split(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    fields, *encodings = text.split(":")
    return tuple(fields.split("+")), tuple(encodings)


def _problems(fields: tuple[str, ...], encodings: tuple[str, ...]) -> Iterator[str]:
    for name in dict.fromkeys(fields):
        if fields.count(name) > 1:
            yield f"{name} stands twice"
        if name in REFERENCE_FIELDS and len(fields) > 1:
            # If it were left out of a joined part, it would link records of clients that only share a history scope.
            yield f"{name} is a client's own reference, which must be a part by itself"
        if name in IDENTITY_FIELDS or _is_signal(name):
            yield from _problems_of_encodings(name, encodings)
        else:
            yield f"unknown field {name!r}{_nearest(name, (*IDENTITY_FIELDS, 'signals.NAME'))}"


def _is_signal(name: str) -> bool:
    return name.startswith(SIGNAL_PREFIX) and name != SIGNAL_PREFIX


def _problems_of_encodings(name: str, encodings: Iterable[str]) -> Iterator[str]:
    known = encodings_of(name)
    for encoding in encodings:
        if encoding not in known:
            yield f"{name} takes no {encoding!r}{_nearest(encoding, known)}"


def _nearest(name: str, known: Iterable[str]) -> str:
    names = sorted(known)
    listed = [name for name in names if not name.startswith("e164-")]  # one for each country
    known_are = f"; known are {', '.join(listed)}" if listed else ", nor any other encoding"
    return did_you_mean(name, names, otherwise=known_are)
