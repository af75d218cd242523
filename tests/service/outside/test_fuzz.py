"""Hostile bodies: the real service answers each with a problem, without a fault, and goes on."""

import json
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
