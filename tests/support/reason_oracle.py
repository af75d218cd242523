"""Judge whether a sentence about a record is true, from its words, the record and all earlier records.

It reads neither feature rows nor factors: it looks up the claim among the given values and, for links, among the
earlier records with the same key.
"""

import ipaddress
import re
import unicodedata
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import phonenumbers

from scoring_model.features.postal import REQUIRED, USUALLY, fits
from scoring_model.features.words import NO_ADDRESSES, NO_HOMES, NO_NAMES, TITLES
from scoring_model.history import LinkKey, key_of

Values = Mapping[str, object]
"""Canonical values of a record by field name; what was not given is not there, or None."""

_SECONDS: Final = {"day": 86_400, "hour": 3_600, "minute": 60, "second": 1}
_PARTS: Final = ("line1", "line2", "city", "region", "postalCode", "country")
_BOX: Final = re.compile(
    r"p\.?\s?o\.?\s?box|post(al)? box|postfach|boite postale|b\.?p\.? \d|apartado|casella|caixa"
)


class Earlier(NamedTuple):
    """A record as later ones see it: its time, and its label with the instant from which it is known."""

    time: int
    is_fraud: bool = False
    known: int = 0


class History:
    """All records by link key, and the signals by their titles."""

    def __init__(self, keys: Iterable[LinkKey], titles: Mapping[str, str] | None = None) -> None:
        self.titles = titles or {}
        self._keys = {_same(key.name): key for key in keys}
        self._records: dict[tuple[str, tuple[str, ...]], list[Earlier]] = defaultdict(list)

    def add(self, values: Values, record: Earlier) -> None:
        """Add a record."""
        for same, key in self._keys.items():
            found = key_of(values, key)
            if found is not None:
                insort(self._records[same, found], record)

    def before(self, values: Values, at: int, same: str) -> list[Earlier]:
        """Records before an instant with a record's key, such as ``with the same device``; latest first."""
        found = key_of(values, self._keys[same])
        records = [] if found is None else self._records[same, found]
        return records[: bisect_left(records, (at,))][::-1]


def is_true(sentence: str, values: Values, at: int, history: History) -> bool:
    """Judge a sentence about a record of an instant; an AssertionError names a sentence that can't be judged."""
    given = {name: value for name, value in values.items() if value is not None and value != ()}
    for pattern, judge in _LINKED:
        if match := pattern.fullmatch(sentence):
            return judge(history.before(values, at, match["same"]), at, match)
    for pattern, judge_given in _CLAIMS:
        if pattern.fullmatch(sentence):
            return judge_given(given)
    if match := re.fullmatch(r"The ([\w ]+) counted against the \S+\.", sentence):
        return _signal(match[1], history) in given
    if match := re.fullmatch(r"No ([\w ]+) was given\.", sentence):
        return _signal(match[1], history) not in given
    raise AssertionError(f"nobody can judge: {sentence}")


def _signal(title: str, history: History) -> str:
    name = history.titles.get(title) or title.removeprefix("signal ")
    if name == title:
        raise AssertionError(f"nobody knows what this is: {title}")
    return f"signals.{name}"


def _same(key: str) -> str:
    return "of the same person" if key == "person" else f"with the same {key.replace('_', ' ')}"


def _is_known_fraud(record: Earlier, at: int) -> bool:
    return record.is_fraud and record.known < at


def _start(at: int, match: re.Match[str]) -> int:
    return at - int(match["count"]) * _SECONDS[match["unit"]] * 1_000_000


def _none_known(records: Sequence[Earlier], at: int, match: re.Match[str]) -> bool:
    return all(record.time < _start(at, match) for record in records)


def _no_fraud(records: Sequence[Earlier], at: int, match: re.Match[str]) -> bool:
    latest = [record for record in records if record.time >= _start(at, match)][: int(match["latest"])]
    return not any(_is_known_fraud(record, at) for record in latest)


_SAME: Final = r"(?P<same>of the same person|with the same [^()]+?)"
_BEFORE: Final = r"the (?P<count>\d+) (?P<unit>day|hour|minute|second)s? before"
_LINKED: Final[Sequence[tuple[re.Pattern[str], Callable[[Sequence[Earlier], int, re.Match[str]], bool]]]] = (
    (re.compile(rf"An earlier \S+ {_SAME} is known\."), lambda records, at, _: bool(records)),
    (
        re.compile(rf"An earlier \S+ {_SAME} is known to be fraud\."),
        lambda records, at, _: any(_is_known_fraud(record, at) for record in records),
    ),
    (re.compile(rf"No earlier \S+ {_SAME} is known from {_BEFORE}\."), _none_known),
    (
        re.compile(
            rf"No earlier \S+ {_SAME} is known to be fraud \(the latest (?P<latest>\d+) of {_BEFORE}\)\."
        ),
        _no_fraud,
    ),
)


