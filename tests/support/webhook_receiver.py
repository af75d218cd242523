"""Receivers of webhooks on this machine: one that checks signatures with the public library, and harmful ones."""

import json
import socketserver
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from standardwebhooks import Webhook

from running_service import SECONDS

MEBIBYTE: Final = bytes(1 << 20)
Answer = Callable[["Connection"], None]


@dataclass(frozen=True)
class Taken:
    """A received attempt; its headers are by lower-case name."""

    headers: Mapping[str, str]
    body: bytes

    @property
    def id(self) -> str:
        """The delivery of the attempt."""
        return self.headers["webhook-id"]

    @property
    def timestamp(self) -> int:
        """Time of the attempt, in seconds."""
        return int(self.headers["webhook-timestamp"])

    @property
    def event(self) -> Any:
        """The event."""
        return json.loads(self.body)

    def verified(self, secret: str) -> Any:
        """The event, if the public library verifies its signature; else it raises."""
        return Webhook(secret).verify(self.body, dict(self.headers))


class Receiver(ThreadingHTTPServer):
    """Receives attempts and answers them; `answers` maps the index of an attempt, from 0, to its status.

    While `open` is cleared, attempts are received but not answered.
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
        """URL of the receiver."""
        return f"http://127.0.0.1:{self.server_port}/hook"

    def handle_error(self, request: object, client_address: object) -> None:
        """Log nothing about lost senders: tests kill them."""


class _Exchange(BaseHTTPRequestHandler):
    server: Receiver
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Receive one attempt."""
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
        """Log nothing."""


class Connection(socketserver.StreamRequestHandler):
    """A connection of a sender."""

    server: "RoughReceiver"

    def handle(self) -> None:
        """Answer each request until the sender disconnects."""
        with suppress(OSError):
            while (length := self._head()) is not None:
                self.rfile.read(length)
                self.server.came += 1
                self.server.answer(self)
                self.server.answered += 1

    def write(self, *parts: bytes) -> None:
        """Send bytes."""
        for part in parts:
            self.wfile.write(part)

    def stand_still(self, seconds: float) -> bool:
        """Wait; return False when the receiver must end."""
        return not self.server.ending.wait(seconds)

    def _head(self) -> int | None:
        length, line = 0, self.rfile.readline()
        if not line:
            return None
        while (line := self.rfile.readline().strip()) != b"":
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        return length


class RoughReceiver(socketserver.ThreadingTCPServer):
    """Counts received attempts, and completed answers."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), Connection)
        self.answer = answer
        self.came = 0
        self.answered = 0
        self.ending = threading.Event()

    @property
    def url(self) -> str:
        """URL of the receiver."""
        return f"http://127.0.0.1:{self.server_address[1]}/hook"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log nothing: senders hang up."""


def hang(connection: Connection) -> None:
    """Never answer."""
    while connection.stand_still(60):
        pass


def trickle(connection: Connection) -> None:
    """Answer with success and an endless body."""
    connection.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while connection.stand_still(0.2):
        connection.write(b".")


def flood(connection: Connection) -> None:
    """Answer with four gigabytes."""
    connection.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4294967296\r\n\r\n")
    for _ in range(4096):
        connection.write(MEBIBYTE)


def redirect(url: str) -> Answer:
    """Redirect."""
    head = f"HTTP/1.1 302 Found\r\nLocation: {url}\r\nContent-Length: 0\r\n\r\n".encode()
    return lambda connection: connection.write(head)


def refuse(connection: Connection) -> None:
    """Answer with a server error."""
    connection.write(b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 6\r\n\r\nbroken")


@contextmanager
def _in_thread(server: socketserver.BaseServer, end: Callable[[], None]) -> Iterator[None]:
    """Serve until the context ends; `end` releases hanging answers."""
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield
        finally:
            end()
            server.shutdown()
            thread.join()


@contextmanager
def receiving(answers: Callable[[int], int] = lambda _: 200) -> Iterator[Receiver]:
    """A receiver that listens until the context ends."""
    receiver = Receiver(answers)
    with _in_thread(receiver, receiver.open.set):
        yield receiver


@contextmanager
def rough(answer: Answer) -> Iterator[RoughReceiver]:
    """A harmful receiver that listens until the context ends."""
    receiver = RoughReceiver(answer)
    with _in_thread(receiver, receiver.ending.set):
        yield receiver
