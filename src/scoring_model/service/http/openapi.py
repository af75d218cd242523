"""The API reference as OpenAPI 3.1: everything that can be asked and answered, from the table of operations.

What this file adds to the table are words. Clients generate code from a committed copy, which
`python -m scoring_model.service.http.openapi > docs/openapi.json` writes anew.
"""

import json
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Final

from scoring_model.contract.event import Event
from scoring_model.contract.identity import Identity, IdentityInput
from scoring_model.contract.verification import Verification
from scoring_model.contract.webhook import Webhook
from scoring_model.service.core.resources import Permission
from scoring_model.service.http import health
from scoring_model.service.http.components import components, error_responses, headers
from scoring_model.service.http.operation import Body, Operation
from scoring_model.service.http.operations import OPERATIONS
from scoring_model.service.http.overview import EVENTS, OVERVIEW, TAGS
from scoring_model.service.http.parameters import PAGE
from scoring_model.service.http.problems import MEDIA_TYPE
from scoring_model.service.http.public import DESCRIPTION
from scoring_model.service.http.schemas import example, schemas
from scoring_model.service.http.schemas import reference as schema

_Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """What the reference says of an operation beyond what the table knows."""

    name: str
    summary: str
    text: str
    shown: str
    example: object
    sent: str | None = None
    statuses: tuple[int, ...] = (200,)
    conflict: bool = False
    cached: bool = False


_PENDING: Final = {
    **example(Verification),
    "status": "PENDING",
    "reasonCodes": [],
    **dict.fromkeys(("scoringOutcome", "scoringScore", "modelVersion", "policyVersion", "completedAt")),
}
_WITH_SECRET: Final = {**example(Webhook), "secret": "whsec_ZXhhbXBsZSBvZiBhIHNlY3JldCBvZiAzMiBieXRlcyE="}
_SHOWN_ONCE: Final = "The secret is shown here and never again."
_WORDS: Final[dict[tuple[str, str], _Words]] = {
    ("POST", "/scoring/v1/identities"): _Words(
        name="createIdentity",
        summary="Create an identity",
        text="Stores a person and says whether everything that a verification needs is there.",
        sent="IdentityInput",
        shown="Identity",
        example=example(Identity),
        statuses=(201,),
    ),
    ("GET", "/scoring/v1/identities/{id}"): _Words(
        name="getIdentity",
        summary="Get an identity",
        text="`validated` says whether it can be verified.",
        shown="Identity",
        example=example(Identity),
        cached=True,
    ),
    ("DELETE", "/scoring/v1/identities/{id}"): _Words(
        name="eraseIdentity",
        summary="Erase a person",
        text=(
            "Erases the person of this identity: all that is personal in their identities, signals and feature "
            "rows. Answers with the redacted identity; doing it again answers the same. Verdicts stay."
        ),
        shown="Identity",
        example={
            **example(Identity),
            **dict.fromkeys(example(IdentityInput)),
            "status": "REDACTED",
            "validated": False,
        },
    ),
    ("POST", "/scoring/v1/verifications"): _Words(
        name="createVerification",
        summary="Create a verification",
        text=(
            "Scores a person while you wait. Under overload it is taken as `PENDING` (202) and finished later: ask "
            "again after `Retry-After`, or let a webhook tell you. An array is refused with `batch_unsupported`."
        ),
        sent="VerificationInput",
        shown="Verification",
        example=example(Verification),
        statuses=(201, 202),
        conflict=True,
    ),
    ("GET", "/scoring/v1/verifications/{id}"): _Words(
        name="getVerification",
        summary="Get a verification",
        text="Only a completed one may be cached and carries an `ETag`.",
        shown="Verification",
        example=example(Verification),
        cached=True,
    ),
    ("DELETE", "/scoring/v1/verifications/{id}/signals"): _Words(
        name="eraseSignals",
        summary="Erase the person of a verification",
        text="Erases signals, `subjectId` and feature rows of the person of this verification. The verdict stays.",
        shown="Verification",
        example=example(Verification),
    ),
    ("GET", "/scoring/v1/webhooks"): _Words(
        name="listWebhooks",
        summary="List webhooks",
        text="In the order of creation. The next page, if there is one, stands in `Link`.",
        shown="Webhook",
        example=[example(Webhook)],
    ),
    ("POST", "/scoring/v1/webhooks"): _Words(
        name="createWebhook",
        summary="Create a webhook",
        text=f"{_SHOWN_ONCE} At most 50 per client.",
        sent="WebhookInput",
        shown="Webhook",
        example=_WITH_SECRET,
        conflict=True,
    ),
    ("GET", "/scoring/v1/webhooks/{id}"): _Words(
        name="getWebhook",
        summary="Get a webhook",
        text="`secret` is null here.",
        shown="Webhook",
        example=example(Webhook),
        cached=True,
    ),
    ("PUT", "/scoring/v1/webhooks/{id}"): _Words(
        name="updateWebhook",
        summary="Update a webhook",
        text="`active: true` enables a webhook that the service disabled, and clears `disabledReason`.",
        sent="WebhookUpdate",
        shown="Webhook",
        example=example(Webhook),
    ),
    ("DELETE", "/scoring/v1/webhooks/{id}"): _Words(
        name="deleteWebhook",
        summary="Delete a webhook",
        text="What waits to be delivered to it is dropped. Answers with the webhook as it was.",
        shown="Webhook",
        example=example(Webhook),
    ),
    ("POST", "/scoring/v1/webhooks/{id}/test"): _Words(
        name="testWebhook",
        summary="Send a test event",
        text="Sends `webhook.test` to this webhook alone, whatever its event types and even when it is inactive.",
        sent="Nothing",
        shown="Webhook",
        example=example(Webhook),
        conflict=True,
    ),
    ("POST", "/scoring/v1/webhooks/{id}/rotate-secret"): _Words(
        name="rotateSecret",
        summary="Rotate the secret of a webhook",
        text=f"{_SHOWN_ONCE} The old one signs too for 24 hours; a second rotation ends the oldest at once.",
        sent="Nothing",
        shown="Webhook",
        example=_WITH_SECRET,
        conflict=True,
    ),
}
_ANYWHERE: Final = (400, 431, 500)
"""Statuses of errors that no operation can rule out: no HTTP, endless headers, a fault."""
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
            "summary": "Identities, risk-scoring verifications, and webhooks that tell of them.",
            "description": OVERVIEW,
            "license": {"name": "Apache 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/", "description": "This service."}],
        "security": [{"clientId": [], "apiKey": []}],
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": {**paths, **_public_paths()},
        "webhooks": {"event": {"post": _delivery()}},
        "components": {**components(), "schemas": schemas(), "securitySchemes": _security()},
    }


