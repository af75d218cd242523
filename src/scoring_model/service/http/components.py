"""What operations share in the API reference: headers, parameters, and one response for each status of an error."""

from collections.abc import Iterable
from typing import Any, Final

from scoring_model.contract import patterns
from scoring_model.contract.identity import Identity
from scoring_model.service.http.operation import KEY_LENGTH
from scoring_model.service.http.parameters import PAGE
from scoring_model.service.http.problems import MEDIA_TYPE
from scoring_model.service.http.schemas import example
from scoring_model.service.http.schemas import reference as schema

_Json = dict[str, Any]

_TEXT: Final = {"type": "string"}
_SECONDS: Final = {"type": "integer", "minimum": 1}
_HEADERS: Final[dict[str, tuple[str, _Json]]] = {
    "X-Request-Id": ("Made by the service; tell it to the operator.", {"type": "string", "format": "uuid"}),
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
_ERRORS: Final[dict[int, tuple[str, str, tuple[str, ...]]]] = {
    400: (
        "Malformed",
        "The body is no I-JSON (RFC 7493), `malformed_json`, or the request is no HTTP/1.1, `malformed_request` "
        "(without `RateLimit`).",
        _QUOTA,
    ),
    401: (
        "Unauthorized",
        "Credentials are missing, wrong, expired or revoked: `unauthorized`.",
        ("WWW-Authenticate",),
    ),
    403: ("Forbidden", "The API key has not the scope: `missing_scope`.", _QUOTA),
    404: ("NotFound", "There is no such resource of yours: `not_found`.", _QUOTA),
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
        "Rules are broken, all of which are listed: `invalid_request`, `batch_unsupported`, or "
        "`idempotency_key_reused` for a key that came with another body before.",
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
        "No model is loaded, the database is away, or too much waits: `unavailable`.",
        ("Retry-After",),
    ),
}


def headers(*names: str) -> dict[str, _Json]:
    """Refer to headers by name."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def error_responses(statuses: Iterable[int]) -> dict[str, _Json]:
    """Refer to the responses of some statuses."""
    return {str(status): {"$ref": f"#/components/responses/{_ERRORS[status][0]}"} for status in statuses}


def components() -> _Json:
    """Describe headers, parameters and errors once."""
    return {
        "headers": {name: {"description": text, "schema": shape} for name, (text, shape) in _HEADERS.items()},
        "parameters": _parameters(),
        "responses": {_ERRORS[status][0]: _error(status) for status in _ERRORS},
    }


def _error(status: int) -> _Json:
    _, text, names = _ERRORS[status]
    shape = schema("ValidationProblem" if status == 422 else "Problem")
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
