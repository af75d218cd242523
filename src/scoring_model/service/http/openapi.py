"""The API reference as OpenAPI 3.1, generated from the operations and the models of the contract.

Clients generate code from a committed copy, which `python -m scoring_model.service.http.openapi > docs/openapi.json`
writes.
"""

import inspect
import json
import re
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from scoring_model.contract.delivery import Delivery
from scoring_model.contract.event import Event
from scoring_model.contract.identity import Identity, IdentityInput
from scoring_model.contract.label import LabelInput, LabelReport, LabelsInput
from scoring_model.contract.operator_list import (
    ListChanged,
    ListEntriesInput,
    ListRemovalInput,
    OperatorList,
    OperatorLists,
)
from scoring_model.contract.problem import ConflictProblem, Problem, ValidationProblem
from scoring_model.contract.resolution import Resolution, ResolutionInput, Resolutions
from scoring_model.contract.resource import Nothing, example
from scoring_model.contract.verification import Verification, VerificationInput
from scoring_model.contract.webhook import Webhook, WebhookInput, WebhookUpdate
from scoring_model.service.http.errors import MEDIA_TYPE
from scoring_model.service.http.operation import KEY_LENGTH, PAGE, Operation
from scoring_model.service.http.operations import (
    DESCRIPTION,
    LIVE,
    OPERATIONS,
    READY,
    Health,
    Readiness,
)

_Json = dict[str, Any]

_OVERVIEW: Final = """\
Create an identity, read whether it is `validated` or which `missingFields` it lacks, have it verified, and decide by
`scoringOutcome` and `scoringScore`. A client with its own identity provider sends that provider's `signals` and uses
only verifications. Webhooks report results as they come. What becomes known about a verification later is reported as a
label.

**Credentials.** Every request below `/scoring` carries `x-client-id` and `x-api-key`. A pair that is missing, unknown,
expired, revoked or mixed up is answered with 401, always with the same body. A repeated header counts as
missing. An address (of IPv6, a /64) with more than 60 failures a minute is answered with 429; a valid pair is never
refused because of them. A key has scopes; without the required one the answer is 403. Resources of other clients are
answered with 404.

**Rate limit.** 6,000 requests a minute for each client, unless agreed otherwise, from a bucket that refills
continuously. Every authenticated answer reports the remaining quota in `RateLimit` and `RateLimit-Policy`. After a 429,
wait as long as `Retry-After` says.

**Bodies** are JSON as in RFC 7493: UTF-8, no byte order mark, no repeated name in an object, numbers that a double can
hold, no lone surrogates and no noncharacters; nested at most 64 deep and at most 256 KiB long. In requests null equals
missing, and unknown fields and query parameters are refused; answers have every field, null when absent, and may have
more fields in the future. Times are RFC 3339 in UTC with six digits of a second.

**Checks** come in this order: 401, 429, 404 or 405 of the path, 403, 413, 415, 400, the idempotency key, 422, and then
404 or 409 of the state. A malformed id in a path is treated as unknown.

**Methods.** HEAD answers wherever GET does, with the same headers and no body. Any other method that a path does not
list is answered with 405 and `Allow`, OPTIONS among them.

**Errors** are `application/problem+json` (RFC 9457). Compare `code`. With 422, `errors` lists all violations, each
with a JSON Pointer into the body; a violation outside of the body, such as in a query parameter, has the pointer of the
whole body. At most 100 errors are listed; `errorsOmitted` is the number of the others, if any. Of a list or `signals`
with too many items, only the allowed number is checked. Errors never contain values of the request.

**Idempotency.** Any POST may carry an `Idempotency-Key` of 1 to 255 printable ASCII characters. For 24 hours the same
key on the same path with the same bytes gets the first successful answer again, with `Idempotency-Replayed: true`. With
other bytes it is refused with 422; while the first request is in progress, with 409. Other methods ignore the header. A
key that is empty, too long or repeated is refused with 422, `idempotency_key_invalid`.

**Caching.** GET of one identity or webhook may be kept for 60 s, of one completed verification for 300 s, privately;
`If-None-Match` with an `ETag` gives 304. Everything else is `no-store`.

Every answer has an `X-Request-Id`, which is the last part of `instance` in errors. The service generates it and ignores
one that a client sends.
"""

