import math
from datetime import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scoring_model.records import cells

READERS = (cells.plain, cells.text, cells.number, cells.boolean, cells.urls)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        " \t\n",
        math.nan,
        np.float32("nan"),
        np.str_(" "),
        pd.NA,
        pd.NaT,
        np.datetime64("NaT", "us"),
        Decimal("nan"),
    ],
)
def test_every_tool_has_a_missing_value(reader: cells.Cell, value: object) -> None:
    """null, NaN, NaT, NA objects and blank text are missing in every field."""
    assert reader(value) is None


@given(st.text(st.characters(exclude_characters="\x00"), min_size=1).filter(lambda text: not text.isspace()))
def test_text_is_read_as_it_is(text: str) -> None:
    """Text that is not blank passes unchanged where text is wanted; NA and null are such text."""
    assert cells.text(text) == text
    assert cells.text(np.str_(text)) == text


@given(st.integers(-(2**53) + 1, 2**53 - 1))
def test_whole_numbers_are_their_digits_where_text_is_wanted(number: int) -> None:
    """An integer, its float and its decimal are one text, so that gaps in a column change no identifier."""
    assert {cells.text(kind(number)) for kind in (int, float, Decimal, np.int64, np.float64)} == {str(number)}


@pytest.mark.parametrize("value", [0.5, math.inf, 2.0**60, 10**40, True, b"x", [1], {}])
def test_what_is_no_text_is_left_for_the_rule(value: object) -> None:
    """Fractions, floats that lost digits, booleans and containers pass unchanged."""
    assert cells.text(value) is value


@given(st.floats(allow_nan=False))
@example(math.inf)
@example(-math.inf)
def test_numbers_survive_their_text(number: float) -> None:
    """CSV holds the shortest text of a float; reading gives the same float, infinities included."""
    assert cells.number(repr(number)) == number
    assert cells.number(number) == number
    assert cells.number(f" {number!r} ") == number


def test_decimals_are_numbers() -> None:
    """Databases export decimals; they become the nearest float."""
    found = cells.number(Decimal("0.10"))
    assert (type(found), found) == (float, 0.1)


@pytest.mark.parametrize(
    "text", ["NA", "1,5", "1_000", "0x1", "1e", "--1", "١", "5 %%", "(-5)", "(5)-", "()"]
)
def test_text_that_is_no_number_is_left_for_the_rule(text: str) -> None:
    """Only plain decimal notation is a number, and NA is no missing value."""
    assert cells.number(text) == text


@pytest.mark.parametrize(
    ("text", "plain", "comma", "point"),
    [
        ("1 234,56", None, 1234.56, None),
        ("1.234,56", None, 1234.56, None),
        ("1,234.56", None, None, 1234.56),
        ("1,234", None, 1.234, 1234.0),
        ("1,234,567", None, None, 1234567.0),
        ("0,125", None, 0.125, None),
        ("0.125", 0.125, None, 0.125),
        ("1.234", 1.234, 1234.0, 1.234),
        ("-1\u202f234", -1234.0, -1234.0, -1234.0),
        ("1’234.5", 1234.5, None, 1234.5),
        ("-$1,234.5", None, None, -1234.5),
        ("12,50 €", None, 12.5, None),
        ("1 234'567", None, None, None),
        ("12 34", None, None, None),
        ("$€5", None, None, None),
        ("(1,234.50)", None, None, -1234.5),
        ("($1.234,50)", None, -1234.5, None),
        ("-5 %", -5.0, -5.0, -5.0),
        ("8,000円", None, 8.0, 8000.0),
        ("\\8,000", None, 8.0, 8000.0),
        ("6,50,000.50", None, None, 650000.5),
        ("6,5,000", None, None, None),
        (",", None, None, None),
    ],
)
def test_groups_of_digits_are_read_by_the_decimal_mark(
    text: str, plain: float | None, comma: float | None, point: float | None
) -> None:
    """What may be either, or neither, is left for the rule; a fraction of three digits is not a group."""
    found = [cells.NUMBERS[mark](text) for mark in (None, ",", ".")]
    assert found == [text if expected is None else expected for expected in (plain, comma, point)]


def test_nan_as_text_is_a_missing_number() -> None:
    """Tools write NaN into CSV for a number that is missing; as text it is a word like others."""
    assert cells.number("NaN") is None
    assert cells.text("NaN") == "NaN"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, True),
        ("TRUE", True),
        (" false ", False),
        ("ΝΑΙ", True),
        ("Ні", False),
        ("Không", False),
        ("1", True),
        ("0.0", False),
        (1, True),
        (0.0, False),
        (np.bool_(True), True),
        (2, 2),
        ("perhaps", "perhaps"),
    ],
)
def test_booleans_are_true_and_false_and_one_and_zero(value: object, expected: object) -> None:
    """Everything else is left for the rule to refuse."""
    assert cells.boolean(value) == expected
    assert type(cells.boolean(value)) is type(expected)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("https://a/1 \n https://a/2", ["https://a/1", "https://a/2"]),
        (' ["https://a/1", "https://a/2"]', ["https://a/1", "https://a/2"]),
        (np.array(["https://a/1"], dtype=object), ["https://a/1"]),
        (["https://a/1"], ["https://a/1"]),
        ("[]", []),
        ("[https://a/1", "[https://a/1"),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_urls_are_lists_json_or_blank_separated(value: object, expected: object) -> None:
    """A list, a JSON array and words give the same; broken JSON is left for the rule."""
    assert cells.urls(value) == expected


@pytest.mark.parametrize(
    ("cell", "read"),
    [
        ("1980-01-02 00:00:00", "1980-01-02"),
        ("1980-01-02T00:00Z", "1980-01-02"),
        (datetime(1980, 1, 2), "1980-01-02"),
        ("1980-01-02 10:00:00", "1980-01-02 10:00:00"),
    ],
)
def test_a_date_of_birth_may_have_a_time_of_midnight(cell: object, read: str) -> None:
    """Without a format; another time of day is left to the rule, which refuses it."""
    assert cells.date(())(cell) == read


@pytest.mark.parametrize(
    ("cell", "read"),
    [
        ("192.0.2.7:443", "192.0.2.7"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("2001:db8::1", "2001:db8::1"),
        ("192.0.2.7:x", "192.0.2.7:x"),
    ],
)
def test_the_port_behind_an_address_is_dropped(cell: str, read: str) -> None:
    """As proxies write it; an IPv6 address alone has no port."""
    assert cells.ip(cell) == read
