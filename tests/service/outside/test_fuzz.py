"""Bytes that no client should send: the real service refuses them, never with a fault or a hang, and goes on."""

import json
import random
import socket
from collections.abc import Iterator
from typing import Final

import pytest

from outside_client import (
    HOOK,
    IDENTITIES,
    PERSON,
    UNKNOWN,
    VERIFICATIONS,
    WEBHOOKS,
    Answer,
    OutsideClient,
    Wire,
)
from running_service import Running

PATHS: Final = [IDENTITIES, VERIFICATIONS, WEBHOOKS]
DEEP: Final = 50_000
BODIES: Final[dict[str, bytes]] = {
    "nothing": b"",
    "blanks": b" \r\n\t ",
    "bad UTF-8": b'{"firstName":"\xff\xfe"}',
    "overlong UTF-8": b'{"firstName":"\xc0\xaf"}',
    "surrogates in UTF-8": b'{"firstName":"\xed\xa0\x80"}',
    "cut UTF-8": b'{"firstName":"\xe2\x82',
    "UTF-16": json.dumps(PERSON).encode("utf-16"),
    "byte order mark": b"\xef\xbb\xbf{}",
    "lone surrogate": b'{"firstName":"\\ud800"}',
    "noncharacter": b'{"signals":{"a":"\\uffff"}}',
    "deep arrays": b"[" * DEEP + b"]" * DEEP,
    "deep open": b"[" * 250_000,
    "deep objects": b'{"signals":' * 20_000 + b"1" + b"}" * 20_000,
    "deep value": b'{"signals":{"a":' + b"[" * DEEP + b"]" * DEEP + b"}}",
    "NaN": b'{"signals":{"a":NaN}}',
    "Infinity": b'{"signals":{"a":-Infinity}}',
    "1e400": b'{"signals":{"a":1e400}}',
    "many digits": b'{"signals":{"a":' + b"9" * 10_000 + b"}}",
    "most digits": b'{"signals":{"a":' + b"9" * 260_000 + b"}}",
    "long exponent": b'{"signals":{"a":1e' + b"9" * 10_000 + b"}}",
    "long negative exponent": b'{"signals":{"a":1e-' + b"9" * 10_000 + b',"b":[]}}',
    "leading zero": b'{"signals":{"a":01}}',
    "duplicate": b'{"signals":{"a":1},"signals":{"a":2}}',
    "duplicate by escape": b'{"signals":{"a":1,"\\u0061":2}}',
    "comment": b'{/* */"signals":{}}',
    "two documents": b"{}{}",
    "scalar": b'"text"',
    "null": b"null",
    "array": b'[{"signals":{}}]',
    "NUL": b'{"firstName":"\\u0000","signals":{"\\u0000":[]},"destinationUrl":"\\u0000","active":true}',
    "many names": json.dumps({str(place): 1 for place in range(15_000)}).encode(),
    "many errors": json.dumps({"eventTypes": [None] * 40_000, "imageUrls": [0] * 20}).encode(),
    "many signals": json.dumps({"signals": {f"s{place}": [place] for place in range(10_000)}}).encode(),
    "long name": b'{"' + b"a" * 200_000 + b'":1}',
    "long text": b'{"subjectId":"' + b"a" * 200_000 + b'"}',
}
WRONG: Final = [0, -1, 1.5, True, False, "", "x", [], [[]], {}, {"a": {}}, [None], 10**300, "\0"]
FIELDS: Final = {
    IDENTITIES: [*PERSON, "externalId"],
    VERIFICATIONS: ["identityId", "signals", "subjectId", "previousVerificationId"],
    WEBHOOKS: [*HOOK, "eventTypes", "description"],
}


def is_well(service: Running) -> bool:
    """Whether the service still is."""
    status, body = service.request("GET", "/health/ready")
    return (status, body["status"]) == (200, "ready")


@pytest.fixture(autouse=True)
def _unharmed(service: Running) -> Iterator[None]:
    before = len(service.log.read_text())
    yield
    assert is_well(service)
    assert '"places"' not in service.log.read_text()[before:]


