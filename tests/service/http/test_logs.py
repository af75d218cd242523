"""The contract's section Privacy: logs of requests."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from fake_service import GOOD, PERSON, Client
from scoring_model.service.core.faults import FAULTS
from scoring_model.service.http import HttpSettings, context

CANARY = "canary-7f3a"


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """Capture the log; restore the process afterwards."""
    loggers = [logging.getLogger(name) for name in (context.ACCESS, FAULTS)]
    before = [(logger.handlers[:], logger.propagate, logger.level) for logger in loggers]
    written = io.StringIO()
    context.configure(written)
    yield written
    for logger, (handlers, propagate, level) in zip(loggers, before, strict=True):
        logger.handlers[:], logger.propagate = handlers, propagate
        logger.setLevel(level)


def _lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_privacy_logs_have_each_request(stream: io.StringIO) -> None:
    """One line of JSON has time, route, status, duration and client."""
    client = Client(settings=HttpSettings())
    answers = [
        client.ask("POST", "/scoring/v1/identities", json=PERSON),
        client.ask("GET", "/scoring/v1/identities/nonsense"),
        client.ask("GET", "/nothing", credentials=None),
        client.ask("BREW", "/health/live", credentials=None),
    ]
    lines = _lines(stream)
    names = ["time", "process", "requestId", "method", "route", "status", "durationMs", "clientId", "traceId"]
    assert all(list(line) == names for line in lines)
    assert [line["requestId"] for line in lines] == [answer.headers["x-request-id"] for answer in answers]
    assert (
        [line["status"] for line in lines]
        == [answer.status_code for answer in answers]
        == [201, 404, 404, 405]
    )
    assert [line["method"] for line in lines] == ["POST", "GET", "GET", None]
    assert [line["clientId"] for line in lines] == ["cl_1", "cl_1", None, None]
    assert [line["route"] for line in lines] == [
        "/scoring/v1/identities",
        "/scoring/v1/identities/{id}",
        None,
        "/health/live",
    ]
    assert all(isinstance(line["durationMs"], float) and 0 <= line["durationMs"] < 60_000 for line in lines)
    assert {line["time"] for line in lines} == {"2026-05-28T20:26:40.000001Z"}


TRACE = "0af7651916cd43dd8448eb211c80319c"


@pytest.mark.parametrize(
    ("headers", "logged"),
    [
        ([f"00-{TRACE}-b7ad6b7169203331-01"], TRACE),
        ([f"cc-{TRACE}-b7ad6b7169203331-01-what.the.future"], TRACE),
        ([f"00-{TRACE}-b7ad6b7169203331-01-more"], None),
        ([f"ff-{TRACE}-b7ad6b7169203331-01"], None),
        ([f"00-{TRACE.upper()}-b7ad6b7169203331-01"], None),
        ([f"00-{'0' * 32}-b7ad6b7169203331-01"], None),
        ([f"00-{TRACE}-{'0' * 16}-01"], None),
        ([f"00-{TRACE}-b7ad6b7169203331-01"] * 2, None),
        ([f'00-{CANARY}"}}{TRACE}-b7ad6b7169203331-01'], None),
        ([f"cc-{TRACE}-b7ad6b7169203331-01-\x01"], None),
        ([], None),
    ],
)
def test_the_trace_of_a_caller_is_logged(stream: io.StringIO, headers: list[str], logged: str | None) -> None:
    """The trace id of W3C Trace Context, from one well-formed header alone: nothing else of a header is logged."""
    sent = [("traceparent", header) for header in headers]
    Client(settings=HttpSettings()).ask("GET", "/health/live", credentials=None, headers=sent)
    (line,) = _lines(stream)
    assert line["traceId"] == logged


def test_privacy_logs_hold_nothing_that_was_sent(stream: io.StringIO) -> None:
    """No path, query, header, body or address, nor the text of an error, is ever logged."""
    client = Client(settings=HttpSettings())
    headers = {"x-request-id": CANARY, "user-agent": CANARY, "idempotency-key": CANARY, "referer": CANARY}
    body = {"firstName": CANARY, CANARY: 1}
    for path in ("/scoring/v1/identities", f"/scoring/v1/identities/{CANARY}", f"/{CANARY}"):
        client.ask("POST", path + f"?{CANARY}={CANARY}", headers=headers, json=body)
    client.ask("GET", "/scoring/v1/webhooks", credentials={**GOOD, "x-api-key": CANARY})
    client.ask(CANARY.upper().replace("-", ""), "/scoring/v1/webhooks")
    try:
        raise KeyError(CANARY)
    except KeyError as cause:
        client.service.fault = RuntimeError(CANARY)
        client.service.fault.__cause__ = cause
    client.ask("GET", "/scoring/v1/webhooks")
    text = stream.getvalue()
    assert len(_lines(stream)) == 7
    assert "canary" not in text.lower()
    assert "192.0.2.1" not in text


def test_privacy_faults_are_found_by_request(stream: io.StringIO) -> None:
    """An unexpected error is logged with the client's request id, its types and places."""
    client = Client(settings=HttpSettings(access_log=False))
    client.service.fault = RuntimeError("text")
    client.service.fault.__cause__ = ValueError("text")
    answer = client.ask("GET", "/scoring/v1/webhooks")
    (line,) = _lines(stream)
    assert line["requestId"] == answer.json()["requestId"]
    errors = line["errors"]
    assert isinstance(errors, list)
    assert [error["type"] for error in errors] == ["RuntimeError", "ValueError"]
    assert any("fake_service.py" in place for place in errors[0]["places"])


def test_privacy_logs_can_be_switched_off(stream: io.StringIO) -> None:
    """Without the setting, or with the logger turned down, nothing is written."""
    Client(settings=HttpSettings(access_log=False)).ask("GET", "/health/live")
    logging.getLogger(context.ACCESS).setLevel(logging.WARNING)
    Client(settings=HttpSettings()).ask("GET", "/health/live")
    assert stream.getvalue() == ""
