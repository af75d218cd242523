"""Phone numbers against the library from whose metadata the plans were made."""

import random
from collections.abc import Iterator

import phonenumbers
import pytest
from phonenumbers import NumberParseException, PhoneMetadata, PhoneNumberFormat, PhoneNumberType

from scoring_model.records.phone import KINDS, PhoneNumber, read_phone

HOMES = ("DE", "US", "GB", "BR", "AR", "IT", "RU")
KIND_OF = {PhoneNumberType.UNKNOWN: None} | {getattr(PhoneNumberType, kind.upper()): kind for kind in KINDS}
NEARLY_ALL = 0.999
"""Share on which both agree: a later release of the library may know newer plans."""


def of_library(text: str, home: str) -> tuple[str, str | None, str | None] | None:
    """E.164 form, kind and country of a number; the country is None where the library names none."""
    try:
        number = phonenumbers.parse(text, home)
    except NumberParseException:
        return None
    country = phonenumbers.region_code_for_number(number)
    return (
        phonenumbers.format_number(number, PhoneNumberFormat.E164),
        KIND_OF[phonenumbers.number_type(number)],
        country if country != "001" else None,
    )


def spellings(country: str, kind: str, draw: random.Random) -> Iterator[str]:
    """An example of a kind as it may be typed at home and abroad, and with one digit wrong."""
    plan = PhoneMetadata.metadata_for_region(country)
    described = getattr(plan, kind, None)
    if plan is None or described is None or not described.example_number:
        return
    example, code = described.example_number, plan.country_code
    number = phonenumbers.parse(f"+{code}{example}")
    forms = [phonenumbers.format_number(number, form) for form in range(4)]
    trunk = plan.national_prefix or ""
    forms += [example, trunk + example, f"{code}{example}", f"00{code}{example}", f"+{code}{trunk}{example}"]
    yield from draw.sample(forms, 3)
    for _ in range(3):
        typed = list(draw.choice(forms[:2]))
        place = draw.choice([i for i, character in enumerate(typed) if character.isdigit()])
        typed[place] = draw.choice(["", *"0123456789"])
        yield "".join(typed)


def test_numbers_are_read_as_by_the_library() -> None:
    """Examples of every country and kind, at home and abroad, right and wrong."""
    draw = random.Random(1)
    compared, differing = 0, []
    for country in sorted(phonenumbers.SUPPORTED_REGIONS):
        for text in [text for kind in KINDS for text in spellings(country, kind, draw)]:
            for home in (country, draw.choice(HOMES)):
                expected, found = of_library(text, home), read_phone(text, home)
                unnamed = expected is not None and expected[2] is None
                ours = found and (found.e164, found.kind, None if unnamed else found.country)
                compared += 1
                if ours != expected:
                    differing.append((text, home))
    assert compared > 8_000
    assert len(differing) < (1 - NEARLY_ALL) * compared, differing[:10]


@pytest.mark.parametrize(
    ("text", "home", "e164"),
    [
        ("07400 123456", "GB", "+447400123456"),
        ("tel:+44-7400-123456;ext=5", None, "+447400123456"),
        ("+44 (0)7400 123456 x12", None, "+447400123456"),
        ("00447400123456", None, "+447400123456"),
        ("+0044 7400 123456", None, "+447400123456"),
        ("447400123456", None, "+447400123456"),
        ("٠٧٤٠٠ ١٢٣٤٥٦", "GB", "+447400123456"),
        ("＋44 7400 123456", None, "+447400123456"),
        ("+39 06 698 1234", "DE", "+39066981234"),
    ],
)
def test_spellings_of_one_number_have_one_form(text: str, home: str | None, e164: str) -> None:
    """Signs between digits, prefixes, extensions and other digits are ignored; a zero of Italy stays."""
    found = read_phone(text, home)
    assert found is not None
    assert found.e164 == e164


@pytest.mark.parametrize(
    "text", ["", "+", "call me", "+999 123456", "07400 123456", "1-800-FLOWERS", "+44 1"]
)
def test_what_is_no_number_is_not_read(text: str) -> None:
    """Letters, unknown calling codes, and numbers of a country that nobody names."""
    assert read_phone(text) is None


def test_a_number_of_no_plan_is_read_and_has_no_kind() -> None:
    """Its form and main country are known, its kind is not."""
    assert read_phone("+1 200 000 0000") == PhoneNumber(
        e164="+12000000000", code="1", country="US", kind=None
    )
    found = read_phone("+800 1234 5678")
    assert found == PhoneNumber(e164="+80012345678", code="800", country="800", kind="toll_free")
