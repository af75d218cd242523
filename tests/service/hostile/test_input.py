"""Bodies made to cost much: each is answered in some milliseconds of CPU time.

The slowest body of 256 KiB that hand and search found takes about 40 ms: parsing, validation and the error answer.
Tests allow ten times as much, since other processes may slow the machine.
"""

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import httpx
import pytest
from hypothesis import HealthCheck, given, settings, target
from hypothesis import strategies as st

from fake_service import PERSON, Client
from scoring_model.service.process import freeze_gc

MOST: Final = 256 * 1024
SECONDS: Final = 0.5
JSON: Final = {"content-type": "application/json"}
RESOLUTIONS: Final = "verifications/0197b0a7-11aa-7d02-9b1c-6f5e4d3c2b1a/resolutions"
PATHS: Final = ("identities", "verifications", "webhooks", RESOLUTIONS)
CLIENT: Final = Client()


@pytest.fixture(autouse=True, scope="module")
def _collected_as_in_a_service() -> None:
    """What other tests left in memory costs these nothing: a service spares what lives as long as it does."""
    freeze_gc()


def ask(path: str, content: bytes) -> tuple[httpx.Response, float]:
    """Send a body; the answer, and the seconds of CPU time that it took this process."""
    begun = time.process_time()
    answer = CLIENT.ask("POST", f"/scoring/v1/{path}", headers=JSON, content=content)
    return answer, time.process_time() - begun


def filled(make: Callable[[int], object]) -> bytes:
    """JSON of what `make` makes of a number that is as large as a body can hold."""

    def written(count: int) -> bytes:
        return json.dumps(make(count), ensure_ascii=False, separators=(",", ":")).encode()

    per_item = (len(written(40_000)) - len(written(20_000))) / 20_000
    count = int(MOST / per_item)
    while len(raw := written(count)) > MOST:
        count -= 1 + count // 50
    return raw


