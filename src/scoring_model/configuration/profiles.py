"""Profiles of columns: the kind of value they hold, inferred from their cells."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa

from scoring_model.arrays import BoolArray, IntArray
from scoring_model.configuration import synonyms
from scoring_model.configuration.headers import (
    is_of_something_else,
    joined,
    known,
    links_records,
    ranks,
    tells,
    words_of,
)
from scoring_model.contract.fields import SIGNAL_PREFIX, TIME_FIELDS
from scoring_model.records import NEVER, cells
from scoring_model.records.clocks import time_of_day
from scoring_model.records.columns import parse_instants
from scoring_model.records.dates import EXCEL, UNIX_UNITS, guess_dates, is_unlike_iso
from scoring_model.records.encoding import is_typed
from scoring_model.records.ip import read_ip
from scoring_model.records.mail import read_mail
from scoring_model.records.table import Column

T = TypeVar("T")
_SAMPLE: Final = 5000
_MOST: Final = 0.95  # minimum share of the distinct values of one kind
_TIMES: Final = 0.8  # the same of times, whose other formats a person adds
_SOME: Final = 0.01  # share of the distinct times from which their format counts
_COUNT: Final = re.compile(r"\d{4,19}(?:[.,]\d+)?", re.ASCII)
_EXCEL_RANGE: Final = (36_526, 73_051)  # days: the same years
_BORN: Final = 5_000  # days in a spreadsheet: the year 1913
_UNIX_RANGE: Final = (946_684_800, 4_102_444_800)  # seconds: the years 2000 to 2100
_RECENT: Final = (1_262_304_000, 1_893_456_000)
"""Seconds: the years 2010 to 2029; numbers that begin with such a year are later."""
_SHORT: Final = ("%y%m%d", "%d%m%y")
_COUNTS_A_DAY: Final = {form: 86_400 * units for form, units in UNIX_UNITS.items()} | {EXCEL: 1}
_COUNTED: Final = [(form,) for form in UNIX_UNITS]
_CATEGORIES: Final = 500
_IDENTIFIER: Final = re.compile(
    r"(^|_)(id|ids|key|nr|ip|device|card|account|iban|imei|cookie|fingerprint)(_(address|hash|number|token))?$"
)
_CONTACT: Final = re.compile(r"(^|_)(email|mail|phone|mobile|hash|token|session)(_(address|number))?$")
_DIALLED: Final = re.compile(r"[+(]{0,2}[0-9](?:[ ()./-]{0,2}[0-9]){5,14}")
_CODE: Final = re.compile(r"[A-Za-z_/.:-]*[0-9][A-Za-z0-9_/.:-]*")
_RECURRING: Final = 0.98  # share of distinct values below which codes connect records
_KINDS: Final = 12
_MANY: Final = 100  # distinct values that are no times of day by chance
_FEW: Final = 100  # mean number of records of a code from which a few codes are kinds
_KEY_DIGITS: Final = 4
_SHARED: Final = 20  # mean number of records of a word from which it is a kind of something
_PADDED: Final = re.compile(r"0\d+", re.ASCII)
_ROUNDED: Final = re.compile(r"\d[.,]\d{1,8}E\+\d\d", re.ASCII)
_LONG: Final = 6  # fewest digits of an identifier whose header does not name it
_CODE_DIGITS: Final = 10  # digits of numbers of one length from which they are codes, though none recurs
_CARD_DIGITS: Final = 12  # least digits of numbers of several lengths that are codes, as those of cards
_ZONE: Final = re.compile(r":\d\d(\.\d+)?( ?UTC| ?GMT|[Zz]| ?[+-]\d\d(:?\d\d)?)$")
_BLANKS: Final = re.compile(r"\d\s\d+\s\d")


class Kind(StrEnum):
    """The inferred kind of a column."""

    EMPTY = "empty"
    CONSTANT = "constant"
    TIME = "time"
    HOUR = "hour"
    NUMBER = "number"
    BOOLEAN = "boolean"
    CATEGORY = "category"
    IDENTIFIER = "identifier"
    EMAIL = "email"
    PHONE = "phone"
    IP = "ip"
    TEXT = "text"
    LIST = "list"


@dataclass(frozen=True, kw_only=True, eq=False)
class Profile:
    """The profile of a column, inferred from its cells.

    Parameters
    ----------
    column : Column
        Cells, without those that mean a missing value.
    counts : ndarray of shape (d,), int64
        Frequency of each distinct value.
    formats : tuple of str
        Formats of times in text.
    uncertain : bool
        Whether the order of day and month is ambiguous.
    zoned : bool
        Whether times include their zone.
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
        """Return the name in snake case, without the prefix of signals and the suffix of Salesforce's own fields.

        The number of one of several columns of that name is left out too, and the alias of a table, as in `t1.city`.
        """
        name = re.sub(r" \(\d+\)$", "", self.name.removeprefix(SIGNAL_PREFIX))
        name = re.sub(r"^[a-z]\d?\.(?=\w\w)|(?<=\w)_[xy]$", "", name)  # as pandas merges tables
        return re.sub("__p?c$", "", words_of(name))

    @property
    def filled(self) -> float:
        """Return the share of rows that have a value."""
        return int(self.counts.sum()) / max(len(self.column), 1)

    @property
    def distinct(self) -> float:
        """Return the share of distinct values among all present values, in [0, 1]."""
        return len(self.counts) / max(int(self.counts.sum()), 1)

    @cached_property
    def times(self) -> IntArray:
        """Return the times in microseconds; `NEVER` where missing."""
        parsed = parse_instants(self.name, self.column, cells.moment(self.formats))
        return parsed.column.gather(NEVER)


