"""What can go wrong between a program and the service.

Texts name fields, rules and request identifiers, never values that were sent, so that they may be logged.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from scoring_model.contract.violation import Violation

if TYPE_CHECKING:
    from scoring_model.contract.verification import Verification


class ScoringError(Exception):
    """The base of everything that this client raises for a request that was well-formed Python."""


class TransportError(ScoringError):
    """No answer came: the service was not reached, or the connection was lost.

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
        What the operator of the service finds the request by.
    errors : tuple of Violation
        The rules that the request breaks.
    retry_after : float or None
        Seconds after which the service asks to try again.
    errors_omitted : int
        How many rules the request breaks besides those in `errors`, which has at most 100.
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
    ) -> None:
        super().__init__(status, code, detail, request_id, errors, retry_after, errors_omitted)
        self.status = status
        self.code = code
        self.detail = detail
        self.request_id = request_id
        self.errors = errors
        self.retry_after = retry_after
        self.errors_omitted = errors_omitted

    def __str__(self) -> str:
        head = f"{self.status} {self.code}" if self.code else f"{self.status}"
        rules = "; ".join(f"{error.pointer or 'body'}: {error.detail}" for error in self.errors)
        if self.errors_omitted:
            rules += f"; and {self.errors_omitted} more"
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
    """The state of something forbids the request (409)."""


class RateLimited(ApiError):
    """Too many requests, and no time left to wait and try again (429)."""


class Unavailable(ApiError):
    """The service, or a proxy on the way to it, can't answer now (502, 503, 504)."""


class Unreadable(ApiError):
    """An answer that says success but is not what the interface promises, such as a proxy's page.

    Whether the request was carried out is unknown.
    """


class StillPending(ScoringError):
    """A verification was not finished in the time that was allowed for waiting.

    It is never lost: wait again, or let a webhook report it.

    Parameters
    ----------
    verification : Verification
        As it was last seen.
    """

    def __init__(self, verification: "Verification") -> None:
        super().__init__(verification)
        self.verification = verification

    def __str__(self) -> str:
        return f"verification {self.verification.id} is still pending"


class InvalidWebhook(ScoringError):
    """A delivery that can't be shown to come from the service, or is too old. Answer it with 400."""


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
