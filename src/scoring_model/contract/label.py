"""Labels that a client reports about its verifications, and the answer for each of them."""

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from functools import partial
from typing import Annotated, Final

from pydantic import ConfigDict, Field, PlainValidator, WithJsonSchema

from scoring_model.contract import rules
from scoring_model.contract.identity import NOT_BLANK, REFERENCE
from scoring_model.contract.resource import (
    Body,
    Resource,
    Sandbox,
    missing,
    one_of,
    past_moment,
    ruled,
)
from scoring_model.contract.rules import Rule, RuleError
from scoring_model.contract.verification import Identifier
from scoring_model.contract.violation import MOST_ERRORS, Violation

MOST_LABELS: Final = 1_000
"""Labels in one request."""

LABELS: Final = ("fraud", "genuine", "withdrawn")
IDENTIFIERS: Final = ("verificationId", "identityId", "recordId")
"""What a label can name; exactly one of them."""


RecordId = Annotated[
    str,
    *ruled(
        partial(rules.definite_text, limit=rules.REFERENCE_LENGTH),
        {**REFERENCE, "minLength": 1, "pattern": NOT_BLANK},
    ),
]


class LabelInput(Body):
    """What is known about a verification, all verifications of an identity, or a record of an imported history."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [{"required": [name], "properties": {name: {"type": "string"}}} for name in IDENTIFIERS],
            "examples": [
                {
                    "verificationId": "0197b0a7-11aa-7d02-9b1c-6f5e4d3c2b1a",
                    "label": "fraud",
                    "knownAt": "2026-02-14T08:00:00Z",
                }
            ],
        }
    )

    verification_id: Annotated[Identifier | None, Field(description="A completed verification.")] = None
    identity_id: Annotated[
        Identifier | None, Field(description="An identity: the label is of all its completed verifications.")
    ] = None
    record_id: Annotated[
        RecordId | None,
        Field(
            repr=False,
            description="A record that was imported into the history, for as long as verifications count it.",
        ),
    ] = None
    label: Annotated[
        str,
        *ruled(
            partial(one_of, LABELS),
            {"enum": list(LABELS), "description": "`withdrawn` takes back what was reported before."},
        ),
    ]
    known_at: Annotated[
        int,
        *ruled(
            past_moment,
            {
                "type": "string",
                "format": "date-time",
                "description": "When it became known: RFC 3339, with a zone, not in the future.",
            },
        ),
    ]

    @classmethod
    def violations_of_whole(cls, body: Mapping[str, object]) -> tuple[Violation, ...]:
        """Check that a label names one thing."""
        named = sum(body.get(name) is not None for name in IDENTIFIERS)
        if named == 1:
            return ()
        detail = f"must have exactly one of {', '.join(IDENTIFIERS)}, got {named}"
        return (Violation("", "one_identifier", detail),)


def _rows(value: object) -> tuple[object, ...]:
    """Check the list as a whole: each label is checked on its own, so that a bad one keeps out no other."""
    if value is None:
        raise missing()
    if not isinstance(value, list):
        raise rules.wrong_type("an array of objects", value)
    if not value:
        raise RuleError("too_few", "must hold at least one label")
    if len(value) > MOST_LABELS:
        raise RuleError(Rule.TOO_MANY, f"must hold at most {MOST_LABELS} labels, got {len(value)}")
    return tuple(value)


class LabelsInput(Body):
    """Labels to report."""

    labels: Annotated[
        tuple[object, ...],
        PlainValidator(
            _rows,
            json_schema_input_type=Annotated[list[LabelInput], Field(min_length=1, max_length=MOST_LABELS)],
        ),
    ]


class LabelStatus(StrEnum):
    """What became of one reported label. Later services may add values: compare, do not convert."""

    CREATED = "CREATED"
    UNCHANGED = "UNCHANGED"
    REFUSED = "REFUSED"


class LabelResult(Resource):
    """The answer for one label."""

    status: Annotated[
        str,
        WithJsonSchema(
            {
                "enum": [status.value for status in LabelStatus],
                "description": "`UNCHANGED`: the same label, known at the same instant, was reported before.",
            }
        ),
    ]
    errors: Annotated[
        tuple[Violation, ...],
        Field(
            description="Why it was refused, with pointers into the request; empty otherwise, and beyond the first "
            f"{MOST_ERRORS} errors of a request."
        ),
    ] = ()


class LabelReport(Resource):
    """The answers for all labels of a request, in their order, the number of each kind, and of errors left out."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "created": 1,
                    "unchanged": 0,
                    "refused": 1,
                    "results": [
                        {"status": "CREATED", "errors": []},
                        {
                            "status": "REFUSED",
                            "errors": [
                                {
                                    "pointer": "/labels/1/verificationId",
                                    "code": "not_found",
                                    "detail": "must be a verification of this client",
                                }
                            ],
                        },
                    ],
                    "errorsOmitted": 0,
                }
            ]
        }
    )

    created: Annotated[int, Field(ge=0)]
    unchanged: Annotated[int, Field(ge=0)]
    refused: Annotated[int, Field(ge=0)]
    results: tuple[LabelResult, ...]
    errors_omitted: Annotated[
        int,
        Field(ge=0, description=f"How many errors of all labels there are beyond the first {MOST_ERRORS}."),
    ] = 0
    sandbox: Sandbox = None

    @classmethod
    def of(cls, results: tuple[LabelResult, ...], errors_omitted: int = 0) -> "LabelReport":
        """Count the answers."""
        counts = Counter(result.status for result in results)
        return cls(
            created=counts[LabelStatus.CREATED],
            unchanged=counts[LabelStatus.UNCHANGED],
            refused=counts[LabelStatus.REFUSED],
            results=results,
            errors_omitted=errors_omitted,
        )
