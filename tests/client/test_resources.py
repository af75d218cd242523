"""Requests and results of every operation."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, timedelta
from typing import Any

import pytest
from starlette.responses import Response

from either_client import Either
from fake_service import SECRET
from scoring_model.client import (
    Address,
    DocumentType,
    Identity,
    Outcome,
    UnreadableAnswer,
    VerificationStatus,
)
from scoring_peer import API_KEY, CLIENT_ID, NOW, Peer

CANARY = "Canaria"
PERSON: dict[str, Any] = {
    "first_name": f"{CANARY}-first",
    "last_name": f"{CANARY}-last",
    "dob": date(1990, 2, 3),
    "citizenship": "CH",
    "document_type": DocumentType.PASSPORT,
    "image_urls": [f"https://images.example/{CANARY}.png"],
    "address": Address(line1=f"{CANARY} street 1", postal_code=f"{CANARY}-8000", country="CH"),
    "external_id": f"{CANARY}-id",
}
MOMENT = datetime.fromisoformat(NOW)
UNKNOWN = "01890a5d-ac96-774b-bcce-b302099a8057"


def person(client: Either) -> Identity:
    """A validated identity."""
    identity = client.do(lambda c: c.identities.create(**PERSON))
    assert isinstance(identity, Identity)
    return identity


def test_every_field_of_an_identity_goes_there_and_back(client: Either, peer: Peer) -> None:
    """What was given comes back typed, and was sent under the names of the interface."""
    identity = person(client)
    assert {name: getattr(identity, name) for name in PERSON} == PERSON | {
        "image_urls": tuple(PERSON["image_urls"])
    }
    assert (identity.validated, identity.status) == (True, "VALIDATED")
    assert identity.created_at == MOMENT
    assert json.loads(peer.seen[0].body) == {
        "firstName": "Canaria-first",
        "lastName": "Canaria-last",
        "dob": "1990-02-03",
        "citizenship": "CH",
        "documentType": "PASSPORT",
        "imageUrls": ["https://images.example/Canaria.png"],
        "address": {
            "line1": "Canaria street 1",
            "line2": None,
            "city": None,
            "region": None,
            "postalCode": "Canaria-8000",
            "country": "CH",
        },
        "externalId": "Canaria-id",
    }
    assert client.do(lambda c: c.identities.get(identity.id)) == identity


def test_what_is_not_given_is_not_sent(client: Either, peer: Peer) -> None:
    """An identity of two fields has a body of two fields, and reads as INCOMPLETE with the rest None."""
    identity = client.do(lambda c: c.identities.create(first_name="Ada", dob="1990-02-03"))
    assert json.loads(peer.seen[0].body) == {"firstName": "Ada", "dob": "1990-02-03"}
    assert (identity.status, identity.address, identity.image_urls) == ("INCOMPLETE", None, None)


def test_validation_errors_are_typed(client: Either, peer: Peer) -> None:
    """Pointer and code of what is implausible."""
    peer.changes.append({"validationErrors": [{"pointer": "/dob", "code": "under_age", "new": 1}]})
    identity = person(client)
    assert [(error.pointer, error.code) for error in identity.validation_errors] == [("/dob", "under_age")]


def test_every_request_carries_both_credentials(client: Either, peer: Peer) -> None:
    """Section 5: both headers, but for the health of the service, which needs none."""
    person(client)
    client.all(lambda c: c.webhooks.list())
    client.do(lambda c: c.health.live())
    sent = [(seen.headers.get("x-client-id"), seen.headers.get("x-api-key")) for seen in peer.seen]
    assert sent == [(CLIENT_ID, API_KEY), (CLIENT_ID, API_KEY), (None, None)]


def test_a_verification_of_an_identity(client: Either, peer: Peer) -> None:
    """Outcome, score and reasons are typed."""
    identity = person(client)
    found = client.do(
        lambda c: c.verifications.create(
            identity_id=identity.id, previous_verification_id=UNKNOWN, signals={"a": 1, "b": True, "c": None}
        )
    )
    assert json.loads(peer.seen[-1].body) == {
        "identityId": identity.id,
        "previousVerificationId": UNKNOWN,
        "signals": {"a": 1, "b": True, "c": None},
    }
    assert (found.status, found.scoring_outcome) == (VerificationStatus.COMPLETED, Outcome.STEPPED_UP)
    assert (found.scoring_score, found.identity_id) == (531, identity.id)
    assert [reason.code for reason in found.reason_codes] == ["ADDRESS_FORM"]
    assert found.completed_at == MOMENT + timedelta(microseconds=1)
    assert client.do(lambda c: c.verifications.get(found.id)) == found


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_every_page_of_webhooks_is_read(size: int, client: Either, peer: Peer) -> None:
    """All webhooks, in order, each once, whatever the pages; only the base URL is ever asked."""
    made = [client.do(lambda c: c.webhooks.create(destination_url="https://x.example")).id for _ in range(5)]
    found = client.all(lambda c: c.webhooks.list(page_size=size))
    assert [one.id for one in found] == made
    assert len(peer.of("GET")) == -(-5 // size)


@pytest.mark.parametrize("link", ["</x?limit=2>", "</x>", "<http://[>", f"</x?{'a' * 5000}>"])
def test_a_page_that_leads_nowhere_is_an_error(link: str, client: Either, peer: Peer) -> None:
    """A link to the same page, or without a query that can be sent, ends the listing with an error."""
    head = {"Link": f'{link}; rel="next"'}
    peer.faults.append(Response("[]", headers=head))
    with pytest.raises(UnreadableAnswer, match="next page"):
        client.all(lambda c: c.webhooks.list(page_size=2))


@pytest.mark.parametrize("ready", [True, False])
def test_health_is_true_or_false(ready: bool, client: Either, peer: Peer) -> None:
    """A service that is not ready is not an error, and is requested once."""
    peer.ready = peer.ready if ready else None
    assert client.do(lambda c: c.health.live())
    assert client.do(lambda c: c.health.ready()) is ready
    assert len(peer.seen) == 2


def test_unknown_fields_and_values_are_no_error(client: Either, peer: Peer) -> None:
    """A later service may add fields, outcomes and statuses."""
    peer.changes.append({"new": {"a": 1}, "scoringOutcome": "REVIEWED", "status": "PARKED"})
    found = client.do(lambda c: c.verifications.create(signals={}))
    assert (found.scoring_outcome, found.status) == ("REVIEWED", "PARKED")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"id": None}, "id: Input should be a valid string"),
        ({"id": 7}, "id: Input should be a valid string"),
        ({"scoringScore": 1.5}, "scoringScore: Input should be a valid integer"),
        ({"scoringScore": True}, "scoringScore: Input should be a valid integer"),
        ({"createdAt": "yesterday"}, "createdAt: Input should be a valid datetime"),
        ({"createdAt": "2026-01-02T03:04:05"}, "createdAt: Input should have timezone info"),
        ({"reasonCodes": {"code": "A"}}, "reasonCodes: Input should be a valid"),
        ({"reasonCodes": ["A"]}, "reasonCodes.0: Input should be an object"),
    ],
)
def test_a_broken_promise_names_its_field(
    change: dict[str, object], why: str, client: Either, peer: Peer
) -> None:
    """An answer that violates the interface raises a specific error, without the value."""
    peer.changes.append(change)
    with pytest.raises(UnreadableAnswer, match=why) as caught:
        client.do(lambda c: c.verifications.create(signals={}))
    assert "yesterday" not in str(caught.value)


def test_no_repr_shows_a_person_or_a_secret(client: Either, peer: Peer) -> None:
    """Neither records, nor webhooks, nor the client itself."""
    identity = person(client)
    found = client.do(lambda c: c.verifications.create(signals={}, subject_id=CANARY))
    hook = client.do(
        lambda c: c.webhooks.create(destination_url=f"https://x.example/{CANARY}", description=CANARY)
    )
    shown = repr([identity, identity.address, found, hook, client.client, client.client.identities])
    # No canary can stand in an identifier: those are made of the time, in hexadecimal digits.
    for canary in (CANARY, "1990, 2, 3", "CH", SECRET, API_KEY, CLIENT_ID):
        assert canary not in shown
    assert identity.id in shown


@pytest.mark.parametrize("id", ["", "..", "a/b", "a?b", "a b", "é", "a\n", "a" * 129])
def test_an_identifier_cannot_change_the_path(id: str, client: Either, peer: Peer) -> None:  # noqa: A002
    """An invalid identifier is refused before anything is sent."""
    with pytest.raises(ValueError, match="identifier must be"):
        client.do(lambda c: c.identities.get(id))
    assert peer.seen == []


def test_numbers_that_are_not_json_are_refused_unsent(client: Either, peer: Peer) -> None:
    """NaN is refused, because JSON has no NaN."""
    with pytest.raises(ValueError, match="JSON"):
        client.do(lambda c: c.verifications.create(signals={"a": float("nan")}))
    assert peer.seen == []


@pytest.mark.parametrize(
    "url",
    ["", "x.example", "ftp://x.example", "http://", "https://me:pw@x.example", "https://x/?a=b", "https://x/#a",
     "https://[", "https://x\x01"],
)  # fmt: skip
def test_an_address_that_cannot_be_one_is_refused(url: str, opened: Any) -> None:
    """The text says the rule and does not repeat the address, which may hold a password."""
    with pytest.raises(ValueError, match="base_url must be") as caught:
        opened(url)
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize("option", ["client_id", "api_key"])
@pytest.mark.parametrize("text", ["", "a b", "canary\r\nx-other: 1", "clé"])
def test_a_credential_that_cannot_be_one_is_refused(option: str, text: str, opened: Any) -> None:
    """No header can be smuggled in, and the text does not repeat what was given."""
    with pytest.raises(ValueError, match=f"{option} must be") as caught:
        opened(**{option: text})
    assert "canary" not in str(caught.value)


def test_connections_are_used_again(client: Either, peer: Peer) -> None:
    """Ten requests, one connection."""
    for _ in range(10):
        person(client)
    assert len(peer.seen) == 10
    assert len(peer.connections) == 1


def test_the_service_may_live_under_a_path(peer: Peer, opened: Any) -> None:
    """The path of the base URL stays in front."""
    for end in ("", "/"):
        client = opened(f"{peer.url}/behind{end}")
        with pytest.raises(Exception, match="404"):
            client.do(lambda c: c.identities.get("x"))
    assert [seen.path for seen in peer.seen] == ["/behind/scoring/v1/identities/x"] * 2


def test_threads_and_tasks_may_share_a_client(kind: str, client: Either, peer: Peer) -> None:
    """Sixty creations at once: each gets the answer to its own question."""
    names = [f"name-{number}" for number in range(60)]
    if kind == "blocking":
        with ThreadPoolExecutor(8) as pool:
            made = list(pool.map(lambda name: client.client.identities.create(first_name=name), names))
    else:

        async def all_of_them(c: Any) -> Any:
            return await asyncio.gather(*(c.identities.create(first_name=name) for name in names))

        made = client.do(all_of_them)
    assert [identity.first_name for identity in made] == names
    assert len(peer.ids) == 60
