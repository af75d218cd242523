"""How files spell what they hold: separators, encodings, numbers, missing values, dates."""

import codecs
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from scoring_model.contract.violation import Invalid, Violation, pointer
from scoring_model.records.dates import DateFormat
from scoring_model.records.near_misses import did_you_mean

_UNFIT_SEPARATORS: Final = '"\r\n\0'
_NOT_TEXT: Final = frozenset({"base64", "bz2", "hex", "quopri", "rot13", "uu", "zlib", "idna", "punycode"})


@dataclass(frozen=True, kw_only=True, slots=True)
class FileFormat:
    """How the files of one use spell what they hold. What the client sends as JSON has one spelling, the contract's.

    Parameters
    ----------
    separator : str, optional
        One ASCII character between the cells of a CSV file; guessed from its first rows where absent.
    encoding : str, optional
        Of CSV files, by its Python name; guessed where absent: UTF-8, UTF-16, a code page of
        Windows from cp1250 to cp1257, cp932, cp949 or gb18030.
    decimal : str, optional
        ``.`` or ``,``: the mark before the fraction of numbers that are text; the other one may then separate groups
        of three digits. Where absent it is the point, and a comma makes no number, since it may be either. Blanks and
        apostrophes may always separate groups, and the sign of a currency stand before or after the number.
    nulls : tuple of str
        Texts of files and frames that mean a missing value, as they stand; blank ones always do.
    dates : tuple of str
        Formats of times and dates of birth that are text, in the order in which they are tried, after that of RFC
        3339. See `DateFormat`. Guessed for each column where there are none.
    timezone : str
        IANA name of the zone of instants without one.
    values : mapping of str to mapping of str to str
        By field: a value of the file, in any case, to that of the contract. For a boolean signal these are true and
        false, and come before the words that every file may use.

    Raises
    ------
    Invalid
        With every key that breaks a rule.
    """

    separator: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    nulls: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    timezone: str = "UTC"
    values: Mapping[str, Mapping[str, str | bool]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if violations := tuple(self._violations()):
            raise Invalid(violations)

    def _violations(self) -> Iterator[Violation]:
        separator = self.separator
        if separator is not None and (
            len(separator) != 1 or not separator.isascii() or separator in _UNFIT_SEPARATORS
        ):
            yield Violation(
                "/separator", "invalid", "must be one ASCII character, no quote and no line break"
            )
        if self.encoding is not None and not _is_text_encoding(self.encoding):
            yield Violation(
                "/encoding", "not_listed", f"must be an encoding of Python, got {self.encoding!r}"
            )
        if self.decimal not in (None, ".", ","):
            yield Violation("/decimal", "not_listed", f"must be '.' or ',', got {self.decimal!r}")
        for place, text in enumerate(self.dates):
            try:
                DateFormat(text)
            except ValueError as error:
                yield Violation(pointer("dates", place), "invalid", str(error))
        if not _is_zone(self.timezone):
            yield Violation(
                "/timezone",
                "not_listed",
                f"must be an IANA name such as Europe/Berlin, got {self.timezone!r}"
                + did_you_mean(self.timezone, sorted(available_timezones())),
            )

    @property
    def zone(self) -> ZoneInfo | None:
        """The zone of instants without one; None for UTC."""
        return None if self.timezone == "UTC" else ZoneInfo(self.timezone)


def _is_text_encoding(name: str) -> bool:
    try:
        return codecs.lookup(name).name not in _NOT_TEXT
    except (LookupError, ValueError):
        return False


def _is_zone(name: str) -> bool:
    try:
        return bool(re.fullmatch(r"[A-Za-z0-9_+/-]+", name)) and ZoneInfo(name) is not None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False


PLAIN: Final = FileFormat()
"""Nothing is said: what can be guessed is guessed, the rest is spelt as in JSON."""
