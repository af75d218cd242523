"""The contract of events (contract, "Webhooks": events and payload)."""

import json

import pytest

from scoring_model.contract.event import EventType
from scoring_model.contract.identity import IdentityStatus
from scoring_model.contract.ids import to_text
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.verification import VerificationStatus
from scoring_model.service.core.rows import VerificationRow
from scoring_model.service.events import (
    events_of_new_identity,
    events_of_verification,
    identity_data,
    numbered,
    verification_data,
    webhook_data,
)

NAMES = (
    "identity.created identity.validated identity.invalid identity.redacted verification.completed "
    "verification.passed verification.stepped_up verification.failed verification.error webhook.test "
    "webhook.disabled"
)
ROW = VerificationRow(
    id=bytes(range(16)),
    client=1,
    identity_id=bytes(16),
    previous_id=None,
    key_id=b"key",
    status="COMPLETED",
    outcome="STEPPED_UP",
    score=512,
    reasons="NAME_REPEATED",
    model_version="m-1",
    policy_version="p-1",
    created_at=1,
    completed_at=2,
    row_digest=b"canary",
    payload=b"canary",
    links=b"canary",
    attempts=0,
    leased_until=None,
    reference="canary",
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
    """A verdict is told twice, a fault once, and what is pending not at all."""
    found = events_of_verification(VerificationStatus(status), Outcome(outcome) if outcome else None)
    assert list(found) == names.split()


def test_webhooks_a_completed_verification_has_an_outcome() -> None:
    """Without one there is no event that could tell of it."""
    with pytest.raises(KeyError):
        events_of_verification(VerificationStatus.COMPLETED, None)


def test_webhooks_what_a_verification_lacks_is_null() -> None:
    """A fault has all members, those without a value null."""
    row = ROW._replace(identity_id=None, status="ERROR", outcome=None, score=None, model_version=None)
    data = json.loads(verification_data(row))
    assert data == {
        "id": to_text(ROW.id),
        "identityId": None,
        "status": "ERROR",
        "scoringOutcome": None,
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
