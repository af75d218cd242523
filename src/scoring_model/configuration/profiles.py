"""What the columns of files seem to hold, from their cells."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

import numpy as np

from scoring_model.arrays import BoolArray, IntArray
from scoring_model.contract.fields import SIGNAL_PREFIX
from scoring_model.records import NEVER, cells
from scoring_model.records.columns import parse_instants
from scoring_model.records.dates import UNIX_UNITS, guess_dates
from scoring_model.records.encoding import is_typed
from scoring_model.records.table import Column

NULL_WORDS: Final = (
    "NULL",
    "null",
    "(null)",
    "N/A",
    "n/a",
    "#N/A",
    "NaN",
    "nan",
    "None",
    "NA",
    "\\N",
    "?",
    "-",
)
"""Cells that files have where a value is missing."""

_SAMPLE: Final = 5000
_MOST: Final = 0.95  # share of the distinct values that must be of a kind
_UNIX_RANGE: Final = (946_684_800, 4_102_444_800)  # seconds: the years 2000 to 2100
_CATEGORIES: Final = 500
_IDENTIFIER: Final = re.compile(
    r"(^|_)(id|ids|key|nr|ip|device|card|account|iban|imei|cookie|fingerprint)(_(address|hash|number|token))?$"
)
_CONTACT: Final = re.compile(r"(^|_)(email|mail|phone|mobile|hash|token|session)(_(address|number))?$")
_ZONE: Final = re.compile(r":\d\d(\.\d+)?([Zz]|[+-]\d\d:?\d\d)$")
_COMMA: Final = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})*,\d+|[+-]?\d+,\d+")


class Kind(StrEnum):
    """What a column seems to hold."""

    EMPTY = "empty"
    CONSTANT = "constant"
    TIME = "time"
    NUMBER = "number"
    BOOLEAN = "boolean"
    CATEGORY = "category"
    IDENTIFIER = "identifier"
    TEXT = "text"


@dataclass(frozen=True, kw_only=True, eq=False)
class Profile:
    """A column as its cells describe it.

    Parameters
    ----------
    column : Column
        Cells, those that mean a missing value left out.
    counts : ndarray of shape (d,), int64
        How often each distinct value comes.
    formats : tuple of str
        Of times that are text.
    uncertain : bool
        Whether nothing in the column tells days from months.
    zoned : bool
        Whether times say their zone.
    """

    name: str
    column: Column
    counts: IntArray
    kind: Kind
    formats: tuple[str, ...] = ()
    uncertain: bool = False
    zoned: bool = False

    @property
    def words(self) -> str:
        """The name in small letters, its words separated by underscores, without the prefix of signals."""
        return words_of(self.name.removeprefix(SIGNAL_PREFIX))

    @property
    def filled(self) -> float:
        """Share of the rows that have a value."""
        return int(self.counts.sum()) / max(len(self.column), 1)

    @property
    def distinct(self) -> float:
        """Distinct values among those that are there, in [0, 1]."""
        return len(self.counts) / max(int(self.counts.sum()), 1)

    @property
    def times(self) -> IntArray:
        """Microseconds; `NEVER` where there is no time."""
        parsed = parse_instants(self.name, self.column, cells.moment(self.formats))
        return parsed.column.gather(NEVER)


def words_of(name: str) -> str:
    """Write a name in small ASCII letters with underscores between its words."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    letters = unicodedata.normalize("NFKD", parted.casefold()).encode("ascii", "ignore").decode()
    return re.sub(r"\W+", "_", letters).strip("_")


def profile(name: str, raw: Column, nulls: Sequence[str], *, comma: bool, zoned: bool = False) -> Profile:
    """Describe a column.

    Parameters
    ----------
    raw : Column
        Unchecked cells.
    nulls : sequence of str
        Cells that mean a missing value.
    comma : bool
        Whether numbers have a decimal comma.
    zoned : bool
        Whether the type of the column says that its times are UTC.
    """
    missing = [cells.plain(value) in (None, *nulls) for value in raw.values]
    codes = np.where(np.array([*missing, True])[raw.codes], -1, raw.codes)
    used = np.bincount(codes[codes >= 0], minlength=len(raw.values)).astype(np.int64)
    index = np.cumsum(used > 0) - 1
    values: Any = _taken(raw.values, used > 0)
    values = np.array(values) if is_typed(raw) else values
    column = Column(values, np.where(codes >= 0, np.append(index, 0)[codes], -1).astype(np.int32))
    counts = used[used > 0]
    found = Profile(name=name, column=column, counts=counts, kind=Kind.EMPTY)
    if not len(counts):
        return found
    formats, uncertain = _time_formats(found)
    if formats is None:
        return replace(found, kind=_kind(found, comma=comma))
    zoned = zoned or any(map(_has_zone, values[:_SAMPLE])) or formats[:1] in [(text,) for text in UNIX_UNITS]
    return replace(found, kind=Kind.TIME, formats=formats, uncertain=uncertain, zoned=zoned)


