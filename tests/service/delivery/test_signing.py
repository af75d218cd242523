"""Contract, "Webhooks", Payload and Signing: thin, and signed as Standard Webhooks verifies it."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from scoring_model.contract.event import EventType
from scoring_model.service.core.rows import WebhookRow
from scoring_model.service.delivery.signing import payload, secrets_of, signed_headers
from scoring_model.service.events.events import message_id, webhook_data
from scoring_model.service.events.webhooks import associated_data, new_secret
from scoring_model.service.keys.keyring import Unreadable
from scoring_model.service.keys.secrets import Secrets
from service_use import START
from stored_rows import event_row, new_id, webhook_row

SECRETS = Secrets(bytes(32))


def present() -> int:
    """Microseconds: the public library compares with the clock of the machine."""
    return time.time_ns() // 1000


def webhook_with(secret: str, old: str | None = None, until: int | None = None) -> WebhookRow:
    """A webhook with sealed secrets."""
    resource = new_id()
    place = associated_data("secret", resource)
    sealed = [None if one is None else SECRETS.seal(place, one.encode()) for one in (secret, old)]
    return webhook_row(id=resource, secret=sealed[0], old_secret=sealed[1], old_secret_until=until)


@given(st.text(), st.binary(min_size=16, max_size=16))
def test_webhooks_signatures_are_those_of_standard_webhooks(text: str, delivery: bytes) -> None:
    """The public library verifies every body, and finds a changed one."""
    body = text.encode("utf-8", "replace")
    secret = new_secret()
    headers = signed_headers(message_id(delivery), body, [secret], now=present())
    Webhook(secret).verify(body, headers, json_parse=False)
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(body + b" ", headers, json_parse=False)
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(body, headers | {"webhook-id": "msg_0"}, json_parse=False)


def test_webhooks_headers_name_delivery_and_attempt() -> None:
    """The id depends on the delivery alone, the timestamp on the attempt: whole seconds, rounded down."""
    first = signed_headers("msg_1", b"{}", [new_secret()], now=START)
    later = signed_headers("msg_1", b"{}", [new_secret()], now=START + 7_999_999)
    assert first["webhook-id"] == later["webhook-id"] == "msg_1"
    assert int(first["webhook-timestamp"]) * 1_000_000 == START
    assert int(later["webhook-timestamp"]) - int(first["webhook-timestamp"]) == 7
    assert len({message_id(new_id()) for _ in range(9)}) == 9


def test_webhooks_both_secrets_sign_during_rotation() -> None:
    """Until its time is over the old secret signs too, after the new one, with a space between."""
    new, old = new_secret(), new_secret()
    now = present()
    webhook = webhook_with(new, old, now + 1)
    headers = signed_headers("msg_1", b"{}", secrets_of(webhook, SECRETS, now=now), now=now)
    for secret in (new, old):
        Webhook(secret).verify(b"{}", headers)
    both = headers["webhook-signature"].split(" ")
    alone = signed_headers("msg_1", b"{}", secrets_of(webhook, SECRETS, now=now + 1), now=now)
    assert len(both) == 2
    assert alone["webhook-signature"] == both[0]


def test_webhooks_secrets_open_for_their_webhook_only() -> None:
    """A secret that was moved to another webhook's row is not used."""
    moved = webhook_with(new_secret())._replace(id=new_id())
    with pytest.raises(Unreadable):
        secrets_of(moved, SECRETS, now=START)


def test_webhooks_payload_of_a_verification() -> None:
    """Type, timestamp and data, to which the sequence is added."""
    event = event_row(
        type="verification.passed", data='{"id":"x","scoringScore":112}', sequence=7, created_at=START + 1
    )
    body = payload(event)
    read = json.loads(body)
    assert list(read) == ["type", "timestamp", "data"]
    assert (read["type"], read["timestamp"]) == ("verification.passed", "2026-06-01T12:00:00.000001Z")
    assert list(read["data"].items()) == [("id", "x"), ("scoringScore", 112), ("sequence", 7)]


@pytest.mark.parametrize("kind", EventType)
def test_webhooks_payload_is_compact_json(kind: EventType) -> None:
    """Every type of event gives an object without blanks that reads and writes again as the same bytes."""
    body = payload(event_row(type=kind.value, data=webhook_data(new_id(), "gone"), created_at=START))
    assert json.dumps(json.loads(body), separators=(",", ":")).encode() == body


def test_webhooks_payload_is_a_function_of_the_event() -> None:
    """Two attempts send the same bytes; whether the event still waits is not in them."""
    event = event_row(data='{"id":"x"}')
    assert payload(event) == payload(event._replace(waiting=0))
