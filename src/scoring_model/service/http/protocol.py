"""HTTP/1.1 on a connection: uvicorn's protocol with limits on sent, buffered and unread bytes.

Requests of a connection are parsed one at a time: the next one waits, unparsed, until the previous one is answered and
the client has read the answer.

Decision record: docs/adr/0032-http.md.
"""

import asyncio
from typing import Any, Final, Literal
from urllib.parse import unquote

import httptools
from uvicorn._types import ASGISendEvent
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from scoring_model.service.core.errors import RequestError, Unavailable
from scoring_model.service.http import framing
from scoring_model.service.http.bodies import WHOLE
from scoring_model.service.http.connections import Connections
from scoring_model.service.http.context import AUTHENTICATED, FLAGS, RequestContext, RequestLog
from scoring_model.service.http.errors import HeadersTooLarge, MalformedRequest, problem
from scoring_model.service.http.settings import HttpSettings

DISCARDED_BYTES: Final = 16 * 1024 * 1024
"""Maximum bytes of a rejected body that are read and discarded, so that a client that is still sending can read the
error. A longer body closes the connection."""

LINGER_SECONDS: Final = 2.0
"""Seconds for which the server discards input on a rejected connection, for the same reason."""


_CONTROLS: Final = bytes(set(range(32)) - set(b"\t\r\n")) + b"\x7f"
_Phase = Literal["idle", "head", "body", "answer"]


