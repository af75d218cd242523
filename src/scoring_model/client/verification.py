"""One scoring of a person, as the service shows it."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from scoring_model.client.fields import Fields


class VerificationStatus(StrEnum):
    """How far a verification has come. A later service may say more: compare, do not convert."""

    PENDING = "PENDING"
    COMPLETED = "COMPLETED"
    ERROR = "ERROR"


class Outcome(StrEnum):
    """What a completed verification decides. A later service may say more: compare, do not convert."""

    PASSED = "PASSED"
    STEPPED_UP = "STEPPED_UP"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class ReasonCode:
    """What pushed a score up.

    Parameters
    ----------
    code : str
        Of the public catalogue.
    description : str
        A sentence for people.
    """

    code: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """A verification.

    Parameters
    ----------
    id : str
    status : str
        One of `VerificationStatus`. Only COMPLETED has an outcome; a technical fault is never an outcome.
    scoring_outcome : str or None
        One of `Outcome`.
    scoring_score : int or None
        0 to 1000, higher is riskier.
    reason_codes : tuple of ReasonCode
        At most five, strongest first.
    identity_id, previous_verification_id : str or None
    subject_id : str or None
        The client's own reference for the person; None after erasure. Not shown by `repr`.
    model_version, policy_version : str or None
        Which model and which thresholds decided.
    created_at : datetime
        Aware.
    completed_at : datetime or None
        Aware.
    """

    id: str
    status: str
    scoring_outcome: str | None = None
    scoring_score: int | None = None
    reason_codes: tuple[ReasonCode, ...] = ()
    identity_id: str | None = None
    previous_verification_id: str | None = None
    subject_id: str | None = field(default=None, repr=False)
    model_version: str | None = None
    policy_version: str | None = None
    created_at: datetime
    completed_at: datetime | None = None

    @classmethod
    def from_json(cls, fields: Fields) -> "Verification":
        """Read a verification."""
        return cls(
            id=fields.text("id"),
            status=fields.text("status"),
            scoring_outcome=fields.maybe_text("scoringOutcome"),
            scoring_score=fields.maybe_whole("scoringScore"),
            reason_codes=tuple(
                ReasonCode(reason.text("code"), reason.text("description"))
                for reason in fields.objects("reasonCodes")
            ),
            identity_id=fields.maybe_text("identityId"),
            previous_verification_id=fields.maybe_text("previousVerificationId"),
            subject_id=fields.maybe_text("subjectId"),
            model_version=fields.maybe_text("modelVersion"),
            policy_version=fields.maybe_text("policyVersion"),
            created_at=fields.time("createdAt"),
            completed_at=fields.maybe_time("completedAt"),
        )