def check_problem(answer: Answer, *statuses: int) -> None:
    """A refusal in its own form, with one of these statuses."""
    assert answer.status in statuses, answer
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json["status"] == answer.status
    assert answer.json["requestId"] == answer.headers["x-request-id"]
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("name", BODIES)
def test_bodies_that_break_readers(client: OutsideClient, name: str) -> None:
    """Each is refused by every operation that takes a body."""
    for path in PATHS:
        check_problem(client.ask("POST", path, BODIES[name]), 400, 422)
    check_problem(client.ask("PUT", f"{WEBHOOKS}/{UNKNOWN}", BODIES[name]), 400, 422)
    empty = (400, 404, 422) if name == "nothing" else (400, 422)
    check_problem(client.ask("POST", f"{WEBHOOKS}/{UNKNOWN}/test", BODIES[name]), *empty)


def test_ten_megabytes(service: Running, client: OutsideClient) -> None:
    """What is too large is refused with 413, announced or not, and the client gets to read it."""
    large = b'{"firstName":"' + b"a" * 10_000_000 + b'"}'
    for path in PATHS:
        check_problem(client.ask("POST", path, large), 413)
    with Wire(client.port) as wire:
        wire.send(chunked_head(client, IDENTITIES), chunk(large), b"0\r\n\r\n")
        answer = wire.answer()
        assert answer is not None
        check_problem(answer, 413)


@pytest.mark.parametrize("path", PATHS)
def test_wrong_types_everywhere(client: OutsideClient, path: str) -> None:
    """Every field with every wrong type is refused with its pointer or, where it is of the right one, taken."""
    right = {IDENTITIES: {}, VERIFICATIONS: {"signals": {}}, WEBHOOKS: HOOK}[path]
    for field in FIELDS[path]:
        refused = 0
        for value in WRONG:
            answer = client.ask("POST", path, {**right, field: value})
            if answer.status == 422:
                refused += 1
                check_problem(answer, 422)
                assert any(error["pointer"].startswith(f"/{field}") for error in answer.json["errors"])
            else:
                assert answer.status in (200, 201, 409), answer
        assert refused >= 8, field


def head_of(client: OutsideClient, *lines: str, path: str = IDENTITIES) -> bytes:
    """The beginning of a POST of JSON."""
    return client.head("POST", path, "Content-Type: application/json", *lines)


def chunked_head(client: OutsideClient, path: str) -> bytes:
    """The same for a body in chunks."""
    return head_of(client, "Transfer-Encoding: chunked", path=path)


