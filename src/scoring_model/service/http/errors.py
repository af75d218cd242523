"""Errors of HTTP alone, and every error as `application/problem+json` (RFC 9457)."""

from collections.abc import Collection, Mapping
from http import HTTPStatus
from typing import Any, Final

from starlette.responses import Response

from scoring_model.contract.problem import Problem, ValidationProblem
from scoring_model.service.clients import Permission
from scoring_model.service.core.errors import Conflict, Invalid, NotFound, RequestError, Unavailable
from scoring_model.service.core.store import StoreUnavailable

MEDIA_TYPE: Final = "application/problem+json"
CHALLENGE: Final = 'ApiKey realm="scoring"'
"""RFC 9110, section 11.6.1, wants one with every 401. The scheme has no parameters: both headers are needed."""


class Unauthorized(RequestError):
    """The credentials are missing or wrong. The reason is not given."""

    code = "unauthorized"
    detail = "x-client-id and x-api-key must both be there and belong together."


class TooManyRequests(RequestError):
    """Too many requests in too short a time.

    Parameters
    ----------
    retry_after : int
        Seconds, at least 1.
    """

    def __init__(self, retry_after: int) -> None:
        super().__init__(self.detail)
        self.retry_after = retry_after


class RateLimited(TooManyRequests):
    """A client has spent its quota."""

    code = "rate_limited"
    detail = "The client has sent more requests than its quota allows. Wait as Retry-After says."


class TooManyFailures(TooManyRequests):
    """An address has sent wrong credentials too often."""

    code = "too_many_failures"
    detail = "Too many requests with wrong credentials came from this address. Wait as Retry-After says."


class MethodNotAllowed(RequestError):
    """The path exists, for other methods.

    Parameters
    ----------
    allowed : str
        Value of the header `Allow` (RFC 9110, section 10.2.1).
    """

    code = "method_not_allowed"
    detail = "The method is not allowed here. Allow lists those that are."

    def __init__(self, allowed: str) -> None:
        super().__init__(self.detail)
        self.allowed = allowed


class Explained(RequestError):
    """An error whose own text is shown in the place of `detail`."""


class Forbidden(Explained):
    """The API key lacks the scope that the operation needs."""

    code = "missing_scope"
    detail = "The API key has not the scope that is needed here."

    def __init__(self, permission: Permission) -> None:
        super().__init__(f"The API key has not the scope {permission.value}.")


class BodyTooLarge(RequestError):
    """The body has more bytes than are taken."""

    code = "body_too_large"
    detail = "The body has more than 256 KiB."


class BodyTooSlow(RequestError):
    """The body did not arrive in time."""

    code = "request_timeout"
    detail = "The body did not arrive in time."


class UnsupportedMediaType(RequestError):
    """The body is not plain JSON."""

    code = "unsupported_media_type"
    detail = "The body must be application/json in UTF-8, without a content coding."


class MalformedBody(Explained):
    """The body is not I-JSON. The text names the rule and repeats nothing of the body."""

    code = "malformed_json"
    detail = "The body must be I-JSON (RFC 7493)."


class MalformedRequest(RequestError):
    """The bytes are not HTTP."""

    code = "malformed_request"
    detail = "The request is not well-formed HTTP/1.1."


class HeadersTooLarge(RequestError):
    """The header section is too long."""

    code = "headers_too_large"
    detail = "The header section is too large."


class NotReady(RequestError):
    """The process should not get requests now."""

    code = "not_ready"
    detail = "The database does not answer, or no model is loaded."
    retry_after = 1


def allow(methods: Collection[str]) -> str:
    """Write the header `Allow`: GET brings HEAD with it.

    Examples
    --------
    >>> allow({"POST", "GET"})
    'GET, HEAD, POST'
    """
    return ", ".join(sorted({*methods, *({"HEAD"} if "GET" in methods else ())}))


STATUSES: Final[Mapping[type[Exception], int]] = {
    MalformedRequest: 400,
    MalformedBody: 400,
    Unauthorized: 401,
    Forbidden: 403,
    NotFound: 404,
    MethodNotAllowed: 405,
    BodyTooSlow: 408,
    Conflict: 409,
    BodyTooLarge: 413,
    UnsupportedMediaType: 415,
    Invalid: 422,
    TooManyRequests: 429,
    HeadersTooLarge: 431,
    Unavailable: 503,
    NotReady: 503,
    StoreUnavailable: 503,
}
"""The status of each class of errors, which those derived from it share. Anything else is 500."""

# As RFC 9110 has them; what `http` calls them depends on the version of Python.
_TITLES: Final = {413: "Content Too Large", 422: "Unprocessable Content"}


def status_of(error: Exception) -> int:
    """Find the status of an error by the nearest class that has one; 500 for an unexpected one."""
    return next((STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES), 500)


def problem(error: Exception, request_id: str) -> Response:
    """Make the response to an error, with the headers of its status. Only texts of this package are shown.

    Parameters
    ----------
    request_id : str
        UUID.
    """
    status = status_of(error)
    code, detail = _described(error)
    fields: dict[str, Any] = {
        "title": _TITLES.get(status) or HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "instance": f"urn:uuid:{request_id}",
        "code": code,
        "request_id": request_id,
    }
    shown = (
        ValidationProblem(**fields, errors=error.errors, errors_omitted=error.omitted or None)
        if isinstance(error, Invalid)
        else Problem(**fields)
    )
    return Response(shown.to_json(), status, _headers(error), MEDIA_TYPE)


def _described(error: Exception) -> tuple[str, str]:
    if isinstance(error, Explained):
        return error.code, str(error)
    if isinstance(error, RequestError):
        return error.code, error.detail
    if isinstance(error, StoreUnavailable):
        return Unavailable.code, Unavailable.detail
    return "internal_error", "Something went wrong here. The request id helps the operator to find it."


def _headers(error: Exception) -> dict[str, str]:
    match error:
        case TooManyRequests() | Unavailable() | NotReady():
            return {"Retry-After": str(max(1, error.retry_after))}
        case StoreUnavailable():
            return {"Retry-After": "1"}
        case Unauthorized():
            return {"WWW-Authenticate": CHALLENGE}
        case MethodNotAllowed():
            return {"Allow": error.allowed}
        case BodyTooSlow():
            return {"Connection": "close"}
        case _:
            return {}
