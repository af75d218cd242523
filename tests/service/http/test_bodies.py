"""The contract's section General: lengths and media types of bodies, and what is read as JSON (RFC 7493)."""

import asyncio
import json
import math
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import ClientDisconnect

from fake_service import Client
from scoring_model.service.http import HttpSettings
from scoring_model.service.http.bodies import DEPTH, read_body, read_json
from scoring_model.service.http.context import CONTEXT, RequestContext
from scoring_model.service.http.errors import MalformedBody

PATH = "/scoring/v1/identities"
LIMIT = 256 * 1024


def _padded(length: int) -> bytes:
    return b'{"firstName":"Ada"' + b" " * (length - 19) + b"}"


def test_general_length_of_bodies() -> None:
    """256 KiB are taken, one byte more is 413, by its length or in chunks."""

    async def chunks(body: bytes) -> AsyncIterator[bytes]:
        for start in range(0, len(body), 60_000):
            yield body[start : start + 60_000]

    client = Client()
    headers = {"content-type": "application/json"}
    for length, status in ((LIMIT, 201), (LIMIT + 1, 413)):
        body = _padded(length)
        assert client.ask("POST", PATH, headers=headers, content=body).status_code == status
        assert client.ask("POST", PATH, headers=headers, content=chunks(body)).status_code == status


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_general_length_of_bodies_that_nobody_reads(method: str) -> None:
    """A body that is too long is 413 even where none is expected."""
    client = Client()
    path = f"{PATH}/{client.new_identity()['id']}"
    assert client.ask(method, path, content=b" " * (LIMIT + 1)).status_code == 413
    assert client.ask(method, path, content=b"ignored").status_code == 200


@pytest.mark.parametrize(
    "media_type",
    [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"',
        "application/json ; version=1",
    ],
)
def test_general_media_types_that_are_taken(media_type: str) -> None:
    """JSON in UTF-8, however it is spelled."""
    headers = {"content-type": media_type}
    assert Client().ask("POST", PATH, headers=headers, content=b"{}").status_code == 201


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("content-type", "")],
        [("content-type", "text/json")],
        [("content-type", "application/problem+json")],
        [("content-type", "application/x-www-form-urlencoded")],
        [("content-type", "application/jsonp")],
        [("content-type", "application/json; charset=latin-1")],
        [("content-type", "application/json; charset=utf-16")],
        [("content-type", "application/json"), ("content-type", "application/json")],
        [("content-type", "application/json"), ("content-encoding", "gzip")],
    ],
)
def test_general_media_types_that_are_refused(headers: list[tuple[str, str]]) -> None:
    """Everything else is 415, a missing type and content codings too."""
    assert Client().ask("POST", PATH, headers=headers, content=b"{}").status_code == 415


def test_general_body_of_nothing() -> None:
    """An empty body is not JSON, with or without a type; a wrong type is reported first."""
    client = Client()
    for headers, status in (
        ({}, 400),
        ({"content-type": "application/json"}, 400),
        ({"content-type": "a/b"}, 415),
    ):
        assert client.ask("POST", PATH, headers=headers, content=b"").status_code == status


def test_general_clients_that_go_away() -> None:
    """The server stops waiting for a client that disconnects within its body."""
    messages: list[dict[str, Any]] = [
        {"type": "http.request", "body": b"{", "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> dict[str, Any]:
        return messages.pop(0)

    scope: dict[str, Any] = {"method": "POST", "headers": []}
    scope[CONTEXT] = RequestContext("POST")
    with pytest.raises(ClientDisconnect):
        asyncio.run(read_body(scope, receive, HttpSettings()))


def test_general_settings_have_bounds() -> None:
    """Limits that would refuse everything are refused themselves."""
    with pytest.raises(ValueError, match="max_body"):
        HttpSettings(max_body=0)
    with pytest.raises(ValueError, match="body_seconds"):
        HttpSettings(body_seconds=float("nan"))


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
    """The error text is one of a fixed set, whatever was sent."""
    details = set()
    for raw in (b'{"secret":1,"secret":2}', b"secret", b'["secret", 1e999]', b'"secret\\ud800"'):
        with pytest.raises(MalformedBody) as caught:
            read_json(raw)
        details.add(str(caught.value))
    assert "secret" not in "".join(details)
