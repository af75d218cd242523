"""What features learn from data before the first row that trains."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.features.ngrams import NgramTable
from scoring_model.features.settings import FeatureSettings
from scoring_model.features.shares import ShareTable
from scoring_model.features.vocabulary import Vocabulary
from scoring_model.history import person_codes
from scoring_model.records import RecordTable, SignalType

_VOCABULARY_FIELDS = ("citizenship", "address.country")
_NAME_FIELDS = ("firstName", "lastName")
_LINE = "address.line1"
_DOCUMENT, _COUNTRY = "documentType", "address.country"


@dataclass(frozen=True, kw_only=True, slots=True)
class FittedState:
    """Tables and vocabularies, without personal data.

    Parameters
    ----------
    names, lines : NgramTable
        Of names, and of first lines of addresses.
    documents : ShareTable
        Types of document by the country of the address.
    vocabularies : mapping of str to Vocabulary
        By field name, such as ``address.country`` or ``signals.channel``.
    """

    names: NgramTable = field(default_factory=lambda: NgramTable({}))
    lines: NgramTable = field(default_factory=lambda: NgramTable({}))
    documents: ShareTable = field(default_factory=lambda: ShareTable({}))
    vocabularies: Mapping[str, Vocabulary] = field(default_factory=dict)

    def vocabulary(self, name: str) -> Vocabulary:
        """The vocabulary of a field; an empty one when nothing was fitted."""
        return self.vocabularies.get(name, Vocabulary(()))

    def to_json(self) -> dict[str, Any]:
        """Plain values that `from_json` reads back exactly."""
        return {
            "names": self.names.counts,
            "lines": self.lines.counts,
            "documents": self.documents.counts,
            "vocabularies": {name: list(v.values) for name, v in sorted(self.vocabularies.items())},
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "FittedState":
        """Read what `to_json` gave; before version 2 of the families there were names alone."""
        return cls(
            names=NgramTable(plain["names"]),
            lines=NgramTable(plain.get("lines", {})),
            documents=ShareTable(plain.get("documents", {})),
            vocabularies={name: Vocabulary(values) for name, values in plain["vocabularies"].items()},
        )


def fit_state(table: RecordTable, settings: FeatureSettings) -> FittedState:
    """Fit the tables and vocabularies on records that lie before every row that trains.

    Parameters
    ----------
    table : RecordTable
        The burn-in alone.
    settings : FeatureSettings

    Returns
    -------
    FittedState
        Nothing in it is of fewer than five persons.
    """
    persons = person_codes(table, alone=True)
    names = [pair for name in _NAME_FIELDS for pair in _persons_by_value(table, name, persons)]
    categories = [f"signals.{name}" for name, s in settings.signals.items() if s.type is SignalType.CATEGORY]
    return FittedState(
        names=NgramTable.fit(names),
        lines=NgramTable.fit(_persons_by_value(table, _LINE, persons)),
        documents=ShareTable.fit(_persons_by_pair(table, _COUNTRY, _DOCUMENT, persons)),
        vocabularies={
            name: Vocabulary.fit(_persons_by_value(table, name, persons))
            for name in sorted([*_VOCABULARY_FIELDS, *categories])
        },
    )


def _persons_by_value(table: RecordTable, name: str, persons: IntArray) -> list[tuple[str, int]]:
    """Distinct values of a column, each with its number of distinct persons."""
    column = table.column(name)
    codes, counts = _persons_by_code(column.codes.astype(np.int64), persons)
    return [(str(column.values[code]), count) for code, count in zip(codes, counts, strict=True)]


def _persons_by_pair(
    table: RecordTable, name: str, other: str, persons: IntArray
) -> list[tuple[str, str, int]]:
    """Distinct pairs of values of two columns, each with its number of distinct persons."""
    one, two = table.column(name), table.column(other)
    size = max(len(two.values), 1)
    pairs = np.where(two.codes < 0, -1, one.codes.astype(np.int64) * size + two.codes)
    codes, counts = _persons_by_code(pairs, persons)
    return [
        (str(one.values[code // size]), str(two.values[code % size]), count)
        for code, count in zip(codes, counts, strict=True)
    ]


def _persons_by_code(codes: IntArray, persons: IntArray) -> tuple[list[int], list[int]]:
    """Codes that are not negative, ascending, and the number of distinct persons of each."""
    there = codes >= 0
    order = np.lexsort((persons[there], codes[there]))
    ordered, whose = codes[there][order], persons[there][order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (np.diff(ordered) != 0) | (np.diff(whose) != 0)
    found, counts = np.unique(ordered[new], return_counts=True)
    return found.tolist(), counts.tolist()
