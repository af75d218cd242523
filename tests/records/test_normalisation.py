import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.contract.fields import IDENTITY_FIELDS
from scoring_model.contract.rules import image_url
from scoring_model.records.normalisation import (
    NORMALISERS,
    normalise_line,
    normalise_name,
    normalise_postal,
    normalise_signal,
    normalise_text,
    normalise_url,
    normaliser,
)

words = st.text(st.characters(codec="utf-8"), max_size=30)
TEXTS = [normalise_name, normalise_text, normalise_line, normalise_postal]


@pytest.mark.parametrize("normalise", TEXTS)
@given(text=words)
def test_what_is_normal_stays(normalise: object, text: str) -> None:
    """Normalising twice gives what normalising once gives, and nothing left is None."""
    assert callable(normalise)
    once = normalise(text)
    assert once is None or (once and normalise(once) == once)


@pytest.mark.parametrize("normalise", TEXTS)
@given(text=words)
def test_the_form_of_unicode_plays_no_part(normalise: object, text: str) -> None:
    """Composed, decomposed and compatible spellings are one."""
    assert callable(normalise)
    forms = {normalise(unicodedata.normalize(form, text)) for form in ("NFC", "NFD", "NFKC", "NFKD")}
    assert len(forms) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Zoë", "ZOE"),
        ("O'Neill", "O Neill"),
        ("Ann-Marie", "Annmarie"),
        ("Łukasz Sørensen", "lukasz sorensen"),
        ("Groß", "GROSS"),
        ("İpek", "ipek"),
        ("Ｊｏｈｎ", "John"),
        ("Γιώργος", "ΓΙΩΡΓΟΣ"),
        ("مُحَمَّد", "محمد"),
        ("John3", "John"),
    ],
)
def test_accidents_of_a_name_do_not_part_it(one: str, other: str) -> None:
    """Case, accents, points, hyphens, widths and digits are accidents."""
    assert normalise_name(one) == normalise_name(other) is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [("が", "か"), ("कि", "का"), ("李", "王"), ("นี", "นา"), ("Ann", "Anne"), ("𠮷田", "吉田")],
)
def test_what_makes_another_name_is_kept(one: str, other: str) -> None:
    """Voicing of kana, vowels of Indic scripts and Thai, and rare characters distinguish names."""
    assert normalise_name(one) != normalise_name(other)


@pytest.mark.parametrize("text", ["", "12", "- '", "🎉"])
def test_a_name_without_a_letter_is_none(text: str) -> None:
    """An empty key links no records."""
    assert normalise_name(text) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("12 Main Street", "12, MAIN St."),
        ("Hauptstraße 5", "Hauptstr. 5"),
        ("HAUPTSTRASSE 5", "Hauptstraße 5"),
        ("5 Avenue de la République", "5 av. de la republique"),
        ("Calle Mayor 3", "C/ Mayor, 3"),
        ("Flat 2  Apartment 7", "flat 2 APT 7"),
    ],
)
def test_a_line_has_one_form_for_common_abbreviations(one: str, other: str) -> None:
    """Street words of four languages are the same long and short."""
    assert normalise_line(one) == normalise_line(other) is not None


def test_cities_are_not_abbreviated_and_numbers_are_not_dropped() -> None:
    """Text keeps its words; a line keeps the number of the house."""
    assert normalise_text("Street  (Somerset)") == "street somerset"
    assert normalise_line("1 Main St") != normalise_line("11 Main St")


def test_postal_codes_are_letters_and_digits() -> None:
    """Blanks, hyphens and case of a postal code are accidents."""
    assert normalise_postal("sw1a 1aa") == normalise_postal("SW1A-1AA") == "SW1A1AA"


@given(
    st.from_regex(r"[a-z]{1,8}\.example", fullmatch=True),
    st.from_regex(r"(/[A-Za-z0-9]{0,4}){0,3}", fullmatch=True),
)
def test_a_url_is_its_host_and_path(host: str, path: str) -> None:
    """Case of the host, user, port, query and fragment are accidents; the path is not."""
    expected = host + (path or "/")
    for url in (f"https://{host}{path}", f"HTTPS://u@{host.upper()}:443{path}?q=/x#/f"):
        assert normalise_url(image_url(url)) == expected


@given(st.floats(allow_nan=False, allow_infinity=False) | st.text(min_size=1))
def test_signals_are_distinguished(value: str | float) -> None:
    """Text is unchanged, and a number survives conversion to text."""
    text = normalise_signal(value)
    assert text is not None
    assert (text if isinstance(value, str) else float(text)) == value


def test_every_field_has_a_normaliser_and_signals_have_one() -> None:
    """All identity fields can link, so can any signal, and events cannot."""
    assert tuple(NORMALISERS) == IDENTITY_FIELDS
    assert normaliser("signals.anything") is normalise_signal
    assert normaliser("firstName") is normalise_name
    with pytest.raises(KeyError):
        normaliser("eventTime")
