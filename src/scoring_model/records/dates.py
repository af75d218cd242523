"""Dates and times in files: named formats, and detection of the format of a text column."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta, timezone
from functools import cache, lru_cache
from typing import Final

from scoring_model.contract.texts import EPOCH

UNIX_UNITS: Final = {"unix": 1, "unix_ms": 10**3, "unix_us": 10**6, "unix_ns": 10**9}
"""Formats that count from 1970-01-01 UTC, with their units in a second."""
EXCEL: Final = "excel"
"""The format of days since 1899-12-30, with a fraction, as spreadsheets number them; in no zone."""

_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar jänner janv janvier ene enero gen gennaio janeiro januari sty stycznia led ledna "
            "ian ianuarie tammi tammikuuta января січня януари siječnja siječanj ocak ιαν ιανουαρίου január",
            "feb february februar févr fév février febrero febbraio fev fevereiro februari lut lutego úno února "
            "fevr februarie helmi helmikuuta февраля лютого февруари veljače veljača şubat φεβ φεβρουαρίου február",
            "mar march märz mär mrz mars marzo março maart mrt marca březen března "
            "martie maalis maaliskuuta марта березня март ožujka ožujak mart μαρ μαρτίου március",
            "apr april avr avril abr abril aprile kwi kwietnia dub dubna "
            "aprilie huhti huhtikuuta апреля квітня април travnja travanj nisan απρ απριλίου április",
            "may mai mayo mag maggio maio mei maj maja května "
            "touko toukokuuta мая травня май svibnja svibanj mayıs μαϊ μαΐου május maj",
            "jun june juni juin junio giu giugno junho cze czerwca června "
            "iun iunie kesä kesäkuuta июня червня юни lipnja lipanj haziran ιουν ιουνίου június",
            "jul july juli juil juillet julio lug luglio julho lip lipca července "
            "iul iulie heinä heinäkuuta июля липня юли srpnja srpanj temmuz ιουλ ιουλίου július",
            "aug august août aoû ago agosto augustus augusti sie sierpnia srpna "
            "elo elokuuta августа серпня август kolovoza kolovoz ağustos αυγ αυγούστου augusztus",
            "sep sept september septembre septiembre set settembre setembro wrz września září "
            "septembrie syys syyskuuta сентября вересня септември rujna rujan eylül σεπ σεπτεμβρίου szeptember",
            "oct october okt oktober octobre octubre ott ottobre out outubro paź października října "
            "octombrie loka lokakuuta октября жовтня октомври ekim οκτ οκτωβρίου október",
            "nov november novembre noviembre novembro lis listopada "
            "noiembrie noi marras marraskuuta ноября листопада ноември studenoga studeni kasım νοε νοεμβρίου",
            "dec december dez dezember déc décembre dic diciembre dicembre dezembro gru grudnia prosince "
            "decembrie joulu joulukuuta декабря грудня декември prosinca prosinac aralık δεκ δεκεμβρίου",
        ),
        1,
    )
    for name in names.split()
}
"""Months in the languages of exports."""
_NAMES: Final = rf"(?:{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\.?"
# The directives of strptime that have one meaning in every locale.
_DIRECTIVES: Final = {
    "Y": r"(?P<Y>[0-9]{4})",
    "y": r"(?P<y>[0-9]{2})",
    "m": r"(?P<m>[0-9]{1,2})",
    "d": r"(?P<d>[0-9]{1,2})",
    "b": rf"(?P<b>{_NAMES})",
    "a": r"(?:mon|tue|wed|thu|fri|sat|sun)",
    "H": r"(?P<H>[0-9]{1,2})",
    "I": r"(?P<I>[0-9]{1,2})",
    "M": r"(?P<M>[0-9]{2})",
    "S": r"(?P<S>[0-9]{2})",
    "f": r"(?P<f>[0-9]{1,9})",
    "p": r"(?P<p>[apef]\.?[ \u00a0]?m\.?|[πμ]\.?[ \u00a0]?μ\.?|[صم]|오[전후]|[上下]午|午[前後]|ö[ös]|d[eu]\.|sa|ch)",
    "z": r"(?P<z>Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})",
    "%": "%",
}
_AFTERNOON: Final = re.compile("p|e|μ|م|오후|下|午後|ös|du|ch", re.IGNORECASE)
"""Beginnings of the words for the second half of the day."""
_COUNT: Final = re.compile(r"[+-]?\d{1,19}(?:\.\d+)?", re.ASCII)
_SERIAL: Final = re.compile(r"\d{1,5}(?:[.,]\d{1,17})?", re.ASCII)


class DateFormat:
    """A format of dates or times.

    Parameters
    ----------
    text : str
        With the directives ``%Y %y %m %d %b %a %H %I %M %S %f %p %z %%`` of strptime; names of days are English.
        Or one of `UNIX_UNITS`, or `EXCEL`. Two digits make a year from 1969 to 2068, as POSIX says; one of birth that
        is later than that of the event is of the century before.

    Raises
    ------
    ValueError
        If a directive is unknown or repeated, or if year, month or day is missing.

    Examples
    --------
    >>> DateFormat("%d.%m.%Y").read("9.11.1989")
    datetime.datetime(1989, 11, 9, 0, 0)
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._units = UNIX_UNITS.get(text)
        plain = self._units is not None or text == EXCEL
        self._pattern = re.compile(r"(?!)" if plain else _pattern(text), re.IGNORECASE)

    def is_form_of(self, text: str) -> bool:
        """Return whether text looks like a date of this format, though it may be none of the calendar."""
        return self._pattern.fullmatch(text) is not None

    def read(self, text: str) -> datetime | None:
        """Parse text of this format to the microsecond; return None for other text and impossible dates."""
        try:
            if self._units:
                return _since_1970(text, self._units)
            if self.text == EXCEL:
                return _since_1899(text)
            match = self._pattern.fullmatch(text)
            return None if match is None else _moment(match.groupdict())
        except (ValueError, OverflowError):
            return None


