"""The contract of events (contract, "Webhooks": events and payload)."""

import json

import pytest

from scoring_model.contract.event import EventType
from scoring_model.contract.identity import IdentityStatus
from scoring_model.contract.ids import to_text
from scoring_model.service.webhooks.events import (
    events_of_new_identity,
    events_of_verification,
    identity_data,
    numbered,
    webhook_data,
)
from stored_rows import verification_row

NAMES = (
    "identity.created identity.validated identity.invalid identity.redacted verification.completed "
    "verification.passed verification.stepped_up verification.failed verification.error webhook.test "
    "webhook.disabled"
)


def test_webhooks_the_events_are_those_of_the_contract() -> None:
    """Their names, and no others."""
    assert [event.value for event in EventType] == NAMES.split()


@pytest.mark.parametrize(
    ("status", "names"),
    [
        ("INCOMPLETE", "identity.created"),
        ("VALIDATED", "identity.created identity.validated"),
        ("INVALID", "identity.created identity.invalid"),
    ],
)
def test_webhooks_events_of_a_new_identity(status: str, names: str) -> None:
    """Every creation is told, then what is known of it."""
    assert list(events_of_new_identity(IdentityStatus(status))) == names.split()


def test_webhooks_nothing_is_created_redacted() -> None:
    """A redaction is an event of its own, never that of a creation."""
    with pytest.raises(KeyError):
        events_of_new_identity(IdentityStatus.REDACTED)


@pytest.mark.parametrize(
    ("status", "outcome", "names"),
    [
        ("PENDING", None, ""),
        ("ERROR", None, "verification.error"),
        ("COMPLETED", "PASSED", "verification.completed verification.passed"),
        ("COMPLETED", "STEPPED_UP", "verification.completed verification.stepped_up"),
        ("COMPLETED", "FAILED", "verification.completed verification.failed"),
    ],
)
def test_webhooks_events_of_a_verification(status: str, outcome: str | None, names: str) -> None:
    """A verdict has two events, a fault one, and what is pending none; members without a value are null."""
    row = verification_row(status=status, outcome=outcome, score=None, model_version=None)
    found = events_of_verification(row)
    assert [event.type for event in found] == names.split()
    for event in found:
        assert (event.client, event.resource, event.at) == (row.client, row.id, row.completed_at)
        assert json.loads(event.data) == {
            "id": to_text(row.id),
            "identityId": None,
            "status": status,
            "scoringOutcome": outcome,
            "scoringScore": None,
            "modelVersion": None,
        }


def test_webhooks_other_payloads_name_the_resource() -> None:
    """Identities say their status, webhooks why they were disabled; each can be numbered."""
    identity = identity_data(bytes(16), IdentityStatus.VALIDATED)
    assert json.loads(numbered(identity, 1)) == {
        "id": to_text(bytes(16)),
        "status": "VALIDATED",
        "sequence": 1,
    }
    disabled = webhook_data(bytes(16), "gone")
    assert json.loads(disabled) == {"id": to_text(bytes(16)), "disabledReason": "gone"}
    assert json.loads(numbered(webhook_data(bytes(16)), 2)) == {"id": to_text(bytes(16)), "sequence": 2}
