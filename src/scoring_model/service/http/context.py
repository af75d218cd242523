"""The context of one request, and its line in the access log.

A line is JSON with client, route, status and duration. Paths, queries, headers, addresses and bodies are not logged,
so that ids of resources and misplaced data stay out of the log. Requests refused at arrival under overload share one
line a second for each client, with their number.
"""

import asyncio
import logging
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, TextIO

from pydantic_core import to_json

from scoring_model.records.times import rfc3339
from scoring_model.service.clients import Caller
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.faults import FAULTS, chain_of
from scoring_model.service.core.ids import new_request_id

CONTEXT: Final = "scoring_model.context"
"""Where the `RequestContext` of a request stands in its scope."""

FLAGS: Final = "scoring_model.flags"
"""Where a set of flags that all requests of a connection share stands in a scope, if the server has one."""

AUTHENTICATED: Final = "authenticated"
"""The flag of a connection on which a request had good credentials."""

ACCESS: Final = "scoring_model.access"
"""Name of the logger of requests, at INFO."""

REFUSED_SECONDS: Final = 1.0
_METHODS: Final = frozenset(("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"))
_access: Final = logging.getLogger(ACCESS)
_faults: Final = logging.getLogger(FAULTS)


class RequestContext:
    """What the application knows of one request so far.

    Attributes
    ----------
    request_id : str
        UUID. The service makes it, so that it is unique in the logs.
    received : dict of bytes to list of bytes
        Headers of the request: name in lower case, values in the order of the request.
    route : str or None
        Such as `/scoring/v1/identities/{id}`; None for an unknown path.
    headers : list of (bytes, bytes)
        Of the response, errors included.
    status : int
        Of the response; 0 before there is one.
    overloaded : bool
        Whether the service refused the request at arrival because of overload.
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

    def __init__(self, method: str, received: Iterable[tuple[bytes, bytes]] = ()) -> None:
        self.request_id = new_request_id()
        self.method = method
        self.received: dict[bytes, list[bytes]] = {}
        for name, value in received:
            self.received.setdefault(name, []).append(value)
        self.route: str | None = None
        self.caller: Caller | None = None
        self.headers: list[tuple[bytes, bytes]] = [(b"x-request-id", self.request_id.encode())]
        self.cache = "no-store"
        self.status = 0
        self.overloaded = False


def configure(stream: TextIO | None = None) -> None:
    """Send the access log and the log of faults to a stream, by default standard error, and nowhere else."""
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(logging.Formatter("%(message)s"))
    for logger in (_access, _faults):
        logger.handlers[:] = [handler]
        logger.propagate = False
        logger.setLevel(logging.INFO)


class RequestLog:
    """Writes the access log."""

    def __init__(self, clock: Clock, *, enabled: bool) -> None:
        self._clock = clock
        self._enabled = enabled
        self._refused: Counter[str | None] = Counter()

    def write(self, context: RequestContext, seconds: float) -> None:
        """Log a finished request. A status of 0 means that the client disconnected before the response."""
        if not self._enabled or not _access.isEnabledFor(logging.INFO):
            return
        caller = context.caller
        if context.overloaded:
            self._count_refused(None if caller is None else caller.client_id)
            return
        line = {
            "time": rfc3339(self._clock.now()),
            "requestId": context.request_id,
            # A method is free text too: unknown ones are not logged.
            "method": context.method if context.method in _METHODS else None,
            "route": context.route,
            "status": context.status or None,
            "durationMs": round(seconds * 1000, 3),
            "clientId": None if caller is None else caller.client_id,
        }
        _write(line)

    def _count_refused(self, client_id: str | None) -> None:
        """Count a refused request: a line for each would cost more than the refusal itself."""
        if not self._refused:
            asyncio.get_running_loop().call_later(REFUSED_SECONDS, self._write_refused)
        self._refused[client_id] += 1

    def _write_refused(self) -> None:
        refused, self._refused = self._refused, Counter()
        time = rfc3339(self._clock.now())
        for client_id, count in refused.items():
            _write({"time": time, "status": 503, "refused": count, "clientId": client_id})


def _write(line: Mapping[str, object]) -> None:
    # Without `Logger.info`, which looks up the calling function and takes as long as the rest.
    _access.handle(logging.LogRecord(ACCESS, logging.INFO, "", 0, to_json(line).decode(), None, None))


def log_fault(context: RequestContext, error: BaseException) -> None:
    """Log an unexpected error: types and places, never the text, which may hold personal data."""
    line = {"requestId": context.request_id, "route": context.route, "errors": chain_of(error)}
    _faults.error(to_json(line).decode())
