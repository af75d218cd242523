import contextlib
import math
import unicodedata
from collections.abc import Callable
from datetime import UTC, date, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.contract import rules
from scoring_model.contract.rules import COUNTRIES, Rule, RuleError, SignalType
from scoring_model.records.record import field_rules, instant
from scoring_model.records.schema import RecordSchema

anything = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None))
    | st.lists(st.text(), max_size=3)
)


def broken(rule: Callable[[object], object | None], value: object) -> Rule:
    """Give the rule that a value breaks."""
    with pytest.raises(RuleError) as caught:
        rule(value)
    return Rule(caught.value.type)


def _passes(rule: Callable[[object], object | None], value: object) -> object | None:
    """Give what a value becomes; a refusal is an error of the test."""
    try:
        return rule(value)
    except RuleError as error:
        raise AssertionError("a canonical value was refused") from error


@pytest.mark.parametrize("rule", [*rules.IDENTITY_RULES.values(), *rules.SIGNAL_RULES.values()])
@given(value=anything)
def test_a_canonical_value_stays_what_it_is(rule: Callable[[object], object | None], value: object) -> None:
    """A rule either refuses with a reason or returns what it would return again; it never crashes."""
    with contextlib.suppress(RuleError):
        canonical = rule(value)
        again = bool(canonical) if rule is rules.boolean and canonical is not None else canonical
        assert _passes(rule, again) == canonical


@given(st.text(st.characters(codec="utf-8"), max_size=110))
def test_names_are_counted_after_normal_form_and_trimming(text: str) -> None:
    """A name is 1 to 100 characters of NFC text without blanks around."""
    normal = unicodedata.normalize("NFC", text).strip()
    if 1 <= len(normal) <= 100:
        assert rules.name(text) == normal
    else:
        assert broken(rules.name, text) is (Rule.TOO_LONG if normal else Rule.BLANK)


@pytest.mark.parametrize("name", ["𠮷田", "محمد", "אברהם", "Nguyễn Thị", "👩‍🚀", "NA", "null", "N/A"])
def test_names_of_all_scripts_pass(name: str) -> None:
    """Characters beyond 16 bits, scripts from right to left, and names that look like nulls are names."""
    assert rules.name(name) == name


def test_a_name_that_shrinks_in_normal_form_may_be_longer_before() -> None:
    """A hundred letters with combining accents are a hundred characters."""
    assert rules.name("e\u0301" * 100) == "é" * 100
    assert broken(rules.name, "e\u0301" * 101) is Rule.TOO_LONG


@pytest.mark.parametrize(
    "rule",
    [rule for field, rule in rules.IDENTITY_RULES.items() if field != "imageUrls"] + [rules.signal_text],
)
def test_lone_surrogates_are_no_text(rule: Callable[[object], object | None]) -> None:
    """Text that UTF-8 cannot encode is refused in every text field."""
    assert broken(rule, "a\ud800b") is Rule.LONE_SURROGATE


@pytest.mark.parametrize(
    ("rule", "limit"),
    [(rules.address_part, 200), (rules.reference, 128), (rules.signal_text, 256)],
)
def test_free_text_is_bounded_and_may_be_blank(rule: Callable[[object], object | None], limit: int) -> None:
    """Blank free text is missing; the limit is the last length that passes."""
    assert rule(" \t") is None
    assert rule("é" * limit) == "é" * limit
    assert broken(rule, "é" * (limit + 1)) is Rule.TOO_LONG
    assert broken(rule, 5) is Rule.WRONG_TYPE


@given(st.dates(date(1900, 1, 1), date(9999, 12, 31)))
def test_dates_of_birth_come_as_text_or_as_dates(day: date) -> None:
    """Text, a date and a midnight are the same day."""
    midnight = datetime(day.year, day.month, day.day)
    forms = [day.isoformat(), day, midnight, np.datetime64(midnight), np.datetime64(day)]
    assert {rules.birth_date(form) for form in forms} == {day.isoformat()}


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        ("1899-12-31", Rule.TOO_EARLY),
        (date(1899, 12, 31), Rule.TOO_EARLY),
        ("1990-02-29", Rule.NOT_A_DATE),
        ("1990-1-1", Rule.NOT_A_DATE),
        ("19900101", Rule.NOT_A_DATE),
        ("01.01.1990", Rule.NOT_A_DATE),
        ("1990-01-01T00:00:00", Rule.NOT_A_DATE),
        ("１９９０-01-01", Rule.NOT_A_DATE),
        (" ", Rule.BLANK),
        (datetime(1990, 1, 1, 5), Rule.WRONG_TYPE),
        (datetime(1990, 1, 1, tzinfo=UTC), Rule.WRONG_TYPE),
        (19900101, Rule.WRONG_TYPE),
    ],
)
def test_what_is_no_date_of_birth(value: object, rule: Rule) -> None:
    """Other forms, days that are not, days before 1900 and times of day are refused by name."""
    assert broken(rules.birth_date, value) is rule


def test_countries_are_upper_case_on_output() -> None:
    """Every code passes in any case, Namibia's too; nothing else does."""
    assert {rules.country(code.lower()) for code in COUNTRIES} == COUNTRIES
    assert rules.country(" na ") == "NA"
    for value in ("UK", "ZZ", "DEU", "ﬁ", "ſe", "Germany"):
        assert broken(rules.country, value) is Rule.NOT_LISTED