def profile(
    name: str, raw: Column, nulls: Sequence[object], *, decimal: str | None, zoned: bool = False
) -> Profile:
    """Describe a column.

    Parameters
    ----------
    raw : Column
        Unchecked cells.
    nulls : sequence of str
        Cells that mean a missing value.
    decimal : str or None
        The decimal mark of numbers, as the file format names it.
    zoned : bool
        Whether the column type declares its times as UTC.
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
        return replace(found, kind=_kind(found, decimal))
    if formats[:1] in _COUNTED and "0" not in nulls:
        return profile(name, raw, (*nulls, "0", "0.0", 0), decimal=decimal, zoned=zoned)
    named = formats[:1] in _COUNTED or any("%z" in text for text in formats)
    zoned = zoned or named or any(map(_has_zone, values[:_SAMPLE]))
    return replace(found, kind=Kind.TIME, formats=formats, uncertain=uncertain, zoned=zoned)


def _has_zone(value: object) -> bool:
    return isinstance(value, str) and _ZONE.search(value.rstrip()) is not None


def _taken(values: Sequence[object], used: BoolArray) -> list[object]:
    return [value for value, is_used in zip(values, used.tolist(), strict=True) if is_used]


def decimal_mark(columns: Iterable[Column]) -> str | None:
    """Return the decimal mark of the numbers: a comma, or the point where commas separate groups; else None.

    Where every comma of a column precedes three digits, as in 12,500, it separates groups. So does every point, if no
    comma is there, and some cell has two, or a currency beside one: $ 85.000 and 1.250.000.
    """
    samples = [column.values[:_SAMPLE] for column in columns]
    found = {mark for values in samples if (mark := _column_mark(values)) is not None}
    if not found and any(map(_are_grouped_by_points, samples)) and not any(map(_have_fractions, samples)):
        return ","
    return max(found, key=",".__eq__, default=None)


def _are_grouped_by_points(values: Sequence[object]) -> bool:
    """Return whether all points stand before three digits, some of them twice in a cell or beside a currency."""
    pointed = [value for value in values if isinstance(value, str) and "." in value]
    shown = any(cells.currency_of(text) for text in pointed) or _share(values, _is_twice_pointed) > _SOME
    return shown and _are_numbers(values, ",") and all(type(cells.comma_number(t)) is float for t in pointed)


def _is_twice_pointed(value: object) -> bool:
    return isinstance(value, str) and value.count(".") == 2


def _have_fractions(values: Sequence[object]) -> bool:
    """Return whether numbers have a point before other than three digits."""
    texts = [value for value in values if isinstance(value, str) and "." in value]
    return (
        bool(texts)
        and _are_numbers(texts, None)
        and not all(type(cells.comma_number(t)) is float for t in texts)
    )


def _column_mark(values: Sequence[object]) -> str | None:
    texts = [value for value in values if isinstance(value, str) and "," in value]
    marks = ".," if all(type(cells.point_number(text)) is float for text in texts) else ","
    return next((mark for mark in marks if texts and _are_numbers(values, mark)), None)


def _time_formats(found: Profile) -> tuple[tuple[str, ...] | None, bool]:
    """Return the time formats of a column, or None if it holds no times, and whether they are uncertain."""
    if is_typed(found.column):
        return (), False
    values = found.column.values[:: max(len(found.column.values) // _SAMPLE, 1)]  # formats change with time
    texts = [text for value in values if isinstance(text := cells.text(value), str)]
    if not texts:
        return None, False
    odd = [text for text in texts if is_unlike_iso(text)]
    sure = guess_dates(odd)
    # The added dates fix one order: if the column cannot be read without them, its own order is ambiguous.
    marks = {mark for mark in "/-" if any(mark in text for text in odd)}
    either = guess_dates([*odd, *(f"{day}{mark}12{mark}2000" for day in (30, 31) for mark in marks)])
    both = (*either, *(_month_first(text) for text in either))
    best: tuple[str, ...] = ()
    read = _time_share(texts, best)
    for formats in (sure, either, both):
        if (share := _time_share(texts, formats)) >= read + _SOME:
            best, read = formats, share
    if read > _TIMES:
        return best, best not in ((), sure)
    return _counted_format(found.name, texts), False


def _month_first(text: str) -> str:
    return re.sub(r"%d(.)%m", r"%m\1%d", text)


def _time_share(texts: Sequence[str], formats: tuple[str, ...]) -> float:
    column = Column(texts, np.arange(len(texts), dtype=np.int32))
    return 1 - len(parse_instants("", column, cells.moment(formats)).violations) / len(texts)


def _counted_format(name: str, texts: Sequence[str]) -> tuple[str, ...] | None:
    """Return the format of times that are numbers, under a header that names a time or a birth."""
    words = words_of(name)
    born = joined(words) in ranks(synonyms.HEADERS["dob"])
    timed = any(joined(words) in ranks(synonyms.HEADERS[field]) for field in TIME_FIELDS)
    told = re.search("time|date|stamp|_at$", words) or tells(words, synonyms.TIMES)
    if not (born or timed or told):
        return None
    ranges = {form: (_UNIX_RANGE[0] * units, _UNIX_RANGE[1] * units) for form, units in UNIX_UNITS.items()}
    ranges[EXCEL] = (_BORN if born else _EXCEL_RANGE[0], _EXCEL_RANGE[1])
    counted = (form for form, limits in ranges.items() if _counted_within(texts, *limits))
    return next(((form,) for form in counted), None) or _short_format(texts)


def _short_format(texts: Sequence[str]) -> tuple[str, ...] | None:
    """Return the format of dates of six digits alone, such as 800312, where only one order of them fits."""
    fitting = [form for form in _SHORT if _time_share(texts, (form,)) > _MOST]
    return (fitting[0],) if len(fitting) == 1 and {*map(len, texts)} == {6} else None


def _counted_within(texts: Sequence[str], first: float, last: float) -> bool:
    """Return whether most cells are long numbers in [first, last)."""
    counts = [float(text.replace(",", ".")) for text in texts if _COUNT.fullmatch(text.strip())]
    return sum(first <= count < last for count in counts) > _MOST * len(texts)


def counted_like(column: Profile, event: Profile) -> Profile | None:
    """Return a column of numbers as one of times, where it counts them as the event does, in the same years.

    None if it does not: nearly all of its numbers must lie between the first event and a year after the last one.
    """
    day = _COUNTS_A_DAY.get(event.formats[0]) if len(event.formats) == 1 else None
    if column.kind not in (Kind.NUMBER, Kind.IDENTIFIER) or day is None:
        return None
    numbers = [float(str(cells.text(value)).replace(",", ".")) for value in event.column.values]
    texts = [str(cells.text(value)) for value in column.column.values[:_SAMPLE]]
    if not _counted_within(texts, min(numbers) - day, max(numbers) + 365 * day):
        return None
    return replace(column, kind=Kind.TIME, formats=event.formats, zoned=event.zoned)


def counts_seconds(column: Profile) -> Profile | None:
    """Return a column of numbers as one of times, where all count seconds, or parts of one, in the same few years."""
    texts = [str(cells.text(value)) for value in column.column.values[:_SAMPLE]]
    if column.kind not in (Kind.NUMBER, Kind.IDENTIFIER) or column.filled <= _MOST or not texts:
        return None
    for form, units in UNIX_UNITS.items():
        first, last = (limit * units for limit in _RECENT)
        if _counted_within(texts, first, last):
            return replace(column, kind=Kind.TIME, formats=(form,), zoned=True)
    return None


def _kind(found: Profile, decimal: str | None) -> Kind:
    values = found.column.values[:_SAMPLE]
    if any(isinstance(value, list | Mapping | pa.DataType) for value in values):
        return Kind.LIST
    if len(found.counts) == 1 and found.filled > _MOST:
        return Kind.CONSTANT
    if _share(values, lambda value: isinstance(cells.boolean(value), bool)) == 1:
        words = {str(value).strip().lower() for value in values} - cells.PLAIN_BOOLEANS.keys()
        if len(words) <= 2:  # more of them, such as n, o and s, may be words for something else
            return Kind.BOOLEAN
    if (read := _read_kind(found.words, values)) is not None:
        return read
    told = tells(found.words, synonyms.HOURS) or _are_clocks(values)
    if _share(values, lambda value: _is_hour(value, told=told)) > _MOST:
        return Kind.HOUR
    if any(isinstance(value, float) and value % 1 for value in values):
        return Kind.NUMBER  # only a whole number may be an identifier
    is_number = _are_numbers(values, decimal) and not _are_padded(values) and not _is_code(found, values)
    if is_number and _share(values, lambda value: _is_fraction(value, decimal)) > _SOME:
        return Kind.NUMBER
    if len(found.counts) > 2 and _is_identifier(found, values, is_number=is_number):
        return Kind.IDENTIFIER
    if is_number:
        return Kind.NUMBER
    are_kinds = len(found.counts) <= _CATEGORIES or tells(found.words, synonyms.CATEGORIES)
    if are_kinds and found.distinct < 0.2:
        return Kind.CATEGORY
    if _CONTACT.search(found.words):
        return Kind.IDENTIFIER
    return Kind.IDENTIFIER if found.distinct < (_RECURRING if _are_codes(values) else 0.9) else Kind.TEXT


def _are_clocks(values: Sequence[object]) -> bool:
    """Return whether many numbers have the length of hours, minutes and seconds: one in twelve others is one."""
    return len(values) >= _MANY and _share(values, lambda value: len(str(cells.text(value))) in (5, 6)) == 1


def _is_hour(value: object, *, told: bool) -> bool:
    """Return whether a cell is a time of day; without a header that says so, only one with a colon."""
    return (told or ":" in str(value)) and time_of_day(value) is not None


def _is_identifier(found: Profile, values: Sequence[object], *, is_number: bool) -> bool:
    """Return whether a header or long numbers that recur, most of one length, tell an identifier; measures never do."""
    if tells(found.words, synonyms.MEASURES):
        return False
    if _IDENTIFIER.search(found.words) or links_records(found.words):
        # Mobile, desktop and tablet are kinds of devices, not devices.
        if len(found.counts) <= _KINDS:
            return _are_codes(values) and found.counts.mean() < _FEW
        return not is_of_something_else(found.words) or _are_keys(found, values, is_number=is_number)
    if not is_number:
        return False
    texts = [str(cells.text(value)).strip() for value in values]
    length = len(texts[0])
    if (
        found.distinct <= _RECURRING
        and _share(texts, lambda text: text.isdigit() and len(text) >= _CARD_DIGITS) > _MOST
    ):
        return True
    return (
        length >= (_LONG if found.distinct <= _RECURRING else _CODE_DIGITS)
        and _share(texts, lambda text: text.isdigit() and len(text) == length) > _MOST
    )


def _are_keys(found: Profile, values: Sequence[object], *, is_number: bool) -> bool:
    """Return whether cells are like keys: no numbers of a few digits, and no words that many records share."""
    if is_number:
        return _share(values, lambda value: len(str(cells.text(value)).strip()) >= _KEY_DIGITS) > _MOST
    return _are_codes(values) or found.counts.mean() < _SHARED


def _is_code(found: Profile, values: Sequence[object]) -> bool:
    """Return whether a header calls whole numbers a code, whose order says nothing."""
    parts = found.words.split("_")
    coded = len(parts) > 1 and not {parts[0], parts[-1]}.isdisjoint(known(synonyms.CODES))
    is_called_so = coded or tells(found.words, synonyms.DIALLING + synonyms.CODED)
    return is_called_so and _share(values, lambda value: "." not in str(value)) > _MOST


def _is_fraction(value: object, decimal: str | None) -> bool:
    number = cells.NUMBERS[decimal](value)
    return isinstance(number, float) and number % 1 != 0


def _are_codes(values: Sequence[object]) -> bool:
    """Return whether most texts are one word with digits, as keys are."""
    return _share(values, lambda value: _CODE.fullmatch(str(cells.text(value)).strip()) is not None) > _MOST


def _are_padded(values: Sequence[object]) -> bool:
    """Return whether digits begin with zeros, as those of codes do and those of numbers never."""
    return _share(values, lambda value: _PADDED.fullmatch(str(value).strip()) is not None) > _SOME


def are_rounded(values: Sequence[object]) -> bool:
    """Return whether a spreadsheet wrote long numbers as 4,91E+12."""
    return _share(values, lambda value: _ROUNDED.fullmatch(str(value).strip()) is not None) > _MOST


def _read_kind(words: str, values: Sequence[object]) -> Kind | None:
    """Return the kind of values that look like mail addresses, IP addresses or phone numbers."""
    texts = [str(cells.text(value)).strip() for value in values]
    if _share(texts, lambda text: read_mail(text) is not None) > _MOST:
        return Kind.EMAIL
    if _share(texts, lambda text: read_ip(str(cells.ip(text))) is not None) > _MOST:
        return Kind.IP
    dialled = _share(texts, lambda text: _DIALLED.fullmatch(text) is not None) > _MOST
    called = tells(words, synonyms.PHONES) and not tells(words, synonyms.MEASURES)
    told = called or is_international(texts) or _share(texts, _has_area) > _MOST
    return Kind.PHONE if dialled and told else None


def _has_area(text: str) -> bool:
    """Return whether a code stands in parentheses before other digits: (514) 555-0134."""
    return text.startswith("(") and ")" in text


def is_international(phones: Sequence[object]) -> bool:
    """Return whether most phone numbers begin with a plus sign."""
    return _share(phones, lambda phone: str(phone).lstrip().startswith("+")) > _MOST


def _are_numbers(values: Sequence[object], decimal: str | None) -> bool:
    """Return whether most values are numbers.

    Amounts in several currencies, or some of them in percent, are none, nor are texts of one length with several
    blanks, such as phone numbers.
    """

    def is_number(value: object) -> bool:
        return type(cells.NUMBERS[decimal](value)) in (int, float)

    dialled = len({len(str(value)) for value in values}) == 1 and _BLANKS.search(str(values[0])) is not None
    signs = {cells.currency_of(str(value)) for value in values}
    one_sign = len(signs - {""}) <= 1 and signs != {"", "%"}  # 5 % may be 0.05
    return not dialled and one_sign and _share(values, is_number) > _MOST


def _share(values: Sequence[T], check: Callable[[T], bool]) -> float:
    return sum(map(check, values)) / max(len(values), 1)
