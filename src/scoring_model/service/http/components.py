"""What operations share in the API reference: schemas, headers, parameters, and one response for each error status."""

import re
from collections.abc import Iterable
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from scoring_model.contract import patterns
from scoring_model.contract.body import Nothing
from scoring_model.contract.event import Event
from scoring_model.contract.health import Health, Readiness
from scoring_model.contract.identity import Identity, IdentityInput
from scoring_model.contract.problem import Problem, ValidationProblem
from scoring_model.contract.resource import example
from scoring_model.contract.verification import Verification, VerificationInput
from scoring_model.contract.webhook import Webhook, WebhookInput, WebhookUpdate
from scoring_model.service.http.errors import MEDIA_TYPE
from scoring_model.service.http.operation import KEY_LENGTH, PAGE

_Json = dict[str, Any]
_REFERENCE: Final = "#/components/schemas/{model}"
_SENT: Final = (IdentityInput, VerificationInput, WebhookInput, WebhookUpdate, Nothing)
_SHOWN: Final = (Identity, Verification, Webhook, Event, Health, Readiness, Problem, ValidationProblem)

_TEXT: Final = {"type": "string"}
_SECONDS: Final = {"type": "integer", "minimum": 1}
_HEADERS: Final[dict[str, tuple[str, _Json]]] = {
    "X-Request-Id": (
        "Made by the service; name it when you report a problem to the operator.",
        {"type": "string", "format": "uuid"},
    ),
    "RateLimit-Policy": ('Quota and window in seconds, such as `"default";q=6000;w=60`.', _TEXT),
    "RateLimit": ('What is left, and seconds until all is: `"default";r=5999;t=1`.', _TEXT),
    "Cache-Control": ("`no-store` unless the reference says otherwise.", _TEXT),
    "ETag": ("Changes whenever the answer does.", _TEXT),
    "Vary": ("The headers of credentials.", _TEXT),
    "Location": ("Path of what was created.", {"type": "string", "format": "uri-reference"}),
    "Retry-After": ("Seconds to wait.", _SECONDS),
    "Idempotency-Replayed": ("There when the answer was given before.", {"const": "true"}),
    "Link": ('The next page, with `rel="next"`; absent on the last one.', _TEXT),
    "Allow": ("Methods of the path.", _TEXT),
    "WWW-Authenticate": ("Names the scheme; both headers are needed.", _TEXT),
}
_ALWAYS: Final = ("X-Request-Id", "Cache-Control")
_QUOTA: Final = ("RateLimit-Policy", "RateLimit")
ERRORS: Final[dict[int, tuple[str, str, tuple[str, ...]]]] = {
    400: (
        "Malformed",
        "The body is not I-JSON (RFC 7493), `malformed_json`, or the request is not HTTP/1.1, `malformed_request` "
        "(without `RateLimit`).",
        _QUOTA,
    ),
    401: (
        "Unauthorized",
        "Credentials are missing, wrong, expired or revoked: `unauthorized`.",
        ("WWW-Authenticate",),
    ),
    403: ("Forbidden", "The API key lacks the scope: `missing_scope`.", _QUOTA),
    404: ("NotFound", "You have no such resource: `not_found`.", _QUOTA),
    405: ("MethodNotAllowed", "The path has no such method: `method_not_allowed`.", (*_QUOTA, "Allow")),
    408: ("BodyTooSlow", "The body did not arrive in time: `request_timeout`.", _QUOTA),
    409: (
        "Conflict",
        "The state forbids it: `identity_not_validated`, `webhook_limit`, or, while the same request is under "
        "way, `idempotency_in_progress`.",
        _QUOTA,
    ),
    413: ("BodyTooLarge", "The body has more than 256 KiB: `body_too_large`.", _QUOTA),
    415: ("UnsupportedMediaType", "The body is not `application/json`: `unsupported_media_type`.", _QUOTA),
    422: (
        "Invalid",
        "The request breaks rules, all of which are listed: `invalid_request`, `batch_unsupported`, or "
        "`idempotency_key_reused` for a key that an earlier request used with another body.",
        _QUOTA,
    ),
    429: (
        "TooManyRequests",
        "The quota is spent (`rate_limited`), or too many wrong credentials came from the address "
        "(`too_many_failures`, without `RateLimit`).",
        (*_QUOTA, "Retry-After"),
    ),
    431: ("HeadersTooLarge", "The headers have more than 64 KiB: `headers_too_large`.", ()),
    500: ("InternalError", "A fault of the service: `internal_error`.", _QUOTA),
    503: (
        "Unavailable",
        "No model is loaded, the database does not answer, or the queue is full: `unavailable`.",
        ("Retry-After",),
    ),
}