def _pattern(text: str) -> str:
    if (
        text.count("%b") + text.count("%m") != 1
        or "%d" not in text
        or text.count("%Y") + text.count("%y") != 1
    ):
        raise ValueError(
            f"must be one of {', '.join(UNIX_UNITS)}, {EXCEL}, or have year (%Y), month (%m or %b) and day "
            f"(%d), got {text!r}"
        )
    pieces = re.split(r"%(.?)", text)
    for place, directive in enumerate(pieces):
        if place % 2 == 0:
            pieces[place] = re.escape(directive)
        elif directive not in _DIRECTIVES:
            known = " ".join(f"%{name}" for name in _DIRECTIVES)
            raise ValueError(f"the directive %{directive} is unknown; known are {known}")
        else:
            pieces[place] = _DIRECTIVES[directive]
    try:
        re.compile("".join(pieces))
    except re.error as error:
        raise ValueError(f"a directive is repeated in {text!r}") from error
    return "".join(pieces)


def _moment(parts: dict[str, str]) -> datetime:
    year = int(parts["Y"]) if "Y" in parts else _full_year(int(parts["y"]))
    month = int(parts["m"]) if "m" in parts else _MONTHS[parts["b"].lower().removesuffix(".")]
    hour = int(parts.get("H", 0))
    if "I" in parts:
        hour = _of_clock(int(parts["I"]), parts.get("p", "am"))
    fraction = int(parts.get("f", "0")[:6].ljust(6, "0"))
    minute, second = int(parts.get("M", 0)), int(parts.get("S", 0))
    return datetime(
        year, month, int(parts["d"]), hour, minute, second, fraction, tzinfo=_zone(parts.get("z"))
    )


def _full_year(two_digits: int) -> int:
    return two_digits + (1900 if two_digits >= 69 else 2000)


def _of_clock(hour: int, half: str) -> int:
    if not 1 <= hour <= 12:
        raise ValueError("no hour of a clock")
    return hour % 12 + (12 if _AFTERNOON.match(half) else 0)


def _zone(text: str | None) -> timezone | None:
    if text is None:
        return None
    if text.upper() in ("Z", "UTC", "GMT"):
        return UTC
    away = timedelta(hours=int(text[1:3]), minutes=int(text[-2:]))
    return timezone(-away if text[0] == "-" else away)


