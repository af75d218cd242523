"""The contract's section General: what is checked, and in which order."""

from typing import Any

import pytest

from fake_service import GOOD, HOOK, NARROW, PERSON, Client
from scoring_model.service.store import Bucket

PATH = "/scoring/v1/identities"
SPENT = Bucket(False, 0, 60.0, 1.0)
JSON = {"content-type": "application/json"}
LARGE = b"{" + b" " * (256 * 1024)

# Each request breaks the rule of its line and all that are checked later.
LADDER: list[tuple[int, str, str, dict[str, str], dict[str, str], bytes, Bucket | None]] = [
    (401, "PATCH", PATH + "/x/y", {}, {"idempotency-key": ""}, LARGE, SPENT),
    (429, "PATCH", PATH + "/x/y", NARROW, {"idempotency-key": ""}, LARGE, SPENT),
    (404, "PATCH", PATH + "/x/y", NARROW, {"idempotency-key": ""}, LARGE, None),
    (405, "PATCH", PATH, NARROW, {"idempotency-key": ""}, LARGE, None),
    (403, "POST", PATH, NARROW, {"idempotency-key": ""}, LARGE, None),
    (413, "POST", PATH, GOOD, {"idempotency-key": ""}, LARGE, None),
    (415, "POST", PATH, GOOD, {"idempotency-key": ""}, b"{", None),
    (400, "POST", PATH, GOOD, {"idempotency-key": "", **JSON}, b"{", None),
]


@pytest.mark.parametrize("rung", LADDER, ids=lambda rung: str(rung[0]))
def test_general_order_of_checks(rung: tuple[Any, ...]) -> None:
    """The first failing check is reported."""
    status, method, path, credentials, headers, body, bucket = rung
    client = Client()
    if bucket is not None:
        client.service.bucket = bucket
    answer = client.ask(method, path, credentials=credentials, headers=headers, content=body)
    assert answer.status_code == status


def test_general_order_of_idempotency_validation_and_state() -> None:
    """The idempotency key is checked before the rules of the body, and these before state conflicts."""
    client = Client()
    body: dict[str, Any] = {"nickname": 1}
    invalid = client.ask("POST", PATH + "?x=1", headers={"idempotency-key": ""}, json=body).json()
    assert [error["code"] for error in invalid["errors"]] == ["idempotency_key_invalid"]
    client.service.in_progress.add("k")
    assert client.ask("POST", PATH, headers={"idempotency-key": "k"}, json=body).status_code == 409
    assert client.ask("POST", PATH + "?x=1", headers={"idempotency-key": "k"}, json=body).status_code == 409
    missing = "/scoring/v1/webhooks/00000000-0000-0000-0000-000000000001"
    assert client.ask("PUT", missing, json={}).status_code == 422
    assert client.ask("PUT", missing, json=HOOK).status_code == 404


