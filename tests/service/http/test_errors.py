"""The contract's section Errors, and the turnstile of answers under overload."""

import asyncio
from collections.abc import Mapping
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest

from fake_service import GOOD, HOOK, NARROW, Client, FakeService
from scoring_model.contract.resource import Nothing
from scoring_model.service.core import errors
from scoring_model.service.http import errors as http_errors
from scoring_model.service.http.context import RequestContext
from scoring_model.service.http.errors import (
    AT_ONCE,
    FAILURES_AT_ONCE,
    FAILURES_PER_SECOND,
    PER_SECOND,
    STATUSES,
    Turnstile,
    problem,
    status_of,
)
from scoring_model.service.http.operation import Operation
from scoring_model.service.http.operations import OPERATIONS
from scoring_model.service.store import Bucket, StoreUnavailable

FIELDS = ["type", "title", "status", "detail", "instance", "code", "requestId"]
UNKNOWN = "00000000-0000-0000-0000-000000000001"
EVERY = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda op: f"{op.method} {op.path}")


def _check_shape(answer: Any, status: int, code: str | None = None) -> dict[str, Any]:
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["cache-control"] == "no-store"
    body: dict[str, Any] = answer.json()
    assert list(body) == FIELDS + (["errors"] if status == 422 else [])
    assert body["status"] == status
    assert body["requestId"] == answer.headers["x-request-id"] == str(UUID(body["requestId"]))
    assert body["instance"] == f"urn:uuid:{body['requestId']}"
    assert code in (None, body["code"])
    if status == 422:
        assert body["errors"]
        assert all(list(error) == ["pointer", "code", "detail"] for error in body["errors"])
    return body


def _path(operation: Operation) -> str:
    return operation.path.replace("{id}", UNKNOWN)


@EVERY
def test_errors_have_one_shape_on_every_route(operation: Operation) -> None:
    """Every failure on every route is a problem with its documented status."""
    client, method, path = Client(), operation.method, _path(operation)
    _check_shape(client.ask(method, path, credentials=None), 401, "unauthorized")
    _check_shape(client.ask(method, path, credentials=NARROW), 403, "missing_scope")
    _check_shape(client.ask(method, path, content=b" " * 300_000), 413, "body_too_large")
    _check_shape(client.ask(method, path + "?nothing=1", json={}), 422, "invalid_request")
    if operation.body is not None:
        _check_shape(client.ask(method, path, content=b"{}"), 415, "unsupported_media_type")
        json = {"content-type": "application/json"}
        _check_shape(client.ask(method, path, headers=json, content=b"{"), 400, "malformed_json")
        _check_shape(client.ask(method, path, json={"nickname": 1}), 422, "invalid_request")
    if "{id}" in path or "{id}" in operation.path:
        resolution = {"result": "APPROVED", "method": "other"}
        sent = (
            HOOK
            if method == "PUT"
            else resolution
            if method == "POST" and path.endswith("resolutions")
            else None
        )
        body: dict[str, Any] = {} if sent is None else {"json": sent}
        _check_shape(client.ask(method, path, **body), 404, "not_found")
    client.service.bucket = Bucket(False, 0, 60.0, 1.0)
    _check_shape(client.ask(method, path), 429, "rate_limited")


@EVERY
def test_errors_of_the_service_have_one_shape_on_every_route(operation: Operation) -> None:
    """Errors of the service have the status of their class; unexpected errors reveal nothing."""
    raised: list[tuple[Exception, int, str]] = [
        (errors.Unavailable(7), 503, "unavailable"),
        (StoreUnavailable("at db.internal"), 503, "unavailable"),
        (errors.WebhookLimit(), 409, "webhook_limit"),
        (errors.IdempotencyMismatch(), 422, "idempotency_key_reused"),
        (RuntimeError("Ada Byron"), 500, "internal_error"),
        (ExceptionGroup("Ada", [KeyError("Byron")]), 500, "internal_error"),
    ]
    for error, status, code in raised:
        client = Client()
        client.service.fault = error
        body: dict[str, Any] = {"json": HOOK if "webhooks" in operation.path else {"signals": {}}}
        if operation.body is Nothing or "identities" in operation.path:
            body = {"json": {}}
        answer = client.ask(operation.method, _path(operation), **body)
        _check_shape(answer, status, code)
        assert "Ada" not in answer.text
        assert "db.internal" not in answer.text
        if status == 503:
            assert answer.headers["retry-after"] == ("7" if isinstance(error, errors.Unavailable) else "1")


