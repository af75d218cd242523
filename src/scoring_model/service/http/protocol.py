"""HTTP/1.1 on a connection: what uvicorn does, with bounds on what never ends and errors of our own shape."""

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from scoring_model.service.core.errors import RequestError
from scoring_model.service.core.ids import new_request_id
from scoring_model.service.http.bodies import WHOLE
from scoring_model.service.http.problems import problem
from scoring_model.service.http.refusals import HeadersTooLarge, MalformedRequest

HEAD_BYTES: Final = 64 * 1024
"""Of request line and headers, above which a request whose headers have not ended is refused."""

HEAD_SECONDS: Final = 20.0
"""Within which the headers of a request have to arrive, and the first request of a connection."""

DISCARDED_BYTES: Final = 16 * 1024 * 1024
"""Of a body that was refused, which are read and thrown away, so that a client in the middle of sending it gets to
read why. A longer one ends with its connection."""


class Protocol(HttpToolsProtocol):
    """One connection. Whoever sends too slowly or too much is cut off, before memory is spent on it."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._in_head = False
        self._head_bytes = 0
        self._discarded = 0
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, and wait for a request."""
        super().connection_made(transport)
        self._start_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """End, and wait for nothing."""
        self._stop_head_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came."""
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._in_head:
            self._head_bytes += len(data)
            self._start_head_timer()
            if self._head_bytes > HEAD_BYTES:
                self._refuse(HeadersTooLarge())
        else:
            self._stop_head_timer()
            self._wait_if_idle()

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._in_head, self._head_bytes, self._discarded = True, 0, 0

    def on_headers_complete(self) -> None:
        """Go on to the body."""
        self._in_head = False
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        if self.cycle.response_complete:
            self._discarded += len(body)
            if self._discarded > DISCARDED_BYTES:
                self.transport.close()
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request, perhaps before its application was asked."""
        super().on_message_complete()
        self.scope[WHOLE] = True  # type: ignore[typeddict-unknown-key]

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, as a problem."""
        self._refuse(MalformedRequest())

    def _refuse(self, error: RequestError) -> None:
        request_id = new_request_id()
        response = problem(error, request_id)
        headers = [
            *self.server_state.default_headers,
            *response.raw_headers,
            (b"x-request-id", request_id.encode()),
            (b"cache-control", b"no-store"),
            (b"connection", b"close"),
        ]
        lines = [name + b": " + value + b"\r\n" for name, value in headers]
        head = b"".join((STATUS_LINE[response.status_code], *lines, b"\r\n"))
        self.transport.write(head + bytes(response.body))
        self.transport.close()

    def _start_head_timer(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _wait_if_idle(self) -> None:
        # The end of a body that was thrown away leaves the connection without a timer that would end it.
        if self.cycle.response_complete and self.timeout_keep_alive_task is None:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )
