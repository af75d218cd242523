"""Resources as JSON: every field, null when absent."""

from typing import Any, Final

from scoring_model.contract.fields import ADDRESS_PARTS, PERSON_FIELDS
from scoring_model.contract.identity import IdentityStatus
from scoring_model.contract.ids import to_text
from scoring_model.records.times import rfc3339
from scoring_model.service.core.resources import Identity, Verification, Webhook

_ADDRESS: Final = tuple((part, f"address.{part}") for part in ADDRESS_PARTS)


def identity_document(identity: Identity) -> dict[str, Any]:
    """Show an identity."""
    values = identity.values
    document: dict[str, Any] = {"id": to_text(identity.id)}
    for name in PERSON_FIELDS:
        document[name] = values.get(name)
    address = {part: values.get(field) for part, field in _ADDRESS}
    document["address"] = address if any(value is not None for value in address.values()) else None
    document["externalId"] = values.get("externalId")
    document["validated"] = identity.status is IdentityStatus.VALIDATED
    document["status"] = identity.status.value
    document["validationErrors"] = [
        {"pointer": error.pointer, "code": error.code} for error in identity.validation_errors
    ]
    document["createdAt"] = rfc3339(identity.created_at)
    document["updatedAt"] = rfc3339(identity.updated_at)
    return document


def verification_document(verification: Verification) -> dict[str, Any]:
    """Show a verification."""
    outcome = verification.outcome
    return {
        "id": to_text(verification.id),
        "identityId": _id_or_null(verification.identity_id),
        "subjectId": verification.subject_id,
        "status": verification.status.value,
        "scoringOutcome": None if outcome is None else outcome.value,
        "scoringScore": verification.score,
        "reasonCodes": [{"code": code, "description": sentence} for code, sentence in verification.reasons],
        "modelVersion": verification.model_version,
        "policyVersion": verification.policy_version,
        "previousVerificationId": _id_or_null(verification.previous_id),
        "createdAt": rfc3339(verification.created_at),
        "completedAt": None if verification.completed_at is None else rfc3339(verification.completed_at),
    }


def webhook_document(webhook: Webhook) -> dict[str, Any]:
    """Show a webhook."""
    return {
        "id": to_text(webhook.id),
        "destinationUrl": webhook.destination_url,
        "active": webhook.active,
        "eventTypes": list(webhook.event_types),
        "description": webhook.description,
        "secret": webhook.secret,
        "disabledReason": webhook.disabled_reason,
        "createdAt": rfc3339(webhook.created_at),
        "updatedAt": rfc3339(webhook.updated_at),
    }


def _id_or_null(resource: bytes | None) -> str | None:
    return None if resource is None else to_text(resource)