def _words(text: object) -> set[str]:
    plain = unicodedata.normalize("NFKD", str(text).casefold())
    return set(re.findall(r"[^\W\d_]+", "".join(c for c in plain if not unicodedata.combining(c))))


def _named(given: Values) -> bool:
    return "firstName" in given or "lastName" in given


def _no_person(given: Values) -> bool:
    words = _words(given.get("firstName", "")) | _words(given.get("lastName", ""))
    return not words.isdisjoint(TITLES | NO_NAMES)


def _address(given: Values) -> list[str]:
    return [part for part in _PARTS if f"address.{part}" in given]


def _wanting(given: Values) -> bool:
    wanted = REQUIRED.get(str(given.get("address.country")), USUALLY)
    return any(part not in _address(given) for part in wanted)


def _in_writing(given: Values) -> bool:
    return any(part != "country" for part in _address(given))


def _line(given: Values) -> str:
    return str(given["address.line1"])


def _no_home(given: Values) -> bool:
    text = " ".join(sorted(_words(_line(given))))
    folded = unicodedata.normalize("NFKD", _line(given).casefold())
    return _BOX.search(folded) is not None or "c/o" in folded or not set(text.split()).isdisjoint(NO_HOMES)


def _no_address(given: Values) -> bool:
    return not any(map(str.isalpha, _line(given))) or not _words(_line(given)).isdisjoint(NO_ADDRESSES)


def _fits(given: Values) -> bool | None:
    code, country = given.get("address.postalCode"), given.get("address.country")
    return None if code is None or country is None else fits(str(code), str(country))


def _has(*fields: str) -> Callable[[Values], bool]:
    return lambda given: all(field in given for field in fields)


def _lacks(field: str) -> Callable[[Values], bool]:
    return lambda given: field not in given


_MAIL: Final = re.compile(r"(\w[\w.+-]*)@(?:\w+\.)+\w+")


def _is_mail(given: Values) -> bool:
    return _MAIL.fullmatch(str(given.get("signals.email"))) is not None


def _is_disposable(given: Values) -> bool:
    return re.search(r"[@.]mailinator\.com$", str(given.get("signals.email"))) is not None


def _is_like_names(given: Values) -> bool:
    """Whether there is a mail address to compare with names in Latin letters."""
    names = f"{given.get('firstName', '')}{given.get('lastName', '')}"
    letters = re.findall("[a-z]", str(given.get("signals.email")).partition("@")[0].lower())
    plain = unicodedata.normalize("NFKD", names.casefold())
    return _is_mail(given) and len(letters) > 1 and re.search("[a-z]", plain) is not None


def _phone(given: Values) -> phonenumbers.PhoneNumber | None:
    try:
        return phonenumbers.parse(str(given.get("signals.mobile")), "DE")
    except phonenumbers.NumberParseException:
        return None


def _is_phone(given: Values) -> bool:
    found = _phone(given)
    return found is not None and phonenumbers.is_valid_number(found)


def _calling_codes(given: Values) -> set[int | None]:
    """The calling codes of the number and of the country of the address; none if one of them has none."""
    found, there = _phone(given), phonenumbers.country_code_for_region(str(given.get("address.country")))
    return {found.country_code, there} if found is not None and there else set()


def _is_public(given: Values) -> bool | None:
    try:
        return ipaddress.ip_address(str(given.get("signals.ip"))).is_global
    except ValueError:
        return None