_TAGS: Final = {
    "Verifications": "Risk scorings of identities, of signals, or of both.",
    "Webhooks": "Where events go.",
    "Identities": "Persons and their data.",
    "Labels": "What became known about verifications.",
    "Resolutions": "How step-ups and reviews ended.",
    "Lists": "Values whose applicants pass, are stepped up or fail.",
}

_EVENTS: Final = """\
Sent to `destinationUrl`, signed as in Standard Webhooks: HMAC-SHA256 of `{webhook-id}.{webhook-timestamp}.{body}` under
the secret. Check it, refuse old timestamps, answer 2xx within 15 s, and do the work afterwards. An event may arrive
more than once, always with the same `webhook-id`, and out of order: `sequence` gives the order. The service
repeats a failed attempt after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h.
"""

_REFERENCE: Final = "#/components/schemas/{model}"
_SENT: Final = (
    IdentityInput,
    VerificationInput,
    WebhookInput,
    WebhookUpdate,
    LabelInput,
    LabelsInput,
    ResolutionInput,
    ListEntriesInput,
    ListRemovalInput,
    Nothing,
)
_SHOWN: Final = (
    Identity,
    Verification,
    Webhook,
    Delivery,
    LabelReport,
    Resolution,
    Resolutions,
    ListChanged,
    OperatorList,
    OperatorLists,
    Event,
    Health,
    Readiness,
    Problem,
    ConflictProblem,
    ValidationProblem,
)

_TEXT: Final = {"type": "string"}
_HEADERS: Final[dict[str, tuple[str, _Json]]] = {
    "X-Request-Id": (
        "Generated by the service; quote it when you report a problem to the operator.",
        {"type": "string", "format": "uuid"},
    ),
    "RateLimit-Policy": ('Quota and window in seconds, such as `"default";q=6000;w=60`.', _TEXT),
    "RateLimit": ('Remaining quota, and seconds until it is full: `"default";r=5999;t=1`.', _TEXT),
    "Cache-Control": ("`no-store` unless the reference says otherwise.", _TEXT),
    "ETag": ("Changes whenever the answer does.", _TEXT),
    "Vary": ("The headers of credentials.", _TEXT),
    "Location": ("Path of the new resource.", {"type": "string", "format": "uri-reference"}),
    "Retry-After": ("Seconds to wait.", {"type": "integer", "minimum": 1}),
    "Idempotency-Replayed": ("Present if this repeats an earlier answer.", {"const": "true"}),
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
        "The state forbids it: `identity_not_validated` (with `missingFields`), `webhook_limit`, `not_completed`, "
        "`erased` or `too_many_resolutions` of a resolution, or, while the "
        "same request is under way, `idempotency_in_progress`.",
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
        "The quota is spent (`rate_limited`), an earlier report of labels or change of a list is under way "
        "(`one_at_a_time`), or too many wrong credentials came from the address (`too_many_failures`, without "
        "`RateLimit`).",
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
_ANYWHERE: Final = (400, 431, 500)
"""Error statuses of every operation: malformed HTTP, headers too large, internal error."""
_SECURITY: Final = {
    "clientId": {"type": "apiKey", "in": "header", "name": "x-client-id", "description": "Who you are."},
    "apiKey": {
        "type": "apiKey",
        "in": "header",
        "name": "x-api-key",
        "description": "A secret of the client. It is shown once, when it is issued.",
    },
}


def openapi() -> _Json:
    """Describe the whole interface: a document of the OpenAPI Specification 3.1.1."""
    paths: dict[str, _Json] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.1",
        "info": {
            "title": "Identity verification and risk scoring",
            "version": version("scoring-model"),
            "summary": "Identities, risk-scoring verifications, and webhooks that report them.",
            "description": _OVERVIEW,
            "license": {"name": "Apache 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/", "description": "This service."}],
        "security": [{"clientId": [], "apiKey": []}],
        "tags": [{"name": name, "description": text} for name, text in _TAGS.items()],
        "paths": {**paths, **_public_paths()},
        "webhooks": {"event": {"post": _delivery()}},
        "components": {
            "headers": {
                name: {"description": text, "schema": shape} for name, (text, shape) in _HEADERS.items()
            },
            "parameters": _parameters(),
            "responses": {ERRORS[status][0]: _error(status) for status in ERRORS},
            "schemas": _schemas(),
            "securitySchemes": _SECURITY,
        },
    }


