"""RFC 7493: what is read, and what is refused."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.service.http.bodies import DEPTH, read_json
from scoring_model.service.http.errors import MalformedBody

_TEXT = st.text(
    st.characters(exclude_categories=["Cs"]).filter(
        lambda c: ord(c) & 0xFFFE != 0xFFFE and not "\ufdd0" <= c <= "\ufdef"
    )
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(_VALUES, st.booleans())
def test_what_is_written_is_read(value: object, ascii_only: bool) -> None:
    """Any value comes back, escaped or not; integers are read to the last digit."""
    assert read_json(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@given(st.binary(max_size=60))
def test_any_bytes_are_read_as_json_reads_them_or_refused(raw: bytes) -> None:
    """Nothing but the one error leaves, and nothing is read that the standard library reads otherwise."""
    try:
        value = read_json(raw)
    except MalformedBody:
        return
    assert value == json.loads(raw)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b" ",
        b"\xef\xbb\xbf{}",
        b"{",
        b"{}{}",
        b"{'a':1}",
        b'{"a":1,}',
        b"\xff",
        b'"\xed\xa0\x80"',
        "{}".encode("utf-16"),
        b'{"a":1,"a":1}',
        b'{"a":1,"\\u0061":2}',
        b'{"x":{"a":1,"b":2,"a":3}}',
        b"NaN",
        b"-Infinity",
        b'{"a":Infinity}',
        b"1e999",
        b"-1e309",
        b"1" + b"0" * 309,
        b"9" * 200_000,
        b'"\\ud800"',
        b'"\\udc00\\ud800"',
        b'{"\\ud8ff":1}',
        b'["\\uffff"]',
        b'"\\ufdd0"',
        b'"\\ud83f\\udffe"',
        '"\ufffe"'.encode(),
        '{"\U0010ffff":1}'.encode(),
        b'"\x00"',
        b'"\n"',
        b"01",
        b".5",
        b"+1",
        b"[" * 50_000,
        b"[" * 50_000 + b"]" * 50_000,
        b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
        b"[" * (DEPTH + 1) + b"]" * (DEPTH + 1),
        b'{"a":' * (DEPTH + 1) + b"1" + b"}" * (DEPTH + 1),
        b"[" * 500 + b"]" * 500,
    ],
    ids=lambda raw: repr(raw[:24]),
)
def test_what_is_refused(raw: bytes) -> None:
    """Each breaks one rule of RFC 8259 or RFC 7493, or is nested too deep."""
    with pytest.raises(MalformedBody):
        read_json(raw)


def test_depth_is_counted_exactly() -> None:
    """The deepest that is allowed is read, beside any number of shallow ones."""
    deepest = b"[" * (DEPTH - 1) + b"]" * (DEPTH - 1)
    assert read_json(b"[" + b",".join([deepest, *[b"{}"] * 100]) + b"]") is not None


def test_numbers_within_a_double_are_read() -> None:
    """Large integers and what underflows are numbers."""
    assert read_json(b"9007199254740993") == 9007199254740993
    assert read_json(b"1" + b"0" * 308) == 10**308
    assert read_json(b"1e-999") == 0
    assert math.copysign(1, float(str(read_json(b"-0.0")))) == -1


def test_refusals_echo_nothing() -> None:
    """The text of a refusal is one of a few, whatever was sent."""
    told = set()
    for raw in (b'{"secret":1,"secret":2}', b"secret", b'["secret", 1e999]', b'"secret\\ud800"'):
        with pytest.raises(MalformedBody) as caught:
            read_json(raw)
        told.add(str(caught.value))
    assert "secret" not in "".join(told)
