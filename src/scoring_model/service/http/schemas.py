"""The things that clients send and see, as JSON Schema (draft 2020-12) for the API reference."""

from typing import Any, Final

from scoring_model.decision.policy import Outcome
from scoring_model.records.countries import COUNTRIES
from scoring_model.records.fields import ADDRESS_PARTS
from scoring_model.records.rules import (
    DOCUMENT_TYPES,
    NAME_LENGTH,
    PART_LENGTH,
    REFERENCE_LENGTH,
    SIGNAL_LENGTH,
    SIGNALS,
    URL_LENGTH,
    URLS,
)
from scoring_model.service.core import request, webhook
from scoring_model.service.core.body import MOST_ERRORS
from scoring_model.service.core.event import EventType
from scoring_model.service.core.resources import IdentityStatus, VerificationStatus
from scoring_model.service.http import examples, patterns

Schema = dict[str, Any]

_UUID: Final[Schema] = {"type": "string", "format": "uuid"}
_TIME: Final[Schema] = {
    "type": "string",
    "format": "date-time",
    "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$",
    "description": "UTC, always with six digits of a second.",
}
_COUNTRY: Final[Schema] = {
    "enum": sorted(COUNTRIES),
    "description": "ISO 3166-1 alpha-2. Lower case is taken too; output is upper case.",
}
_NAME: Final[Schema] = {
    "type": "string",
    "minLength": 1,
    "maxLength": NAME_LENGTH,
    "pattern": patterns.NOT_BLANK,
    "description": f"1 to {NAME_LENGTH} characters after Unicode NFC and trimming.",
}
_PARTS: Final[dict[str, Schema]] = {
    **{part: {"type": "string", "maxLength": PART_LENGTH} for part in ADDRESS_PARTS},
    "country": _COUNTRY,
}
_REFERENCE: Final[Schema] = {"type": "string", "maxLength": REFERENCE_LENGTH}
_PERSON: Final[dict[str, Schema]] = {
    "firstName": _NAME,
    "lastName": _NAME,
    "dob": {
        "type": "string",
        "format": "date",
        "pattern": patterns.BIRTH_DATE,
        "description": "Date of birth, 1900-01-01 or later and not in the future (UTC).",
    },
    "citizenship": _COUNTRY,
    "documentType": {"enum": list(DOCUMENT_TYPES)},
    "imageUrls": {
        "type": "array",
        "maxItems": URLS,
        "items": {
            "type": "string",
            "maxLength": URL_LENGTH,
            "pattern": patterns.IMAGE_URL,
        },
        "description": "https URLs of document images. They are never fetched.",
    },
}


_READINESS: Final[dict[str, Schema]] = {
    "status": {"enum": ["ready"]},
    "erasureIncompleteSince": {
        "type": ["string", "null"],
        "format": "date-time",
        "description": "Since when an erasure waits for the truncation of the write-ahead log (SQLite).",
    },
    "clockBehindSeconds": {
        "type": "integer",
        "minimum": 0,
        "description": "How far the newest event is ahead of this process's clock; 0 up to the tolerance of 5 s.",
    },
}


def reference(name: str) -> Schema:
    """Refer to one of `schemas`."""
    return {"$ref": f"#/components/schemas/{name}"}


def schemas() -> dict[str, Schema]:
    """Describe everything that is sent or shown, by name."""
    return {
        "AddressInput": _input(_PARTS, description="All parts are optional."),
        "Address": _output({part: _nullable(schema) for part, schema in _PARTS.items()}),
        "IdentityInput": _identity_input(),
        "Identity": _identity(),
        "Signals": _signals(),
        "VerificationInput": _verification_input(),
        "Verification": _verification(),
        "WebhookInput": _webhook_input(is_new=True),
        "WebhookUpdate": _webhook_input(is_new=False),
        "Webhook": _webhook(),
        "Nothing": {
            "type": "object",
            "additionalProperties": False,
            "description": "An object without fields.",
        },
        "Event": _event(),
        "Health": _output({"status": {"enum": ["live"]}}),
        "Readiness": _output(_READINESS),
        "Problem": _problem(),
        "ValidationProblem": _validation_problem(),
    }


def _nullable(schema: Schema) -> Schema:
    """Allow null, which means missing in what is sent and absent in what is shown."""
    described = {"description": schema["description"]} if "description" in schema else {}
    rest = {key: value for key, value in schema.items() if key != "description"}
    if isinstance(rest.get("type"), str):
        return {**rest, "type": [rest["type"], "null"], **described}
    if "enum" in rest:
        return {"enum": [*rest["enum"], None], **described}
    return {"anyOf": [rest, {"type": "null"}], **described}