def test_errors_of_paths() -> None:
    """Unknown paths are 404, known ones with another method 405 with `Allow`."""
    client = Client()
    _check_shape(client.ask("GET", "/", credentials=None), 404, "not_found")
    _check_shape(client.ask("GET", "/scoringx", credentials=None), 404, "not_found")
    allowed = {
        "/scoring/v1/identities": "GET, HEAD, POST",
        f"/scoring/v1/identities/{UNKNOWN}": "DELETE, GET, HEAD",
        "/scoring/v1/verifications": "GET, HEAD, POST",
        f"/scoring/v1/verifications/{UNKNOWN}": "GET, HEAD",
        f"/scoring/v1/verifications/{UNKNOWN}/signals": "DELETE",
        "/scoring/v1/webhooks": "GET, HEAD, POST",
        f"/scoring/v1/webhooks/{UNKNOWN}": "DELETE, GET, HEAD, PUT",
        f"/scoring/v1/webhooks/{UNKNOWN}/test": "POST",
        f"/scoring/v1/webhooks/{UNKNOWN}/rotate-secret": "POST",
        "/health/live": "GET, HEAD",
        "/health/ready": "GET, HEAD",
        "/openapi.json": "GET, HEAD",
        "/docs": "GET, HEAD",
    }
    for path, methods in allowed.items():
        for method in {"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"}:
            answer = client.ask(method, path)
            if method in methods.split(", "):
                assert answer.status_code != 405
            elif method == "HEAD":
                assert (answer.status_code, answer.headers["allow"]) == (405, methods)
            else:
                _check_shape(answer, 405, "method_not_allowed")
                assert answer.headers["allow"] == methods


def test_errors_each_class_has_one_status() -> None:
    """Every class of errors that can be raised has a status; those derived from one have that of the nearest."""

    def family(kind: type[Exception]) -> list[type[Exception]]:
        return [kind, *(found for child in kind.__subclasses__() for found in family(child))]

    abstract = {errors.RequestError, errors.Retryable}
    for kind in family(errors.RequestError):
        if kind not in abstract and kind.__module__.startswith("scoring_model.service"):
            assert any(base in STATUSES for base in kind.__mro__), kind
    assert status_of(errors.IdentityNotValidated()) == 409
    assert status_of(ValueError()) == 500
    assert problem(errors.Unavailable(0), RequestContext("")).headers["retry-after"] == "1"


def test_errors_after_an_answer_has_begun_leave_it_alone() -> None:
    """An error while an answer is being sent is logged; nothing is sent twice."""
    client = Client()
    sent: list[str] = []

    async def send(message: Any) -> None:
        sent.append(message["type"])
        if message["type"] == "http.response.body":
            raise OSError("gone")

    async def receive() -> Any:
        return {"type": "http.request"}

    headers = [(name.encode(), value.encode()) for name, value in GOOD.items()]
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/scoring/v1/webhooks",
        "query_string": b"",
        "headers": headers,
    }

    async def answered() -> None:
        await client.app(scope, receive, send)

    asyncio.run(answered())
    assert sent == ["http.response.start", "http.response.body"]


