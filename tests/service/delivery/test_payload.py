"""Contract, "Webhooks", Payload: thin, and the same at every attempt."""

import json

import pytest

from scoring_model.contract.event import EventType
from scoring_model.contract.identity import IdentityStatus
from scoring_model.contract.ids import to_text
from scoring_model.service.delivery.signing import payload
from scoring_model.service.webhooks.events import identity_data, verification_data, webhook_data
from service_use import START
from stored_rows import event_row, new_id, verification_row


def test_webhooks_payload_of_a_verification() -> None:
    """Type, timestamp and data with exactly the fields of the contract, in its order."""
    row = verification_row(identity_id=new_id())
    event = event_row(
        type="verification.passed", data=verification_data(row), sequence=7, created_at=START + 1
    )
    body = payload(event)
    read = json.loads(body)
    assert list(read) == ["type", "timestamp", "data"]
    assert (read["type"], read["timestamp"]) == ("verification.passed", "2026-06-01T12:00:00.000001Z")
    assert list(read["data"].items()) == [
        ("id", to_text(row.id)),
        ("identityId", to_text(row.identity_id or b"")),
        ("status", "COMPLETED"),
        ("scoringOutcome", "PASSED"),
        ("scoringScore", 112),
        ("modelVersion", "m1"),
        ("sequence", 7),
    ]


@pytest.mark.parametrize("kind", EventType)
def test_webhooks_payload_is_compact_json(kind: EventType) -> None:
    """Every type of event gives an object without blanks that reads and writes again as the same bytes."""
    for data in (identity_data(new_id(), IdentityStatus.VALIDATED), webhook_data(new_id(), "gone")):
        body = payload(event_row(type=kind.value, data=data, created_at=START))
        assert json.dumps(json.loads(body), separators=(",", ":")).encode() == body


def test_webhooks_payload_is_a_function_of_the_event() -> None:
    """Two attempts send the same bytes; whether the event still waits is not told."""
    event = event_row(data='{"id":"x"}')
    assert payload(event) == payload(event._replace(waiting=0))