def marks(count: int) -> str:
    """A letter with combining marks of two classes, in the wrong order."""
    return "a" + "\u0301" * (count // 2) + "\u0316" * (count // 2)


def spread(text: Callable[[int], str]) -> Callable[[int], object]:
    """As many signals as are allowed, whose texts share the length."""
    return lambda count: {"signals": {f"s{place}": text(count // 200) for place in range(200)}}


WORST: Final[Mapping[str, Callable[[int], object] | bytes]] = {
    "marks of a reference": lambda n: {"externalId": marks(n)},
    "marks of a subject": lambda n: {"signals": {}, "subjectId": marks(n)},
    "marks of a description": lambda n: {
        "destinationUrl": "https://a.example",
        "active": True,
        "description": marks(n),
    },
    "marks of a note": lambda n: {"result": "APPROVED", "method": "other", "note": marks(n)},
    "marks of who resolved": lambda n: {"resolvedBy": marks(n)},
    "digits of an instant": lambda n: {"resolvedAt": "2026-01-31T09:26:54." + "1" * n + "Z"},
    "marks of parts": lambda n: {"address": dict.fromkeys(["line1", "line2", "city"], marks(n // 3))},
    "marks of signals": spread(marks),
    "marks in short runs": spread(lambda n: ("a" + "\u0301" * 15 + "\u0316" * 16) * (n // 32)),
    "marks of URLs": lambda n: {"imageUrls": ["https://a/" + marks(n // 10)] * 10},
    "marks of names": lambda n: {f"{place}{marks(100)}": 1 for place in range(n // 100)},
    "compositions": spread(lambda n: "\u1f82\u0316" * (n // 2)),
    "items of a wrong type": lambda n: {"imageUrls": [0] * n},
    "event types of a wrong type": lambda n: {"eventTypes": [0] * n},
    "event types that are none": lambda n: {"eventTypes": ["x"] * n},
    "signals of a wrong type": lambda n: {"signals": {str(place): [] for place in range(n)}},
    "signals": lambda n: {"signals": {str(place): 1 for place in range(n)}},
    "unknown fields": lambda n: {str(place): 1 for place in range(n)},
    "unknown fields of an address": lambda n: {"address": {str(place): 1 for place in range(n)}},
    "names to be escaped": lambda n: {f"{place}" + "~/" * 1_000: 1 for place in range(n // 2_000)},
    "a URL of labels": lambda n: {"destinationUrl": "https://" + "a." * n, "active": True},
    "a URL of digits": lambda n: {"destinationUrl": "https://" + "1." * n, "active": True},
    "a URL of colons": lambda n: {"destinationUrl": "https://[" + ":" * n + "]", "active": True},
    "a URL of escapes": lambda n: {"destinationUrl": "https://a/" + "%41" * n + " ", "active": True},
    "digits of a date": lambda n: {"dob": "1" * n},
    "digits of a number": b'{"signals":{"a":' + b"1" * 262_000 + b"}}",
    "digits of a fraction": b'{"signals":{"a":0.' + b"1" * 262_000 + b"}}",
    "digits of an exponent": b'{"signals":{"a":1e-' + b"9" * 262_000 + b"}}",
    "whole numbers": b'{"signals":[' + b",".join([b"9" * 308] * 845) + b"]}",
    "fractions": b'{"signals":[' + b",".join([b"1." + b"9" * 760] * 340) + b"]}",
    "nested arrays": b"[" * 131_000 + b"]" * 131_000,
    "shallow arrays": b"[" + b"[]," * 87_000 + b"[]]",
    "nested objects": b'{"":' * 52_000 + b"1" + b"}" * 52_000,
    "escapes": lambda n: {"externalId": "\x01" * n},
    "pairs of surrogates": b'{"externalId":"' + b"\\ud83d\\ude00" * 21_800 + b'"}',
    "repeated names": b"{" + b",".join([b'"a":1'] * 43_000) + b"}",
    "blanks": b"{" + b" " * 262_000 + b"}",
    "blanks within text": lambda n: {"externalId": "é" + "\u00a0" * n + "é"},
}


@pytest.mark.parametrize("worst", WORST.values(), ids=WORST)
def test_the_worst_bodies_take_milliseconds(worst: Callable[[int], object] | bytes) -> None:
    """Parsing, validation and the answer are bounded, whatever the path; some took most of a minute."""
    body = worst if isinstance(worst, bytes) else filled(worst)
    assert MOST * 0.9 < len(body) <= MOST
    for path in PATHS:
        answer, seconds = ask(path, body)
        assert answer.status_code in (201, 400, 422)
        assert seconds < SECONDS, path


_FRAGMENTS: Final = (
    *(
        "\u0301",
        "\u0316",
        "\u0301\u0316",
        "\u0344",
        "\u0f73",
        "\U0001e944",
        "\u1f82",
        "\u212b",
        "가",
        "\ufdfa",
    ),
    *("a", "1", " ", "\u00a0", ".", "-", ":", "/", "@", "%41", "[", "~", "\x01", '"', "\\", "ß", "İ"),
)
_TEXTS = st.tuples(
    st.sampled_from(["", "a", "https://", "https://a/", "2024-01-01"]),
    st.lists(st.sampled_from(_FRAGMENTS), min_size=1, max_size=4).map("".join),
)
_NAMES = st.sampled_from(
    [
        *(*PERSON, "externalId", "subjectId", "signals", "destinationUrl", "description", "eventTypes"),
        *("result", "method", "note", "resolvedBy", "resolvedAt", "other"),
    ]
)


def _body(path: str, texts: Mapping[str, tuple[str, str]], copies: int) -> bytes:
    """A body of the fields, and of copies of them wherever there may be several, as long as it may be."""
    places = len(texts) * (copies + 1)

    def repeated(length: int) -> dict[str, object]:
        fields = {name: start + middle * (length // len(middle)) for name, (start, middle) in texts.items()}
        inner = {f"{name}{place or ''}": text for name, text in fields.items() for place in range(copies)}
        several: dict[str, dict[str, object]] = {
            "identities": {"address": inner},
            "verifications": {"signals": inner},
            "webhooks": {"imageUrls": [*inner.values()], "eventTypes": [*inner.values()]},
            RESOLUTIONS: {**inner},
        }
        return {**fields, **several[path]}

    return filled(lambda count: repeated(count // places))


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(PATHS),
    st.dictionaries(_NAMES, _TEXTS, min_size=1, max_size=3),
    st.sampled_from([1, 10, 200]),
)
def test_a_search_finds_no_slower_body(path: str, texts: dict[str, tuple[str, str]], copies: int) -> None:
    """A search for slow bodies finds none beyond the bound."""
    answer, seconds = ask(path, _body(path, texts, copies))
    target(seconds)
    assert answer.status_code < 500
    assert seconds < SECONDS


def test_a_query_of_many_parameters() -> None:
    """A query as long as a head can be is refused with the first hundred of its parameters."""
    begun = time.process_time()
    answer = CLIENT.ask("GET", "/scoring/v1/webhooks?" + "&".join(f"a{place}" for place in range(9_000)))
    assert time.process_time() - begun < SECONDS
    assert answer.status_code == 422
    assert len(answer.json()["errors"]) == 100


def test_a_hundred_errors_are_listed_and_the_others_counted() -> None:
    """20,000 unknown fields are a hundred errors and a number; one list that is too long is one error."""
    for extra, omitted in ((0, None), (1, 1), (20_000, 20_000)):
        body: dict[str, Any] = {f"{place}": 1 for place in range(97 + extra)}
        body |= {"dob": 1, "address": {"x": 1}, "imageUrls": [f"https://a/{place}" for place in range(11)]}
        answer = CLIENT.ask("POST", "/scoring/v1/identities", json=body).json()
        assert len(answer["errors"]) == 100
        assert [error["pointer"] for error in answer["errors"][:4]] == [
            "/dob",
            "/imageUrls",
            "/address/x",
            "/0",
        ]
        assert answer.get("errorsOmitted") == omitted


@pytest.mark.parametrize(
    ("path", "body", "expected", "omitted"),
    [
        (
            "identities",
            {"imageUrls": [0] * 131_000},
            ["/imageUrls", *(f"/imageUrls/{n}" for n in range(10))],
            None,
        ),
        (
            "verifications",
            {"signals": {str(place): [] for place in range(20_000)}},
            ["/signals", *(f"/signals/{place}" for place in range(99))],
            101,
        ),
        (
            "webhooks",
            {"destinationUrl": "https://a.example", "active": True, "eventTypes": ["x"] * 65_000},
            ["/eventTypes", *(f"/eventTypes/{place}" for place in range(50))],
            None,
        ),
    ],
)
def test_only_as_many_items_as_are_allowed_are_looked_at(
    path: str, body: object, expected: list[str], omitted: int | None
) -> None:
    """A list that is too long is refused as such, with what is wrong with its first items."""
    answer = CLIENT.ask("POST", f"/scoring/v1/{path}", json=body)
    assert [error["pointer"] for error in answer.json()["errors"]] == expected
    assert answer.json().get("errorsOmitted") == omitted
