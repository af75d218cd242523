"""The outermost middleware: request ids, default headers, errors as problems, the access log."""

import asyncio
import time
from collections import deque
from typing import Final

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from scoring_model.service.core.errors import Overloaded, Unavailable
from scoring_model.service.http.context import RequestContext, open_context
from scoring_model.service.http.errors import MEDIA_TYPE, problem, status_of
from scoring_model.service.http.logs import RequestLog, log_fault

_SOME_ID: Final = "00000000-0000-0000-0000-000000000000"
_OVERLOADED: Final = bytes(problem(Overloaded(), _SOME_ID).body).split(_SOME_ID.encode())
"""The body of the one response that must cost next to nothing, around the request ids in it."""

PER_SECOND: Final = 1_500
"""How many pass in a second: they take a fifth of a core, their requests included."""

AT_ONCE: Final = 32
"""How many pass in one iteration of the event loop at most: a few milliseconds of work."""

_LOOK_SECONDS: Final = 0.002


class ErrorMiddleware:
    """ASGI middleware that turns every exception into a response, so that the server logs no text of one."""

    def __init__(self, app: ASGIApp, log: RequestLog) -> None:
        self._app = app
        self._log = log
        self._turnstile = Turnstile()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. Websockets are closed, and startup and shutdown are acknowledged."""
        if scope["type"] != "http":
            await _other_than_http(scope, receive, send)
            return
        context = open_context(scope)
        began = time.perf_counter()
        try:
            await self._answer(context, scope, receive, send)
        finally:
            self._log.write(context, time.perf_counter() - began)

    async def _answer(self, context: RequestContext, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                context.status = message["status"]
                cache = (b"cache-control", context.cache.encode())
                message["headers"] = [*message["headers"], *context.headers, cache]
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except ClientDisconnect:
            pass  # nobody is left to answer
        except Overloaded as error:
            context.overloaded = True
            await self._turnstile.turn()
            await _overloaded(error, context, send_with_headers)
        except asyncio.CancelledError:
            # The process ends. The request may or may not have been carried out.
            await _send_problem(Unavailable(), context, scope, receive, send_with_headers)
        except Exception as error:
            if status_of(error) == 500:
                log_fault(context, error)
            await _send_problem(error, context, scope, receive, send_with_headers)


async def _send_problem(
    error: Exception, context: RequestContext, scope: Scope, receive: Receive, send: Send
) -> None:
    if not context.status:  # else a response has begun
        await problem(error, context.request_id)(scope, receive, send)


async def _overloaded(error: Overloaded, context: RequestContext, send: Send) -> None:
    """Answer as `_send_problem` does, in a fraction of the time: a second may bring thousands."""
    body = context.request_id.encode().join(_OVERLOADED)
    headers = [
        (b"retry-after", b"%d" % error.retry_after),
        (b"content-length", b"%d" % len(body)),
        (b"content-type", MEDIA_TYPE.encode()),
    ]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _other_than_http(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1000})
        return
    while (await receive())["type"] == "lifespan.startup":
        await send({"type": "lifespan.startup.complete"})
    await send({"type": "lifespan.shutdown.complete"})


class Turnstile:
    """A token bucket of `PER_SECOND` and `AT_ONCE`: callers pass in the order in which they came.

    A transaction makes one step in each iteration: thousands of answers in every one of them would stretch it to
    seconds. A peer that sends its next request after its answer sends no faster than these pass.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._tokens = float(AT_ONCE)
        self._looked_at = 0.0

    async def turn(self) -> None:
        """Wait for one's turn."""
        loop = asyncio.get_running_loop()
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
        self._tokens = min(AT_ONCE, self._tokens + PER_SECOND * (now - self._looked_at))
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
