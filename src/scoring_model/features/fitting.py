"""Fits the state of features: tables before the first training row, categories before the first validation row."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.features.local_time import Offsets
from scoring_model.features.mail_providers import DISPOSABLE, FREE
from scoring_model.features.settings import FeatureSettings
from scoring_model.features.signal_settings import SignalSettings
from scoring_model.features.state import (
    NETWORK_BITS,
    FittedState,
    MailTables,
    NgramTable,
    ShareTable,
    Vocabulary,
)
from scoring_model.history import person_codes
from scoring_model.records import Column, RecordTable, SignalType
from scoring_model.records.key_encodings import encode_domain, encode_network
from scoring_model.records.mail import read_mail
from scoring_model.records.phone import read_phone

Reader: TypeAlias = Callable[[str], str | None]
"""Reads a part of a value, such as the domain of a mail address; None where there is none."""

_VOCABULARY_FIELDS = ("citizenship", "address.country")
_NAME_FIELDS = ("firstName", "lastName")
_LINE = "address.line1"
_DOCUMENT, _COUNTRY = "documentType", "address.country"


def fit_state(
    table: RecordTable, settings: FeatureSettings, *, categories: RecordTable | None = None
) -> FittedState:
    """Fit the tables on records before all training rows, and number the categories that a model may learn.

    A table of frequencies fitted on the training rows would tell them from later ones, since each counts in its own
    frequency. A code says only which category it is, and a category has to be numbered to be learnt.

    Parameters
    ----------
    table : RecordTable
        Only the burn-in.
    categories : RecordTable, optional
        The burn-in and the train part, which number the categories; by default the burn-in alone.

    Returns
    -------
    FittedState
        Every entry is based on at least five persons.
    """
    persons = person_codes(table, alone=True)
    names = [pair for name in _NAME_FIELDS for pair in _persons_by_value(table, name, persons)]
    numbered = table if categories is None else categories
    whose = person_codes(numbered, alone=True)
    read = {
        f"signals.{name}:{part}": _persons_by_value(table, f"signals.{name}", persons, reader)
        for name, signal in sorted(settings.signals.items())
        for part, reader in _readers(signal).items()
    }
    return FittedState(
        names=NgramTable.fit(names),
        lines=NgramTable.fit(_persons_by_value(table, _LINE, persons)),
        documents=ShareTable.fit(_persons_by_pair(table, _COUNTRY, _DOCUMENT, persons)),
        vocabularies={
            **{
                name: Vocabulary.fit(_persons_by_value(numbered, name, whose))
                for name in sorted([*_VOCABULARY_FIELDS, *settings.categories])
            },
            **{name: Vocabulary.fit(counts) for name, counts in read.items()},
        },
        zone=Offsets() if settings.time_zone is None else Offsets.of(settings.time_zone),
        mail=_mail_tables(table, settings, persons),
    )


def _mail_tables(table: RecordTable, settings: FeatureSettings, persons: IntArray) -> MailTables:
    fields = [f"signals.{name}" for name, s in settings.signals.items() if s.type is SignalType.EMAIL]
    if not fields:
        return MailTables()
    more = settings.mail_providers
    return MailTables(
        locals=NgramTable.fit(_persons_by_local(table, fields, persons)),
        free=FREE.union(more.free),
        disposable=DISPOSABLE.union(more.disposable),
    )


def _persons_by_local(table: RecordTable, fields: Sequence[str], persons: IntArray) -> list[tuple[str, int]]:
    """Count persons by local part; one with several addresses counts once, with the first in alphabetical order."""
    first: dict[int, str] = {}
    for name in fields:
        column = _read(table.column(name), _local)
        there = column.codes >= 0
        for person, code in zip(persons[there].tolist(), column.codes[there].tolist(), strict=True):
            text = str(column.values[code])
            first[person] = min(text, first.get(person, text))
    return sorted(Counter(first.values()).items())


def _local(text: str) -> str | None:
    address = read_mail(text)
    return None if address is None else address.base


def _readers(signal: SignalSettings) -> Mapping[str, Reader]:
    """Return what a vocabulary numbers of a signal that is read, by name of the part."""
    if signal.type is SignalType.EMAIL:
        return {"domain": lambda text: encode_domain(text) or None, "top": _top_domain}
    if signal.type is SignalType.PHONE:
        return {"country": lambda text: _country(text, signal.country)}
    if signal.type is SignalType.IP:
        return {"network": lambda text: encode_network(text, bits=NETWORK_BITS) or None}
    return {}


def _top_domain(text: str) -> str | None:
    address = read_mail(text)
    return None if address is None else address.top_domain


def _country(text: str, home: str | None) -> str | None:
    number = read_phone(text, home)
    return None if number is None else number.country


def _persons_by_value(
    table: RecordTable, name: str, persons: IntArray, reader: Reader | None = None
) -> list[tuple[str, int]]:
    """Count the distinct persons of each distinct value of a column, or of what is read from it."""
    column = table.column(name)
    if reader is not None:
        column = _read(column, reader)
    codes, counts = _persons_by_code(column.codes.astype(np.int64), persons)
    return [(str(column.values[code]), count) for code, count in zip(codes, counts, strict=True)]


def _read(column: Column, reader: Reader) -> Column:
    index: dict[str, int] = {}
    found = [reader(str(value)) for value in column.values]
    codes = [-1 if text is None else index.setdefault(text, len(index)) for text in found]
    return Column(tuple(index), np.array([*codes, -1], dtype=np.int32)[column.codes])


def _persons_by_pair(
    table: RecordTable, name: str, other: str, persons: IntArray
) -> list[tuple[str, str, int]]:
    """Count the distinct persons of each distinct pair of values of two columns."""
    one, two = table.column(name), table.column(other)
    size = max(len(two.values), 1)
    pairs = np.where(two.codes < 0, -1, one.codes.astype(np.int64) * size + two.codes)
    codes, counts = _persons_by_code(pairs, persons)
    return [
        (str(one.values[code // size]), str(two.values[code % size]), count)
        for code, count in zip(codes, counts, strict=True)
    ]


def _persons_by_code(codes: IntArray, persons: IntArray) -> tuple[list[int], list[int]]:
    """Return the non-negative codes, ascending, and the number of distinct persons of each."""
    there = codes >= 0
    order = np.lexsort((persons[there], codes[there]))
    ordered, whose = codes[there][order], persons[there][order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (np.diff(ordered) != 0) | (np.diff(whose) != 0)
    found, counts = np.unique(ordered[new], return_counts=True)
    return found.tolist(), counts.tolist()
