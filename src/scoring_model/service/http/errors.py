"""HTTP errors, problem responses for all errors (RFC 9457), and the middleware that sends them."""

import asyncio
import time
from collections import deque
from collections.abc import Collection, Mapping
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from scoring_model.contract.problem import ConflictProblem, Problem, ValidationProblem
from scoring_model.service.clients.clients import Permission
from scoring_model.service.core.errors import (
    Conflict,
    IdentityNotValidated,
    Invalid,
    NotFound,
    OneAtATime,
    Overloaded,
    RequestError,
    TooManyRequests,
    Unavailable,
)
from scoring_model.service.core.metrics import OVERLOADED
from scoring_model.service.http.context import CONTEXT, RequestContext, RequestLog, log_fault
from scoring_model.service.store import StoreUnavailable

MEDIA_TYPE: Final = "application/problem+json"
CHALLENGE: Final = 'ApiKey realm="scoring"'
"""Required with every 401 (RFC 9110, section 11.6.1). The scheme has no parameters: both headers are needed."""


BASIC_CHALLENGE: Final = f'{CHALLENGE}, Basic realm="scoring", charset="UTF-8"'


class Unauthorized(RequestError):
    """The credentials are missing or wrong; the response does not say which.

    Parameters
    ----------
    basic : bool
        Whether the response may ask for HTTP Basic: a browser would ask its user, and send the pair with every request.
    """

    code = "unauthorized"
    detail = "x-client-id and x-api-key are both required and must match."

    def __init__(self, *, basic: bool = False) -> None:
        super().__init__(self.detail)
        self.challenge = BASIC_CHALLENGE if basic else CHALLENGE


class RateLimited(TooManyRequests):
    """A client has spent its quota."""

    code = "rate_limited"
    detail = "The client has sent more requests than its quota allows. Wait as Retry-After says."


class TooManyFailures(TooManyRequests):
    """An address has sent wrong credentials too often."""

    code = "too_many_failures"
    detail = "Too many requests with wrong credentials came from this address. Wait as Retry-After says."


class MethodNotAllowed(RequestError):
    """The path exists, for other methods (RFC 9110, section 10.2.1)."""

    code = "method_not_allowed"
    detail = "The method is not allowed here; see the Allow header."

    def __init__(self, methods: Collection[str]) -> None:
        super().__init__(self.detail)
        self.allowed = ", ".join(sorted(methods))


class Forbidden(RequestError):
    """The API key lacks the scope that the operation needs."""

    code = "missing_scope"

    def __init__(self, permission: Permission) -> None:
        self.detail = f"The API key lacks the scope {permission.value}."
        super().__init__(self.detail)


class BodyTooLarge(RequestError):
    """The body has more bytes than allowed."""

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


class MalformedBody(RequestError):
    """The body is not I-JSON. The message names the rule and contains nothing of the body."""

    code = "malformed_json"

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class MalformedRequest(RequestError):
    """The bytes are not HTTP."""

    code = "malformed_request"
    detail = "The request is not well-formed HTTP/1.1."


class HeadersTooLarge(RequestError):
    """The header section is too long."""

    code = "headers_too_large"
    detail = "The header section is too large."


class NotReady(Unavailable):
    """The process is not ready for requests."""

    code = "not_ready"
    detail = "The database does not answer, or no model is loaded."


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
    StoreUnavailable: 503,
}
"""The status of each class of errors and its subclasses. Anything else is 500."""

# Names from RFC 9110; those of `http` depend on the Python version.
_TITLES: Final = {413: "Content Too Large", 422: "Unprocessable Content"}


def status_of(error: Exception) -> int:
    """Return the status of an error by its nearest listed class; 500 for an unexpected one."""
    return next((STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES), 500)


def problem(error: Exception, context: RequestContext) -> Response:
    """Return the response to an error, with the headers of its status. Contains only texts of this package."""
    status, request_id = status_of(error), context.request_id
    if isinstance(error, StoreUnavailable):
        error = Unavailable()
    code, detail = (
        "internal_error",
        "Something went wrong here. The request id helps the operator to find it.",
    )
    if isinstance(error, RequestError):
        code, detail = error.code, error.detail
    context.error = code
    fields: dict[str, Any] = {
        "title": _TITLES.get(status) or HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "instance": f"urn:uuid:{request_id}",
        "code": code,
        "request_id": request_id,
    }
    shown = Problem(**fields)
    if isinstance(error, Invalid):
        shown = ValidationProblem(**fields, errors=error.errors, errors_omitted=error.omitted or None)
    elif isinstance(error, IdentityNotValidated):
        shown = ConflictProblem(**fields, missing_fields=error.missing)
    return Response(shown.to_json(), status, _headers(error), MEDIA_TYPE)


