"""The rules of values: one plain function per field, for files and HTTP bodies alike.

Each function takes the raw value of one field (as JSON has it, or a date) and returns its canonical value, or
None where it is missing; a value that breaks a rule raises `RuleError`. A file calls them on the distinct
values of a column, after `cells` has undone what files do to types; a single record on its own values.

Blank text counts as missing in free-text fields (parts of an address, references, signals), since forms send it for
empty inputs; fields with a definite format refuse it.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from enum import StrEnum
from functools import cache, partial
from itertools import groupby
from typing import Final, TypeAlias
from unicodedata import combining, is_normalized, normalize

from pydantic_core import PydanticCustomError

NAME_LENGTH: Final = 100
PART_LENGTH: Final = 200  # of one part of an address: the longest in use are below 150
REFERENCE_LENGTH: Final = 128
SIGNAL_LENGTH: Final = 256
URL_LENGTH: Final = 2048
URLS: Final = 10
LARGEST_IDENTIFIER: Final = 10**39  # identifiers of 128 bits and less are whole numbers too
SIGNALS: Final = 200
DOCUMENT_TYPES: Final = ("PASSPORT", "NATIONAL_ID", "DRIVERS_LICENSE", "RESIDENCE_PERMIT")
EARLIEST_BIRTH: Final = date(1900, 1, 1)
_COUNTRY_CODES: Final = """
    AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS
    BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE
    EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM
    HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC
    LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA
    NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW
    SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO
    TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW
"""
COUNTRIES: Final = frozenset(_COUNTRY_CODES.split())
"""The officially assigned codes of ISO 3166-1 alpha-2, from the data set `datasets/country-codes` (PDDL 1.0)."""
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
# RFC 3986, section 3, as far as it names a host: user info, a name or an address in brackets, a port.
HTTPS: Final = re.compile(
    r"[Hh][Tt][Tt][Pp][Ss]://"
    r"(?:[^\s\x00-\x1f\x7f/?#@\[\]]*@)?"
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s\x00-\x1f\x7f/?#@:\[\]]+)"
    r"(?::[0-9]{0,5})?"
    r"(?P<path>/[^\s\x00-\x1f\x7f?#]*)?"
    r"(?:[?#][^\s\x00-\x1f\x7f]*)?"
)
# A part of what `HTTPS` allows, as most URLs are; many in one text, each with its end of line. It never goes back.
_PLAIN_URLS: Final = re.compile(r"(?:https://[a-z0-9.-]++(?:/[!-~]*+)?+\n)*+")
EXPANSION: Final = 4
"""Most code points that one code point of NFC decomposes into (Unicode Annex 15, section 9: U+1F82).

A text of more than `EXPANSION` times n code points has more than n in NFC, since decomposition never shortens a text.
"""
_LONG_RUN: Final = 32  # marks; an insertion sort of fewer takes less than a microsecond
_LAST_MARK: Final = 0x1F000  # there is no combining mark from here on
# The only characters of class 0 whose decomposition begins with a mark.
_DOUBLE_MARKS: Final = {
    "\u0f73": "\u0f71\u0f72",
    "\u0f75": "\u0f71\u0f74",
    "\u0f81": "\u0f71\u0f80",
}


class SignalType(StrEnum):
    """The type of a signal."""

    NUMBER = "number"
    BOOLEAN = "boolean"
    CATEGORY = "category"
    IDENTIFIER = "identifier"  # ties records together (link keys), never a feature
    # Text that may be anything: whether it can be read is a feature, not a rule.
    EMAIL = "email"
    PHONE = "phone"
    IP = "ip"


class Rule(StrEnum):
    """The rules that a value, a record or a row can break."""

    WRONG_TYPE = "wrong_type"
    LONE_SURROGATE = "lone_surrogate"
    BLANK = "blank"
    TOO_LONG = "too_long"
    TOO_MANY = "too_many"
    NOT_LISTED = "not_listed"
    NOT_A_DATE = "not_a_date"
    NOT_A_TIME = "not_a_time"
    NOT_HTTPS = "not_https"
    NOT_FINITE = "not_finite"
    OUT_OF_RANGE = "out_of_range"
    TOO_EARLY = "too_early"
    IN_FUTURE = "in_future"
    MISSING = "missing"
    UNKNOWN_FIELD = "unknown_field"
    REPEATED_FIELD = "repeated_field"
    EMPTY_RECORD = "empty_record"
    DUPLICATE = "duplicate"
    MALFORMED_ROW = "malformed_row"


RuleError: TypeAlias = PydanticCustomError
"""A value breaks a rule: `type` names the rule, `message()` states it and the shape of the value, never the value."""

ValueRule: TypeAlias = Callable[[object], object | None]
TextRule: TypeAlias = Callable[[object], str | None]


def wrong_type(wanted: str, value: object) -> RuleError:
    """Make the error of a value of another type than the one wanted."""
    return RuleError(Rule.WRONG_TYPE, f"must be {wanted}, got {kind_of(value)}")


def kind_of(value: object) -> str:
    """Name the type of a value, in the words of JSON where JSON has it; never the value."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list() | tuple():
            return "an array"
        case Mapping():
            return "an object"
        case _:
            return type(value).__name__