def schema(kind: type[BaseModel]) -> _Json:
    """Refer to the schema of a model."""
    return {"$ref": _REFERENCE.format(model=kind.__name__)}


def headers(*names: str) -> dict[str, _Json]:
    """Refer to headers by name."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def error_responses(statuses: Iterable[int]) -> dict[str, _Json]:
    """Refer to the responses of some statuses."""
    return {str(status): {"$ref": f"#/components/responses/{ERRORS[status][0]}"} for status in statuses}


def components() -> _Json:
    """Describe schemas, headers, parameters and errors."""
    return {
        "headers": {name: {"description": text, "schema": shape} for name, (text, shape) in _HEADERS.items()},
        "parameters": _parameters(),
        "responses": {ERRORS[status][0]: _error(status) for status in ERRORS},
        "schemas": _schemas(),
    }


def _error(status: int) -> _Json:
    _, text, names = ERRORS[status]
    shape = schema(ValidationProblem if status == 422 else Problem)
    return {
        "description": text,
        "headers": headers(*_ALWAYS, *names),
        "content": {MEDIA_TYPE: {"schema": shape}},
    }


def _parameters() -> _Json:
    """What several operations take beside a body."""
    key = {"type": "string", "minLength": 1, "maxLength": KEY_LENGTH, "pattern": patterns.KEY}
    limit = {"type": "integer", "minimum": 1, "maximum": PAGE, "default": PAGE}
    cursor = {"type": "string", "pattern": patterns.CURSOR}
    return {
        "Id": {
            "name": "id",
            "in": "path",
            "required": True,
            "description": "A malformed one is answered as one that is unknown.",
            "schema": {"type": "string", "format": "uuid"},
            "example": example(Identity)["id"],
        },
        "IdempotencyKey": _optional("Idempotency-Key", "header", "Makes it safe to send this again.", key),
        "IfNoneMatch": _optional("If-None-Match", "header", "`ETag` of what you have.", {"type": "string"}),
        "Limit": _optional("limit", "query", "Webhooks on a page.", limit),
        "Cursor": _optional("cursor", "query", "As it stands in a `Link`.", cursor),
    }


def _optional(name: str, place: str, text: str, shape: _Json) -> _Json:
    return {"name": name, "in": place, "required": False, "description": text, "schema": shape}


def _schemas() -> dict[str, _Json]:
    """JSON Schemas (draft 2020-12) of everything that is sent or shown, by name."""
    models: list[tuple[type[BaseModel], JsonSchemaMode]] = [(kind, "validation") for kind in _SENT]
    models += [(kind, "serialization") for kind in _SHOWN]
    found: dict[str, _Json]
    found = models_json_schema(models, ref_template=_REFERENCE, schema_generator=_Generator)[1]["$defs"]
    for schema in found.values():
        schema.pop("title", None)
        if "description" in schema:
            # The sections of a docstring are for readers of the code.
            words = re.split(r"\n\n(?:Attributes|Parameters)\n", schema["description"])[0]
            schema["description"] = " ".join(words.split())
    return found


class _Generator(GenerateJsonSchema):
    """Leaves out titles that repeat names, and defaults of null."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Set none."""
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Write a default that is not null."""
        found = super().default_schema(schema)
        if found.get("default", "") in (None, (), []):
            del found["default"]
        return found

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        """Write null as one more type or value, which generators of clients read best."""
        inner = self.generate_inner(schema["schema"])
        if isinstance(inner.get("type"), str):
            return {**inner, "type": [inner["type"], "null"]}
        if "enum" in inner:
            return {**inner, "enum": [*inner["enum"], None]}
        return super().nullable_schema(schema)
