"""Resolutions: how a step-up or a review of a verification ended."""

from enum import StrEnum
from functools import partial
from typing import Annotated, Final

from pydantic import ConfigDict, Field, PlainValidator, ValidationInfo, WithJsonSchema

from scoring_model.contract import rules
from scoring_model.contract.identity import REFERENCE, Reference
from scoring_model.contract.resource import (
    Body,
    Instant,
    Resource,
    Sandbox,
    Uuid,
    example,
    one_of,
    past_moment,
    ruled,
)

NOTE_LENGTH: Final = 1_000


class Result(StrEnum):
    """How a step-up or a review ended. Later services may add values: compare, do not convert."""

    APPROVED = "APPROVED"
    DECLINED = "DECLINED"
    ABANDONED = "ABANDONED"


class Method(StrEnum):
    """What ended it. Later services may add values."""

    DOCUMENT_CHECK = "documentCheck"
    LIVENESS = "liveness"
    MANUAL_REVIEW = "manualReview"
    ONE_TIME_CODE = "oneTimeCode"
    OTHER = "other"
    FOLLOW_UP = "followUp"  # a completed verification that follows; never sent


SENT_METHODS: Final = tuple(method for method in Method if method is not Method.FOLLOW_UP)


def _resolved_at(value: object, info: ValidationInfo) -> int | None:
    return None if value is None else past_moment(value, info)


Note = Annotated[
    str,
    *ruled(
        partial(rules.text, limit=NOTE_LENGTH),
        {
            "type": "string",
            "maxLength": NOTE_LENGTH,
            "description": "For people. Encrypted, never in events or exports, erased with the person.",
        },
    ),
]
ResolvedAt = Annotated[
    int,
    *ruled(
        _resolved_at,
        {
            "type": "string",
            "format": "date-time",
            "description": "When: RFC 3339, with a zone, not in the future. By default now.",
        },
    ),
]


class ResolutionInput(Body):
    """How the step-up or the review of a verification ended."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"result": "APPROVED", "method": "documentCheck", "resolvedAt": "2026-02-01T10:15:00Z"}
            ]
        }
    )

    result: Annotated[
        str,
        PlainValidator(partial(one_of, tuple(Result))),
        WithJsonSchema({"enum": [*Result], "description": "`ABANDONED`: the applicant never came back."}),
    ]
    method: Annotated[
        str,
        PlainValidator(partial(one_of, SENT_METHODS)),
        WithJsonSchema({"enum": [*SENT_METHODS], "description": "What ended it."}),
    ]
    resolved_by: Annotated[
        Reference | None,
        Field(repr=False, description="Who ended it: your own reference. Erased with the person."),
    ] = None
    note: Annotated[Note | None, Field(repr=False)] = None
    resolved_at: ResolvedAt | None = None


class Resolution(Resource):
    """How the step-up or the review of a verification ended. It never changes, and the one reported last counts."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "0197b0b1-73c2-7f10-8a4d-2b6e9c1d5f30",
                    "verificationId": "0197b0a7-11aa-7d02-9b1c-6f5e4d3c2b1a",
                    "result": "APPROVED",
                    "method": "documentCheck",
                    "resolvedBy": None,
                    "note": None,
                    "resolvedAt": "2026-02-01T10:15:00.000000Z",
                    "createdAt": "2026-02-01T10:15:02.114302Z",
                }
            ]
        }
    )

    id: Annotated[Uuid, Field(description="UUID, version 7.")]
    verification_id: Uuid
    result: Annotated[str, WithJsonSchema({"enum": [*Result]})]
    method: Annotated[
        str,
        WithJsonSchema(
            {
                "enum": [*Method],
                "description": "`followUp`: a later verification with `previousVerificationId` ended the step-up.",
            }
        ),
    ]
    resolved_by: Annotated[
        str | None,
        Field(repr=False, max_length=REFERENCE["maxLength"], description="Null after erasure."),
    ] = None
    note: Annotated[
        str | None, Field(repr=False, max_length=NOTE_LENGTH, description="Null after erasure.")
    ] = None
    resolved_at: Annotated[Instant, Field(description="As reported, else when it was received.")]
    created_at: Annotated[Instant, Field(description="When it was received.")]
    sandbox: Sandbox = None


class Resolutions(Resource):
    """The resolutions of a verification."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"resolutions": [example(Resolution)]}]})

    resolutions: Annotated[tuple[Resolution, ...], Field(description="Oldest first: the last one counts.")]
    sandbox: Sandbox = None
