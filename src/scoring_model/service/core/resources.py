"""The resources that clients see, identities, verifications and webhooks, and the client of a request.

Identifiers are 16 bytes, instants integer microseconds since 1970-01-01 UTC.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from typing import Any, Final, Generic, Self, TypeVar

from scoring_model.contract import identity, verification, webhook
from scoring_model.contract.identity import IdentityStatus
from scoring_model.contract.ids import to_text
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.resource import instant
from scoring_model.contract.verification import VerificationStatus
from scoring_model.service.core.rows import VerificationRow

T = TypeVar("T")


class Permission(StrEnum):
    """What an API key may be used for."""

    IDENTITIES = "identities"
    VERIFICATIONS = "verifications"
    WEBHOOKS = "webhooks"


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated client.

    Parameters
    ----------
    client : int
        Its number in the store.
    client_id : str
        Its public name.
    history_scope : str
        The clients of one scope share history; a client has its own unless the operator says otherwise.
    permissions : frozenset of Permission
    quota : int
        Requests that its bucket holds.
    quota_seconds : int
        In which the bucket fills.
    """

    client: int
    client_id: str
    history_scope: str
    permissions: frozenset[Permission]
    quota: int
    quota_seconds: int


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """The answer to a POST.

    Parameters
    ----------
    resource : T
    pending : bool
        Whether it was accepted but is not finished (202).
    replayed : bool
        Whether it was answered before, under the same idempotency key.
    """

    resource: T
    pending: bool = False
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Implausible:
    """A well-formed value of an identity that is implausible: JSON Pointer and name of the rule."""

    pointer: str
    code: str


@dataclass(frozen=True, slots=True)
class Identity:
    """An identity.

    Parameters
    ----------
    id : bytes
    values : mapping of str to object
        Canonical values by field name, dotted for parts of the address; what is missing is absent. Empty after
        erasure.
    status : IdentityStatus
    validation_errors : tuple of Implausible
    created_at, updated_at : int
    """

    id: bytes
    values: Mapping[str, object] = field(repr=False)
    status: IdentityStatus
    validation_errors: tuple[Implausible, ...]
    created_at: int
    updated_at: int

    def to_wire(self) -> identity.Identity:
        """The identity as the interface shows it."""
        values: Any = self.values
        parts = {name: values.get(field) for name, field in _ADDRESS}
        born = values.get("dob")
        return identity.Identity(
            id=to_text(self.id),
            first_name=values.get("firstName"),
            last_name=values.get("lastName"),
            dob=None if born is None else date.fromisoformat(born),
            citizenship=values.get("citizenship"),
            document_type=values.get("documentType"),
            image_urls=values.get("imageUrls"),
            address=identity.Address(**parts) if any(part is not None for part in parts.values()) else None,
            external_id=values.get("externalId"),
            validated=self.status is IdentityStatus.VALIDATED,
            status=self.status,
            validation_errors=tuple(
                identity.ValidationError(pointer=error.pointer, code=error.code)
                for error in self.validation_errors
            ),
            created_at=instant(self.created_at),
            updated_at=instant(self.updated_at),
        )


_ADDRESS: Final = tuple(
    (name, f"address.{field.alias}") for name, field in identity.Address.model_fields.items()
)


@dataclass(frozen=True, slots=True)
class Verification:
    """A verification.

    Parameters
    ----------
    id : bytes
    identity_id, previous_id : bytes or None
    subject_id : str or None
        The client's own reference for the person; None after erasure.
    status : VerificationStatus
    outcome : Outcome or None
    score : int or None
        0 to 1000.
    reasons : tuple of (str, str)
        Code and sentence, strongest first.
    model_version, policy_version : str or None
    created_at : int
    completed_at : int or None
    """

    id: bytes
    identity_id: bytes | None
    previous_id: bytes | None
    subject_id: str | None = field(repr=False)
    status: VerificationStatus
    outcome: Outcome | None
    score: int | None
    reasons: tuple[tuple[str, str], ...]
    model_version: str | None
    policy_version: str | None
    created_at: int
    completed_at: int | None

    @classmethod
    def of(cls, row: VerificationRow, subject_id: str | None, reasons: tuple[tuple[str, str], ...]) -> Self:
        """Make the verification of a row and of what the row seals or abbreviates."""
        return cls(
            id=row.id,
            identity_id=row.identity_id,
            previous_id=row.previous_id,
            subject_id=subject_id,
            status=VerificationStatus(row.status),
            outcome=None if row.outcome is None else Outcome(row.outcome),
            score=row.score,
            reasons=reasons,
            model_version=row.model_version,
            policy_version=row.policy_version,
            created_at=row.created_at,
            completed_at=row.completed_at,
        )

    def as_pending(self) -> Self:
        """Give the verification as it was before its verdict."""
        return replace(
            self,
            status=VerificationStatus.PENDING,
            outcome=None,
            score=None,
            reasons=(),
            model_version=None,
            policy_version=None,
            completed_at=None,
        )

    def to_wire(self) -> verification.Verification:
        """The verification as the interface shows it."""
        return verification.Verification(
            id=to_text(self.id),
            identity_id=_text_or_none(self.identity_id),
            subject_id=self.subject_id,
            status=self.status,
            scoring_outcome=self.outcome,
            scoring_score=self.score,
            reason_codes=tuple(
                verification.ReasonCode(code=code, description=sentence) for code, sentence in self.reasons
            ),
            model_version=self.model_version,
            policy_version=self.policy_version,
            previous_verification_id=_text_or_none(self.previous_id),
            created_at=instant(self.created_at),
            completed_at=None if self.completed_at is None else instant(self.completed_at),
        )


def _text_or_none(resource: bytes | None) -> str | None:
    return None if resource is None else to_text(resource)


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook.

    Parameters
    ----------
    id : bytes
    destination_url : str
    active : bool
    event_types : tuple of str
    description : str or None
    secret : str or None
        ``whsec_...``; only where it is shown, by creation and rotation.
    disabled_reason : str or None
    created_at, updated_at : int
    """

    id: bytes
    destination_url: str
    active: bool
    event_types: tuple[str, ...]
    description: str | None
    secret: str | None = field(repr=False)
    disabled_reason: str | None
    created_at: int
    updated_at: int

    def to_wire(self) -> webhook.Webhook:
        """The webhook as the interface shows it."""
        return webhook.Webhook(
            id=to_text(self.id),
            destination_url=self.destination_url,
            active=self.active,
            event_types=self.event_types,
            description=self.description,
            secret=self.secret,
            disabled_reason=self.disabled_reason,
            created_at=instant(self.created_at),
            updated_at=instant(self.updated_at),
        )
