"""Converts cells of files to the values that a JSON body would hold.

CSV has only text, pandas turns integers with gaps into floats, and every tool has its own missing value. A cell is
read as the type of its field; if that fails, it is passed on unchanged and the rule of the field rejects it. Null, NaN
and blank text are missing in every file; the text `NA` is a value. The file format configures all other spellings.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime, time
from decimal import Decimal
from typing import Final, TypeAlias

import numpy as np

from scoring_model.contract.fields import IDENTITY_FIELDS, SIGNAL_PREFIX
from scoring_model.contract.rules import LARGEST_IDENTIFIER, Rule, RuleError, SignalType, form_of
from scoring_model.records.country_names import country_code
from scoring_model.records.dates import UNIX_UNITS, date_reader, form_reader
from scoring_model.records.schema import RecordSchema

# No digit can match in two ways, so a long cell that is not a number fails in linear time.
_DECIMAL: Final = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
# A number that is written in groups does not begin with 0: 0.125 is a fraction, whatever the mark.
_GROUPS: Final = r"[+-]?(?:[1-9]\d{{0,2}}([{marks}])\d{{3}}(?:\1\d{{3}})*|\d+)"
_BLANKS: Final = " \u00a0\u202f'’"
_GROUPED: Final = re.compile(_GROUPS.format(marks=_BLANKS) + r"(?:\.\d*)?", re.ASCII)
_COMMA_GROUPED: Final = re.compile(_GROUPS.format(marks="," + _BLANKS) + r"(?:\.\d*)?", re.ASCII)
_LAKHS: Final = re.compile(r"[+-]?[1-9]\d?(?:,\d{2})+,\d{3}(?:\.\d*)?", re.ASCII)
_POINT_GROUPED: Final = re.compile(_GROUPS.format(marks="." + _BLANKS) + r"(?:,\d*)?", re.ASCII)
_CODES: Final = (
    "EUR|USD|GBP|BRL|MXN|PLN|CZK|HUF|SEK|NOK|DKK|RON|BGN|TRY|CAD|AUD|JPY|CNY|INR|ZAR|CHF|UAH|RUB|IDR|VND"
)
# Japanese code pages write the yen sign as a backslash.
_SIGNS: Final = (
    rf"R\$|US\$|[$€£¥\\₹₺₽₴₩₪₫₱฿₦%]|Kč|Rp\.?|kr\.?|zł|Ft|lei|TL|грн\.?|руб\.?|р\.|лв\.?|円|元|원|{_CODES}"
)
_CURRENCY: Final = re.compile(rf"^([+-]?)(?:{_SIGNS})\s?|\s?(?:{_SIGNS})$")
_DECIMAL_COMMA: Final = re.compile(r"[+-]?(?:\d+(?:,\d*)?|,\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_TO_POINT: Final = str.maketrans(",", ".", "." + _BLANKS)
_NO_GROUPS: Final = str.maketrans("", "", "," + _BLANKS)
_INFINITE: Final = re.compile(r"[+-]?inf(?:inity)?", re.ASCII | re.IGNORECASE)
PLAIN_BOOLEANS: Final = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}
_TRUE: Final = (
    "t a yes y ja j oui o ya si sí sì s sim tak ano da да evet kyllä on igen ναι áno nai так có taip jah jā "
    "是 はい 예 네 نعم כן ใช่"
)
_FALSE: Final = (
    "f no n tidak nein non não nao nie ne нет hayır nee nej nei ei off nem όχι οχι oxi ohi ні nu không не nē "
    "否 いいえ 아니오 아니요 لا לא ไม่ใช่"
)
BOOLEANS: Final = PLAIN_BOOLEANS | dict.fromkeys(_TRUE.split(), True) | dict.fromkeys(_FALSE.split(), False)
"""Words for true and false in lower case, in the languages of Europe and in frequent ones of Asia."""

# As PostgreSQL, BigQuery and shops write the zone: 2024-02-01 13:45:00+00, 13:45:00 UTC, 13:45:00 -0500.
_ODD_ZONE: Final = re.compile(
    r"(\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?) ?(UTC|GMT|Z|[+-]\d{2}(?::?\d{2})?)", re.ASCII
)
_MIDNIGHT: Final = re.compile(r"(\d{4}-\d{2}-\d{2})[T ]00:00(?::00(?:\.0+)?)?(?:Z|[+-]00:?00)?", re.ASCII)
_EXACT: Final = 2**53  # above this, several integers map to one float

Cell: TypeAlias = Callable[[object], object | None]


def plain(value: object) -> object | None:
    """Convert any cell to a plain Python value; None if missing."""
    if type(value) is str:  # first, since nearly all cells are text
        return value if value and not value.isspace() else None
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64):
        return plain(value.item())
    return None if _is_missing(value) else value


def _is_missing(value: object) -> bool:
    if isinstance(value, float):
        return math.isnan(value)
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, np.datetime64):
        return bool(np.isnat(value))
    return value is None or type(value).__name__ in ("NAType", "NaTType")  # of pandas, which is not imported


def text(value: object) -> object | None:
    """Read a text cell; whole numbers become their digits."""
    value = plain(value)
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) < LARGEST_IDENTIFIER:
        return str(value)
    if isinstance(value, float | Decimal) and -_EXACT < value < _EXACT and value == int(value):
        return str(int(value))
    return value


def number(value: object) -> object | None:
    """Read a number cell; decimal text is accepted, with blanks or apostrophes between groups of three digits.

    So is the sign of a currency before or after it, and that of percent, which divides by nothing: 5 % is 5.
    """
    value = plain(value)
    if isinstance(value, Decimal):
        return float(value)
    if not isinstance(value, str):
        return value
    trimmed = value.strip()
    if trimmed.lower() == "nan":
        return None
    if _DECIMAL.fullmatch(trimmed) or _INFINITE.fullmatch(trimmed):
        return float(trimmed)
    bare = _bare(trimmed)
    return float(bare.translate(_NO_GROUPS)) if _GROUPED.fullmatch(bare) else value


def comma_number(value: object) -> object | None:
    """Read a number cell whose text has a decimal comma; points too may separate groups."""
    if not isinstance(value, str):
        return number(value)
    bare = _bare(value)
    if _DECIMAL_COMMA.fullmatch(bare) or _POINT_GROUPED.fullmatch(bare):
        return float(bare.translate(_TO_POINT))
    return value if _DECIMAL.fullmatch(bare) or _GROUPED.fullmatch(bare) else number(value)


def point_number(value: object) -> object | None:
    """Read a number cell whose text has a decimal point; commas too may separate groups, as in India 6,50,000."""
    bare = _bare(value) if isinstance(value, str) else ""
    if _COMMA_GROUPED.fullmatch(bare) or _LAKHS.fullmatch(bare):
        return float(bare.translate(_NO_GROUPS))
    return number(value)


def _bare(text: str) -> str:
    """Remove the blanks around a number, and one sign of a currency or of percent.

    A minus may stand behind the number, and brackets for one, as in accounts.
    """
    bare = _CURRENCY.sub(r"\1", text.strip(), count=1)
    if bare[:1] == "(" and bare[-1:] == ")" and bare[1:2] not in "+-":
        bare = "-" + _CURRENCY.sub(r"\1", bare[1:-1].strip(), count=1)
    return f"-{bare[:-1]}" if bare[-1:] == "-" and bare[:1].isdigit() else bare


def currency_of(text: str) -> str:
    """Return the sign of a currency or of percent before or after a number, empty if there is none.

    Examples
    --------
    >>> currency_of("R$ 1.234,56"), currency_of("12 zł"), currency_of("12")
    ('R$', 'zł', '')
    """
    match = _CURRENCY.search(text.strip())
    return "" if match is None else match[0].strip("+- \u00a0\u202f")


_WITH_PORT: Final = re.compile(
    r"(\d{1,3}(?:\.\d{1,3}){3}):\d{1,5}|\[([0-9A-Fa-f:.]+)\](?::\d{1,5})?", re.ASCII
)


def ip(value: object) -> object | None:
    """Read a cell of an IP address; the port that proxies write after it is dropped."""
    found = text(value)
    match = _WITH_PORT.fullmatch(found.strip()) if isinstance(found, str) else None
    return found if match is None else match[1] or match[2]


NUMBERS: Final[Mapping[str | None, Cell]] = {None: number, ",": comma_number, ".": point_number}
"""Readers of numbers by the decimal mark that the file format names."""


def number_of(mark: str | None) -> Cell:
    """Return a reader for number cells; where a file has a decimal mark, the error of another text names its form."""
    if mark is None:
        return number
    read, named = NUMBERS[mark], "comma" if mark == "," else "point"

    def cell(value: object) -> object | None:
        found = read(value)
        if isinstance(found, str):
            raise RuleError(Rule.WRONG_TYPE, f"must be a number with a decimal {named}{form_of(found)}")
        return found

    return cell


def boolean(value: object) -> object | None:
    """Read a boolean cell: one of `BOOLEANS` in any case, or the number 1 or 0."""
    value = plain(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return BOOLEANS.get(value.strip().lower(), value)
    return bool(value) if isinstance(value, int | float | Decimal) and value in (0, 1) else value


def urls(value: object) -> object | None:
    """Read a cell of URLs: a list, a JSON array as text, or URLs separated by blanks."""
    if type(value) is list:
        return value
    if isinstance(value, np.ndarray):
        return list(value)
    value = plain(value)
    if not isinstance(value, str):
        return value
    if not value.lstrip().startswith("["):
        return value.split()
    try:
        items: object = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return items


def date(formats: tuple[str, ...]) -> Cell:
    """Return a reader for date cells in the given formats or the contract's."""
    read, has_form = date_reader(formats), form_reader(formats)

    def cell(value: object) -> object | None:
        found = text(value)
        if isinstance(found, str) and (midnight := _MIDNIGHT.fullmatch(found.strip())):
            return midnight[1]
        if isinstance(found, datetime):
            return found.date().isoformat() if found.time() == time() else found
        moment = read(found) if isinstance(found, str) else None
        if moment is None and isinstance(found, str) and has_form(found):
            raise RuleError(Rule.NOT_A_DATE, f"must be a day of the calendar{form_of(found)}")
        return found if moment is None or moment.time() != time() else moment.date().isoformat()

    return cell


