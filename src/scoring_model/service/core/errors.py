"""What can be wrong with a request, without a word of HTTP.

Every error has a `code`, a stable name that clients may compare. Texts name fields and rules, never values.
"""

from typing import ClassVar

from scoring_model.contract.violation import Violation


class RequestError(Exception):
    """The base of what a caller can mend or wait for."""

    code: ClassVar[str]
    detail: ClassVar[str]


class Invalid(RequestError):
    """A request breaks rules.

    Parameters
    ----------
    errors : tuple of Violation
        The first of them, at least one.
    omitted : int
        How many there are besides.
    """

    code = "invalid_request"
    detail = "The request breaks the rules that are listed."

    def __init__(self, errors: tuple[Violation, ...], *, omitted: int = 0) -> None:
        super().__init__("; ".join(f"{error.pointer}: {error.detail}" for error in errors))
        self.errors = errors
        self.omitted = omitted


class BatchUnsupported(Invalid):
    """A list was sent where one thing is created at a time."""

    code = "batch_unsupported"
    detail = "Several things in one request are not supported: send them one by one."

    def __init__(self) -> None:
        super().__init__((Violation("", "batch_unsupported", "must be an object, got an array"),))


class IdempotencyMismatch(Invalid):
    """An idempotency key came again with another body."""

    code = "idempotency_key_reused"
    detail = "This Idempotency-Key was used with another request body."

    def __init__(self) -> None:
        super().__init__((Violation("", "idempotency_key_reused", "must be the body of the first request"),))


class NotFound(RequestError):
    """There is no such thing, or it is another client's."""

    code = "not_found"
    detail = "There is no such resource."


class Conflict(RequestError):
    """The state of something forbids the request."""


class IdentityNotValidated(Conflict):
    """A verification was asked for of an identity that is not validated."""

    code = "identity_not_validated"
    detail = "The identity is not validated."


class WebhookLimit(Conflict):
    """The client has as many webhooks as it may have."""

    code = "webhook_limit"
    detail = "A client has at most 50 webhooks."


class InProgress(Conflict):
    """A request with the same idempotency key is still under way."""

    code = "idempotency_in_progress"
    detail = "A request with this Idempotency-Key is still under way."


class Unavailable(RequestError):
    """The service can't take this now; the same request may succeed later.

    Parameters
    ----------
    retry_after : int
        Seconds, at least 1.
    """

    code = "unavailable"
    detail = "The service can't answer now. Try again later."

    def __init__(self, retry_after: int = 1) -> None:
        super().__init__(self.detail)
        self.retry_after = retry_after


class Overloaded(Unavailable):
    """A request was refused at arrival: it would have waited too long."""

    detail = "The service is overloaded. Wait as Retry-After says."
