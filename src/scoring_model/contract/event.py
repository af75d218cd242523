"""Events: what the service sends to webhooks. Thin, and without personal data."""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import ConfigDict, Field, WithJsonSchema

from scoring_model.contract.outcome import Outcome
from scoring_model.contract.resolution import Result
from scoring_model.contract.resource import (
    Instant,
    Resource,
    Sandbox,
    Uuid,
)


class EventType(StrEnum):
    """The types of events, as webhooks name them."""

    IDENTITY_CREATED = "identity.created"
    IDENTITY_VALIDATED = "identity.validated"
    IDENTITY_INVALID = "identity.invalid"
    IDENTITY_REDACTED = "identity.redacted"
    VERIFICATION_COMPLETED = "verification.completed"
    VERIFICATION_PASSED = "verification.passed"
    VERIFICATION_STEPPED_UP = "verification.stepped_up"
    VERIFICATION_FAILED = "verification.failed"
    VERIFICATION_ERROR = "verification.error"
    VERIFICATION_RESOLVED = "verification.resolved"
    LABEL_RECEIVED = "label.received"
    WEBHOOK_TEST = "webhook.test"
    WEBHOOK_DISABLED = "webhook.disabled"


ONLY_BY_NAME: Final = frozenset({EventType.VERIFICATION_COMPLETED, EventType.LABEL_RECEIVED})
"""Events that only webhooks get that list them exactly, not by a wildcard."""


class EventData(Resource):
    """What an event is about. A field that does not apply to its type is absent."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    id: Annotated[
        Uuid | None, Field(description="Of the identity, verification (also of a label) or webhook.")
    ] = None
    identity_id: Uuid | None = None
    status: str | None = None
    scoring_outcome: (
        Annotated[str, WithJsonSchema({"enum": [outcome.value for outcome in Outcome]})] | None
    ) = None
    scoring_score: Annotated[int | None, Field(ge=0, le=1000)] = None
    model_version: str | None = None
    disabled_reason: str | None = None
    label: str | None = None
    known_at: Annotated[Instant | None, Field(description="When the label became known.")] = None
    resolution: Annotated[
        str | None, WithJsonSchema({"enum": [*Result], "description": "How the step-up or review ended."})
    ] = None
    resolved_at: Annotated[Instant | None, Field(description="When it ended.")] = None
    sequence: Annotated[
        int | None,
        Field(ge=1, description="Grows by one with every event of yours, in the order of commits."),
    ] = None
    sandbox: Sandbox = None


class Event(Resource):
    """Thin, and without personal data."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "verification.stepped_up",
                    "timestamp": "2026-01-31T09:26:54.017456Z",
                    "data": {
                        "id": "0197b0a7-11aa-7d02-9b1c-6f5e4d3c2b1a",
                        "identityId": "0197b0a6-9d31-7c54-8f0e-3a5d1e2b4c6f",
                        "status": "COMPLETED",
                        "scoringOutcome": "STEPPED_UP",
                        "scoringScore": 531,
                        "modelVersion": "3f9a0c5b7d2e4816",
                        "sequence": 7,
                    },
                }
            ]
        }
    )

    type: Annotated[str, WithJsonSchema({"enum": [name.value for name in EventType]})]
    timestamp: Instant
    data: EventData = EventData()