def moment(formats: tuple[str, ...]) -> Cell:
    """Return a reader for time cells, text or numbers, in the given formats or the contract's; a count of 0 is none."""
    read, has_form = date_reader(formats), form_reader(formats)
    counts = not UNIX_UNITS.keys().isdisjoint(formats)

    def cell(value: object) -> object | None:
        found = text(value) if formats else plain(value)
        if isinstance(found, float) and formats:
            found = str(found)
        if not isinstance(found, str):
            return plain(value)
        if found in ("0", "0.0") and counts:
            return None
        parsed = read(found)
        if parsed is None and has_form(found):
            raise RuleError(
                Rule.NOT_A_TIME, f"must be a day of the calendar and a time of the clock{form_of(found)}"
            )
        return parsed or (_plain_zone(found) if found[:4].isdigit() else plain(value))

    return cell


def _plain_zone(given: str) -> str:
    match = _ODD_ZONE.fullmatch(given.strip())
    if match is None:
        return given
    zone = "Z" if match[2] in ("UTC", "GMT") else match[2] if len(match[2]) != 3 else f"{match[2]}00"
    return match[1] + zone


def translated(cell: Cell, words: Mapping[str, str | bool]) -> Cell:
    """Return a reader that replaces words before they are read, and what is read as a word, ignoring case."""
    meanings = {word.casefold(): meaning for word, meaning in words.items()}

    def read(value: object) -> object | None:
        given = text(value)
        if isinstance(given, str) and (word := given.strip().casefold()) in meanings:
            return cell(meanings[word])
        found = cell(value)
        return meanings.get(found.strip().casefold(), found) if isinstance(found, str) else found

    return read