def _since_1970(text: str, units: int) -> datetime | None:
    if not _COUNT.fullmatch(text):
        return None
    whole, _, part = text.partition(".")
    micros = int(whole) * 10**6 // units
    return EPOCH + timedelta(microseconds=micros + int(part[:6].ljust(6, "0")) // units)


def _since_1899(text: str) -> datetime | None:
    if not _SERIAL.fullmatch(text):
        return None
    days, _, part = text.replace(",", ".").partition(".")
    seconds = round(float(f"0.{part or 0}") * 86_400)
    return datetime(1899, 12, 30) + timedelta(days=int(days), seconds=seconds)


@cache
def date_reader(formats: tuple[str, ...]) -> Callable[[str], datetime | None]:
    """Return a function that parses text by the first matching format."""
    known = [DateFormat(text) for text in formats]

    def read(text: str) -> datetime | None:
        found = (format_.read(text.strip()) for format_ in known)
        return next((moment for moment in found if moment is not None), None)

    return read


@cache
def form_reader(formats: tuple[str, ...]) -> Callable[[str], bool]:
    """Return a function that says whether text has one of the formats, though it may be no date: 31.02.2024."""
    known = [DateFormat(text) for text in formats]
    return lambda text: any(format_.is_form_of(text.strip()) for format_ in known)


@cache
def short_year_reader(formats: tuple[str, ...]) -> Callable[[str], datetime | None]:
    """Return a function like that of `date_reader`, for texts alone whose format has a year of two digits."""
    known = [DateFormat(text) for text in formats]

    def read(text: str) -> datetime | None:
        found = ((format_, format_.read(text.strip())) for format_ in known)
        first = next(((format_, moment) for format_, moment in found if moment is not None), None)
        return None if first is None or "%y" not in first[0].text else first[1]

    return read


# With what stands before it: a T, a blank, words in any language: 05/01/2024 à 13h45, 05.01.2024 um 13:45 Uhr.
_WORD: Final = r"[^\W\d_]{1,5}\.?"
_TIME: Final = rf"((?:\.|,? ?[гр]\.)?(?:(?:T|-|,? (?:{_WORD} ){{0,2}})[0-9].+)?)"
_YEAR_LAST: Final = re.compile(
    rf"([0-9]{{1,2}})(\. |[./-])([0-9]{{1,2}})\2([0-9]{{4}}|[0-9]{{2}}){_TIME}", re.I
)
_NAMED: Final = re.compile(
    rf"[0-9]{{1,2}}(\. | de |[ ./-]){_NAMES}( de |[ ./-])([0-9]{{4}}|[0-9]{{2}}){_TIME}", re.I
)
_NAMED_FIRST: Final = re.compile(rf"{_NAMES} [0-9]{{1,2}}(,?) [0-9]{{4}}{_TIME}", re.I)
_CTIME: Final = re.compile(
    rf"[a-z]{{3}} {_NAMES} \d{{1,2}} \d{{2}}:\d{{2}}:\d{{2}}( [+-]\d{{4}})? \d{{4}}", re.ASCII | re.I
)
_MAILED: Final = re.compile(
    rf"[a-z]{{3}}, \d{{1,2}} {_NAMES} \d{{4}} \d{{2}}:\d{{2}}:\d{{2}} (?:[+-]\d{{4}}|GMT|UTC)",
    re.ASCII | re.I,
)
_YEAR_FIRST: Final = re.compile(
    rf"[0-9]{{4}}(?:(\. |[./-])[0-9]{{1,2}}\1[0-9]{{1,2}}(\.?)|[0-9]{{4}}){_TIME}", re.I
)
_DIGITS: Final = re.compile("[0-9]{12}(?:[0-9]{2})?")
_SIGNED: Final = re.compile("[0-9]{4}年[0-9]{1,2}月[0-9]{1,2}日( ?[0-9].+)?")
_CLOCKS: Final = (
    *("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p"),
    *("%I:%M:%S.%f %p", "%I.%M.%S %p", "%I.%M.%S.%f %p", "%H.%M.%S.%f"),
    *("%H:%M %z", "%H:%M:%S %z", "%H:%M:%S.%f %z"),
    *("%H.%M", "%H.%M.%S"),
)
_HALVES: Final = ("%I:%M", "%I:%M:%S")
"""What stands behind a word for the half of the day."""
_MARK: Final = rf"(:|\.| ?{_WORD} ?)"
_WORDED: Final = re.compile(rf"(\D*)11?{_MARK}11(?:{_MARK}11)?((?: ?(?![A-Z]{{3}}){_WORD})?)")
"""A time of day, each of its digits a 1, with marks or words in it or behind it, but no zone: CET."""
_EVIDENCE: Final = 2
_DAYS: Final = 20
_YEARS: Final = 5


def is_unlike_iso(text: str) -> bool:
    """Return whether a text may be a date of another form than 2024-02-01T13:45, which needs no format."""
    bare = text.strip()
    odd_clock = bare[10:11] == "-" or bare[12:13] == ":" or bare[13:14] not in ":"
    return bare[4:5] != "-" or odd_clock or bare[-1:] in "mM."


def guess_dates(texts: Iterable[str]) -> tuple[str, ...]:
    """Find formats for the texts of a column.

    Numbers above 12 distinguish day and month: at least two distinct texts must show one order, and none
    the other. With points as separators, the day comes first. A year of two digits is last where two texts have one
    above 31 there and none has one at the beginning, or where twenty numbers up to 31 stand at the beginning and at
    most five there, as in recent years; with points or with the month first, it needs no such texts.

    Parameters
    ----------
    texts : iterable of str
        Distinct texts. Texts other than dates are skipped.

    Returns
    -------
    tuple of str
        Formats, such as ``%d.%m.%Y %H:%M``; empty where nothing is certain.
    """
    evidence = DateEvidence()
    evidence.add(texts)
    return evidence.formats()


class DateEvidence:
    """What the texts of a column show about the formats of its dates; it may be gathered piece by piece."""

    def __init__(self) -> None:
        self._found: set[str] = set()
        self._year_last: set[tuple[str, str, str]] = set()
        # Distinct texts with a number above 12, or 31, by separator, year and order; no more than are needed.
        self._shown: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
        self._ends: defaultdict[tuple[str, str], set[str]] = defaultdict(set)

    def add(self, texts: Iterable[str]) -> None:
        """Add texts, each once or several times."""
        for given in texts:
            text = given.strip()
            if match := _YEAR_LAST.fullmatch(text):
                first, mark, second, last, time = match.groups()
                year = "%Y" if len(last) == 4 else "%y"
                self._year_last.update((mark, year, clock) for clock in _clocks(time))
                if year == "%y":
                    self._ends[mark, "first"].add(first)
                    self._ends[mark, "last"].add(last)
                for number, above, order in (
                    (first, 12, "day first"),
                    (second, 12, "month first"),
                    (first, 31, "year first"),
                    (last, 31, "year last"),
                ):
                    seen = self._shown[mark, year, order]
                    if int(number) > above and len(seen) < _EVIDENCE:
                        seen.add(given)
            elif is_unlike_iso(text) and (match := _YEAR_FIRST.fullmatch(text)):
                mark = match[1] or ""
                self._add(text, f"%Y{mark}%m{mark}%d{match[2] or ''}", match[3])
            elif _DIGITS.fullmatch(text):
                self._add(text, "%Y%m%d%H%M%S" if len(text) == 14 else "%Y%m%d%H%M")
            elif match := _SIGNED.fullmatch(text):
                self._add(text, "%Y年%m月%d日", match[1])
            elif match := _NAMED.fullmatch(text):
                year = "%Y" if len(match[3]) == 4 else "%y"
                self._add(text, f"%d{match[1]}%b{match[2]}{year}", match[4])
            elif match := _CTIME.fullmatch(text):
                self._add(text, f"%a %b %d %H:%M:%S{' %z' if match[1] else ''} %Y", None)
            elif _MAILED.fullmatch(text):
                self._add(text, "%a, %d %b %Y %H:%M:%S %z")
            elif match := _NAMED_FIRST.fullmatch(text):
                self._add(text, f"%b %d{match[1]} %Y", match[2])

    def _add(self, text: str, day: str, time: str | None = None) -> None:
        formats = {f"{day}{clock}" for clock in _clocks(time)}
        self._found |= {format_ for format_ in formats - self._found if DateFormat(format_).read(text)}

    def formats(self) -> tuple[str, ...]:
        """Return what `guess_dates` returns for all texts so far."""
        found = set(self._found)
        for mark, year, clock in self._year_last:
            days, months, before, after = (
                len(self._shown[mark, year, order])
                for order in ("day first", "month first", "year first", "year last")
            )
            certain = mark[0] == "." or max(months, after) >= _EVIDENCE or self._are_recent(mark)
            if year == "%y" and (before or not certain):
                continue
            if not months and (days >= _EVIDENCE or mark[0] == "."):
                found.add(f"%d{mark}%m{mark}{year}{clock}")
            elif not days and months >= _EVIDENCE:
                found.add(f"%m{mark}%d{mark}{year}{clock}")
        alike = Counter(map(_without_words, found))  # words that change may be those for the halves of a day
        return tuple(sorted(form for form in found if alike[_without_words(form)] == 1))

    def _are_recent(self, mark: str) -> bool:
        """Return whether texts begin with most days of a month, and end with one of few years."""
        return len(self._ends[mark, "first"]) >= _DAYS and len(self._ends[mark, "last"]) <= _YEARS


def _without_words(form: str) -> str:
    return re.sub(r"(%.)|[^\W\d_]+", lambda found: found[1] or "w", form)


def _clocks(time: str | None) -> tuple[str, ...]:
    """Formats of a time of day, each with what stands before it; what holds no digit is a word after a day."""
    if not time or not re.search("[0-9]", time):
        return (time or "",)
    return _clocks_like(re.sub("[0-9]", "1", time))


@lru_cache(maxsize=1024)
def _clocks_like(time: str) -> tuple[str, ...]:
    """Formats of all times of day with digits at the same places."""
    joint = time.partition("1")[0]  # each digit is a 1 here
    half = re.sub(rf"(?<!\w){_DIRECTIVES['p']}(?!\w)", "%p", joint, count=1, flags=re.IGNORECASE)
    clocks = [half + clock for clock in (_CLOCKS if half == joint else _HALVES)]
    found = tuple(clock for clock in clocks if DateFormat(f"%Y%m%d{clock}").read(f"20000101{time}"))
    if found or not (match := _WORDED.fullmatch(time)):
        return found
    before, first, second, behind = match.groups()
    return (f"{before}%H{first}%M{f'{second}%S' if second else ''}{behind}",)