def test_document_types_are_those_of_the_contract() -> None:
    """The four types pass as they are written, in no other spelling."""
    assert [rules.document_type(kind) for kind in rules.DOCUMENT_TYPES] == list(rules.DOCUMENT_TYPES)
    assert broken(rules.document_type, "passport") is Rule.NOT_LISTED


@pytest.mark.parametrize(
    "url",
    [
        "https://a.example",
        "HTTPS://A.example:443/x.jpg?q=1#f",
        "https://[2001:db8::1]/x",
        "https://user@a.example/é",
        "https://a.example?x=/",
    ],
)
def test_https_urls_with_a_host_pass(url: str) -> None:
    """The scheme is of any case; user, port, path, query and fragment may be there."""
    assert rules.image_urls([f" {url} "]) == (url,)


@pytest.mark.parametrize(
    "url",
    [
        "http://a.example",
        "httpſ://a.example",
        "https://",
        "https:///x",
        "https://:443/x",
        "https://user@/x",
        "https://a b.example",
        "https://a.example/x y",
        "https://a.example/\u00a0x",
        "https://a.example/\x00",
        "//a.example",
        "a.example",
        "https://a.example:port/",
        "https://[::1/",
    ],
)
def test_other_urls_are_refused(url: str) -> None:
    """Another scheme, no host, or a blank or control character anywhere make no image URL."""
    assert broken(rules.image_urls, [url]) is Rule.NOT_HTTPS


def test_lists_of_urls_are_bounded() -> None:
    """Ten URLs of 2048 characters pass, more or longer ones do not, and an empty list is missing."""
    longest = "https://a.example/".ljust(2048, "x")
    assert rules.image_urls([longest] * 10) == (longest,) * 10
    assert rules.image_urls([]) is None
    assert broken(rules.image_urls, [longest] * 11) is Rule.TOO_MANY
    assert broken(rules.image_urls, [longest + "x"]) is Rule.TOO_LONG
    assert broken(rules.image_urls, [" "]) is Rule.BLANK
    for value in (longest, [None], [5], {"a": 1}):
        assert broken(rules.image_urls, value) is Rule.WRONG_TYPE


@pytest.mark.parametrize(
    ("text", "is_plain"),
    [
        ("https://a.example", True),
        ("https://a-1.example/b/C.jpg?d=%20#e", True),
        ("https://a.example\nhttps://b.example", False),
        ("https://a.example/\n", False),
        (" https://a.example", False),
        ("https://a.example/b c", False),
        ("https://a.example/\u00e9", False),
        ("https://user@a.example:1/", False),
        ("http://a.example", False),
        ("https://", False),
        ("https:///a", False),
        ("https://a.example/" + "x" * 2048, False),
        ("", False),
        (None, False),
        (1, False),
    ],
)
def test_plain_urls_are_what_the_rule_leaves_as_it_is(text: object, is_plain: bool) -> None:
    """Plain URLs pass the rule unchanged; one other text among them is enough to be refused."""
    plain = "https://images.example/1.jpg"
    assert rules.are_plain_urls([plain, text, plain]) is is_plain
    assert not is_plain or rules.image_urls([plain, text]) == (plain, text)


@given(st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_keep_their_value(value: float) -> None:
    """A finite number is the float64 of its value, with one zero only."""
    canonical = rules.number(value)
    assert canonical == value
    assert isinstance(canonical, float)
    assert canonical or math.copysign(1, canonical) == 1


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400])
def test_numbers_are_finite(value: float) -> None:
    """NaN, infinities and integers beyond float64 are refused."""
    assert broken(rules.number, value) is Rule.NOT_FINITE


@pytest.mark.parametrize(
    ("rule", "value"),
    [(rules.number, True), (rules.number, "1"), (rules.boolean, 1), (rules.boolean, "true")],
)
def test_types_of_signals_are_not_guessed(rule: Callable[[object], object | None], value: object) -> None:
    """A boolean is no number, a number no boolean, and text neither."""
    assert broken(rule, value) is Rule.WRONG_TYPE


def test_no_detail_holds_the_value() -> None:
    """An error describes only the shape of a value."""
    secret = "Sørensen-1234567"
    for rule in (rules.birth_date, rules.country, rules.document_type, rules.number, instant):
        with pytest.raises(RuleError) as caught:
            rule(secret)
        assert "rensen" not in str(caught.value)
        assert "1234567" not in str(caught.value)


def test_every_field_of_a_schema_has_its_rule() -> None:
    """The rules cover the fields of a schema, in their order."""
    schema = RecordSchema(signals={kind.value: kind for kind in SignalType})
    assert tuple(field_rules(schema)) == schema.fields


def test_an_identifier_may_be_a_whole_number() -> None:
    """An integer is its digits; a boolean, a fraction and a number beyond 128 bits are no identifiers."""
    assert [rules.identifier(value) for value in (12, -1, 2**128, "12", None)] == [
        "12",
        "-1",
        str(2**128),
        "12",
        None,
    ]
    for value in (True, 1.5, 1.0, 10**39):
        assert broken(rules.identifier, value) is Rule.WRONG_TYPE
