"""Webhooks from outside: real processes, a real receiver that checks with the public library, and what it gets."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any, Final

from kill_run import end_leases
from losses import is_settled
from outside_client import (
    IDENTITIES,
    PERSON,
    VERIFICATIONS,
    WEBHOOKS,
    OutsideClient,
    new_credentials,
    open_service,
    port_of,
)
from running_service import running, until
from scoring_model.service.keys.keyring import generate_master_key
from webhook_receiver import Receiver, receiving

CANARY: Final = "Zqxcanary"
PERSONAL: Final[dict[str, Any]] = {
    **PERSON,
    "firstName": f"{CANARY}first",
    "lastName": f"{CANARY}last",
    "externalId": f"{CANARY}-external",
    "imageUrls": [f"https://images.example/{CANARY}"],
    "address": {"line1": f"{CANARY} Lane", "city": f"{CANARY}ville", "country": "GB"},
}
SIGNALS: Final = {"deviceId": f"{CANARY}-device", "vpn": True}
DEVELOPMENT: Final = ("--development", "--no-request-log")


def hook_at(receiver: Receiver, client: OutsideClient) -> dict[str, Any]:
    """A new webhook of a client that leads to a receiver."""
    return client.made(WEBHOOKS, {"destinationUrl": receiver.url, "active": True})


def master_key() -> dict[str, str]:
    """Variables with a new one."""
    return {"SCORING_MODEL_MASTER_KEY": "env:KEYS", "KEYS": generate_master_key()}


def seen(receiver: Receiver) -> Counter[str]:
    """How often each delivery came."""
    return Counter(taken.id for taken in receiver.taken)


def test_each_event_arrives_once_and_thin(sealed: Path, tmp_path: Path, postgres_url: str) -> None:
    """Webhooks: two workers send each event once, signed, in the form of the contract, with nothing personal."""
    words = (*DEVELOPMENT, "--workers", 2)
    with (
        receiving() as receiver,
        open_service(tmp_path, sealed, *words, database=postgres_url, environment=master_key()) as service,
    ):
        client = OutsideClient(port_of(service), new_credentials(tmp_path, postgres_url))
        hook = hook_at(receiver, client)
        identity = client.made(IDENTITIES, PERSONAL)
        body = {"identityId": identity["id"], "signals": SIGNALS, "subjectId": f"{CANARY}-subject"}
        verification = client.made(VERIFICATIONS, body)
        client.made(f"{WEBHOOKS}/{hook['id']}/test", None)
        until(lambda: len(receiver.taken) >= 4, "four deliveries")
        assert service.stop() == 0
    assert set(seen(receiver).values()) == {1}
    events = {event["type"]: event for event in (taken.verified(hook["secret"]) for taken in receiver.taken)}
    outcome = f"verification.{verification['scoringOutcome'].lower()}"
    assert sorted(events) == sorted(["identity.created", "identity.validated", outcome, "webhook.test"])
    assert all(event.keys() == {"type", "timestamp", "data"} for event in events.values())
    data = {kind: event["data"] for kind, event in events.items()}
    # The fourth event of the client is `verification.completed`, which only those get that name it.
    assert [data[kind].pop("sequence") for kind in ("identity.created", "identity.validated")] == [1, 2]
    assert {data[outcome].pop("sequence"), data["webhook.test"].pop("sequence")} <= {3, 4, 5}
    names = ("identityId", "status", "scoringOutcome", "scoringScore", "modelVersion")
    assert data[outcome] == {"id": verification["id"], **{name: verification[name] for name in names}}
    assert data["identity.created"] == {"id": identity["id"], "status": "VALIDATED"}
    everything = b"".join(taken.body + repr(taken.headers).encode() for taken in receiver.taken)
    assert CANARY.encode() not in everything
    assert hook["secret"].encode() not in everything


def test_nothing_is_lost_when_the_process_is_killed(sealed: Path, tmp_path: Path, store_url: str) -> None:
    """Law 10: what was being sent at a kill, and what waited, arrives after a restart once leases are over."""
    options = {"environment": master_key()}
    words = ["--bundle", sealed, "--bundles", "shelf", "--database", store_url, *DEVELOPMENT]
    with receiving() as receiver:
        receiver.open.clear()
        with running(tmp_path, *words, **options) as service:
            client = OutsideClient(port_of(service), new_credentials(tmp_path, store_url))
            hook = hook_at(receiver, client)
            made = [client.made(IDENTITIES, PERSON)["id"] for _ in range(20)]
            until(lambda: len(receiver.taken) >= 5, "some attempts")
            service.process.kill()
            service.process.wait()
        wanted = {(kind, one) for one in made for kind in ("identity.created", "identity.validated")}
        receiver.open.set()
        asyncio.run(end_leases(store_url))
        with running(tmp_path, *words, **options) as service:
            until(lambda: reported(receiver) == wanted and is_settled(store_url), "all that was acknowledged")
            assert service.stop() == 0
    assert all(taken.verified(hook["secret"]) for taken in receiver.taken)
    # A delivery has one id, in all processes that send it.
    assert len(seen(receiver)) == len(wanted)
    assert max(seen(receiver).values()) == 2


def reported(receiver: Receiver) -> set[tuple[str, str]]:
    """Type and resource of all events that came."""
    return {(taken.event["type"], taken.event["data"]["id"]) for taken in list(receiver.taken)}
