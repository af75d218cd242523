"""Features of the address: what it has, how it is written, and whether its parts agree."""

import re
from collections.abc import Callable, Hashable, Mapping

from scoring_model.features.catalogue import MISSING, Family, Feature, Group, ReasonTopic, group_of
from scoring_model.features.postal import REQUIRED, USUALLY, fits
from scoring_model.features.spelling import plain, typed, typed_alike
from scoring_model.features.state import NgramTable, Vocabulary
from scoring_model.features.words import NO_ADDRESSES, NO_HOMES, UNITS

VERSION = 2

_PARTS = ("line1", "line2", "city", "region", "postalCode", "country")
_BOXES = frozenset({"box", "pobox", "postfach", "boite", "bp", "b", "apartado", "casella", "caixa"})
_PO_BOX = re.compile(
    r"\b(p\.?\s?o\.?\s?box|post(al)? box|postfach|boite postale|b\.?p\.? \d+|apartado|casella postale|caixa postal)\b"
)
_NUMBERS = re.compile(r"\d+")
_BLANKS = str.maketrans(dict.fromkeys(",.;:#()/-_", " "))
_DIGITS = 7
_LARGEST_NUMBER = 10 ** (_DIGITS - 1)
_ALL_DIGITS = "01234567890"
_PATTERNED = frozenset(
    [digit * length for digit in "0123456789" for length in range(3, 10)]
    + [
        row[start : start + length]
        for row in (_ALL_DIGITS, _ALL_DIGITS[::-1])
        for length in range(3, 11)
        for start in range(len(row) - length + 1)
    ]
)


def is_there(part: str) -> bool:
    """Return True: a view that keeps only the presence of a part."""
    return True


def completeness(*parts: object) -> tuple[float, ...]:
    """Count the present parts and the missing parts that the country (the last argument) requires."""
    asked = _ASKED.get(parts[-1], _USUALLY)
    there = [part is not None for part in parts]
    return sum(there), len(asked) - sum([there[place] for place in asked])


_ASKED: Mapping[object, tuple[int, ...]] = {
    country: tuple(_PARTS.index(part) for part in parts) for country, parts in REQUIRED.items()
}
_USUALLY = tuple(_PARTS.index(part) for part in USUALLY)


def line(line1: str | None) -> tuple[float, ...]:
    """Describe the first line: length, words, numbers, capitals and the kind of place."""
    if line1 is None:
        return (MISSING,) * len(_LINE)
    text = plain(line1)
    numbers, words = _NUMBERS.findall(line1), text.translate(_BLANKS).split()
    in_box = not _BOXES.isdisjoint(words) and _PO_BOX.search(text) is not None
    return (
        len(line1),
        len(line1.split()),
        sum(map(len, numbers)),
        _upper_share(line1),
        in_box,
        min(int(numbers[0][:_DIGITS]), _LARGEST_NUMBER) if numbers else MISSING,
        not _PATTERNED.isdisjoint(numbers),
        not UNITS.isdisjoint(words),
        "c/o" in text or not NO_HOMES.isdisjoint(words),
        True not in map(str.isalpha, text) or not NO_ADDRESSES.isdisjoint(words),
    )


def _upper_share(text: str) -> float:
    """Return the share of capitals among cased letters."""
    if text.isascii():
        raw = text.encode()
        capital, small = len(raw.translate(None, _NO_CAPITALS)), len(raw.translate(None, _NO_SMALL))
    else:
        capital, small = sum(map(str.isupper, text)), sum(map(str.islower, text))
    return capital / (capital + small) if capital + small else MISSING


_NO_CAPITALS = bytes(code for code in range(128) if not chr(code).isupper())
_NO_SMALL = bytes(code for code in range(128) if not chr(code).islower())


def length(text: str | None) -> tuple[float, ...]:
    """Length of a part."""
    return (MISSING if text is None else len(text),)


def city(name: str | None) -> tuple[float, ...]:
    """Length and digits of the city's name."""
    if name is None:
        return (MISSING,) * len(_CITY)
    return len(name), sum(map(str.isdigit, name))


def repeated_city(line1: str | None, name: str | None) -> tuple[float, ...]:
    """Return whether the line repeats the city."""
    return (MISSING if line1 is None or name is None else plain(name) in plain(line1),)


def typing(last_name: str | None, name: str | None) -> tuple[float, ...]:
    """Return whether the person's name and the city are cased differently."""
    return (MISSING if last_name is None or name is None else typed(last_name, name),)