def _operation(operation: Operation) -> _Json:
    summary, *paragraphs = (inspect.getdoc(operation.answer) or "").split("\n\n")
    text = " ".join("\n".join(paragraphs).split())
    described: _Json = {
        "operationId": operation.name,
        "tags": [operation.permission.value.capitalize()],
        "summary": summary.removesuffix("."),
        "description": f"{text}\n\nScope: `{operation.permission.value}`.",
    }
    if parameters := _parameters_of(operation):
        described["parameters"] = parameters
    if operation.body is not None:
        content = {"application/json": {"schema": schema(operation.body)}}
        described["requestBody"] = {"required": operation.body is not Nothing, "content": content}
    answers = {str(status): _success(operation, status) for status in operation.statuses}
    if operation.cached:
        names = ("X-Request-Id", "RateLimit-Policy", "RateLimit", "ETag", "Cache-Control", "Vary")
        answers["304"] = {"description": "Not modified.", "headers": headers(*names)}
    described["responses"] = {**answers, **error_responses(_error_statuses(operation))}
    return described


def _error_statuses(operation: Operation) -> list[int]:
    statuses = {*_ANYWHERE, 401, 403, 413, 422, 429, 503}
    if "{id}" in operation.path:
        statuses.add(404)
    if operation.body is not None:
        statuses |= {408, 415}
    if operation.method == "POST":
        statuses.add(409)
    return sorted(statuses)


def _parameters_of(operation: Operation) -> list[_Json]:
    names = []
    if "{id}" in operation.path:
        names.append("Id")
    if operation.method == "POST":
        names.append("IdempotencyKey")
    if operation.cached:
        names.append("IfNoneMatch")
    names += [parameter.name for parameter in operation.parameters.values()]
    return [{"$ref": f"#/components/parameters/{name}"} for name in names]


def _success(operation: Operation, status: int) -> _Json:
    names = ["X-Request-Id", "RateLimit-Policy", "RateLimit", "Cache-Control"]
    if operation.method == "POST":
        names.append("Idempotency-Replayed")
    if status != 200:
        names.append("Location")
    if status == 202:
        names.append("Retry-After")
    if operation.cached:
        names += ["ETag", "Vary"]
    shown: _Json = schema(operation.shown)
    answered: object = operation.pending if status == 202 else operation.example or example(operation.shown)
    if operation.parameters:
        names.append("Link")
        shown = {"type": "array", "maxItems": PAGE, "items": shown}
        answered = [answered]
    text = {200: "Done.", 201: "Created.", 202: "Accepted; will be finished later."}[status]
    return {
        "description": text,
        "headers": headers(*names),
        "content": {"application/json": {"schema": shown, "example": answered}},
    }


def _public_paths() -> dict[str, _Json]:
    """Pages without credentials that programs read."""
    live = _public("isLive", "Whether the process is alive", schema(Health), {"status": "live"})
    ready = _public(
        "isReady",
        "Whether the process is ready for requests",
        schema(Readiness),
        {
            "status": "ready",
            "erasureIncompleteSince": None,
            "clockBehindSeconds": 0,
            "modelVersion": "identity-3f2a9c1d5e70",
            "policyVersion": "8a1b2c3d4e5f",
            "servingSince": "2026-06-01T12:00:00.000000Z",
            "bundleProblem": None,
            "lastRefusedBundle": None,
        },
    )
    ready["responses"]["503"] = {
        "description": "The database does not answer, or no model is loaded.",
        "headers": headers("X-Request-Id", "Cache-Control", "Retry-After"),
        "content": {MEDIA_TYPE: {"schema": schema(Problem)}},
    }
    described = _public("getDescription", "This description", {"type": "object"}, {"openapi": "3.1.1"})
    return {
        LIVE: {"get": live},
        READY: {"get": ready},
        DESCRIPTION: {"get": described},
    }


