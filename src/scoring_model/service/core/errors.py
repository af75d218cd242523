"""Errors of requests, independent of HTTP.

Every error has a `code`, a stable name for clients to compare. Messages name fields and rules, never values.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar, TypeVar

from scoring_model.contract import violation
from scoring_model.contract.resource import Body
from scoring_model.contract.violation import MOST_ERRORS, Violation

B = TypeVar("B", bound=Body)


class RequestError(Exception):
    """Base of the errors that a caller can correct or retry. An error may have its own detail."""

    code: ClassVar[str]
    detail: str


class Invalid(RequestError):
    """A request breaks rules; has the first violations and the number of omitted ones."""

    code = "invalid_request"
    detail = "The request breaks the rules that are listed."

    def __init__(self, errors: tuple[Violation, ...], *, omitted: int = 0) -> None:
        super().__init__("; ".join(f"{error.pointer}: {error.detail}" for error in errors))
        self.errors = errors
        self.omitted = omitted


def parsed(kind: type[B], body: Mapping[str, object], context: object = None) -> B:
    """Validate and canonicalise a body; see `Body.parse`.

    Raises
    ------
    Invalid
        With all violations.
    """
    with refusing():
        return kind.parse(body, context)


@contextmanager
def refusing() -> Iterator[None]:
    """Make violations of rules an answer to the caller: raises `Invalid` with the first ones."""
    try:
        yield
    except violation.Invalid as error:
        found = error.violations
        omitted = error.omitted + len(found[MOST_ERRORS:])
        raise Invalid(found[:MOST_ERRORS], omitted=omitted) from None


class BatchUnsupported(Invalid):
    """The request holds a list, but creates one resource at a time."""

    code = "batch_unsupported"
    detail = "Several things in one request are not supported: send them one by one."

    def __init__(self) -> None:
        super().__init__((Violation("", "batch_unsupported", "must be an object, got an array"),))


class IdempotencyMismatch(Invalid):
    """An idempotency key was reused with another body."""

    code = "idempotency_key_reused"
    detail = "This Idempotency-Key was used with another request body."

    def __init__(self) -> None:
        super().__init__((Violation("", "idempotency_key_reused", "must be the body of the first request"),))


class NotFound(RequestError):
    """The resource does not exist, or belongs to another client."""

    code = "not_found"
    detail = "There is no such resource."


class Conflict(RequestError):
    """The state of a resource forbids the request."""


class IdentityNotValidated(Conflict):
    """The identity of a new verification is not validated; has the JSON Pointers of its missing fields."""

    code = "identity_not_validated"
    detail = "The identity is not validated."

    def __init__(self, missing: tuple[str, ...] = ()) -> None:
        super().__init__(self.detail)
        self.missing = missing


class WebhookLimit(Conflict):
    """The client has the maximum number of webhooks."""

    code = "webhook_limit"
    detail = "A client has at most 50 webhooks."


class NotCompleted(Conflict):
    """A verification that is to be resolved has no outcome."""

    code = "not_completed"
    detail = "The verification is not completed."


class Erased(Conflict):
    """The person of a verification that is to be resolved was erased."""

    code = "erased"
    detail = "The person of the verification was erased."


class TooManyResolutions(Conflict):
    """A verification has as many resolutions as are stored of one."""

    code = "too_many_resolutions"
    detail = "A verification takes at most 100 resolutions."


class InProgress(Conflict):
    """A request with the same idempotency key is still in progress."""

    code = "idempotency_in_progress"
    detail = "A request with this Idempotency-Key is still under way."


class Retryable(RequestError):
    """Base of those that a retry after `retry_after` seconds may get past."""

    def __init__(self, retry_after: int = 1) -> None:
        super().__init__(self.detail)
        self.retry_after = retry_after


class TooManyRequests(Retryable):
    """Too many requests in too short a time."""


class OneAtATime(TooManyRequests):
    """A client sends a request while an earlier one of the same kind, which may be large, is under way."""

    code = "one_at_a_time"
    detail = "An earlier such request of the client is under way. Wait as Retry-After says."


class Unavailable(Retryable):
    """The service can't process the request now."""

    code = "unavailable"
    detail = "The service can't answer now. Try again later."


class HistoryIncomplete(Unavailable):
    """The history of the client is being imported: a verification would miss a part of it."""

    detail = "The history of this client is being imported. Try again later."


class Overloaded(Unavailable):
    """The service refused a request at arrival because of its estimated wait."""

    detail = "The service is overloaded. Wait as Retry-After says."
