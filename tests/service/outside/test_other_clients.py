"""Authentication: whatever belongs to another client is 404, exactly as what nobody has."""

import re
from collections.abc import Iterator

import pytest

from outside_client import HOOK, IDENTITIES, PERSON, UNKNOWN, VERIFICATIONS, WEBHOOKS, Answer, OutsideClient
from scoring_model.service.http import operations

SIGNALS = {"signals": {"vpn": True}, "subjectId": "s"}
OPERATIONS = [
    ("GET", IDENTITIES, "", None),
    ("DELETE", IDENTITIES, "", None),
    ("GET", VERIFICATIONS, "", None),
    ("DELETE", VERIFICATIONS, "/signals", None),
    ("GET", VERIFICATIONS, "/resolutions", None),
    ("POST", VERIFICATIONS, "/resolutions", {"result": "APPROVED", "method": "other"}),
    ("GET", WEBHOOKS, "", None),
    ("PUT", WEBHOOKS, "", HOOK),
    ("DELETE", WEBHOOKS, "", None),
    ("GET", WEBHOOKS, "/deliveries", None),
    ("POST", WEBHOOKS, "/test", None),
    ("POST", WEBHOOKS, "/rotate-secret", {}),
]
CREATED = {IDENTITIES: PERSON, VERIFICATIONS: SIGNALS, WEBHOOKS: HOOK}
_CHANGING = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f-]{21}")


def comparable(answer: Answer) -> tuple[int, bytes, dict[str, str]]:
    """An answer without what differs between any two: the request id, and what is left of the quota."""
    headers = {name: value for name, value in answer.headers.items() if name not in ("date", "ratelimit")}
    del headers["x-request-id"]
    return answer.status, _CHANGING.sub(b"", answer.body), headers


@pytest.fixture(scope="module")
def resources(client: OutsideClient) -> Iterator[dict[str, str]]:
    """One of each kind, of one client; nobody has changed them in the end."""
    made = {path: client.made(path, body) for path, body in CREATED.items()}
    shown = {path: {**resource, "secret": None} for path, resource in made.items()}
    yield {path: resource["id"] for path, resource in made.items()}
    for path, before in shown.items():
        assert {**client.ask("GET", f"{path}/{before['id']}").json, "secret": None} == before


def test_every_operation_on_one_resource_is_here() -> None:
    """The operations below are all those of the service that name a resource."""
    named = {(method, f"{path}/{{id}}{rest}") for method, path, rest, _ in OPERATIONS}
    assert named == {(one.method, one.path) for one in operations.OPERATIONS if "{id}" in one.path}


@pytest.mark.parametrize(("method", "path", "rest", "body"), OPERATIONS)
def test_the_resource_of_another_client_is_like_none(
    neighbour: OutsideClient, resources: dict[str, str], method: str, path: str, rest: str, body: object
) -> None:
    """A foreign, an unknown and a malformed id get the same 404, but for the request id; so does a foreign HEAD."""
    foreign = neighbour.ask(method, f"{path}/{resources[path]}{rest}", body)
    assert foreign.status == 404
    assert foreign.json["code"] == "not_found"
    for other in (UNKNOWN, UNKNOWN.upper(), "x", "%00", "0" * 3000):
        assert comparable(neighbour.ask(method, f"{path}/{other}{rest}", body)) == comparable(foreign)


@pytest.mark.parametrize("field", ["identityId", "previousVerificationId"])
def test_a_foreign_id_in_a_body_is_like_none(
    neighbour: OutsideClient, resources: dict[str, str], field: str
) -> None:
    """A verification that refers to another client's resource is refused like one that refers to nothing."""
    kind = IDENTITIES if field == "identityId" else VERIFICATIONS
    foreign = neighbour.ask("POST", VERIFICATIONS, {**SIGNALS, field: resources[kind]})
    unknown = neighbour.ask("POST", VERIFICATIONS, {**SIGNALS, field: UNKNOWN})
    assert foreign.status == 422
    assert [error["pointer"] for error in foreign.json["errors"]] == [f"/{field}"]
    assert comparable(foreign) == comparable(unknown)


def test_a_list_holds_nobody_elses(
    client: OutsideClient, neighbour: OutsideClient, resources: dict[str, str]
) -> None:
    """A webhook is in the list of its client alone, and its cursor helps nobody else."""
    ours = [hook["id"] for hook in client.ask("GET", WEBHOOKS).json]
    assert resources[WEBHOOKS] in ours
    assert neighbour.ask("GET", WEBHOOKS).json == []
    client.made(WEBHOOKS, HOOK)
    following = client.ask("GET", f"{WEBHOOKS}?limit=1").headers["link"]
    assert neighbour.ask("GET", following.split(">")[0][1:]).json == []


def test_idempotency_keys_are_of_one_client(client: OutsideClient, neighbour: OutsideClient) -> None:
    """The same key with the same body makes a resource for each client and replays nobody else's."""
    key = {"Idempotency-Key": "the same"}
    first, second = (one.ask("POST", IDENTITIES, PERSON, key) for one in (client, neighbour))
    assert (first.status, second.status) == (201, 201)
    assert first.json["id"] != second.json["id"]
    assert "idempotency-replayed" not in second.headers


def test_what_nobody_may_know(client: OutsideClient) -> None:
    """Missing, unknown, mixed and malformed credentials get one 401 with the same body but for the request id."""
    good = client.credentials
    bad = [
        {},
        {"x-client-id": good["x-client-id"]},
        {"x-api-key": good["x-api-key"]},
        {**good, "x-api-key": "sk_" + "A" * 43},
        {**good, "x-client-id": "cl_" + "0" * 22},
        {**good, "x-api-key": good["x-api-key"] + "A"},
        {**good, "x-client-id": good["x-client-id"].upper()},
        {"x-client-id": "", "x-api-key": ""},
        {"x-client-id": "\xe9", "x-api-key": "\xff"},
        {"x-client-id": "c" * 20_000, "x-api-key": "k" * 20_000},
    ]
    answers = [OutsideClient(client.port, headers).ask("GET", WEBHOOKS) for headers in bad]
    assert [answer.status for answer in answers] == [401] * len(bad)
    assert all(comparable(answer) == comparable(answers[0]) for answer in answers)
    assert "ratelimit" not in answers[0].headers
    assert answers[0].headers["www-authenticate"] == 'ApiKey realm="scoring"'