def _headers(error: Exception) -> dict[str, str]:
    match error:
        case TooManyRequests() | Unavailable():
            return {"Retry-After": str(max(1, error.retry_after))}
        case Unauthorized():
            return {"WWW-Authenticate": error.challenge}
        case MethodNotAllowed():
            return {"Allow": error.allowed}
        case BodyTooSlow():
            return {"Connection": "close"}
        case _:
            return {}


class ErrorMiddleware:
    """ASGI middleware that turns every exception into a response, so that the server logs no exception messages.

    It creates the context of each request, adds its headers to the response, and logs the request.
    """

    def __init__(self, app: ASGIApp, log: RequestLog) -> None:
        self._app = app
        self._log = log
        self._overloads = Turnstile(per_second=PER_SECOND, at_once=AT_ONCE)
        self._failures = Turnstile(per_second=FAILURES_PER_SECOND, at_once=FAILURES_AT_ONCE)
        self._excesses = Turnstile(per_second=EXCESSES_PER_SECOND, at_once=FAILURES_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        context = scope[CONTEXT] = RequestContext(scope["method"], scope["headers"])
        began = time.perf_counter()

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                context.status = message["status"]
                cache = (b"cache-control", context.cache.encode())
                message["headers"] = [*message["headers"], *context.headers, cache]
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except ClientDisconnect:
            pass  # the client has disconnected
        except Overloaded as error:
            context.overloaded, context.error = True, OVERLOADED
            await self._overloads.turn()
            await _send_overloaded(error, context, send_with_headers)
        except (Exception, asyncio.CancelledError) as error:
            # A request is cancelled when the process stops. Its change may or may not have been committed.
            shown = Unavailable() if isinstance(error, asyncio.CancelledError) else error
            if status_of(shown) == 500:
                log_fault(context, shown)
            if isinstance(shown, Unauthorized | TooManyFailures):
                await self._failures.turn()
            elif isinstance(shown, RateLimited | OneAtATime):
                await self._excesses.turn()
            if not context.status:  # otherwise a response has begun
                await problem(shown, context)(scope, receive, send_with_headers)
            # Else error and frame would refer to each other, with the whole request, until a collection of garbage.
            del shown
        finally:
            self._log.write(context, time.perf_counter() - began)


_SOME: Final = RequestContext("")
_OVERLOADED: Final = bytes(problem(Overloaded(), _SOME).body).split(_SOME.request_id.encode())
"""The body of the response under overload, split at the request ids, precomputed for speed."""


async def _send_overloaded(error: Overloaded, context: RequestContext, send: Send) -> None:
    """Send the same response as `problem` in a fraction of the time: there may be thousands per second."""
    body = context.request_id.encode().join(_OVERLOADED)
    headers = [
        (b"retry-after", b"%d" % error.retry_after),
        (b"content-length", b"%d" % len(body)),
        (b"content-type", MEDIA_TYPE.encode()),
    ]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body})


PER_SECOND: Final = 1_500
"""Refusals per second: including their requests, they take a fifth of a core."""

AT_ONCE: Final = 32
"""Maximum number of refusals per iteration of the event loop: a few milliseconds of work."""

FAILURES_PER_SECOND: Final = 250
"""Answers to wrong credentials per second, whatever is wrong with them: including their requests, a tenth of a core."""

FAILURES_AT_ONCE: Final = 4
"""Maximum number of these per iteration of the event loop: about a millisecond of work."""

EXCESSES_PER_SECOND: Final = 500
"""Answers per second to clients that ask for more than they may, such as a hundred reports of labels at once."""

MOST_WAITING: Final = 4_096
"""Callers that wait at a turnstile at most: those who come when it is full pass at once."""

_LOOK_SECONDS: Final = 0.002


class Turnstile:
    """A token bucket: callers pass in order of arrival.

    A transaction advances one step per iteration of the event loop: with thousands of answers in each, it would take
    seconds. A peer that waits for its answer before the next request sends no faster than callers pass.
    """

    def __init__(self, *, per_second: float, at_once: int) -> None:
        self._per_second = per_second
        self._at_once = at_once
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._tokens = float(at_once)
        self._looked_at = 0.0

    async def turn(self) -> None:
        """Wait for one's turn."""
        loop = asyncio.get_running_loop()
        if len(self._waiting) >= MOST_WAITING:
            return
        if not self._waiting:
            self._look(loop.time())
            if self._tokens >= 1:
                self._tokens -= 1
                return
            loop.call_later(_LOOK_SECONDS, self._open)
        future: asyncio.Future[None] = loop.create_future()
        self._waiting.append(future)
        await future

    def _look(self, now: float) -> None:
        self._tokens = min(self._at_once, self._tokens + self._per_second * (now - self._looked_at))
        self._looked_at = now

    def _open(self) -> None:
        loop = asyncio.get_running_loop()
        self._look(loop.time())
        while self._waiting and self._tokens >= 1:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(None)
                self._tokens -= 1
        if self._waiting:
            loop.call_later(_LOOK_SECONDS, self._open)