def _has_zone(value: object) -> bool:
    return isinstance(value, str) and _ZONE.search(value.rstrip()) is not None


def _taken(values: Sequence[object], used: BoolArray) -> list[object]:
    return [value for value, is_used in zip(values, used.tolist(), strict=True) if is_used]


def has_comma(columns: Iterable[Column]) -> bool:
    """Whether a column of numbers has decimal commas."""
    return any(
        any(isinstance(value, str) and _COMMA.fullmatch(value.strip()) for value in column.values[:_SAMPLE])
        and _share(column.values[:_SAMPLE], lambda value: _is_number(value, comma=True)) > _MOST
        for column in columns
    )


def _time_formats(found: Profile) -> tuple[tuple[str, ...] | None, bool]:
    """Formats in which a column is one of times, and whether they are uncertain; None where it is none."""
    if is_typed(found.column):
        return (), False
    texts = [text for value in found.column.values[:_SAMPLE] if isinstance(text := cells.text(value), str)]
    if not texts:
        return None, False
    odd = [text for text in texts if text.lstrip()[4:5] != "-"]
    sure = guess_dates(odd)
    # Invented dates show one order: what is read only with them shows none of its own.
    marks = {mark for mark in "/-" if any(mark in text for text in odd)}
    either = guess_dates([*odd, *(f"{day}{mark}12{mark}2000" for day in (30, 31) for mark in marks)])
    both = (*either, *(_month_first(text) for text in either))
    for formats in ((), sure, either, both):
        if _time_share(texts, formats) > _MOST:
            return formats, formats not in ((), sure)
    return _unix_format(found.name, texts), False


def _month_first(text: str) -> str:
    return re.sub(r"%d(.)%m", r"%m\1%d", text)


def _time_share(texts: Sequence[str], formats: tuple[str, ...]) -> float:
    column = Column(texts, np.arange(len(texts), dtype=np.int32))
    return 1 - len(parse_instants("", column, cells.moment(formats)).violations) / len(texts)


def _unix_format(name: str, texts: Sequence[str]) -> tuple[str, ...] | None:
    if not re.search("time|date|stamp|_at$|^ts$", words_of(name)):
        return None
    counts = [int(text) for text in texts if text.isdigit()]
    for form, units in UNIX_UNITS.items():
        first, last = (limit * units for limit in _UNIX_RANGE)
        if sum(first <= count < last for count in counts) > _MOST * len(texts):
            return (form,)
    return None


def _kind(found: Profile, *, comma: bool) -> Kind:
    values = found.column.values[:_SAMPLE]
    if len(found.counts) == 1 and found.filled > _MOST:
        return Kind.CONSTANT
    if _share(values, lambda value: isinstance(cells.boolean(value), bool)) == 1:
        return Kind.BOOLEAN
    if any(isinstance(value, float) and value % 1 for value in values):
        return Kind.NUMBER  # an identifier may be a whole number alone
    is_number = _share(values, lambda value: _is_number(value, comma=comma)) > _MOST
    if len(found.counts) > 2 and _IDENTIFIER.search(found.words):
        return Kind.IDENTIFIER
    if is_number:
        return Kind.NUMBER
    if len(found.counts) <= _CATEGORIES and found.distinct < 0.2:
        return Kind.CATEGORY
    if _CONTACT.search(found.words):
        return Kind.IDENTIFIER
    return Kind.IDENTIFIER if found.distinct < 0.9 else Kind.TEXT


def _is_number(value: object, *, comma: bool) -> bool:
    read = cells.comma_number(value) if comma else cells.number(value)
    return isinstance(read, int | float) and not isinstance(read, bool)


def _share(values: Sequence[object], check: Callable[[object], bool]) -> float:
    return sum(map(check, values)) / max(len(values), 1)
