"""Reads phone numbers by the numbering plans of `phone_plans.json`.

The plans are part of this package, so that two machines read a number alike whatever other packages they have. They
are written by `pipelines/phone_plans.py` from the metadata of libphonenumber (Apache License 2.0). New plans change
features and link keys: raise the version of the family ``phone`` and `NORMALISATION_VERSION` with them.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, Final

KINDS: Final = (
    "fixed_line",
    "mobile",
    "fixed_line_or_mobile",
    "toll_free",
    "premium_rate",
    "shared_cost",
    "voip",
    "personal_number",
    "pager",
    "uan",
    "voicemail",
)
"""Kinds of numbers; a plan may give fixed lines and mobiles the same numbers."""

PLANS: Final = "phone_plans.json"
_SPECIAL: Final = (
    "premium_rate",
    "toll_free",
    *KINDS[5:],
)  # a number of several kinds is of the first of these
_MIN_DIGITS, _MAX_DIGITS = 2, 17  # of a national number
_EXTENSION: Final = re.compile(r"(?:;ext=|\s*(?:ext|x|#)\.?:?\s*)[0-9]{1,7}$", re.IGNORECASE)
_TYPED: Final = re.compile(r"(?:tel:)?([+]?)([0-9\s.()/\[\]‐-―−-]+)", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class PhoneNumber:
    """A phone number.

    Parameters
    ----------
    e164 : str
        In international form: ``+``, calling code and national number (ITU-T E.164).
    code : str
        Calling code, which several countries may share.
    country : str
        ISO 3166-1 alpha-2 code, of a number of no plan that of the main country of its calling code; the calling code
        where numbers belong to no country, such as ``800``.
    kind : str or None
        One of `KINDS`; None if the number is of no plan, and so not valid.
    """

    e164: str
    code: str
    country: str
    kind: str | None


@dataclass(frozen=True)
class _Plan:
    """The numbering plan of a country or of a calling code without country."""

    country: str
    plain: Mapping[str, Any]

    @property
    def code(self) -> str:
        return str(self.plain["code"])

    @cached_property
    def general(self) -> re.Pattern[str]:
        return re.compile(self.plain["numbers"])

    @cached_property
    def usual(self) -> list[tuple[str, re.Pattern[str]]]:
        return self._patterns(("fixed_line", "mobile"))

    @cached_property
    def special(self) -> list[tuple[str, re.Pattern[str]]]:
        return self._patterns(_SPECIAL)

    def _patterns(self, kinds: Iterable[str]) -> list[tuple[str, re.Pattern[str]]]:
        known = self.plain["kinds"]
        return [(kind, re.compile(known[kind])) for kind in kinds if kind in known]

    @cached_property
    def abroad(self) -> re.Pattern[str] | None:
        """What is dialled before a calling code."""
        return re.compile(self.plain["abroad"]) if "abroad" in self.plain else None

    @cached_property
    def trunk(self) -> re.Pattern[str] | None:
        """What is dialled before a national number."""
        return re.compile(self.plain["trunk"]) if "trunk" in self.plain else None

    def is_possible(self, digits: str) -> bool:
        """Return whether a national number may have this length, or is longer than all."""
        lengths = self.plain["lengths"]
        return len(digits) in lengths or len(digits) > lengths[-1]

    def without_trunk(self, digits: str) -> str:
        """Remove what is dialled before a national number, unless it is part of the number."""
        found = self.trunk and self.trunk.match(digits)
        if not found:
            return digits
        becomes, last = self.plain.get("becomes"), found.re.groups
        kept = found.expand(becomes) if becomes and last and found[last] is not None else ""
        rest = kept + digits[found.end() :]
        return digits if self.general.fullmatch(digits) and not self.general.fullmatch(rest) else rest

    def kind_of(self, national: str) -> str | None:
        """Return the kind of a national number, None if it is of no plan."""
        if not self.general.fullmatch(national):
            return None
        for kind, pattern in self.special:
            if pattern.fullmatch(national):
                return kind
        of = [kind for kind, pattern in self.usual if pattern.fullmatch(national)]
        return "fixed_line_or_mobile" if len(of) > 1 else next(iter(of), None)


def read_phone(text: str, country: str | None = None) -> PhoneNumber | None:
    """Read a phone number; None where the text is none.

    Parameters
    ----------
    country : str, optional
        ISO 3166-1 alpha-2 code of the country in which numbers without ``+`` are dialled. Without it such a number
        is read if it begins with ``00``, or is valid with ``+`` before it.

    References
    ----------
    The steps of libphonenumber's `parse`, `getNumberType` and `getRegionCodeForNumber`.

    Examples
    --------
    >>> read_phone("07400 123456", "GB")
    PhoneNumber(e164='+447400123456', code='44', country='GB', kind='mobile')
    """
    typed = _TYPED.fullmatch(_EXTENSION.sub("", _with_ascii_digits(text).strip()))
    if typed is None:
        return None
    digits = "".join(filter(str.isdigit, typed[2]))
    if typed[1]:
        return _international(digits.removeprefix("00"))
    home = _plans().get(country or "")
    if home is None:
        if digits.startswith("00"):
            return _international(digits[2:])
        found = _international(digits)
        return found if found is not None and found.kind is not None else None
    out = home.abroad and home.abroad.match(digits)
    if out and not digits.startswith("0", out.end()):
        return _international(digits[out.end() :])
    if digits.startswith(home.code):
        rest = home.without_trunk(digits[len(home.code) :])
        fits = not home.general.fullmatch(digits) and home.general.fullmatch(rest)
        if fits or len(digits) > home.plain["lengths"][-1]:
            return _national(home.code, rest)
    return _national(home.code, digits, home)


def calling_code(country: str) -> str | None:
    """Return the calling code of a country, None if it has no plan of its own.

    Examples
    --------
    >>> calling_code("CA"), calling_code("AQ")
    ('1', None)
    """
    plan = _plans().get(country)
    return None if plan is None else plan.code


def _international(digits: str) -> PhoneNumber | None:
    for length in (1, 2, 3):
        if digits[:length] in _by_code():
            return _national(digits[:length], digits[length:])
    return None


def _national(code: str, digits: str, home: _Plan | None = None) -> PhoneNumber | None:
    """Read what follows a calling code, or is dialled at home."""
    main, *others = _by_code()[code]
    dialled = home or main
    shorter = dialled.without_trunk(digits)
    national = shorter if dialled.is_possible(shorter) else digits
    if not _MIN_DIGITS <= len(national) <= _MAX_DIGITS:
        return None
    for plan in (main, *others):
        kind = plan.kind_of(national)
        lead = plan.plain.get("lead")
        # Countries that share a calling code differ by their first digits, or by their numbers.
        if re.match(lead, national) if others and lead else kind is not None:
            return PhoneNumber(e164=f"+{code}{national}", code=code, country=plan.country, kind=kind)
    return PhoneNumber(e164=f"+{code}{national}", code=code, country=main.country, kind=None)


def _with_ascii_digits(text: str) -> str:
    if text.isascii():
        return text
    digits = (unicodedata.decimal(character, None) for character in text)
    return "".join(
        [c if digit is None else str(digit) for c, digit in zip(text, digits, strict=True)]
    ).replace("＋", "+")


@cache
def _plans() -> Mapping[str, _Plan]:
    """Load the plans by country, the main country of a calling code before the others."""
    plain = json.loads(files(__package__).joinpath(PLANS).read_text(encoding="utf-8"))
    return {country: _Plan(country, plan) for country, plan in plain["plans"].items()}


@cache
def _by_code() -> Mapping[str, tuple[_Plan, ...]]:
    found: dict[str, tuple[_Plan, ...]] = {}
    for plan in _plans().values():
        found[plan.code] = (*found.get(plan.code, ()), plan)
    return found