def postal(code: str | None) -> tuple[float, ...]:
    """Return length and share of digits of the postal code, and whether the digits are a sequence or repetition."""
    if not code:
        return (MISSING,) * len(_POSTAL)
    numbers = _NUMBERS.findall(code)
    return (
        len(code),
        sum(map(len, numbers)) / len(code),
        "".join(numbers) in _PATTERNED,
    )


def postal_form(code: str | None, country: str | None) -> tuple[float, ...]:
    """Return whether the postal code does not have the form of its country."""
    fit = None if code is None or country is None else fits(code, country)
    return (MISSING if fit is None else not fit,)


def family(countries: Vocabulary, lines: NgramTable) -> Family:
    """Return the features of addresses.

    Parameters
    ----------
    countries : Vocabulary
        Codes the country.
    lines : NgramTable
        Frequencies of character n-grams in first lines.
    """

    def country(value: str | None) -> tuple[float, ...]:
        return (countries.code(value),)

    def line_with_table(value: str | None) -> tuple[float, ...]:
        return line(value) + ((MISSING, MISSING) if value is None else lines.improbability(value))

    line1, name, code = ("address.line1",), ("address.city",), ("address.postalCode",)
    return Family(
        name="addresses",
        version=VERSION,
        reasons=_REASONS,
        groups=(
            Group(inputs=_FIELDS, features=_COMPLETENESS, function=completeness, views=_COMPLETENESS_VIEWS),
            Group(inputs=line1, features=_LINE + _LINE_IMPROBABLE, function=line_with_table),
            group_of(length, _LINE2),
            Group(inputs=code, features=_POSTAL, function=postal),
            group_of(postal_form, _POSTAL_FORM),
            Group(inputs=name, features=_CITY, function=city),
            group_of(repeated_city, _REPEATED_CITY),
            group_of(typing, _TYPING, (typed_alike, typed_alike)),
            group_of(length, _REGION),
            group_of(country, _COUNTRY),
        ),
    )


_FIELDS = tuple(f"address.{part}" for part in _PARTS)
_COMPLETENESS_VIEWS: tuple[Callable[[str], Hashable], ...] = (*[is_there] * (len(_PARTS) - 1), str)
"""Views: for all parts except the country only presence matters."""


def _of(
    name: str,
    inputs: tuple[str, ...],
    unit: str,
    sentence: str,
    reason: str = "ADDRESS_FORM",
    *,
    fitted: bool = False,
) -> Feature:
    return Feature(
        name=name,
        inputs=tuple([f"address.{part}" for part in inputs]),
        unit=unit,
        reason=reason,
        sentence=sentence,
        fitted=fitted,
    )


def _of_line(
    name: str, unit: str, sentence: str, reason: str = "ADDRESS_FORM", *, fitted: bool = False
) -> Feature:
    return _of(f"address_line_{name}", ("line1",), unit, sentence, reason, fitted=fitted)


