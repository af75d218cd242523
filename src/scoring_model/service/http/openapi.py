"""The API reference as OpenAPI 3.1, generated from the operations and the models of the contract.

Clients generate code from a committed copy, which `python -m scoring_model.service.http.openapi > docs/openapi.json`
writes.
"""

import json
from importlib.metadata import version
from typing import Any, Final

from pydantic import BaseModel

from scoring_model.contract.body import Nothing
from scoring_model.contract.event import Event
from scoring_model.contract.health import Health, Readiness
from scoring_model.contract.problem import Problem
from scoring_model.contract.resource import example
from scoring_model.service.clients import Permission
from scoring_model.service.http.application import OPERATIONS
from scoring_model.service.http.components import components, error_responses, headers, schema
from scoring_model.service.http.errors import MEDIA_TYPE
from scoring_model.service.http.operation import PAGE, Operation
from scoring_model.service.http.public import DESCRIPTION, LIVE, READY

_Json = dict[str, Any]

_OVERVIEW: Final = """\
Create an identity, read whether it is `validated`, have it verified, and decide by `scoringOutcome` and
`scoringScore`. A client with an identity provider of its own sends that provider's `signals` and uses verifications
alone. Webhooks report results as they come.

**Credentials.** Every request below `/scoring` carries `x-client-id` and `x-api-key`. A pair that is missing, unknown,
expired, revoked or mixed up is answered with 401, always with the same body. A header that comes twice counts as
missing. An address (of IPv6, a /64) with more than 60 failures a minute is answered with 429; a good pair is never
refused for its neighbours. A key has scopes; without the right one the answer is 403. What belongs to another client
is not found.

**Rate limit.** 6,000 requests a minute for each client, unless agreed otherwise, from a bucket that refills
continuously. Every authenticated answer reports what is left in `RateLimit` and `RateLimit-Policy`. On 429 wait as
long as `Retry-After` says.

**Bodies** are JSON as in RFC 7493: UTF-8, no byte order mark, no name twice in an object, numbers that a double can
hold, no lone surrogates and no noncharacters; nested at most 64 deep and at most 256 KiB long. In requests null equals
missing, and unknown fields and query parameters are refused; answers show every field, null when absent, and may have
more fields some day. Times are RFC 3339 in UTC with six digits of a second.

**Checks** come in this order: 401, 429, 404 or 405 of the path, 403, 413, 415, 400, the idempotency key, 422, and then
404 or 409 of the state. A malformed id in a path is treated as one that is unknown.

**Methods.** HEAD answers wherever GET does, with the same headers and no body. Any other method that a path does not
list is answered with 405 and `Allow`, OPTIONS among them.

**Errors** are `application/problem+json` (RFC 9457). Compare `code`. With 422, `errors` lists all that is wrong, each
with a JSON Pointer into the body; what is wrong beside the body, such as with a query parameter, has the pointer of
the whole body. At most 100 errors are listed; `errorsOmitted` is the number of the others, if there are any. Of a list
or of `signals` with too many items only as many as are allowed are looked at. Values that were sent are never repeated.

**Idempotency.** Any POST may carry an `Idempotency-Key` of 1 to 255 printable ASCII characters. For 24 hours the same
key on the same path with the same bytes gets the first successful answer again, with `Idempotency-Replayed: true`. With
other bytes it is refused with 422, while the first is under way with 409. Other methods ignore the header. A key that
is empty, too long, or comes twice is refused with 422, `idempotency_key_invalid`.

**Caching.** GET of one identity or webhook may be kept for 60 s, of one completed verification for 300 s, privately;
`If-None-Match` with an `ETag` gives 304. Everything else is `no-store`.

`X-Request-Id` stands on every answer and is the last part of `instance` in errors. The service makes it and
ignores one that a client sends.
"""

_TAGS: Final = {
    "Verifications": "Risk scorings of identities, of signals, or of both.",
    "Webhooks": "Where events go.",
    "Identities": "Persons and their data.",
}