def country(value: object) -> object | None:
    """Read a country cell: an ISO 3166-1 code of two or three letters, or an English name."""
    found = text(value)
    return country_code(found) if isinstance(found, str) else found


IDENTITY_CELLS: Final[Mapping[str, Cell]] = dict.fromkeys(IDENTITY_FIELDS, text) | {
    "imageUrls": urls,
    "citizenship": country,
    "address.country": country,
}
SIGNAL_CELLS: Final[Mapping[SignalType, Cell]] = dict.fromkeys(SignalType, text) | {
    SignalType.NUMBER: number,
    SignalType.BOOLEAN: boolean,
    SignalType.IP: ip,
}


def field_cells(schema: RecordSchema, birth_formats: tuple[str, ...] = ()) -> dict[str, Cell]:
    """Collect the cell reader of every field of a schema, in the order of the fields.

    Parameters
    ----------
    schema : RecordSchema
        Names the signals and their types, and how files spell values.
    birth_formats : tuple of str
        Formats of dates of birth.
    """
    kinds = {**SIGNAL_CELLS, SignalType.NUMBER: number_of(schema.format.decimal)}
    signals = {SIGNAL_PREFIX + name: kinds[kind] for name, kind in schema.signals.items()}
    readers = {**IDENTITY_CELLS, "dob": date(birth_formats), **signals}
    for field, words in schema.format.values.items():
        readers[field] = translated(readers[field], words)
    return readers
