"""Errors of the client, and those of HTTP answers (RFC 9457).

Texts name fields, rules and request identifiers, never values that were sent, so that they may be logged.
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar

import httpx
from pydantic import TypeAdapter, ValidationError

from scoring_model.contract.violation import Violation

if TYPE_CHECKING:
    from scoring_model.contract.verification import Verification

T = TypeVar("T")
_SECONDS: Final = re.compile(r"\d{1,9}", re.ASCII)
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9-]{1,64}", re.ASCII)
_POINTERS: Final = TypeAdapter(tuple[str, ...])
_VIOLATIONS: Final = TypeAdapter(tuple[Violation, ...])


class ScoringError(Exception):
    """Base of the errors of this client, except `TypeError` and `ValueError` of arguments."""


class TransportError(ScoringError):
    """No answer arrived: the service is unreachable, or the connection was lost.

    Whether the request was carried out is unknown. The error of the HTTP library is its cause.

    Parameters
    ----------
    kind : str
        Name of the fault, such as ``ConnectError`` or ``ReadTimeout``.
    sent : bool
        Whether some of the request may have reached the service.
    """

    def __init__(self, kind: str, sent: bool = True) -> None:
        super().__init__(kind, sent)
        self.kind = kind
        self.sent = sent

    def __str__(self) -> str:
        return f"no answer from the service ({self.kind})"


class ApiError(ScoringError):
    """The service, or something before it, answered with an error (RFC 9457).

    Parameters
    ----------
    status : int
        HTTP status.
    code : str or None
        Stable name of the error; None where the answer came without one, as from a proxy.
    detail : str or None
        A sentence for people.
    request_id : str or None
        Id by which the operator of the service finds the request.
    errors : tuple of Violation
        The rules that the request breaks.
    retry_after : float or None
        Seconds after which the service asks to try again.
    errors_omitted : int
        Number of further violations beyond those in `errors`, which has at most 100.
    missing_fields : tuple of str
        JSON Pointers of what an identity that is not validated lacks.
    """

    def __init__(
        self,
        status: int,
        code: str | None = None,
        detail: str | None = None,
        request_id: str | None = None,
        errors: tuple[Violation, ...] = (),
        retry_after: float | None = None,
        errors_omitted: int = 0,
        missing_fields: tuple[str, ...] = (),
    ) -> None:
        super().__init__(
            status, code, detail, request_id, errors, retry_after, errors_omitted, missing_fields
        )
        self.status = status
        self.code = code
        self.detail = detail
        self.request_id = request_id
        self.errors = errors
        self.retry_after = retry_after
        self.errors_omitted = errors_omitted
        self.missing_fields = missing_fields

    def __str__(self) -> str:
        head = f"{self.status} {self.code}" if self.code else f"{self.status}"
        rules = "; ".join(f"{error.pointer or 'body'}: {error.detail}" for error in self.errors)
        if self.errors_omitted:
            rules += f"; and {self.errors_omitted} more"
        if self.missing_fields:
            rules += f"missing: {', '.join(self.missing_fields)}"
        words = " ".join(part for part in (self.detail, rules) if part)
        text = f"{head}: {words}" if words else head
        return f"{text} (request {self.request_id})" if self.request_id else text


class Invalid(ApiError):
    """The request breaks rules (400, 413, 415, 422); `errors` lists them."""


class Unauthorized(ApiError):
    """The credentials are missing, unknown, expired or revoked (401)."""


class Forbidden(ApiError):
    """The key lacks the scope for this (403)."""


class NotFound(ApiError):
    """There is no such resource, or it belongs to another client (404)."""


class Conflict(ApiError):
    """The state of the resource forbids the request (409)."""


class RateLimited(ApiError):
    """Too many requests, and no time left to retry (429)."""


class Unavailable(ApiError):
    """The service, or a proxy before it, is unavailable (502, 503, 504)."""


class UnreadableAnswer(ApiError):
    """A successful answer breaks the interface, such as a proxy's page.

    Whether the request was carried out is unknown.
    """


class StillPending(ScoringError):
    """A verification is still pending after the time to wait.

    It is never lost: wait again, or let a webhook report it.

    Parameters
    ----------
    verification : Verification
        As it was last seen.
    retry_after : float or None
        Seconds after which the service asks to read it again.
    """

    def __init__(self, verification: "Verification", retry_after: float | None = None) -> None:
        super().__init__(verification, retry_after)
        self.verification = verification
        self.retry_after = retry_after

    def __str__(self) -> str:
        return f"verification {self.verification.id} is still pending"


class InvalidWebhook(ScoringError):
    """A delivery has no valid signature, or is too old. Answer it with 400."""


ERRORS: Final[Mapping[int, type[ApiError]]] = MappingProxyType(
    {
        400: Invalid,
        401: Unauthorized,
        403: Forbidden,
        404: NotFound,
        409: Conflict,
        413: Invalid,
        415: Invalid,
        422: Invalid,
        429: RateLimited,
        502: Unavailable,
        503: Unavailable,
        504: Unavailable,
    }
)
"""The class of each status; any other is an `ApiError` itself."""


def retry_after(response: httpx.Response) -> float | None:
    """Seconds, at least 0, after which the service asks to try again; None without a well-formed header.

    References
    ----------
    RFC 9110, section 10.2.3: a number of seconds, or a date.
    """
    text = response.headers.get("Retry-After", "").strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
        # The zone "-0000" is read as no zone at all.
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0.0, (moment - datetime.now(UTC)).total_seconds())
    except (ValueError, OverflowError):
        return None


def problem(response: httpx.Response) -> ApiError:
    """Make the error that an answer reports. Malformed parts of it are left out.

    Texts are taken from `application/problem+json` alone: what a proxy writes may repeat what was sent.
    """
    fields = _problem_fields(response)
    omitted = fields.get("errorsOmitted")
    return ERRORS.get(response.status_code, ApiError)(
        response.status_code,
        _text(fields, "code"),
        _text(fields, "detail"),
        _request_id(response),
        _items(_VIOLATIONS, fields.get("errors", ())),
        retry_after(response),
        max(0, omitted) if type(omitted) is int else 0,
        _items(_POINTERS, fields.get("missingFields", ())),
    )


def unreadable(response: httpx.Response, why: str) -> UnreadableAnswer:
    """Make the error of an answer that breaks the interface; `why` names the field and the rule."""
    return UnreadableAnswer(response.status_code, "unreadable_answer", why, _request_id(response))


def _problem_fields(response: httpx.Response) -> Mapping[str, object]:
    media = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if media != "application/problem+json":
        return {}
    try:
        found = json.loads(response.content)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _items(kind: TypeAdapter[tuple[T, ...]], given: object) -> tuple[T, ...]:
    try:
        return kind.validate_python(given)
    except ValidationError:
        return ()


def _text(fields: Mapping[str, object], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None


def _request_id(response: httpx.Response) -> str | None:
    text = response.headers.get("X-Request-Id", "")
    return text if _REQUEST_ID.fullmatch(text) else None
