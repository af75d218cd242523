"""Errors as `application/problem+json` (RFC 9457)."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from starlette.responses import Response

from scoring_model.contract.problem import Problem, ValidationProblem
from scoring_model.service.core import errors
from scoring_model.service.core.store import StoreUnavailable
from scoring_model.service.http import errors as refusals

MEDIA_TYPE: Final = "application/problem+json"
CHALLENGE: Final = 'ApiKey realm="scoring"'
"""RFC 9110, section 11.6.1, wants one with every 401. The scheme has no parameters: both headers are needed."""

STATUSES: Final[Mapping[type[Exception], int]] = {
    refusals.MalformedRequest: 400,
    refusals.MalformedBody: 400,
    refusals.Unauthorized: 401,
    refusals.Forbidden: 403,
    errors.NotFound: 404,
    refusals.MethodNotAllowed: 405,
    refusals.BodyTooSlow: 408,
    errors.Conflict: 409,
    refusals.BodyTooLarge: 413,
    refusals.UnsupportedMediaType: 415,
    errors.Invalid: 422,
    refusals.Waiting: 429,
    refusals.HeadersTooLarge: 431,
    errors.Unavailable: 503,
    refusals.NotReady: 503,
    StoreUnavailable: 503,
}
"""The status of each class of errors, which those derived from it share. Anything else is 500."""

# As RFC 9110 has them; what `http` calls them depends on the version of Python.
_TITLES: Final = {413: "Content Too Large", 422: "Unprocessable Content"}


def status_of(error: Exception) -> int:
    """Find the status of an error by the nearest class that has one; 500 for what nobody expected."""
    return next((STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES), 500)


def problem(error: Exception, request_id: str) -> Response:
    """Report an error.

    Parameters
    ----------
    error : Exception
        Its text is shown only where it is one of ours.
    request_id : str
        UUID.

    Returns
    -------
    Response
        With the headers that belong to the status.
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
        if isinstance(error, errors.Invalid)
        else Problem(**fields)
    )
    return Response(shown.to_json(), status, _headers(error), MEDIA_TYPE)


def _described(error: Exception) -> tuple[str, str]:
    if isinstance(error, refusals.Explained):
        return error.code, str(error)
    if isinstance(error, errors.RequestError):
        return error.code, error.detail
    if isinstance(error, StoreUnavailable):
        return errors.Unavailable.code, errors.Unavailable.detail
    return "internal_error", "Something went wrong here. The request id helps the operator to find it."


def _headers(error: Exception) -> dict[str, str]:
    match error:
        case refusals.Waiting() | errors.Unavailable() | refusals.NotReady():
            return {"Retry-After": str(max(1, error.retry_after))}
        case StoreUnavailable():
            return {"Retry-After": "1"}
        case refusals.Unauthorized():
            return {"WWW-Authenticate": CHALLENGE}
        case refusals.MethodNotAllowed():
            return {"Allow": error.allowed}
        case refusals.BodyTooSlow():
            return {"Connection": "close"}
        case _:
            return {}
