"""The contract's section Idempotency and caching: the idempotency key."""

from typing import Any

import pytest

from fake_service import HOOK, PERSON, Client

KEY = {"idempotency-key": "k-1"}
CREATIONS: list[tuple[str, dict[str, Any], int]] = [
    ("/scoring/v1/identities", PERSON, 201),
    ("/scoring/v1/verifications", {"signals": {"device": "d"}}, 201),
    ("/scoring/v1/webhooks", HOOK, 200),
]


@pytest.mark.parametrize(("path", "body", "status"), CREATIONS)
def test_idempotency_replays_the_first_answer(path: str, body: dict[str, Any], status: int) -> None:
    """The same body gets the same answer again, marked; another body is 422."""
    client = Client()
    first = client.ask("POST", path, headers=KEY, json=body)
    again = client.ask("POST", path, headers=KEY, json=body)
    assert first.status_code == again.status_code == status
    assert first.content == again.content
    assert first.headers.get("location") == again.headers.get("location")
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    other = client.ask("POST", path, headers=KEY, json={**body, "nickname": 1})
    assert other.status_code == 422
    assert other.json()["code"] == "idempotency_key_reused"


def test_idempotency_replays_a_202() -> None:
    """A 202 is replayed as 202, with its `Location`."""
    client = Client()
    client.service.pending = True
    path = "/scoring/v1/verifications"
    first, again = (client.ask("POST", path, headers=KEY, json={"signals": {}}) for _ in range(2))
    for answer in (first, again):
        assert answer.status_code == 202
        assert answer.headers["retry-after"] == "1"
        assert answer.headers["location"] == f"{path}/{answer.json()['id']}"
        assert answer.json()["status"] == "PENDING"
    assert again.headers["idempotency-replayed"] == "true"
    assert first.content == again.content


def test_idempotency_comes_before_validation() -> None:
    """A known key is reported before the rules of the body and of the query."""
    client = Client()
    path = "/scoring/v1/verifications"
    body: dict[str, Any] = {"signals": {}}
    client.ask("POST", path, headers=KEY, json=body)
    assert client.ask("POST", path, headers=KEY, json=[body]).json()["code"] == "idempotency_key_reused"
    assert (
        client.ask("POST", path + "?x=1", headers=KEY, json=body).json()["code"] == "idempotency_key_reused"
    )
    answer = client.ask("POST", path, headers={"idempotency-key": "new"}, json=[body])
    assert answer.json()["code"] == "batch_unsupported"


@pytest.mark.parametrize("keys", [[""], ["a" * 256], ["a\tb"], ["é"], ["\x7f"], ["a", "a"]])
def test_idempotency_keys_that_are_refused(keys: list[str]) -> None:
    """A key has 1 to 255 printable ASCII characters and comes once."""
    headers = [("idempotency-key", key.encode("latin-1")) for key in keys]
    answer = Client().ask("POST", "/scoring/v1/identities", headers=headers, json={})  # type: ignore[arg-type]
    assert answer.status_code == 422
    assert [error["code"] for error in answer.json()["errors"]] == ["idempotency_key_invalid"]


def test_idempotency_of_what_the_service_sees() -> None:
    """The service gets the key, method and path with the id as we write it, and the bytes as they came."""
    client = Client()
    webhook = client.new_webhook()["id"]
    headers = {"idempotency-key": " " + "a" * 255 + " ", "content-type": "application/json"}
    client.ask("POST", f"/scoring/v1/webhooks/{webhook.upper()}/test", headers=headers, content=b"{ }")
    request = client.service.requests[-1]
    assert request is not None
    assert request.key == "a" * 255
    assert request.operation == f"POST /scoring/v1/webhooks/{webhook}/test"
    assert request.body == b"{ }"


def test_idempotency_is_for_posts() -> None:
    """Other methods ignore the header, whatever it holds."""
    client = Client()
    path = f"/scoring/v1/webhooks/{client.new_webhook()['id']}"
    bad = {"idempotency-key": ""}
    assert client.ask("PUT", path, headers=bad, json=HOOK).status_code == 200
    assert client.ask("DELETE", path, headers=bad).status_code == 200
