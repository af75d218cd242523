"""Encodings of link keys: each against the typos that it ignores, and all against any text."""

import unicodedata
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.contract.fields import IDENTITY_FIELDS, REFERENCE_FIELDS
from scoring_model.records.key_encodings import (
    DATE_ENCODINGS,
    READING_ENCODINGS,
    TEXT_ENCODINGS,
    encode_phonetic,
    encoded_normaliser,
    encodings_of,
)
from scoring_model.records.normalisation import fold, normalise_line, normalise_name, normaliser

texts = st.text(max_size=30)
latin = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=12)
DIGITS = {
    **dict.fromkeys("bfpv", "1"),
    **dict.fromkeys("cgjkqsxz", "2"),
    **dict.fromkeys("dt", "3"),
    "l": "4",
    **dict.fromkeys("mn", "5"),
    "r": "6",
}


def reduced(text: str, *names: str) -> str | None:
    """A signal's value after these encodings."""
    return encoded_normaliser("signals.x", names)(text)


@pytest.mark.parametrize("name", TEXT_ENCODINGS)
@given(text=texts)
def test_any_text_is_reduced_to_text_or_nothing(name: str, text: str) -> None:
    """No text is an error, nothing left is None, and case and the form of Unicode play no part."""
    found = reduced(text, name)
    assert found is None or found
    forms = {unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD")}
    assert {reduced(form, name) for form in forms} == {found}
    assert reduced(fold(text), name) == found


@pytest.mark.parametrize(
    ("names", "one", "other"),
    [
        (("mailbox",), "Ann.Lee+x@googlemail.com", "annlee@GMAIL.com"),
        (("domain",), "Ann@Mail.example", "lee@mail.example"),
        (("domain", "start4"), "Ann@Mail.example", "lee@mail.test"),
        (("e164",), "+44 7400 123456", "0044 (0)7400-123456"),
        (("e164-GB",), "07400 123456", "+447400123456"),
        (("net32",), "192.0.2.7", "::ffff:192.0.2.7"),
        (("net32",), "2001:db8::1", "2001:db8::2"),
        (("net24",), "192.0.2.7", "192.0.2.8"),
        (("net24",), "2001:db8:1:2::1", "2001:db8:1:3::1"),
        (("net16",), "192.0.2.7", "192.0.3.7"),
        (("net16",), "2001:db8:1::1", "2001:db8:2::1"),
    ],
)
def test_signals_that_are_read_have_one_form(names: tuple[str, ...], one: str, other: str) -> None:
    """Two values have the same key; a text that cannot be read has none."""
    assert reduced(one, *names) is not None
    assert reduced(one, *names) == reduced(other, *names)
    assert reduced("none", *names) is None


def test_accents_tell_domains_apart() -> None:
    """A domain is read as it was sent, not without its accents."""
    assert reduced("ann@bücher.example", "domain") == "xn--bcher-kva.example"


@pytest.mark.parametrize("name", [name for name in TEXT_ENCODINGS if name != "phonetic"])
@given(text=texts)
def test_what_is_reduced_stays(name: str, text: str) -> None:
    """An encoding changes nothing the second time."""
    assert reduced(text, name, name) == reduced(text, name)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("Washington", "w252"),
        ("Lee", "l"),
        ("Gutierrez", "g362"),
        ("Pfister", "p236"),
        ("Jackson", "j25"),
        ("Tymczak", "t522"),
        ("VanDeusen", "v532"),
        ("Ashcraft", "a261"),
    ],
)
def test_soundex_codes_are_those_of_the_archives(name: str, code: str) -> None:
    """The examples of the National Archives' page, without the zeros that fill a code up."""
    assert encoded_normaliser("lastName", ("phonetic", "start4"))(name) == code


@given(latin)
def test_soundex_is_as_its_rules_say(name: str) -> None:
    """First letter kept, vowels dropped, runs of one code counted once, across h and w too."""
    code, before = name[0], DIGITS.get(name[0], name[0])
    for letter in name[1:]:
        if letter in "hw":
            continue
        digit = DIGITS.get(letter, "")
        code += digit if digit != before else ""
        before = digit
    assert encode_phonetic(name) == code


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Catherine", "Cathryn"),
        ("Philip", "Phillipp"),
        ("Meyer", "Maier"),
        ("Núñez", "nunes"),
        ("O'Neill", "Oneil"),
    ],
)
def test_names_that_sound_alike_are_one(one: str, other: str) -> None:
    """Spellings of one sound have one code."""
    phonetic = encoded_normaliser("lastName", ("phonetic",))
    assert phonetic(one) == phonetic(other) is not None


@pytest.mark.parametrize(
    ("one", "other"), [("Олена", "Ольга"), ("李", "王"), ("محمد", "أحمد"), ("Smith", "Smyrna")]
)
def test_other_scripts_are_distinguished(one: str, other: str) -> None:
    """Letters that Soundex does not know stand for themselves."""
    phonetic = encoded_normaliser("lastName", ("phonetic",))
    assert phonetic(one) != phonetic(other)