_COMPLETENESS = (
    _of("address_parts", _PARTS, "parts", "Parts of the address that are there.", "ADDRESS_PARTS"),
    _of(
        "address_parts_wanting",
        _PARTS,
        "parts",
        "Parts of the address that its country asks for and that are not there.",
        "ADDRESS_PARTS",
    ),
)
_LINE = (
    _of_line("length", "characters", "Length of the first line of the address."),
    _of_line("words", "words", "Words in the first line of the address."),
    _of_line("digits", "characters", "Digits in the first line of the address."),
    _of_line("upper_share", "share", "Share of capitals among the letters of the first line of the address."),
    _of_line("po_box", "0 or 1", "Whether the address is a post-office box.", "ADDRESS_KIND"),
    _of_line("number", "number", "The first number in the first line of the address."),
    _of_line(
        "number_pattern",
        "0 or 1",
        "Whether a number in the first line of the address is a sequence or a repetition such as 123 or 777.",
    ),
    _of_line("unit", "0 or 1", "Whether the first line of the address names a flat, floor or room."),
    _of_line(
        "care_of",
        "0 or 1",
        "Whether the first line of the address names a hotel, a mailbox or somebody else's care.",
        "ADDRESS_KIND",
    ),
    _of_line(
        "placeholder",
        "0 or 1",
        "Whether the first line of the address has no word, or one that stands for an address.",
        "ADDRESS_LINE",
    ),
)
_LINE_IMPROBABLE = (
    _of_line(
        "improbability",
        "bits per character",
        "How unlike the commonly seen first lines of addresses this one is.",
        "ADDRESS_LINE",
        fitted=True,
    ),
    _of_line(
        "rarest",
        "bits",
        "How rare the rarest sequence of three characters of the first line of the address is.",
        "ADDRESS_LINE",
        fitted=True,
    ),
)
_LINE2 = _of("address_line2_length", ("line2",), "characters", "Length of the second line of the address.")
_POSTAL = (
    _of("postal_code_length", ("postalCode",), "characters", "Length of the postal code."),
    _of("postal_code_digit_share", ("postalCode",), "share", "Share of digits in the postal code."),
    _of(
        "postal_code_pattern",
        ("postalCode",),
        "0 or 1",
        "Whether the digits of the postal code are a sequence or a repetition such as 12345 or 11111.",
    ),
)
_POSTAL_FORM = _of(
    "postal_code_foreign",
    ("postalCode", "country"),
    "0 or 1",
    "Whether the postal code has another form than those of the country.",
    "POSTAL_CODE",
)
_CITY = (
    _of("city_length", ("city",), "characters", "Length of the city's name."),
    _of("city_digits", ("city",), "characters", "Digits in the city's name."),
)
_REPEATED_CITY = _of(
    "address_line_repeats_city",
    ("line1", "city"),
    "0 or 1",
    "Whether the first line of the address holds the city's name.",
)
_TYPING = Feature(
    name="address_case_unlike_name",
    inputs=("lastName", "address.city"),
    unit="0 or 1",
    reason="ADDRESS_FORM",
    sentence="Whether last name and city are typed differently: one alone all in capitals, or all without.",
)
_REGION = _of("region_length", ("region",), "characters", "Length of the region's name.")
_COUNTRY = Feature(
    name="address_country",
    inputs=("address.country",),
    unit="code",
    reason="ADDRESS_COUNTRY",
    sentence="Country of the address.",
    categorical=True,
    learnt=True,
)

_NO_LINE = ("NO_ADDRESS_LINE", "No first line of an address was given.")
_REASONS = (
    ReasonTopic(
        code="ADDRESS_PARTS",
        sentence="Which parts of the address were given counted against the {event}.",
        about="the parts of the address",
        positive=("address_parts",),
        absence=("NO_ADDRESS", "No address was given."),
        detail=(
            "ADDRESS_INCOMPLETE",
            "Parts that the address needs were not given.",
            ("address_parts_wanting",),
        ),
    ),
    ReasonTopic(
        code="ADDRESS_FORM",
        sentence="The form of the address counted against the {event}.",
        about="the form of the address",
        present=(
            "address_line_length",
            "address_line2_length",
            "postal_code_length",
            "city_length",
            "region_length",
        ),
        absence=("NO_ADDRESS_TEXT", "No line, city, region or postal code of an address was given."),
    ),
    ReasonTopic(
        code="ADDRESS_LINE",
        sentence="The wording of the first line of the address counted against the {event}.",
        about="the first line of the address",
        present=("address_line_length",),
        absence=_NO_LINE,
        detail=(
            "ADDRESS_PLACEHOLDER",
            "The first line of the address has no word, or one that stands in for an address.",
            ("address_line_placeholder",),
        ),
    ),
    ReasonTopic(
        code="ADDRESS_KIND",
        sentence="The kind of place that the address names counted against the {event}.",
        about="the kind of place that the address names",
        present=("address_line_length",),
        absence=_NO_LINE,
        detail=(
            "ADDRESS_NOT_A_HOME",
            "The address names a post-office box, a hotel, a mailbox or somebody else's care.",
            ("address_line_po_box", "address_line_care_of"),
        ),
    ),
    ReasonTopic(
        code="POSTAL_CODE",
        sentence="That the postal code has the form of its country's counted against the {event}.",
        about="the postal code",
        present=("postal_code_foreign",),
        absence=(
            "NO_POSTAL_CODE_FORM",
            "No postal code was given that could be compared with those of the country.",
        ),
        detail=(
            "POSTAL_CODE_MISMATCH",
            "The postal code does not have the form of its country's.",
            ("postal_code_foreign",),
        ),
    ),
    ReasonTopic(
        code="ADDRESS_COUNTRY",
        sentence="The country of the address counted against the {event}.",
        about="the country of the address",
        present=("address_country",),
        absence=("NO_ADDRESS_COUNTRY", "No country of an address was given."),
    ),
)
