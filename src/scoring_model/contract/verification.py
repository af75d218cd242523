"""A verification: the request of a client and the decision of the service."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Annotated, Final

from pydantic import ConfigDict, Field, ValidationError, ValidationInfo, WithJsonSchema
from pydantic_core import InitErrorDetails

from scoring_model.contract import rules
from scoring_model.contract.fields import SIGNAL_PREFIX
from scoring_model.contract.identity import REFERENCE, Reference
from scoring_model.contract.outcome import DecidedBy, Outcome
from scoring_model.contract.resource import (
    UUID,
    Body,
    Instant,
    Resource,
    Sandbox,
    Schema,
    Uuid,
    is_none,
    ruled,
)
from scoring_model.contract.rules import Rule, RuleError, SignalType
from scoring_model.contract.texts import from_text
from scoring_model.contract.violation import Violation

SIGNAL_NAME_LENGTH: Final = 128
SANDBOX_SIGNAL: Final = "sandboxOutcome"
"""The signal with which a sandbox client decides about its verification. For other clients it is any signal."""


class VerificationStatus(StrEnum):
    """The status of a verification. Later services may add values: compare, do not convert."""

    PENDING = "PENDING"
    COMPLETED = "COMPLETED"
    ERROR = "ERROR"


class SandboxOutcome(StrEnum):
    """Values of `SANDBOX_SIGNAL`: an outcome, or a way to get none at once."""

    PASSED = "PASSED"
    STEPPED_UP = "STEPPED_UP"
    FAILED = "FAILED"
    PENDING = "PENDING"  # answered with 202, and finished later with the outcome of the policy
    ERROR = "ERROR"  # answered with 202, and finished later without an outcome


class Signals(dict[str, object]):
    """Signals of one request by name, as they were sent; those that are null are left out.

    `canonical` holds the canonical values by field name, ``signals.NAME``, of those that the model uses.
    """

    __slots__ = ("canonical",)

    def __init__(self, sent: Mapping[str, object], canonical: dict[str, object]) -> None:
        super().__init__((name, value) for name, value in sent.items() if value is not None)
        self.canonical = canonical


@dataclass(slots=True)  # not frozen: one is created per request, in a third of the time
class VerificationContext:
    """Validation context.

    Parameters
    ----------
    signals : mapping of str to SignalType
        The signals that the served model uses.
    unknown : callable, optional
        Called with the name of each other signal; may raise `RuleError`.
    sandbox : bool
        Whether `SANDBOX_SIGNAL` decides: it is no signal of the model then, and not unknown.
    """

    signals: Mapping[str, SignalType]
    unknown: Callable[[str], object] | None = None
    sandbox: bool = False


def _signals(sent: object, info: ValidationInfo) -> Signals | None:
    """Check signals and bring those that the model uses into canonical form.

    Of more than 200 signals only the first 200 are checked. An empty object counts: every signal is then missing.
    """
    if sent is None:
        return None
    if not isinstance(sent, dict):
        raise rules.wrong_type("an object", sent)
    context = info.context if isinstance(info.context, VerificationContext) else VerificationContext({})
    used, unknown = context.signals, context.unknown
    errors: list[InitErrorDetails] = []
    if len(sent) > rules.SIGNALS:
        too_many = RuleError(Rule.TOO_MANY, f"must hold at most {rules.SIGNALS} signals, got {len(sent)}")
        errors.append(InitErrorDetails(type=too_many, input=None))
    values: dict[str, object] = {}
    for name, value in islice(sent.items(), rules.SIGNALS):
        try:
            if context.sandbox and name == SANDBOX_SIGNAL:
                _check_sandbox_outcome(value)
            elif name not in used:
                _check_unused(name, value)
                if unknown is not None:
                    unknown(name)
            elif (canonical := rules.SIGNAL_RULES[used[name]](value)) is not None:
                values[SIGNAL_PREFIX + name] = canonical
        except RuleError as error:
            errors.append(InitErrorDetails(type=error, loc=(name,), input=None))
    if errors:
        raise ValidationError.from_exception_data("signals", errors)
    return Signals(sent, values)


def _check_sandbox_outcome(value: object) -> None:
    if value is not None and value not in tuple(SandboxOutcome):
        raise RuleError(Rule.NOT_LISTED, f"must be one of {', '.join(SandboxOutcome)}")


def _check_unused(name: str, value: object) -> None:
    """Check a signal that the model does not use: its name, and that it is a scalar within bounds."""
    is_unicode = name.isascii() or not any("\ud800" <= character <= "\udfff" for character in name)
    if not 1 <= len(name) <= SIGNAL_NAME_LENGTH or not is_unicode:
        rule = (
            Rule.BLANK
            if not name
            else Rule.TOO_LONG
            if len(name) > SIGNAL_NAME_LENGTH
            else Rule.LONE_SURROGATE
        )
        detail = (
            f"names of signals must have 1 to {SIGNAL_NAME_LENGTH} characters of Unicode, got {len(name)}"
        )
        raise RuleError(rule, detail)
    if value is not None and not isinstance(value, bool | int | float | str):
        raise rules.wrong_type("a number, a boolean, text or null", value)
    rules.any_signal(value)


def _identifier(value: object) -> bytes | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise rules.wrong_type("text", value)
    found = from_text(value)
    if found is None:
        raise RuleError("not_a_uuid", "must be a UUID: 36 characters, hexadecimal with dashes")
    return found


_SIGNALS: Final[Schema] = {
    "title": "Signals",
    "type": "object",
    "maxProperties": rules.SIGNALS,
    "propertyNames": {"minLength": 1, "maxLength": SIGNAL_NAME_LENGTH},
    "additionalProperties": {
        "anyOf": [
            {"type": "number"},
            {"type": "boolean"},
            {"type": "string", "maxLength": rules.SIGNAL_LENGTH},
            {"type": "null"},
        ]
    },
    "description": (
        "What your identity provider knows, by name. The served model says which names it uses and of what "
        "type; a missing one is a missing value, an unused one is kept and ignored, unless the operator made the "
        "client strict: then it is refused (`unknown_signal`). An empty object counts as signals that are all missing. "
        f"For a sandbox client `{SANDBOX_SIGNAL}` decides: {', '.join(SandboxOutcome)}; without it the policy does."
    ),
}
_SIGNALS_OR_NULL: Final[Schema] = {**_SIGNALS, "type": ["object", "null"]}
Identifier = Annotated[bytes, *ruled(_identifier, UUID)]


class VerificationInput(Body):
    """The person to score: an identity, signals, or both."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"required": ["identityId"], "properties": {"identityId": {"type": "string"}}},
                {"required": ["signals"], "properties": {"signals": {"type": "object"}}},
            ],
            "examples": [
                {"identityId": "0197b0a6-9d31-7c54-8f0e-3a5d1e2b4c6f"},
                {
                    "signals": {"device": "d-81f3", "emailAgeDays": 412, "vpn": False},
                    "subjectId": "customer-4711",
                },
            ],
        }
    )

    identity_id: Annotated[Identifier | None, Field(description="A validated identity.")] = None
    previous_verification_id: Annotated[
        Identifier | None,
        Field(
            description="The verification of the same person that was STEPPED_UP and that this one follows."
        ),
    ] = None
    subject_id: Annotated[
        Reference | None, Field(repr=False, description="Your own reference for the person.")
    ] = None
    signals: Annotated[Signals | None, *ruled(_signals, _SIGNALS_OR_NULL), Field(repr=False)] = None

    @classmethod
    def violations_of_whole(cls, body: Mapping[str, object]) -> tuple[Violation, ...]:
        """Check that there is an identity or signals."""
        if body.get("identityId") is None and body.get("signals") is None:
            return (Violation("", Rule.MISSING.value, "must have an identityId, signals or both"),)
        return ()

    def values(self) -> dict[str, object]:
        """Give the signals that the model uses, and `subjectId`, by field name."""
        found = {} if self.signals is None else self.signals.canonical
        return found if self.subject_id is None else {**found, "subjectId": self.subject_id}