def _operation(operation: Operation) -> _Json:
    words = _WORDS[operation.method, operation.path]
    described: _Json = {
        "operationId": words.name,
        "tags": [_TAG_OF[operation.permission]],
        "summary": words.summary,
        "description": f"{words.text}\n\nScope: `{operation.permission.value}`.",
    }
    if parameters := _parameters(operation, words):
        described["parameters"] = parameters
    if words.sent is not None:
        described["requestBody"] = _request(operation, words.sent)
    answers = {str(status): _success(operation, words, status) for status in words.statuses}
    if words.cached:
        answers["304"] = {
            "description": "You have it already.",
            "headers": headers(
                "X-Request-Id", "RateLimit-Policy", "RateLimit", "ETag", "Cache-Control", "Vary"
            ),
        }
    described["responses"] = {**answers, **error_responses(_error_statuses(operation, words))}
    return described


def _error_statuses(operation: Operation, words: _Words) -> list[int]:
    statuses = {*_ANYWHERE, 401, 403, 413, 422, 429, 503}
    if "{id}" in operation.path:
        statuses.add(404)
    if operation.body is not Body.NONE:
        statuses |= {408, 415}
    if words.conflict or operation.method == "POST":
        statuses.add(409)
    return sorted(statuses)


def _parameters(operation: Operation, words: _Words) -> list[_Json]:
    names = []
    if "{id}" in operation.path:
        names.append("Id")
    if operation.method == "POST":
        names.append("IdempotencyKey")
    if words.cached:
        names.append("IfNoneMatch")
    names += [name.capitalize() for name in sorted(operation.parameters, reverse=True)]
    return [{"$ref": f"#/components/parameters/{name}"} for name in names]


def _request(operation: Operation, sent: str) -> _Json:
    return {
        "required": operation.body is Body.OBJECT,
        "content": {"application/json": {"schema": schema(sent)}},
    }


def _success(operation: Operation, words: _Words, status: int) -> _Json:
    names = ["X-Request-Id", "RateLimit-Policy", "RateLimit", "Cache-Control"]
    if operation.method == "POST":
        names.append("Idempotency-Replayed")
    if status != 200:
        names.append("Location")
    if status == 202:
        names.append("Retry-After")
    if words.cached:
        names += ["ETag", "Vary"]
    if operation.parameters:
        names.append("Link")
    shown: _Json = schema(words.shown)
    if operation.parameters:
        shown = {"type": "array", "maxItems": PAGE, "items": shown}
    answered = _PENDING if status == 202 else words.example
    said = {200: "Done.", 201: "Created.", 202: "Taken; it is finished later."}[status]
    return {
        "description": said,
        "headers": headers(*names),
        "content": {"application/json": {"schema": shown, "example": answered}},
    }


def _public_paths() -> dict[str, _Json]:
    """Pages without credentials, as far as programs read them."""
    live = _public("isLive", "Whether the process lives", schema("Health"), {"status": "live"})
    ready = _public(
        "isReady",
        "Whether the process should get requests",
        schema("Readiness"),
        {"status": "ready", "erasureIncompleteSince": None, "clockBehindSeconds": 0},
    )
    ready["responses"]["503"] = {
        "description": "The database does not answer, or no model is loaded.",
        "headers": headers("X-Request-Id", "Cache-Control", "Retry-After"),
        "content": {MEDIA_TYPE: {"schema": schema("Problem")}},
    }
    described = _public("getDescription", "This description", {"type": "object"}, {"openapi": "3.1.1"})
    return {
        health.LIVE: {"get": live},
        health.READY: {"get": ready},
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
        "description": EVENTS,
        "security": [],
        "parameters": parameters,
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": schema("Event"), "example": example(Event)}},
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
