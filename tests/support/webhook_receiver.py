"""A receiver of webhooks on this machine, which checks signatures by the public library."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks import Webhook

from running_service import SECONDS


@dataclass(frozen=True)
class Taken:
    """An attempt that came in; its headers are by name in lower case."""

    headers: Mapping[str, str]
    body: bytes

    @property
    def id(self) -> str:
        """Which delivery it is of."""
        return self.headers["webhook-id"]

    @property
    def timestamp(self) -> int:
        """When it was made, in seconds."""
        return int(self.headers["webhook-timestamp"])

    @property
    def event(self) -> Any:
        """The event."""
        return json.loads(self.body)

    def verified(self, secret: str) -> Any:
        """The event, if the public library verifies its signature; else it raises."""
        return Webhook(secret).verify(self.body, dict(self.headers))


class Receiver(ThreadingHTTPServer):
    """Takes attempts and answers them; `answers` gives the status of the one that came at a place, from 0.

    While `open` is cleared, attempts are taken and none is answered.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, answers: Callable[[int], int]) -> None:
        super().__init__(("127.0.0.1", 0), _Exchange)
        self.answers = answers
        self.taken: list[Taken] = []
        self.lock = threading.Lock()
        self.open = threading.Event()
        self.open.set()

    @property
    def url(self) -> str:
        """Where it takes them."""
        return f"http://127.0.0.1:{self.server_port}/hook"

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of senders that are gone: tests kill them."""


class _Exchange(BaseHTTPRequestHandler):
    server: Receiver
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Take one attempt."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.lock:
            place = len(self.server.taken)
            headers = {name.lower(): value for name, value in self.headers.items()}
            self.server.taken.append(Taken(headers, body))
        self.server.open.wait(SECONDS)
        self.send_response(self.server.answers(place))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class calls it
        """Say nothing."""


@contextmanager
def receiving(answers: Callable[[int], int] = lambda _: 200) -> Iterator[Receiver]:
    """A receiver that listens as long as the context."""
    with Receiver(answers) as receiver:
        thread = threading.Thread(target=receiver.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield receiver
        finally:
            receiver.open.set()
            receiver.shutdown()
            thread.join()
