"""The outermost layer: request ids, caching by default, every error as a problem, one line of log."""

import asyncio
import time
from typing import Final

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from scoring_model.service.core.errors import Overloaded, Unavailable
from scoring_model.service.http.context import RequestContext, open_context
from scoring_model.service.http.logs import RequestLog, log_fault
from scoring_model.service.http.problems import MEDIA_TYPE, problem, status_of
from scoring_model.service.http.turnstile import Turnstile

_SOME_ID: Final = "00000000-0000-0000-0000-000000000000"
_OVERLOADED: Final = bytes(problem(Overloaded(), _SOME_ID).body).split(_SOME_ID.encode())
"""The body of the one answer that must cost next to nothing, around the request ids in it."""


class ErrorMiddleware:
    """ASGI middleware around everything else. No exception leaves it, so that no text of one is logged by a server.

    Parameters
    ----------
    app : ASGI application
        Answers, or raises.
    log : RequestLog
    """

    def __init__(self, app: ASGIApp, log: RequestLog) -> None:
        self._app = app
        self._log = log
        self._turnstile = Turnstile()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; websockets are refused, and there is nothing to start or stop."""
        if scope["type"] != "http":
            await _refuse_or_agree(scope, receive, send)
            return
        context = open_context(scope)
        began = time.perf_counter()
        try:
            await self._answer(context, scope, receive, send)
        finally:
            self._log.write(context, time.perf_counter() - began)

    async def _answer(self, context: RequestContext, scope: Scope, receive: Receive, send: Send) -> None:
        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                context.status = message["status"]
                cache = (b"cache-control", context.cache.encode())
                message["headers"] = [*message["headers"], *context.headers, cache]
            await send(message)

        try:
            await self._app(scope, receive, sealed)
        except ClientDisconnect:
            pass  # nobody is left to answer
        except Overloaded as error:
            context.overloaded = True
            await self._turnstile.turn()
            await _overloaded(error, context, sealed)
        except asyncio.CancelledError:
            # The process ends. Whether the request was carried out is not known: it may be sent again.
            await _refuse(Unavailable(), context, scope, receive, sealed)
        except Exception as error:
            if status_of(error) == 500:
                log_fault(context, error)
            await _refuse(error, context, scope, receive, sealed)


async def _refuse(
    error: Exception, context: RequestContext, scope: Scope, receive: Receive, send: Send
) -> None:
    if not context.status:  # else an answer has begun, which is left as it is
        await problem(error, context.request_id)(scope, receive, send)


async def _overloaded(error: Overloaded, context: RequestContext, send: Send) -> None:
    """Answer as `_refuse` does, in a fraction of the time: thousands may have to be refused in a second."""
    body = context.request_id.encode().join(_OVERLOADED)
    headers = [
        (b"retry-after", b"%d" % error.retry_after),
        (b"content-length", b"%d" % len(body)),
        (b"content-type", MEDIA_TYPE.encode()),
    ]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _refuse_or_agree(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1000})
        return
    while (await receive())["type"] == "lifespan.startup":
        await send({"type": "lifespan.startup.complete"})
    await send({"type": "lifespan.shutdown.complete"})
