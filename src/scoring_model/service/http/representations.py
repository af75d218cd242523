"""Resources of the core in the form that clients see."""

from datetime import date
from typing import Any, Final

from scoring_model.contract import identity, verification, webhook
from scoring_model.contract.identity import IdentityStatus
from scoring_model.contract.ids import to_text
from scoring_model.contract.resource import instant
from scoring_model.service.core.resources import Identity, Verification, Webhook

_ADDRESS: Final = tuple(
    (name, f"address.{field.alias}") for name, field in identity.Address.model_fields.items()
)


def identity_shown(found: Identity) -> identity.Identity:
    """Show an identity."""
    values: Any = found.values
    parts = {name: values.get(field) for name, field in _ADDRESS}
    born = values.get("dob")
    return identity.Identity(
        id=to_text(found.id),
        first_name=values.get("firstName"),
        last_name=values.get("lastName"),
        dob=None if born is None else date.fromisoformat(born),
        citizenship=values.get("citizenship"),
        document_type=values.get("documentType"),
        image_urls=values.get("imageUrls"),
        address=identity.Address(**parts) if any(part is not None for part in parts.values()) else None,
        external_id=values.get("externalId"),
        validated=found.status is IdentityStatus.VALIDATED,
        status=found.status,
        validation_errors=tuple(
            identity.ValidationError(pointer=error.pointer, code=error.code)
            for error in found.validation_errors
        ),
        created_at=instant(found.created_at),
        updated_at=instant(found.updated_at),
    )


def verification_shown(found: Verification) -> verification.Verification:
    """Show a verification."""
    return verification.Verification(
        id=to_text(found.id),
        identity_id=_id_or_none(found.identity_id),
        subject_id=found.subject_id,
        status=found.status,
        scoring_outcome=found.outcome,
        scoring_score=found.score,
        reason_codes=tuple(
            verification.ReasonCode(code=code, description=sentence) for code, sentence in found.reasons
        ),
        model_version=found.model_version,
        policy_version=found.policy_version,
        previous_verification_id=_id_or_none(found.previous_id),
        created_at=instant(found.created_at),
        completed_at=None if found.completed_at is None else instant(found.completed_at),
    )


def webhook_shown(found: Webhook) -> webhook.Webhook:
    """Show a webhook."""
    return webhook.Webhook(
        id=to_text(found.id),
        destination_url=found.destination_url,
        active=found.active,
        event_types=found.event_types,
        description=found.description,
        secret=found.secret,
        disabled_reason=found.disabled_reason,
        created_at=instant(found.created_at),
        updated_at=instant(found.updated_at),
    )


def _id_or_none(resource: bytes | None) -> str | None:
    return None if resource is None else to_text(resource)