class _Cycle(RequestResponseCycle):
    """A request and its response.

    uvicorn writes the head of a response and its body separately; each write is a system call and a packet. Here the
    head waits for the first part of the body. A response has a length (no chunks) and header names in lower case.
    """

    _head = b""

    async def send(self, message: ASGISendEvent) -> None:
        """Send the next part of the response; see ASGI."""
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        if message["type"] == "http.response.start" and not self.response_started:
            self._begin(message["status"], list(message["headers"]))
        elif message["type"] == "http.response.body" and self.response_started and not self.response_complete:
            self._continue(message["body"], is_end=not message.get("more_body", False))
        else:
            raise RuntimeError(f"unexpected message {message['type']}")

    def _begin(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        self.response_started = True
        self.waiting_for_100_continue = False
        fields = dict(headers)
        self.expected_content_length = int(fields.get(b"content-length", 0))
        if fields.get(b"connection") == b"close":
            self.keep_alive = False
        elif not self.keep_alive:
            headers.append((b"connection", b"close"))
        lines = [b": ".join(line) for line in (*self.default_headers, *headers)]
        head = b"\r\n".join((STATUS_LINE[status] + b"\r\n".join(lines), b"", b""))
        breaks = len(lines) + 2
        if (
            head.count(b"\n") != breaks
            or head.count(b"\r") != breaks
            or len(head.translate(None, _CONTROLS)) < len(head)
        ):
            raise RuntimeError("a response header contains a control character")
        self._head = head

    def _continue(self, body: bytes, *, is_end: bool) -> None:
        if self.scope["method"] == "HEAD":
            body, self.expected_content_length = b"", 0
        self.expected_content_length -= len(body)
        if self.expected_content_length < 0 or (is_end and self.expected_content_length):
            raise RuntimeError("the body of a response has another length than its header says")
        if self._head:
            head, self._head = self._head, b""
            self.transport.write(b"".join((head, body)))
        else:
            self.transport.write(body)
        if is_end:
            self.response_complete = True
            self.message_event.set()
            if not self.keep_alive:
                self.transport.close()
            self.on_response()


class _Flow(FlowControl):
    """Stops reading while received bytes wait for the parser."""

    is_held = False

    def resume_reading(self) -> None:
        """Resume reading."""
        if not self.is_held:
            super().resume_reading()


class Protocol(HttpToolsProtocol):
    """One connection. A peer that sends or reads too slowly or sends too much is disconnected.

    It subclasses uvicorn's private class, which has no hook for the time until a request is complete, the bytes
    that a connection holds, or a response that no client reads. A test reports each changed member of uvicorn. The
    log is for requests that end before the application.
    """

    def __init__(
        self, *args: Any, settings: HttpSettings, connections: Connections, log: RequestLog, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self.buffered = 0
        self._settings = settings
        self._connections = connections
        self._log = log
        self._is_admitted = True
        self._received = b""  # not parsed yet
        self._body: framing.Body | None = None  # unless complete
        self._is_whole = True  # according to the parser
        self._body_bytes = 0  # of the current request
        self._unsent = 0
        self._discarded = 0
        self._is_refused = False
        self._flags: set[str] = set()
        self._phase: _Phase | None = "head"

    @property
    def is_authenticated(self) -> bool:
        """True if a request on it had valid credentials."""
        return AUTHENTICATED in self._flags

    def abort(self) -> None:
        """Close it immediately and drop unsent data."""
        self._drop()
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Set up, and wait for a request."""
        super().connection_made(transport)
        self.flow = self._flow = _Flow(transport)
        transport.set_write_buffer_limits(high=0)  # any unsent data pauses writing
        self._is_admitted = self._connections.add(self, self.client[0] if self.client else None)
        # Both start as the timer of the first head, so that there is always one to cancel.
        self._deadline = self.loop.call_later(self._settings.head_seconds, transport.close)
        self._write_deadline = self._deadline

    def connection_lost(self, exc: Exception | None) -> None:
        """Clean up, and cancel the timers."""
        self._connections.remove(self)
        self._drop()
        self._deadline.cancel()
        self._write_deadline.cancel()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Close after the current request; a client that does not read gets half of the grace."""
        super().shutdown()
        if self.flow.write_paused and self.config.timeout_graceful_shutdown is not None:
            self._limit_writing(min(self._settings.write_seconds, self.config.timeout_graceful_shutdown / 2))

    def data_received(self, data: bytes) -> None:
        """Receive data."""
        if self._is_refused:
            self._discard(len(data))
            return
        self._received += data
        self._proceed()

    def pause_writing(self) -> None:
        """Pause writing until the written bytes are sent, for at most `write_seconds`."""
        super().pause_writing()
        self._unsent = self.transport.get_write_buffer_size()
        self._limit_writing(self._settings.write_seconds)
        self._count()

    def resume_writing(self) -> None:
        """Resume writing: everything was sent."""
        super().resume_writing()
        self._unsent = 0
        self._write_deadline.cancel()
        self.loop.call_soon(self._proceed)

    def on_message_begin(self) -> None:
        """Begin a request."""
        if not self._is_whole:
            raise framing.BadFraming
        super().on_message_begin()
        self.scope[FLAGS] = self._flags  # type: ignore[typeddict-unknown-key]
        self._is_whole = False
        self._discarded = 0
        self._phase = None  # its time starts again

    def on_headers_complete(self) -> None:
        """Start the application. No request overlaps with another one here, and none is upgraded."""
        version = self.parser.get_http_version()
        url = httptools.parse_url(self.url)
        path = url.path.decode("ascii")
        self.scope["http_version"] = version
        self.scope["method"] = self.parser.get_method().decode("ascii")
        self.scope["path"] = unquote(path) if "%" in path else path
        self.scope["raw_path"] = url.path
        self.scope["query_string"] = url.query or b""
        self.cycle = _Cycle(
            scope=self.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=version != "1.0" and self.parser.should_keep_alive(),
            on_response=self.on_response_complete,
        )
        self._start_asgi_task(self.cycle, self.app)

    def on_message_complete(self) -> None:
        """End a request, possibly before the application was called."""
        super().on_message_complete()
        self._is_whole = True
        self.scope[WHOLE] = True  # type: ignore[typeddict-unknown-key]

    def on_response_complete(self) -> None:
        """Continue with the next request."""
        super().on_response_complete()
        self._body_bytes = 0
        self._proceed()

    def _proceed(self) -> None:
        """Parse the received bytes if allowed."""
        if self._flow.is_held and not self._is_answering():
            self._flow.is_held = False
            self.flow.resume_reading()
        left = -1
        while self._received and len(self._received) != left and not self._is_answering():
            left = len(self._received)
            self._parse()
        self._watch()

    def _is_answering(self) -> bool:
        """Return True if parsing must wait until an answer is sent."""
        cycle: RequestResponseCycle | None = self.cycle
        return (
            self._body is None
            and cycle is not None
            and (not cycle.response_complete or self.flow.write_paused)
        )

    def _parse(self) -> None:
        """Feed the parser with one request."""
        if self.transport.is_closing():
            self._received = b""
            return
        try:
            if self._body is None:
                head, self._received, self._body = framing.take_head(self._received)
                is_reserved = bool(head) and not self._is_admitted
                if is_reserved and not framing.target_of(head).startswith(b"/health/"):
                    self._refuse(Unavailable())
                    return
                self.parser.feed_data(head)
                if is_reserved:
                    self.cycle.keep_alive = False
            if self._body is not None and self._received:
                parsed, self._received, is_end = self._body.take(self._received)
                if is_end:
                    self._body = None
                if self.cycle.response_complete:
                    self._discard(len(parsed))
                else:
                    self._body_bytes += len(parsed)
                self.parser.feed_data(parsed)
        except framing.TooLong:
            self._refuse(HeadersTooLarge()) if self._body is None else self.abort()
        except (framing.BadFraming, httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._refuse(MalformedRequest())
        else:
            if self._is_whole != (self._body is None):  # framing and parser disagree about the end
                self._refuse(MalformedRequest())

    def _watch(self) -> None:
        """Count bytes, and start the timer of a new phase."""
        if self._is_refused or self.transport.is_closing():
            return
        if not self._count():
            self._refuse(Unavailable())
            return
        phase: _Phase = "head" if self._received or self.cycle is None else "idle"
        if self._body is not None:
            phase = "body"
        elif self._is_answering():
            phase = "answer"
            if self._received or self.flow.write_paused:
                self._flow.is_held = True
                self.flow.pause_reading()
        if phase == self._phase:
            return
        self._phase = phase
        self._deadline.cancel()
        if phase != "idle":
            self._unset_keepalive_if_required()
        elif self.timeout_keep_alive_task is None:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )
        if phase == "head":
            self._deadline = self.loop.call_later(self._settings.head_seconds, self.transport.close)
        elif phase == "body":
            self._deadline = self.loop.call_later(self._settings.body_seconds, self._end_late_body)

    def _end_late_body(self) -> None:
        if self.cycle.response_complete:
            self.transport.close()
        else:
            self.cycle.keep_alive = False  # the application answers, 408 if it waits for the body

    def _limit_writing(self, seconds: float) -> None:
        self._write_deadline.cancel()
        self._write_deadline = self.loop.call_later(seconds, self.abort)

    def _count(self) -> bool:
        """Report the bytes in memory; returns False if they exceed the limit and have grown."""
        now = len(self._received) + self._body_bytes + self._unsent
        change = now - self.buffered
        self.buffered = now
        return not change or self._connections.buffer(change) or change < 0

    def _drop(self) -> None:
        self._received, self._body, self._body_bytes, self._unsent = b"", None, 0, 0
        self._count()

    def _discard(self, length: int) -> None:
        self._discarded += length
        if self._discarded > DISCARDED_BYTES:
            self.transport.close()

    def _refuse(self, error: RequestError) -> None:
        """Answer with an error instead of the application, unless it has answered, and close."""
        self._is_refused = True
        cycle: RequestResponseCycle | None = self.cycle
        is_over = self._is_whole and cycle is not None and cycle.response_complete
        self._drop()
        self._deadline.cancel()
        self._unset_keepalive_if_required()
        if cycle is not None and cycle.scope is self.scope and not is_over:
            if cycle.response_started:
                self.transport.close() if cycle.response_complete else self.transport.abort()
                return
            cycle.disconnected = True
            cycle.message_event.set()
        self._write_problem(error)
        self.transport.write_eof()
        self._deadline = self.loop.call_later(LINGER_SECONDS, self.transport.close)

    def _write_problem(self, error: RequestError) -> None:
        context = RequestContext("")  # the method may be malformed
        response = problem(error, context)
        context.status = response.status_code
        headers = [
            *self.server_state.default_headers,
            *response.raw_headers,
            *context.headers,
            (b"cache-control", context.cache.encode()),
            (b"connection", b"close"),
        ]
        lines = [name + b": " + value + b"\r\n" for name, value in headers]
        self.transport.write(
            b"".join((STATUS_LINE[response.status_code], *lines, b"\r\n", bytes(response.body)))
        )
        self._log.write(context, 0.0)