def text(value: object, *, limit: int) -> str | None:
    """Check text that may be anything: Unicode of at most `limit` characters after NFC and trimming.

    Text that can't shrink to the limit is refused by its length alone, before anything but trimming.
    """
    if value is None:
        return None
    if not isinstance(value, str):
        raise wrong_type("text", value)
    trimmed = value.strip()
    if not trimmed.isascii():
        _check_unicode(trimmed)
        if len(trimmed) > EXPANSION * limit:
            raise RuleError(Rule.TOO_LONG, f"must have at most {limit} characters, got more")
        trimmed = normal_form(trimmed).strip()
    if len(trimmed) > limit:
        raise RuleError(Rule.TOO_LONG, f"must have at most {limit} characters, got {len(trimmed)}")
    return trimmed or None


def _check_unicode(value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise RuleError(Rule.LONE_SURROGATE, "must be Unicode text, got a lone surrogate") from error


def normal_form(text: str) -> str:
    """Compose a text: `unicodedata.normalize("NFC", text)`, in time that grows with the length of the text alone.

    `normalize` sorts runs of combining marks by insertion, whose time grows with the square of a run (python/cpython
    149079, which later patch releases mend). Long runs are sorted here first.

    References
    ----------
    Unicode Standard Annex 15, and section 3.11 of the Unicode Standard (canonical ordering).

    Examples
    --------
    >>> normal_form("e\u0301") == "\u00e9"
    True
    """
    if len(text) >= _LONG_RUN and not is_normalized("NFC", text):
        text = _long_run().sub(lambda run: _ordered(run[0]), text)
    return normalize("NFC", text)


def _ordered(run: str) -> str:
    """Sort marks by combining class; those of one class keep their order."""
    for double, marks in _DOUBLE_MARKS.items():
        run = run.replace(double, marks)
    return "".join(sorted(run, key=combining))


@cache
def _long_run() -> re.Pattern[str]:
    """Compile the pattern of long runs of marks, when the first text needs it: it takes 10 ms."""
    marks = [code for code in range(0x300, _LAST_MARK) if combining(chr(code)) or chr(code) in _DOUBLE_MARKS]
    ranges = ""
    for _, numbered in groupby(enumerate(marks), key=lambda pair: pair[1] - pair[0]):
        codes = [code for _, code in numbered]
        ranges += f"{chr(codes[0])}-{chr(codes[-1])}"
    return re.compile(f"[{ranges}]{{{_LONG_RUN},}}")


def definite_text(value: object, *, limit: int) -> str | None:
    """Check text of 1 to `limit` characters after NFC and trimming."""
    checked = text(value, limit=limit)
    if checked is None and value is not None:
        raise RuleError(Rule.BLANK, f"must have 1 to {limit} characters, got none but blanks")
    return checked


name: Final[TextRule] = partial(definite_text, limit=NAME_LENGTH)  # first or last
address_part: Final[TextRule] = partial(text, limit=PART_LENGTH)  # line, city, region or postal code
reference: Final[TextRule] = partial(
    text, limit=REFERENCE_LENGTH
)  # the client's own name of a record or person
signal_text: Final[TextRule] = partial(text, limit=SIGNAL_LENGTH)  # a category or identifier


def birth_date(value: object) -> str | None:
    """Check a date of birth: `YYYY-MM-DD` from 1900 on. The check of the record refuses future dates.

    Dates and midnights without a zone are accepted too, since tables contain them.
    """
    if type(value).__name__ == "datetime64":  # of numpy, which is not imported here
        value = value.item()  # type: ignore[attr-defined]
    if isinstance(value, datetime) and value.tzinfo is None and value.time() == time():
        value = value.date()
    day = value if isinstance(value, date) and not isinstance(value, datetime) else _date_of_text(value)
    if day is not None and day < EARLIEST_BIRTH:
        raise RuleError(Rule.TOO_EARLY, f"must be {EARLIEST_BIRTH} or later")
    return None if day is None else day.isoformat()


FORM: Final = ", got the form "


def form_of(text: str) -> str:
    """Say the form of a text at the end of an error, without its content: 9 stands for a digit, a for a word."""
    return FORM + re.sub(r"[^\W\d_]+", "a", re.sub(r"\d", "9", text.strip()[:40]))


def _date_of_text(value: object) -> date | None:
    checked = definite_text(value, limit=REFERENCE_LENGTH)
    if checked is None:
        return None
    if not _DATE.fullmatch(checked):
        raise RuleError(Rule.NOT_A_DATE, f"must be of the form YYYY-MM-DD{form_of(checked)}")
    try:
        return date.fromisoformat(checked)
    except ValueError as error:
        raise RuleError(Rule.NOT_A_DATE, "must be a day of the calendar") from error


def country(value: object) -> str | None:
    """Check a country: ISO 3166-1 alpha-2 in any case."""
    checked = definite_text(value, limit=REFERENCE_LENGTH)
    if checked is None:
        return None
    # Of two ASCII letters alone: upper-casing would make codes of such as the long s.
    if not checked.isascii() or checked.upper() not in COUNTRIES:
        raise RuleError(Rule.NOT_LISTED, f"must be an ISO 3166-1 alpha-2 code, got {len(checked)} characters")
    return checked.upper()


def document_type(value: object) -> str | None:
    """Check the type of the identity document."""
    checked = definite_text(value, limit=REFERENCE_LENGTH)
    if checked is not None and checked not in DOCUMENT_TYPES:
        raise RuleError(Rule.NOT_LISTED, f"must be one of {', '.join(DOCUMENT_TYPES)}")
    return checked


def image_urls(value: object) -> tuple[str, ...] | None:
    """Check a list of at most 10 https URLs; an empty list is missing."""
    if value is None:
        return None
    if not isinstance(value, list | tuple):
        raise wrong_type("a list of URLs", value)
    if len(value) > URLS:
        raise RuleError(Rule.TOO_MANY, f"must hold at most {URLS} URLs, got {len(value)}")
    return tuple([image_url(item) for item in value]) or None


def image_url(value: object) -> str:
    """Check one https URL: of at most 2048 characters, with a host and no blank."""
    if type(value) is str and len(value) <= URL_LENGTH and value.isascii() and HTTPS.fullmatch(value):
        return value  # as nearly all are: nothing to trim or to compose
    checked = definite_text(value, limit=URL_LENGTH)
    if checked is None:
        raise wrong_type("a list of URLs, each text", value)
    if not HTTPS.fullmatch(checked):
        raise RuleError(Rule.NOT_HTTPS, "must be https URLs with a host and without blanks")
    return checked


def are_plain_urls(values: Sequence[object]) -> bool:
    """Whether `image_url` returns all of these as they are, as it does nearly always; without a call for each."""
    texts: list[str] = [value for value in values if type(value) is str]
    if len(texts) < len(values) or max(map(len, texts), default=0) > URL_LENGTH:
        return False
    lines = "\n".join([*texts, ""])
    # As many ends of lines as texts: none has one inside.
    return lines.count("\n") == len(texts) and _PLAIN_URLS.fullmatch(lines) is not None


def number(value: object) -> float | None:
    """Check a number signal: finite. The sign of zero is dropped, so that equal numbers are the same bits."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong_type("a number", value)
    try:
        checked = float(value)
    except OverflowError:
        checked = math.inf
    if not math.isfinite(checked):
        raise RuleError(Rule.NOT_FINITE, "must be a finite number of 64 bits")
    return checked + 0.0


def propensity(value: object) -> float | None:
    """Check a probability above 0."""
    checked = number(value)
    if checked is not None and not 0 < checked <= 1:
        raise RuleError(Rule.OUT_OF_RANGE, "must be above 0 and at most 1")
    return checked


def boolean(value: object) -> float | None:
    """Check a boolean signal: 1.0 for true, 0.0 for false."""
    if value is None:
        return None
    if not isinstance(value, bool):
        raise wrong_type("a boolean", value)
    return float(value)


def identifier(value: object) -> str | None:
    """Check an identifier signal: text, or a whole number, which is its digits."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST_IDENTIFIER:
        return str(value)
    return signal_text(value)


def any_signal(value: object) -> object | None:
    """Check a signal that the configuration does not name: a number, a boolean, text or null."""
    if isinstance(value, bool):
        return boolean(value)
    return number(value) if isinstance(value, int | float) else signal_text(value)


IDENTITY_RULES: Final[Mapping[str, ValueRule]] = {
    "firstName": name,
    "lastName": name,
    "dob": birth_date,
    "citizenship": country,
    "documentType": document_type,
    "imageUrls": image_urls,
    "address.line1": address_part,
    "address.line2": address_part,
    "address.city": address_part,
    "address.region": address_part,
    "address.postalCode": address_part,
    "address.country": country,
    "externalId": reference,
    "subjectId": reference,
    "identityId": reference,
}
TEXT_RULES: Final[frozenset[ValueRule]] = frozenset({name, address_part, reference, signal_text, identifier})
"""Rules that leave printable ASCII of at most `SHORTEST_LIMIT` characters, without outer blanks, as it is."""
SHORTEST_LIMIT: Final = min(NAME_LENGTH, PART_LENGTH, REFERENCE_LENGTH, SIGNAL_LENGTH)

SIGNAL_RULES: Final[Mapping[SignalType, ValueRule]] = {
    SignalType.NUMBER: number,
    SignalType.BOOLEAN: boolean,
    SignalType.CATEGORY: signal_text,
    SignalType.IDENTIFIER: identifier,
    SignalType.EMAIL: signal_text,
    SignalType.PHONE: identifier,  # files often hold phone numbers as whole numbers
    SignalType.IP: signal_text,
}