_COUNTRIES: Final = _has("citizenship", "address.country")
_CLAIMS: Final[Sequence[tuple[re.Pattern[str], Callable[[Values], bool]]]] = tuple(
    (re.compile(pattern), about)
    for pattern, about in (
        (r"What is known of .+, or is not, counted against the \S+\.", lambda given: True),
        (r"The (form|words) of the name counted against the \S+\.", _named),
        (r"The date of birth counted against the \S+\.", _has("dob")),
        (r"The age counted against the \S+\.", _has("dob")),
        (r"The type of document counted against the \S+\.", _has("documentType")),
        (r"The citizenship counted against the \S+\.", _has("citizenship")),
        (r"The form of the address counted against the \S+\.", _in_writing),
        (
            r"The wording of the first line of the address counted against the \S+\.",
            _has("address.line1"),
        ),
        (
            r"The kind of place that the address names counted against the \S+\.",
            _has("address.line1"),
        ),
        (r"The country of the address counted against the \S+\.", _has("address.country")),
        (r"The references to document images counted against the \S+\.", _has("imageUrls")),
        (r"How common the name is counted against the \S+\.", _named),
        (r"No name was given\.", lambda given: not _named(given)),
        (r"The name holds a title, a word of companies, or one that stands in for a name\.", _no_person),
        (r"No date of birth was given\.", _lacks("dob")),
        (r"The hour or weekday of the \S+ counted against it\.", lambda given: True),
        (r"No type of document was given\.", _lacks("documentType")),
        (r"No citizenship was given\.", _lacks("citizenship")),
        (
            r"That citizenship and country of the address agree counted against the \S+\.",
            lambda given: _COUNTRIES(given) and given["citizenship"] == given["address.country"],
        ),
        (
            r"Citizenship and country of the address differ\.",
            lambda given: _COUNTRIES(given) and given["citizenship"] != given["address.country"],
        ),
        (
            r"No citizenship was given together with a country of the address\.",
            lambda given: not _COUNTRIES(given),
        ),
        (
            r"Which parts of the address were given counted against the \S+\.",
            lambda given: bool(_address(given)),
        ),
        (r"No address was given\.", lambda given: not _address(given)),
        (
            r"Parts that the address needs were not given\.",
            lambda given: bool(_address(given)) and _wanting(given),
        ),
        (
            r"No line, city, region or postal code of an address was given\.",
            lambda given: not _in_writing(given),
        ),
        (r"No first line of an address was given\.", _lacks("address.line1")),
        (
            r"The first line of the address has no word, or one that stands in for an address\.",
            lambda given: _has("address.line1")(given) and _no_address(given),
        ),
        (
            r"The address names a post-office box, a hotel, a mailbox or somebody else's care\.",
            lambda given: _has("address.line1")(given) and _no_home(given),
        ),
        (
            r"That the postal code has the form of its country's counted against the \S+\.",
            lambda given: _fits(given) is True,
        ),
        (
            r"The postal code does not have the form of its country's\.",
            lambda given: _fits(given) is False,
        ),
        (
            r"No postal code was given that could be compared with those of the country\.",
            lambda given: _fits(given) is None,
        ),
        (r"No country of an address was given\.", _lacks("address.country")),
        (r"No document image was given\.", _lacks("imageUrls")),
        (r"Nothing counted against the \S+ by itself\.", lambda given: True),
        (
            r"The signal email cannot be read as a mail address\.",
            lambda given: "signals.email" in given and not _is_mail(given),
        ),
        (r"The provider of the signal email counted against the \S+\.", _is_mail),
        (
            r"The provider of the signal email gives addresses that are thrown away after use\.",
            _is_disposable,
        ),
        (r"No signal email with a provider was given\.", lambda given: not _is_mail(given)),
        (
            r"How much the signal email is like the names counted against the \S+\.",
            _is_like_names,
        ),
        (
            r"No signal email was given that could be compared with a name\.",
            lambda given: not _is_like_names(given),
        ),
        (
            r"The signal mobile is not a valid phone number\.",
            lambda given: "signals.mobile" in given and not _is_phone(given),
        ),
        (
            r"That the signal mobile has the calling code of the country of the address counted against the \S+\.",
            lambda given: len(_calling_codes(given)) == 1,
        ),
        (
            r"The signal mobile does not have the calling code of the country of the address\.",
            lambda given: len(_calling_codes(given)) == 2,
        ),
        (
            r"No signal mobile was given whose calling code could be compared "
            r"with that of the country of the address\.",
            lambda given: not _calling_codes(given),
        ),
        (
            r"The signal ip cannot be read as an IP address\.",
            lambda given: "signals.ip" in given and _is_public(given) is None,
        ),
        (
            r"The range of the signal ip counted against the \S+\.",
            lambda given: _is_public(given) is not None,
        ),
        (r"The signal ip is of a range that is not public\.", lambda given: _is_public(given) is False),
        (r"No signal ip with a range was given\.", lambda given: _is_public(given) is None),
    )
)