def _public(name: str, summary: str, shown: _Json, example: object) -> _Json:
    return {
        "operationId": name,
        "summary": summary,
        "description": "Needs no credentials.",
        "security": [],
        "responses": {
            "200": {
                "description": "Yes.",
                "headers": headers("X-Request-Id", "Cache-Control"),
                "content": {"application/json": {"schema": shown, "example": example}},
            },
            **error_responses(_ANYWHERE),
        },
    }


def _delivery() -> _Json:
    """Describe the requests that the service sends to webhooks."""
    texts = {
        "webhook-id": "Of the event; the same on every attempt.",
        "webhook-timestamp": "Of this attempt, in seconds since 1970-01-01 UTC.",
        "webhook-signature": "`v1,` and base64; two, separated by a space, while a secret is being rotated.",
    }
    parameters = [
        {"name": name, "in": "header", "required": True, "description": text, "schema": {"type": "string"}}
        for name, text in texts.items()
    ]
    return {
        "operationId": "deliverEvent",
        "tags": ["Webhooks"],
        "summary": "An event",
        "description": _EVENTS,
        "security": [],
        "parameters": parameters,
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": schema(Event), "example": example(Event)}},
        },
        "responses": {
            "2XX": {"description": "Delivered."},
            "410": {"description": "Disables the webhook immediately."},
            "default": {"description": "Anything else, including redirects, is a failure and is retried."},
        },
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


def _error(status: int) -> _Json:
    _, text, names = ERRORS[status]
    shapes: dict[int, type[Problem]] = {409: ConflictProblem, 422: ValidationProblem}
    shape = schema(shapes.get(status, Problem))
    return {
        "description": text,
        "headers": headers(*_ALWAYS, *names),
        "content": {MEDIA_TYPE: {"schema": shape}},
    }


def _parameters() -> _Json:
    """Describe the shared parameters of operations."""
    # Printable ASCII. Outer blanks are not part of a header's value.
    key = {"type": "string", "minLength": 1, "maxLength": KEY_LENGTH, "pattern": "^[!-~](?:[ -~]*[!-~])?$"}
    queries = {
        parameter.name: _optional(name, "query", parameter.description, dict(parameter.schema))
        for operation in OPERATIONS
        for name, parameter in operation.parameters.items()
    }
    return {
        "Id": {
            "name": "id",
            "in": "path",
            "required": True,
            "description": "A malformed id is treated as unknown.",
            "schema": {"type": "string", "format": "uuid"},
            "example": example(Identity)["id"],
        },
        "IdempotencyKey": _optional(
            "Idempotency-Key", "header", "Makes it safe to repeat this request.", key
        ),
        "IfNoneMatch": _optional(
            "If-None-Match", "header", "`ETag` of your cached copy.", {"type": "string"}
        ),
        **queries,
    }


def _optional(name: str, place: str, text: str, shape: _Json) -> _Json:
    return {"name": name, "in": place, "required": False, "description": text, "schema": shape}


def _schemas() -> dict[str, _Json]:
    """Return the JSON Schemas (draft 2020-12) of all requests and responses, by name."""
    models: list[tuple[type[BaseModel], JsonSchemaMode]] = [(kind, "validation") for kind in _SENT]
    models += [(kind, "serialization") for kind in _SHOWN]
    found: dict[str, _Json]
    found = models_json_schema(models, ref_template=_REFERENCE, schema_generator=_Generator)[1]["$defs"]
    for schema in found.values():
        schema.pop("title", None)
        if "description" in schema:
            # Sections of a docstring are for readers of the code only.
            words = re.split(r"\n\n(?:Attributes|Parameters)\n", schema["description"])[0]
            schema["description"] = " ".join(words.split())
    return found


class _Generator(GenerateJsonSchema):
    """Omits titles that repeat names, and null defaults."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Return False."""
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Write a default unless it is null."""
        found = super().default_schema(schema)
        if found.get("default", "") in (None, (), []):
            del found["default"]
        return found

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        """Write null as an additional type or value, which client generators handle best."""
        inner = self.generate_inner(schema["schema"])
        if isinstance(inner.get("type"), str):
            return {**inner, "type": [inner["type"], "null"]}
        if "enum" in inner:
            return {**inner, "enum": [*inner["enum"], None]}
        return super().nullable_schema(schema)


if __name__ == "__main__":
    print(json.dumps(openapi(), indent=2, ensure_ascii=False))