class ReasonCode(Resource):
    """A reason for a high score."""

    code: Annotated[str, Field(json_schema_extra={"pattern": "^[A-Z][A-Z0-9_]*$"})]
    description: str


class Verification(Resource):
    """A verification. A completed one never changes, except that erasure removes its `subjectId`."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "0197b0a7-11aa-7d02-9b1c-6f5e4d3c2b1a",
                    "identityId": "0197b0a6-9d31-7c54-8f0e-3a5d1e2b4c6f",
                    "subjectId": None,
                    "status": "COMPLETED",
                    "scoringOutcome": "STEPPED_UP",
                    "scoringScore": 531,
                    "reasonCodes": [
                        {
                            "code": "ADDRESS_INCOMPLETE",
                            "description": "Parts that the address needs were not given.",
                        }
                    ],
                    "modelVersion": "3f9a0c5b7d2e4816",
                    "policyVersion": "a41c09e7735d2b68",
                    "previousVerificationId": None,
                    "createdAt": "2026-01-31T09:26:54.000123Z",
                    "completedAt": "2026-01-31T09:26:54.017456Z",
                }
            ]
        }
    )

    id: Annotated[Uuid, Field(description="UUID, version 7.")]
    identity_id: Uuid | None = None
    subject_id: Annotated[
        str | None, Field(repr=False, max_length=REFERENCE["maxLength"], description="Null after erasure.")
    ] = None
    status: Annotated[
        str,
        WithJsonSchema(
            {
                "enum": [status.value for status in VerificationStatus],
                "description": "Only `COMPLETED` has an outcome. `ERROR` is a technical fault, never an outcome.",
            }
        ),
    ]
    scoring_outcome: (
        Annotated[str, WithJsonSchema({"enum": [outcome.value for outcome in Outcome]})] | None
    ) = None
    scoring_score: Annotated[
        int | None,
        Field(
            ge=0,
            le=1000,
            description=(
                "Higher is riskier. Of genuine applicants a share of 10^(-s/250) scores s or more: 250 is one "
                "in ten, 500 one in a hundred, 750 one in a thousand."
            ),
        ),
    ] = None
    reason_codes: Annotated[
        tuple[ReasonCode, ...], Field(max_length=5, description="What pushed the score up, strongest first.")
    ] = ()
    model_version: str | None = None
    policy_version: str | None = None
    previous_verification_id: Uuid | None = None
    created_at: Instant
    completed_at: Instant | None = None
    decided_by: Annotated[
        str | None,
        WithJsonSchema(
            {
                "enum": [one.value for one in DecidedBy if one is not DecidedBy.SANDBOX],
                "description": (
                    "Only where the operator uses a control group, lists or rules: `control` if the verification "
                    "passed so that it is learnt whether such persons are frauds; `list` or `rule` if one of these "
                    "decided; else `policy`. Not for sandbox clients."
                ),
            }
        ),
        Field(exclude_if=is_none),
    ] = None
    policy_outcome: Annotated[
        str | None,
        WithJsonSchema(
            {
                "enum": [outcome.value for outcome in Outcome],
                "description": "With `decidedBy`: what score and thresholds alone would have decided.",
            }
        ),
        Field(exclude_if=is_none),
    ] = None
    decided_by_code: Annotated[
        str | None,
        Field(
            exclude_if=is_none,
            description="With `decidedBy` `list` or `rule`: the name of the list or rule.",
        ),
    ] = None
    sandbox: Sandbox = None
