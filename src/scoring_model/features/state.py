"""What features learn from data before the first row that trains."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.features.ngrams import NgramTable
from scoring_model.features.settings import FeatureSettings
from scoring_model.features.vocabulary import Vocabulary
from scoring_model.history import person_codes
from scoring_model.records import RecordTable, SignalType

_VOCABULARY_FIELDS = ("citizenship", "address.country")
_NAME_FIELDS = ("firstName", "lastName")


@dataclass(frozen=True, kw_only=True, slots=True)
class FittedState:
    """Tables and vocabularies, without personal data.

    Parameters
    ----------
    names : NgramTable
    vocabularies : mapping of str to Vocabulary
        By field name, such as ``address.country`` or ``signals.channel``.
    """

    names: NgramTable = field(default_factory=lambda: NgramTable({}))
    vocabularies: Mapping[str, Vocabulary] = field(default_factory=dict)

    def vocabulary(self, name: str) -> Vocabulary:
        """The vocabulary of a field; an empty one when nothing was fitted."""
        return self.vocabularies.get(name, Vocabulary(()))

    def to_json(self) -> dict[str, Any]:
        """Plain values that `from_json` reads back exactly."""
        return {
            "names": self.names.counts,
            "vocabularies": {name: list(v.values) for name, v in sorted(self.vocabularies.items())},
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "FittedState":
        """Read what `to_json` gave."""
        return cls(
            names=NgramTable(plain["names"]),
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
        vocabularies={
            name: Vocabulary.fit(_persons_by_value(table, name, persons))
            for name in sorted([*_VOCABULARY_FIELDS, *categories])
        },
    )


def _persons_by_value(table: RecordTable, name: str, persons: IntArray) -> list[tuple[str, int]]:
    """Distinct values of a column, each with its number of distinct persons."""
    column = table.column(name)
    there = column.codes >= 0
    if not there.any():
        return []
    pairs = np.unique(np.stack([column.codes[there].astype(np.int64), persons[there]], axis=1), axis=0)
    counts = np.bincount(pairs[:, 0], minlength=len(column.values))
    return [(str(value), int(count)) for value, count in zip(column.values, counts, strict=True) if count]