def test_errors_of_cancellation() -> None:
    """A request that is cancelled, as at the end of the process, may be sent again."""
    service = FakeService()
    service.fault = asyncio.CancelledError()
    _check_shape(Client(service).ask("GET", "/scoring/v1/webhooks"), 503, "unavailable")


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock of the event loop: it stands still unless its one item is changed."""
    found = [1000.0]

    def call_later(self: asyncio.BaseEventLoop, delay: float, call: object, *arguments: object) -> object:
        found[0] += delay
        return self.call_soon(call, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(asyncio.BaseEventLoop, "time", lambda _: found[0])
    monkeypatch.setattr(asyncio.BaseEventLoop, "call_later", call_later)
    return found


def test_few_pass_in_each_second_and_all_in_the_end(seconds: list[float]) -> None:
    """Answers leave in order of arrival; a cancelled one takes no capacity."""

    async def story() -> None:
        turnstile = Turnstile(per_second=PER_SECOND, at_once=AT_ONCE)
        passed: list[int] = []

        async def one(number: int) -> None:
            await turnstile.turn()
            passed.append(number)

        began = seconds[0]
        tasks = [asyncio.create_task(one(number)) for number in range(5 * AT_ONCE)]
        await asyncio.sleep(0)
        assert passed == list(range(AT_ONCE))
        tasks[AT_ONCE + 1].cancel()
        steps = [len(passed)]
        while len(passed) < 5 * AT_ONCE - 1:
            await asyncio.sleep(0)
            steps.append(len(passed))
        assert max(b - a for a, b in pairwise(steps)) <= AT_ONCE
        assert passed == [number for number in range(5 * AT_ONCE) if number != AT_ONCE + 1]
        assert seconds[0] - began == pytest.approx((4 * AT_ONCE - 1) / PER_SECOND, abs=0.004)
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(story())


def test_who_comes_alone_does_not_wait(seconds: list[float]) -> None:
    """Capacity returns with time."""

    async def story() -> None:
        turnstile = Turnstile(per_second=PER_SECOND, at_once=AT_ONCE)
        for _ in range(AT_ONCE + 3):
            seconds[0] += 1 / PER_SECOND
            before = seconds[0]
            await turnstile.turn()
            assert seconds[0] == before

    asyncio.run(story())


def test_nobody_waits_where_too_many_wait(seconds: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """Those who come to a full turnstile pass at once, so that what waits is bounded."""
    monkeypatch.setattr(http_errors, "MOST_WAITING", 5)

    async def story() -> None:
        turnstile = Turnstile(per_second=PER_SECOND, at_once=AT_ONCE)
        tasks = [asyncio.create_task(turnstile.turn()) for _ in range(AT_ONCE + 8)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert sum(task.done() for task in tasks) == AT_ONCE + 3
        await asyncio.gather(*tasks)

    asyncio.run(story())


@pytest.mark.parametrize("failures_left", [1_000, 0])
def test_wrong_credentials_leave_time_for_others(seconds: list[float], failures_left: int) -> None:
    """Few are answered at once and in each second, 401 or 429; a good pair among them does not wait."""
    client = Client()
    client.service.failures_left = failures_left
    answered: list[int] = []

    async def send(credentials: Mapping[str, str]) -> None:
        async def keep(message: Any) -> None:
            if message["type"] == "http.response.start":
                answered.append(message["status"])

        headers = [(name.encode(), value.encode()) for name, value in credentials.items()]
        scope = {"type": "http", "method": "GET", "path": "/scoring/v1/webhooks", "query_string": b""}
        await client.app({**scope, "headers": headers}, keep, keep)  # type: ignore[arg-type]

    async def story() -> None:
        began = seconds[0]
        wrong = [{**GOOD, "x-api-key": f"wrong {number}"} for number in range(40)]
        tasks = [asyncio.create_task(send(one)) for one in (*wrong, GOOD)]
        while 200 not in answered:
            await asyncio.sleep(0)
        assert len(answered) <= FAILURES_AT_ONCE + 1
        await asyncio.gather(*tasks)
        assert seconds[0] - began >= (40 - FAILURES_AT_ONCE) / FAILURES_PER_SECOND - 0.004

    asyncio.run(story())
    assert sorted(answered) == [200, *([401 if failures_left else 429] * 40)]