@given(st.text("abc 123", min_size=2, max_size=12), st.integers(0, 10))
def test_sorted_forgives_neighbours_that_changed_places(text: str, at: int) -> None:
    """Characters in each other's place and blanks make no difference; another character does."""
    at = min(at, len(text) - 2)
    swapped = text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    assert reduced(swapped, "sorted") == reduced(text, "sorted")
    assert reduced(text.replace(" ", ""), "sorted") == reduced(text, "sorted")
    assert reduced(text + "d", "sorted") != reduced(text, "sorted")


@given(st.lists(latin, max_size=5), st.randoms(use_true_random=False))
def test_words_forgets_the_order_of_words(words: list[str], random: object) -> None:
    """Words in any order are one text; other words are not."""
    assert reduced(" ".join(reversed(words)), "words") == reduced(" ".join(words), "words")
    assert Counter((reduced(" ".join(words), "words") or "").split()) == Counter(words)


@given(texts)
def test_letters_and_digits_share_a_text_out(text: str) -> None:
    """Nothing is invented, and of ASCII all letters and digits are kept."""
    letters, digits = reduced(text, "letters") or "", reduced(text, "digits") or ""
    assert set(digits) <= set(fold(text)) >= set(letters)
    assert all(map(str.isdigit, digits))
    if text.isascii():
        assert Counter(letters + digits) == Counter(filter(str.isalnum, text.lower()))


@given(texts, st.integers(1, 9))
def test_start_keeps_first_characters(text: str, length: int) -> None:
    """At most the given number of characters from the left, not counting blanks."""
    found = reduced(text, f"start{length}") or ""
    assert len(found) <= length
    assert fold(text).replace(" ", "").startswith(found)
    assert len(found) == length or found == fold(text).replace(" ", "")


@given(st.dates())
def test_dates_are_taken_apart(day: object) -> None:
    """Year, month and day are where ISO 8601 has them; month and day the other way round are the same."""
    text = str(day)
    year, month, number = text.split("-")
    assert encoded_normaliser("dob", ("year",))(text) == year
    assert encoded_normaliser("dob", ("month-day",))(text) == f"{month}-{number}"
    unordered = encoded_normaliser("dob", ("unordered",))
    assert (
        unordered(text) == unordered(f"{year}-{number}-{month}") == "-".join([year, *sorted([month, number])])
    )


def test_reductions_follow_the_normaliser_and_each_other() -> None:
    """The plain normaliser comes first, then the encodings in order."""
    line = encoded_normaliser("address.line1", ("letters", "start5"))
    assert line("12, Main Street") == "mains"
    assert encoded_normaliser("address.postalCode", ("start2",))("SW1A-1AA") == "sw"
    assert reduced("b1a2", "sorted", "letters", "start1") == "a"
    assert reduced("b1a2", "start1", "letters", "sorted") == "b"
    assert encoded_normaliser("signals.phone", ("digits",))("+49 (30) 12-3") == "4930123"
    assert encoded_normaliser("signals.count", ("digits",))(3.0) == "3"


@pytest.mark.parametrize("field", [*IDENTITY_FIELDS, "signals.x"])
def test_without_reductions_a_field_is_normalised_as_ever(field: str) -> None:
    """Naming nothing changes nothing; of several images the first counts."""
    value: object = ("https://a.example/1?x", "https://b.example") if field == "imageUrls" else "Zoë 1"
    plain = normaliser(field)(value[0] if isinstance(value, tuple) else value)
    assert encoded_normaliser(field, ())(value) == plain
    assert encoded_normaliser("imageUrls", ())(()) is None


def test_text_and_dates_are_reduced_and_codes_are_not() -> None:
    """Typed text has encodings, dates have their own, signals more; codes, URLs and references have none."""
    of = {field: encodings_of(field) for field in (*IDENTITY_FIELDS, "signals.x")}
    typed = ("firstName", "lastName", *(f"address.{p}" for p in ("line1", "line2", "city", "region")))
    codes = ("citizenship", "documentType", "imageUrls", "address.country", *REFERENCE_FIELDS)
    assert all(of[field] is TEXT_ENCODINGS for field in (*typed, "address.postalCode"))
    assert not any(of[field] for field in codes)
    assert {field for field in of if of[field] is DATE_ENCODINGS} == {"dob"}
    assert of["signals.x"] == {**TEXT_ENCODINGS, **READING_ENCODINGS}
    for field, name in [
        ("dob", "start4"),
        ("lastName", "year"),
        ("citizenship", "letters"),
        ("subjectId", "sorted"),
        ("lastName", "mailbox"),
    ]:
        with pytest.raises(KeyError):
            encoded_normaliser(field, (name,))


@given(texts)
def test_ascii_and_the_rest_are_normalised_alike(text: str) -> None:
    """A name is its letters and a line its words, whether or not some other character made the text Unicode."""
    ascii_only = "".join(character for character in text if character.isascii())
    assert normalise_name(f"{ascii_only}й") == f"{normalise_name(ascii_only) or ''}и"
    assert normalise_line(f"{ascii_only} 李") == f"{normalise_line(ascii_only) or ''} 李".strip()