def _input(properties: dict[str, Schema], *, required: tuple[str, ...] = (), **others: Any) -> Schema:
    """An object that is sent: null equals missing, unknown fields are refused."""
    fields = {name: schema if name in required else _nullable(schema) for name, schema in properties.items()}
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "properties": fields, **needed, "additionalProperties": False, **others}


def _output(properties: dict[str, Schema], **others: Any) -> Schema:
    """An object that is shown: every field is there, and there may be more some day."""
    return {"type": "object", "properties": properties, "required": list(properties), **others}


def _identity_input() -> Schema:
    external = {**_REFERENCE, "description": "Your own reference."}
    return _input(
        {**_PERSON, "address": reference("AddressInput"), "externalId": external},
        description="A person. All fields are optional: what is missing leaves the identity `INCOMPLETE`.",
        examples=[examples.IDENTITY_INPUT],
    )


def _identity() -> Schema:
    error = _output({"pointer": {"type": "string", "format": "json-pointer"}, "code": {"type": "string"}})
    properties = {
        "id": {**_UUID, "description": "UUID, version 7."},
        **{name: _nullable(schema) for name, schema in _PERSON.items()},
        "address": _nullable(reference("Address")),
        "externalId": _nullable(_REFERENCE),
        "validated": {
            "type": "boolean",
            "description": "Whether everything that a verification needs is there and every rule holds.",
        },
        "status": {"enum": [status.value for status in IdentityStatus]},
        "validationErrors": {
            "type": "array",
            "items": error,
            "description": "What is implausible; not what is missing.",
        },
        "createdAt": _TIME,
        "updatedAt": _TIME,
    }
    return _output(
        properties, description="An identity. It never changes but by erasure.", examples=[examples.IDENTITY]
    )


def _signals() -> Schema:
    scalar = {
        "anyOf": [
            {"type": "number"},
            {"type": "boolean"},
            {"type": "string", "maxLength": SIGNAL_LENGTH},
            {"type": "null"},
        ]
    }
    return {
        "type": "object",
        "maxProperties": SIGNALS,
        "propertyNames": {"minLength": 1, "maxLength": request.NAME_LENGTH},
        "additionalProperties": scalar,
        "description": (
            "What your identity provider knows, by name. The served model says which names it uses and of what "
            "type; a missing one is a missing value, an unused one is kept and ignored. An empty object counts "
            "as signals that are all missing."
        ),
    }


def _verification_input() -> Schema:
    properties = {
        "identityId": {**_UUID, "description": "A validated identity."},
        "signals": reference("Signals"),
        "subjectId": {**_REFERENCE, "description": "Your own reference for the person."},
        "previousVerificationId": {
            **_UUID,
            "description": "The verification of the same person that was STEPPED_UP and that this one follows.",
        },
    }
    given = [
        {"required": ["identityId"], "properties": {"identityId": {"type": "string"}}},
        {"required": ["signals"], "properties": {"signals": {"type": "object"}}},
    ]
    return _input(
        properties,
        anyOf=given,
        description="Whom to score: an identity, signals, or both.",
        examples=list(examples.VERIFICATION_INPUTS),
    )


def _verification() -> Schema:
    reason = _output(
        {"code": {"type": "string", "pattern": "^[A-Z][A-Z0-9_]*$"}, "description": {"type": "string"}}
    )
    version = _nullable({"type": "string"})
    properties = {
        "id": {**_UUID, "description": "UUID, version 7."},
        "identityId": _nullable(_UUID),
        "subjectId": _nullable(_REFERENCE),
        "status": {
            "enum": [status.value for status in VerificationStatus],
            "description": "Only `COMPLETED` has an outcome. `ERROR` is a technical fault, never a verdict.",
        },
        "scoringOutcome": _nullable({"enum": [outcome.value for outcome in Outcome]}),
        "scoringScore": _nullable(
            {
                "type": "integer",
                "minimum": 0,
                "maximum": 1000,
                "description": (
                    "Higher is riskier. Of genuine applicants a share of 10^(-s/250) scores s or more: 250 is one "
                    "in ten, 500 one in a hundred, 750 one in a thousand."
                ),
            }
        ),
        "reasonCodes": {
            "type": "array",
            "maxItems": 5,
            "items": reason,
            "description": "What pushed the score up, strongest first.",
        },
        "modelVersion": version,
        "policyVersion": version,
        "previousVerificationId": _nullable(_UUID),
        "createdAt": _TIME,
        "completedAt": _nullable(_TIME),
    }
    return _output(
        properties,
        description="A verification. A completed one never changes, except that erasure takes its `subjectId`.",
        examples=[examples.VERIFICATION],
    )


