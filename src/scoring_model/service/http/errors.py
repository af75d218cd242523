"""Refusals that only HTTP knows: of credentials, rates, paths, methods and bodies."""

from collections.abc import Collection

from scoring_model.service.core.errors import RequestError
from scoring_model.service.core.resources import Permission


class Unauthorized(RequestError):
    """No credentials, or none that are good. The reason is not given."""

    code = "unauthorized"
    detail = "x-client-id and x-api-key must both be there and belong together."


class Waiting(RequestError):
    """Too much was asked in too short a time.

    Parameters
    ----------
    retry_after : int
        Seconds, at least 1.
    """

    def __init__(self, retry_after: int) -> None:
        super().__init__(self.detail)
        self.retry_after = retry_after


class RateLimited(Waiting):
    """A client has spent its requests."""

    code = "rate_limited"
    detail = "The client has sent more requests than its quota allows. Wait as Retry-After says."


class TooManyFailures(Waiting):
    """An address has shown wrong credentials too often."""

    code = "too_many_failures"
    detail = "Too many requests with wrong credentials came from this address. Wait as Retry-After says."


class MethodNotAllowed(RequestError):
    """The path is there, for other methods.

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
    """A refusal whose text says more than its class: it is shown in the place of `detail`."""


class Forbidden(Explained):
    """The API key has not the scope.

    Parameters
    ----------
    scope : Permission
        The one that is needed.
    """

    code = "missing_scope"
    detail = "The API key has not the scope that is needed here."

    def __init__(self, scope: Permission) -> None:
        super().__init__(f"The API key has not the scope {scope.value}.")


class BodyTooLarge(RequestError):
    """The body has more bytes than are taken."""

    code = "body_too_large"
    detail = "The body has more than 256 KiB."


class BodyTooSlow(RequestError):
    """The body did not arrive in time."""

    code = "request_timeout"
    detail = "The body did not arrive in time."


class UnsupportedMediaType(RequestError):
    """The body is something else than plain JSON."""

    code = "unsupported_media_type"
    detail = "The body must be application/json in UTF-8, without a content coding."


class MalformedBody(Explained):
    """The body is no I-JSON. The text says what it should be, without a word of what it holds."""

    code = "malformed_json"
    detail = "The body must be I-JSON (RFC 7493)."


class MalformedRequest(RequestError):
    """What came is no HTTP."""

    code = "malformed_request"
    detail = "The request is not well-formed HTTP/1.1."


class HeadersTooLarge(RequestError):
    """The header section never ends."""

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
