"""Features of the address: what it has, and how it is written."""

import re

from scoring_model.features.catalogue import MISSING, Family, Feature, Group
from scoring_model.features.vocabulary import Vocabulary

VERSION = 1

_PO_BOX = re.compile(
    r"\b(p\.?\s?o\.?\s?box|post(al)? box|postfach|bo[iî]te postale|b\.?p\.? \d|apartado|casella postale|caixa postal)",
    re.IGNORECASE,
)
_PARTS = ("line1", "line2", "city", "region", "postalCode", "country")


def completeness(*parts: str | None) -> tuple[float, ...]:
    """Number of the parts that are there."""
    return (float(sum(part is not None for part in parts)),)


def line(line1: str | None) -> tuple[float, ...]:
    """Length, words, digits and upper case of the first line, and whether it names a post-office box."""
    if line1 is None:
        return (MISSING,) * 5
    letters = _cased(line1)
    return (
        float(len(line1)),
        float(len(line1.split())),
        float(sum(map(str.isdigit, line1))),
        sum(map(str.isupper, letters)) / len(letters) if letters else MISSING,
        float(_PO_BOX.search(line1) is not None),
    )


def _cased(text: str) -> list[str]:
    """The letters that have two cases; of ASCII all letters have."""
    if text.isascii():
        return list(filter(str.isalpha, text))
    return [c for c in text if c.upper() != c.lower()]


def postal(code: str | None) -> tuple[float, ...]:
    """Length and share of digits of the postal code."""
    if code is None:
        return (MISSING,) * 2
    return float(len(code)), sum(map(str.isdigit, code)) / len(code)


def city(name: str | None) -> tuple[float, ...]:
    """Length of the city's name."""
    return (MISSING if name is None else float(len(name)),)


def family(countries: Vocabulary) -> Family:
    """The features of addresses; `countries` codes the country."""

    def country(value: str | None) -> tuple[float, ...]:
        return (countries.code(value),)

    return Family(
        name="addresses",
        version=VERSION,
        groups=(
            Group(inputs=_FIELDS, features=(_COMPLETENESS,), function=completeness),
            Group(inputs=("address.line1",), features=_LINE, function=line),
            Group(inputs=("address.postalCode",), features=_POSTAL, function=postal),
            Group(inputs=("address.city",), features=(_CITY,), function=city),
            Group(inputs=("address.country",), features=(_COUNTRY,), function=country),
        ),
    )


_FIELDS = tuple(f"address.{part}" for part in _PARTS)
_COMPLETENESS = Feature(
    name="address_parts",
    inputs=_FIELDS,
    unit="parts",
    reason="ADDRESS_INCOMPLETE",
    sentence="Parts of the address that are there.",
)


def _of_line(name: str, unit: str, sentence: str) -> Feature:
    return Feature(
        name=f"address_line_{name}",
        inputs=("address.line1",),
        unit=unit,
        reason="ADDRESS_FORM",
        sentence=sentence,
    )


_LINE = (
    _of_line("length", "characters", "Length of the first line of the address."),
    _of_line("words", "words", "Words in the first line of the address."),
    _of_line("digits", "characters", "Digits in the first line of the address."),
    _of_line("upper_share", "share", "Share of capitals among the letters of the first line of the address."),
    _of_line("po_box", "0 or 1", "Whether the address is a post-office box."),
)
_POSTAL = (
    Feature(
        name="postal_code_length",
        inputs=("address.postalCode",),
        unit="characters",
        reason="ADDRESS_FORM",
        sentence="Length of the postal code.",
    ),
    Feature(
        name="postal_code_digit_share",
        inputs=("address.postalCode",),
        unit="share",
        reason="ADDRESS_FORM",
        sentence="Share of digits in the postal code.",
    ),
)
_CITY = Feature(
    name="city_length",
    inputs=("address.city",),
    unit="characters",
    reason="ADDRESS_FORM",
    sentence="Length of the city's name.",
)
_COUNTRY = Feature(
    name="address_country",
    inputs=("address.country",),
    unit="code",
    reason="ADDRESS_COUNTRY",
    sentence="Country of the address.",
    categorical=True,
)