_URL: Final[Schema] = {
    "type": "string",
    "maxLength": webhook.URL_LENGTH,
    "pattern": patterns.DESTINATION_URL,
    "description": "https, without user info and fragment. A service in development takes http too.",
}
_TYPES: Final[Schema] = {
    "type": "array",
    "minItems": 1,
    "maxItems": webhook.MOST_TYPES,
    "items": {"enum": [webhook.EVERYTHING, *webhook.PREFIXES, *(name.value for name in EventType)]},
    "description": (
        "Names of events, prefixes, or `*`. `verification.completed` goes only to webhooks that name it exactly."
    ),
}
_DESCRIPTION: Final[Schema] = {
    "type": "string",
    "maxLength": webhook.DESCRIPTION_LENGTH,
    "pattern": patterns.NO_NUL,
}


def _webhook_input(*, is_new: bool) -> Schema:
    default = {"default": [webhook.EVERYTHING]} if is_new else {}
    properties = {
        "destinationUrl": _URL,
        "active": {"type": "boolean"},
        "eventTypes": {**_TYPES, **default},
        "description": _DESCRIPTION,
    }
    what = (
        "Where events go."
        if is_new
        else "Fields that are left out keep their value; blank text clears `description`."
    )
    return _input(
        properties,
        required=("destinationUrl", "active"),
        description=what,
        examples=[examples.WEBHOOK_INPUT],
    )


def _webhook() -> Schema:
    secret = {
        "type": "string",
        "pattern": "^whsec_[A-Za-z0-9+/]+=*$",
        "description": "Signs deliveries. Shown by create and rotate-secret only.",
    }
    properties = {
        "id": _UUID,
        "destinationUrl": {"type": "string"},
        "active": {"type": "boolean"},
        "eventTypes": {"type": "array", "items": {"type": "string"}},
        "description": _nullable(_DESCRIPTION),
        "secret": _nullable(secret),
        "disabledReason": _nullable({"type": "string", "description": "Why the service disabled it."}),
        "createdAt": _TIME,
        "updatedAt": _TIME,
    }
    return _output(properties, examples=[examples.WEBHOOK])


def _event() -> Schema:
    data = {
        "type": "object",
        "properties": {
            "id": {**_UUID, "description": "Of the identity, verification or webhook."},
            "identityId": _nullable(_UUID),
            "status": {"type": "string"},
            "scoringOutcome": _nullable({"enum": [outcome.value for outcome in Outcome]}),
            "scoringScore": _nullable({"type": "integer", "minimum": 0, "maximum": 1000}),
            "modelVersion": _nullable({"type": "string"}),
            "disabledReason": {"type": "string"},
            "sequence": {
                "type": "integer",
                "minimum": 1,
                "description": "Grows by one with every event of yours, in the order of commits.",
            },
        },
        "required": ["id", "sequence"],
    }
    properties = {"type": {"enum": [name.value for name in EventType]}, "timestamp": _TIME, "data": data}
    return _output(properties, description="Thin, and without personal data.", examples=[examples.EVENT])


_PROBLEM: Final[dict[str, Schema]] = {
    "type": {"type": "string", "format": "uri-reference"},
    "title": {"type": "string"},
    "status": {"type": "integer", "minimum": 400, "maximum": 599},
    "detail": {"type": "string"},
    "instance": {"type": "string", "format": "uri", "description": "`urn:uuid:` and the request id."},
    "code": {"type": "string", "pattern": "^[a-z][a-z_]*$", "description": "Stable; compare this one."},
    "requestId": {**_UUID, "description": "As in `X-Request-Id`."},
}


def _problem() -> Schema:
    return _output(dict(_PROBLEM), description="RFC 9457.", examples=[examples.PROBLEM])


def _validation_problem() -> Schema:
    error = _output(
        {
            "pointer": {
                "type": "string",
                "format": "json-pointer",
                "description": "Into the body; empty for the whole body, and for what is wrong beside it.",
            },
            "code": {"type": "string"},
            "detail": {"type": "string"},
        }
    )
    errors = {
        "type": "array",
        "minItems": 1,
        "maxItems": MOST_ERRORS,
        "items": error,
        "description": f"All of them at once, up to {MOST_ERRORS}.",
    }
    shown = _output(
        {**_PROBLEM, "errors": errors}, description="RFC 9457.", examples=[examples.VALIDATION_PROBLEM]
    )
    shown["properties"]["errorsOmitted"] = {
        "type": "integer",
        "minimum": 1,
        "description": f"How many errors there are beyond the first {MOST_ERRORS}; absent when there are none.",
    }
    return shown