@pytest.mark.parametrize(
    "named", ["nonsense", "0", "00000000-0000-0000-0000-00000000000", "%00", "é", "a" * 5000]
)
def test_general_malformed_ids_are_like_unknown_ones(named: str) -> None:
    """A malformed id gets the same answer as an unknown one."""
    client = Client()
    for path in ("identities", "verifications", "webhooks"):
        answer = client.ask("GET", f"/scoring/v1/{path}/{named}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    path = f"/scoring/v1/webhooks/{named}"
    assert client.ask("PUT", path, headers=JSON, content=b"{").status_code == 400
    assert client.ask("PUT", path, json={}).status_code == 422
    assert client.ask("GET", path + "?x=1").status_code == 422
    assert client.ask("GET", path, credentials=NARROW).status_code == 403


@pytest.mark.parametrize("path", [PATH, "/scoring/v1/verifications", "/scoring/v1/webhooks"])
@pytest.mark.parametrize("body", ["1", '"text"', "null", "true", "[]", "[{}]"])
def test_general_bodies_that_are_no_object(path: str, body: str) -> None:
    """Anything but an object is 422 with the pointer of the whole body; of verifications an array is a batch."""
    answer = Client().ask("POST", path, headers=JSON, content=body)
    assert answer.status_code == 422
    problem = answer.json()
    batch = path.endswith("verifications") and body.startswith("[")
    assert problem["code"] == ("batch_unsupported" if batch else "invalid_request")
    assert [error["pointer"] for error in problem["errors"]] == [""]


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/webhooks/{id}"), ("DELETE", "/webhooks/{id}"), ("POST", "/identities")]
)
def test_general_unknown_query_parameters(method: str, path: str) -> None:
    """They count as unknown fields: refused with 422, named in their pointers and nowhere else."""
    client = Client()
    path = "/scoring/v1" + path.replace("{id}", client.new_webhook()["id"])
    body: dict[str, Any] = {"json": PERSON} if method == "POST" else {}
    answer = client.ask(method, path + "?verbose=1&a%2Fb=2&verbose=3", **body)
    assert answer.status_code == 422
    errors = answer.json()["errors"]
    assert [error["pointer"] for error in errors] == ["/verbose", "/a~1b", "/verbose"]
    assert {error["code"] for error in errors} == {"unknown_parameter"}
    assert "verbose" not in "".join(error["detail"] for error in errors)


def test_general_operations_without_a_body_take_none() -> None:
    """Sending a test event and rotating a secret take nothing or an object without fields."""
    client = Client()
    for verb in ("test", "rotate-secret"):
        path = f"/scoring/v1/webhooks/{client.new_webhook()['id']}/{verb}"
        assert client.ask("POST", path).status_code == 200
        assert client.ask("POST", path, headers=JSON).status_code == 200
        assert client.ask("POST", path, json={}).status_code == 200
        answer = client.ask("POST", path, json={"a/b": 1})
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["pointer"] == "/a~1b"
        assert client.ask("POST", path, content=b"{}").status_code == 415
        assert client.ask("POST", path, headers=JSON, content=b"[").status_code == 400


def test_general_request_ids_are_ours() -> None:
    """Every answer has a new `X-Request-Id`, whatever the client sends."""
    client = Client()
    sent = {"x-request-id": "mine"}
    found = [
        client.ask(method, path, credentials=credentials, headers=sent).headers["x-request-id"]
        for method, path, credentials in [
            ("GET", "/scoring/v1/webhooks", GOOD),
            ("GET", "/scoring/v1/webhooks", None),
            ("GET", "/nothing", None),
            ("GET", "/health/live", None),
            ("GET", "/docs", None),
            ("POST", "/docs", None),
        ]
    ]
    assert len(set(found)) == len(found)
    assert "mine" not in found


def test_general_head_is_get_without_a_body() -> None:
    """HEAD has the headers of GET, wherever GET is answered."""
    client = Client()
    paths = [
        f"/scoring/v1/identities/{client.new_identity()['id']}",
        f"/scoring/v1/verifications/{client.new_verification()['id']}",
        f"/scoring/v1/webhooks/{client.new_webhook()['id']}",
        "/scoring/v1/webhooks",
        "/health/live",
        "/health/ready",
        "/openapi.json",
        "/docs",
    ]
    for path in paths:
        got, head = client.ask("GET", path), client.ask("HEAD", path)
        assert head.content == b""
        assert head.status_code == got.status_code == 200
        differing = {"x-request-id"}
        for name in {*got.headers} - differing:
            assert head.headers[name] == got.headers[name]


@pytest.mark.parametrize(
    "slash", ["/scoring/v1/webhooks/", "//scoring/v1/webhooks", "/docs/", "/health/live/"]
)
def test_general_paths_are_exact(slash: str) -> None:
    """An extra slash is another path, and nothing is redirected."""
    assert Client().ask("GET", slash).status_code == 404