_EVENTS: Final = """\
Sent to `destinationUrl`, signed as in Standard Webhooks: HMAC-SHA256 of `{webhook-id}.{webhook-timestamp}.{body}` under
the secret. Check it, refuse old timestamps, answer 2xx within 15 s, and do the work afterwards. An event may come more
than once, always under the same `webhook-id`, and out of order: `sequence` gives the order. The service
repeats a failed attempt after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h.
"""

_ANYWHERE: Final = (400, 431, 500)
"""Statuses of errors that every operation may give: malformed HTTP, too long headers, a fault."""
_TAG_OF: Final = {
    Permission.IDENTITIES: "Identities",
    Permission.VERIFICATIONS: "Verifications",
    Permission.WEBHOOKS: "Webhooks",
}


def openapi() -> _Json:
    """Describe the whole interface.

    Returns
    -------
    dict of str to object
        An OpenAPI 3.1.1 document.

    References
    ----------
    OpenAPI Specification 3.1.1.
    """
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
        "components": {**components(), "securitySchemes": _security()},
    }


def _operation(operation: Operation) -> _Json:
    reference = operation.reference
    described: _Json = {
        "operationId": reference.name,
        "tags": [_TAG_OF[operation.permission]],
        "summary": reference.summary,
        "description": f"{reference.text}\n\nScope: `{operation.permission.value}`.",
    }
    if parameters := _parameters(operation):
        described["parameters"] = parameters
    if operation.body is not None:
        described["requestBody"] = _request(operation.body)
    answers = {str(status): _success(operation, status) for status in reference.statuses}
    if reference.cached:
        names = ("X-Request-Id", "RateLimit-Policy", "RateLimit", "ETag", "Cache-Control", "Vary")
        answers["304"] = {"description": "You have it already.", "headers": headers(*names)}
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


def _parameters(operation: Operation) -> list[_Json]:
    names = []
    if "{id}" in operation.path:
        names.append("Id")
    if operation.method == "POST":
        names.append("IdempotencyKey")
    if operation.reference.cached:
        names.append("IfNoneMatch")
    names += [name.capitalize() for name in sorted(operation.parameters, reverse=True)]
    return [{"$ref": f"#/components/parameters/{name}"} for name in names]


def _request(body: type[BaseModel]) -> _Json:
    return {"required": body is not Nothing, "content": {"application/json": {"schema": schema(body)}}}


def _success(operation: Operation, status: int) -> _Json:
    reference = operation.reference
    names = ["X-Request-Id", "RateLimit-Policy", "RateLimit", "Cache-Control"]
    if operation.method == "POST":
        names.append("Idempotency-Replayed")
    if status != 200:
        names.append("Location")
    if status == 202:
        names.append("Retry-After")
    if reference.cached:
        names += ["ETag", "Vary"]
    shown: _Json = schema(reference.shown)
    answered: object = reference.pending if status == 202 else reference.example or example(reference.shown)
    if operation.parameters:
        names.append("Link")
        shown = {"type": "array", "maxItems": PAGE, "items": shown}
        answered = [answered]
    text = {200: "Done.", 201: "Created.", 202: "Accepted; it is finished later."}[status]
    return {
        "description": text,
        "headers": headers(*names),
        "content": {"application/json": {"schema": shown, "example": answered}},
    }


def _public_paths() -> dict[str, _Json]:
    """Pages without credentials that programs read."""
    live = _public("isLive", "Whether the process lives", schema(Health), {"status": "live"})
    ready = _public(
        "isReady",
        "Whether the process should get requests",
        schema(Readiness),
        {"status": "ready", "erasureIncompleteSince": None, "clockBehindSeconds": 0},
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
    """What the service sends to webhooks."""
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
            "410": {"description": "Disables the webhook at once."},
            "default": {"description": "Anything else, redirects included, is a failure and is tried again."},
        },
    }


def _security() -> _Json:
    return {
        "clientId": {"type": "apiKey", "in": "header", "name": "x-client-id", "description": "Who you are."},
        "apiKey": {
            "type": "apiKey",
            "in": "header",
            "name": "x-api-key",
            "description": "A secret of the client. It is shown once, when it is issued.",
        },
    }


if __name__ == "__main__":
    print(json.dumps(openapi(), indent=2, ensure_ascii=False))
