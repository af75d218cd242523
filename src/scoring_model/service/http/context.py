"""One request and what is known of it so far."""

from typing import Final

from starlette.types import Scope

from scoring_model.service.core.ids import new_request_id
from scoring_model.service.core.resources import Caller

_KEY: Final = "scoring_model.exchange"
NO_STORE: Final = "no-store"


class RequestContext:
    """A request on its way through the application.

    Attributes
    ----------
    request_id : str
        UUID, made here: clients can't choose it, so that it is found once in the logs.
    method : str
    route : str or None
        Path as the reference has it, such as `/scoring/v1/identities/{id}`; None when there is no such path.
    caller : Caller or None
        Who asks, once it is known.
    headers : list of (bytes, bytes)
        What every answer gets from here on, errors too.
    cache : str
        `Cache-Control` of the answer.
    status : int
        Of the answer; 0 before there is one.
    overloaded : bool
        Whether it was refused at arrival because too many wait.
    received : dict of bytes to list of bytes
        Headers of the request: name in lower case, values in the order in which they came.
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
    """Begin the exchange of a request."""
    context = RequestContext(scope["method"])
    scope[_KEY] = context
    for name, value in scope["headers"]:
        context.received.setdefault(name, []).append(value)
    return context


def context_of(scope: Scope) -> RequestContext:
    """The exchange that was begun for this request."""
    context: RequestContext = scope[_KEY]
    return context


def is_authenticated(scope: Scope) -> bool:
    """Whether the exchange of a request was begun, and its caller is known."""
    context: RequestContext | None = scope.get(_KEY)
    return context is not None and context.caller is not None


def header_values(scope: Scope, name: bytes) -> list[bytes]:
    """All values of a header, in the order in which they came.

    Parameters
    ----------
    scope : mapping
        ASGI connection scope.
    name : bytes
        In lower case.
    """
    return context_of(scope).received.get(name, [])