def chunk(data: bytes) -> bytes:
    """Frame a chunk (RFC 9112, section 7.1)."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def test_chunked_bodies(client: OutsideClient) -> None:
    """A body that comes in chunks is read like any other, byte by byte and with a trailer too."""
    body = json.dumps(PERSON).encode()
    pieces = b"".join(chunk(bytes([byte])) for byte in body)
    for framed in (chunk(body) + b"0\r\n\r\n", pieces + b"0\r\n\r\n", chunk(body) + b"0\r\nX-A: b\r\n\r\n"):
        with Wire(client.port) as wire:
            wire.send(chunked_head(client, IDENTITIES), framed)
            answer = wire.answer()
            assert answer is not None
            assert answer.status == 201
            assert answer.json["validated"] is True


FRAMES: Final[dict[str, tuple[list[str], bytes]]] = {
    "a length that is no number": (["Content-Length: abc"], b"{}"),
    "a negative length": (["Content-Length: -2"], b"{}"),
    "a signed length": (["Content-Length: +2"], b"{}"),
    "a length in hexadecimal": (["Content-Length: 0x2"], b"{}"),
    "two lengths": (["Content-Length: 2", "Content-Length: 3"], b"{}"),
    "a list of lengths": (["Content-Length: 2, 2"], b"{}"),
    "a length beyond 64 bits": (["Content-Length: 99999999999999999999999"], b"{}"),
    "a length and chunks": (["Content-Length: 2", "Transfer-Encoding: chunked"], b"2\r\n{}\r\n0\r\n\r\n"),
    "chunked not last": (["Transfer-Encoding: chunked, gzip"], b"2\r\n{}\r\n0\r\n\r\n"),
    "chunked twice": (["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], b"2\r\n{}\r\n0\r\n\r\n"),
    "an unknown coding": (["Transfer-Encoding: magic"], b"2\r\n{}\r\n0\r\n\r\n"),
    "a chunk size that is no number": (["Transfer-Encoding: chunked"], b"zz\r\n{}\r\n0\r\n\r\n"),
    "a negative chunk size": (["Transfer-Encoding: chunked"], b"-2\r\n{}\r\n0\r\n\r\n"),
    "a chunk size beyond 64 bits": (
        ["Transfer-Encoding: chunked"],
        b"fffffffffffffffffff\r\n{}\r\n0\r\n\r\n",
    ),
    "a chunk without its end": (["Transfer-Encoding: chunked"], b"2\r\n{}XX0\r\n\r\n"),
}


@pytest.mark.parametrize("name", FRAMES)
def test_framing(client: OutsideClient, name: str) -> None:
    """A body whose end is not clear is refused and ends its connection: nothing can hide behind it."""
    lines, body = FRAMES[name]
    hidden = client.head("GET", "/health/live")
    with Wire(client.port) as wire:
        wire.send(head_of(client, *lines), body, hidden)
        first = wire.answer()
        assert first is not None
        check_problem(first, 400, 413)
        assert wire.answer() is None


def test_a_body_that_never_comes_ends_with_its_client(client: OutsideClient) -> None:
    """A client that announces more than it sends and goes away leaves nothing behind."""
    with Wire(client.port) as wire:
        wire.send(head_of(client, "Content-Length: 100"), b"{")
    with Wire(client.port) as wire:
        wire.send(chunked_head(client, IDENTITIES), b"64\r\n{")


HEADS: Final[dict[str, bytes]] = {
    "no method": b" / HTTP/1.1\r\nHost: a\r\n\r\n",
    "not HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "a version that is none": b"GET /health/live HTTP/9.9\r\nHost: a\r\n\r\n",
    "a header without a colon": b"GET /health/live HTTP/1.1\r\nHost a\r\n\r\n",
    "a blank before the colon": b"GET /health/live HTTP/1.1\r\nHost : a\r\n\r\n",
    "a NUL in a header": b"GET /health/live HTTP/1.1\r\nHost: a\r\nX-A: \x00\r\n\r\n",
    "a bare line feed in a header": b"GET /health/live HTTP/1.1\r\nHost: a\r\nX-A: b\rc\r\n\r\n",
    "a header of 1 MB": b"GET /health/live HTTP/1.1\r\nHost: a\r\nX-A: " + b"a" * 1_000_000 + b"\r\n\r\n",
    "100,000 headers": b"GET /health/live HTTP/1.1\r\nHost: a\r\n" + b"X-A: b\r\n" * 100_000 + b"\r\n",
    "a path of 1 MB": b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
}


@pytest.mark.parametrize("name", HEADS)
def test_heads(client: OutsideClient, name: str) -> None:
    """What is no request is refused and its connection ends."""
    with Wire(client.port) as wire:
        wire.send(HEADS[name])
        answer = wire.answer()
        # A client that still writes when the connection ends may miss the answer; a hang would be an error.
        if answer is not None:
            check_problem(answer, 400, 431)
            assert wire.answer() is None
        else:
            assert len(HEADS[name]) > 100_000


PLACES: Final = [
    "/",
    "//",
    "/%",
    "/%00",
    "/scoring/v1/%2e%2e/health",
    "/scoring/v1/identities/",
    "/a?%ff=%00",
    "*",
]


@pytest.mark.parametrize("path", PLACES)
@pytest.mark.parametrize("method", ["GET", "POST", "TRACE", "OPTIONS", "CONNECT", "BREW"])
def test_places_and_methods(client: OutsideClient, method: str, path: str) -> None:
    """Paths and methods that are none are refused by a status that the interface has."""
    with Wire(client.port) as wire:
        wire.send(client.head(method, path, "Connection: close", "Content-Length: 0"))
        answer = wire.answer()
        assert answer is not None
        check_problem(answer, 400, 404, 405)


def test_credentials_that_come_twice_are_none(client: OutsideClient) -> None:
    """A header of credentials that comes twice, even with the same value, is refused."""
    for name, value in client.credentials.items():
        with Wire(client.port) as wire:
            wire.send(client.head("GET", WEBHOOKS, f"{name}: {value}"))
            answer = wire.answer()
            assert answer is not None
            check_problem(answer, 401)


HEADERS: Final[dict[str, tuple[list[str], int]]] = {
    "two media types": (["Content-Type: application/json", "Content-Type: application/json"], 415),
    "no media type": ([], 415),
    "another charset": (["Content-Type: application/json; charset=utf-16"], 415),
    "a coding": (["Content-Type: application/json", "Content-Encoding: gzip"], 415),
    "two keys": (["Content-Type: application/json", "Idempotency-Key: a", "Idempotency-Key: b"], 422),
    "a long key": (["Content-Type: application/json", f"Idempotency-Key: {'k' * 256}"], 422),
    "an empty key": (["Content-Type: application/json", "Idempotency-Key:"], 422),
    "a key in Latin-1": (["Content-Type: application/json", "Idempotency-Key: \xe9"], 422),
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers(client: OutsideClient, name: str) -> None:
    """Headers that mean nothing, or two things, are refused."""
    lines, status = HEADERS[name]
    with Wire(client.port) as wire:
        wire.send(client.head("POST", IDENTITIES, "Content-Length: 2", *lines), b"{}")
        answer = wire.answer()
        assert answer is not None
        check_problem(answer, status)


def test_a_pipeline(client: OutsideClient) -> None:
    """Requests that are sent without waiting are answered one after the other, in their order."""
    made = head_of(client, "Content-Length: 2") + b"{}"
    asked = client.head("GET", f"{IDENTITIES}/{UNKNOWN}")
    live = client.head("GET", "/health/live")
    with Wire(client.port) as wire:
        wire.send(*[made + asked + live] * 20)
        answers = [wire.answer() for _ in range(60)]
    assert [answer.status for answer in answers if answer is not None] == [201, 404, 200] * 20


def test_a_refused_request_in_a_pipeline(client: OutsideClient) -> None:
    """After a body that was refused unread the next request of the connection is still found."""
    large = b"a" * 300_000
    refused = (
        client.head("POST", IDENTITIES, "Content-Type: text/plain", f"Content-Length: {len(large)}") + large
    )
    with Wire(client.port) as wire:
        wire.send(refused, client.head("GET", "/health/live"))
        first, second = wire.answer(), wire.answer()
        assert first is not None
        assert second is not None
        assert (first.status, second.status) == (413, 200)


def damaged(request: bytes, chance: random.Random) -> bytes:
    """A request with a few bytes changed, cut out, doubled or put in."""
    data = bytearray(request)
    for _ in range(chance.randint(1, 4)):
        place, length = chance.randrange(len(data)), chance.choice((0, 1, 1, 2, 8, 64))
        piece = chance.choice(
            (b"", chance.randbytes(length), bytes(data[place : place + length]) * 2, b"\r\n")
        )
        data[place : place + length] = piece
        data = data or bytearray(b"\n")
    return bytes(data)


def test_any_damage(client: OutsideClient) -> None:
    """Right requests with any bytes changed are answered or cut off, and are never a fault or a hang."""
    body = json.dumps(PERSON).encode()
    requests = [
        head_of(client, f"Content-Length: {len(body)}") + body,
        chunked_head(client, VERIFICATIONS) + chunk(b'{"signals":{}}') + b"0\r\n\r\n",
        client.head("GET", f"{WEBHOOKS}?limit=3", 'If-None-Match: "a"') + client.head("GET", "/health/live"),
    ]
    chance = random.Random(1)
    seen = set()
    for _ in range(600):
        with Wire(client.port) as wire:
            wire.send(damaged(chance.choice(requests), chance))
            wire.socket.shutdown(socket.SHUT_WR)  # nothing more comes: what is not whole is given up
            while (answer := wire.answer()) is not None:
                seen.add(answer.status)
    assert seen >= {200, 400, 401, 404, 422}
    assert max(seen) < 500
