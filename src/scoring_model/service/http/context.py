"""The context of one request."""

from typing import Final

from starlette.types import Scope

from scoring_model.service.clients import Caller
from scoring_model.service.core.ids import new_request_id

_KEY: Final = "scoring_model.context"
NO_STORE: Final = "no-store"


class RequestContext:
    """What the application knows of one request so far.

    Attributes
    ----------
    request_id : str
        UUID. The service makes it, so that it is unique in the logs.
    route : str or None
        Such as `/scoring/v1/identities/{id}`; None for an unknown path.
    caller : Caller or None
        None before authentication.
    headers : list of (bytes, bytes)
        Of the response, errors included.
    cache : str
        `Cache-Control` of the response.
    status : int
        Of the response; 0 before there is one.
    overloaded : bool
        Whether the service refused the request at arrival because of overload.
    received : dict of bytes to list of bytes
        Headers of the request: name in lower case, values in the order of the request.
    """

    __slots__ = (
        "cache",
        "caller",
        "headers",
        "method",
        "overloaded",
        "received",
        "request_id",
        "route",
        "status",
    )

    def __init__(self, method: str) -> None:
        self.request_id = new_request_id()
        self.method = method
        self.route: str | None = None
        self.caller: Caller | None = None
        self.headers: list[tuple[bytes, bytes]] = [(b"x-request-id", self.request_id.encode())]
        self.cache = NO_STORE
        self.status = 0
        self.overloaded = False
        self.received: dict[bytes, list[bytes]] = {}


def open_context(scope: Scope) -> RequestContext:
    """Make the context of a request."""
    context = RequestContext(scope["method"])
    scope[_KEY] = context
    for name, value in scope["headers"]:
        context.received.setdefault(name, []).append(value)
    return context


def context_of(scope: Scope) -> RequestContext:
    """The context of a request, after `open_context`."""
    context: RequestContext = scope[_KEY]
    return context


def is_authenticated(scope: Scope) -> bool:
    """Whether a request has a context and an authenticated caller."""
    context: RequestContext | None = scope.get(_KEY)
    return context is not None and context.caller is not None


def header_values(scope: Scope, name: bytes) -> list[bytes]:
    """All values of a header, whose name is in lower case, in the order of the request."""
    return context_of(scope).received.get(name, [])
