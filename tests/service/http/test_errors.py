"""The contract's section Errors."""

import asyncio
from typing import Any
from uuid import UUID

import pytest

from fake_service import GOOD, HOOK, NARROW, Client, FakeService
from scoring_model.contract.body import Nothing
from scoring_model.service.core import errors
from scoring_model.service.http import errors as http_errors
from scoring_model.service.http.application import OPERATIONS
from scoring_model.service.http.errors import STATUSES, problem, status_of
from scoring_model.service.http.operation import Operation
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
    """Every way to fail on every route is a problem, with the status of its place."""
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
        body: dict[str, Any] = {"json": HOOK} if method == "PUT" else {}
        _check_shape(client.ask(method, path, **body), 404, "not_found")
    client.service.bucket = Bucket(False, 0, 60.0, 1.0)
    _check_shape(client.ask(method, path), 429, "rate_limited")


@EVERY
def test_errors_of_the_service_have_one_shape_on_every_route(operation: Operation) -> None:
    """Errors of the service have the status of their class; of unexpected ones nothing is shown."""
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
        "/scoring/v1/identities": "POST",
        f"/scoring/v1/identities/{UNKNOWN}": "DELETE, GET, HEAD",
        "/scoring/v1/verifications": "POST",
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


def test_errors_list_everything_at_once() -> None:
    """422 names every rule that is broken, with pointers, and never the value."""
    body = {"firstName": "x" * 131, "dob": "someday", "address": {"country": "XX"}, "nick/name": "Addie"}
    answer = Client().ask("POST", "/scoring/v1/identities", json=body)
    problem = _check_shape(answer, 422, "invalid_request")
    pointers = {error["pointer"] for error in problem["errors"]}
    assert pointers == {"/firstName", "/dob", "/address/country", "/nick~1name"}
    assert "xxx" not in answer.text
    assert "someday" not in answer.text
    assert "Addie" not in answer.text


def test_errors_each_class_has_one_status() -> None:
    """Every class of errors that can be raised has a status; those derived from one have that of the nearest."""

    def family(kind: type[Exception]) -> list[type[Exception]]:
        return [kind, *(found for child in kind.__subclasses__() for found in family(child))]

    abstract = {errors.RequestError, http_errors.Explained}
    for kind in family(errors.RequestError):
        if kind not in abstract and kind.__module__.startswith("scoring_model.service"):
            assert any(base in STATUSES for base in kind.__mro__), kind
    assert status_of(errors.IdentityNotValidated()) == 409
    assert status_of(ValueError()) == 500
    assert problem(errors.Unavailable(0), UNKNOWN).headers["retry-after"] == "1"


def test_errors_after_an_answer_has_begun_leave_it_alone() -> None:
    """What breaks while an answer is being sent is logged; nothing is sent twice."""
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
