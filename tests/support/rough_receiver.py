"""Receivers of webhooks that do harm, each on a port of this machine."""

import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

MEBIBYTE: Final = bytes(1 << 20)

Answer = Callable[["Connection"], None]


class Connection(socketserver.StreamRequestHandler):
    """A connection of a sender, with what it may be answered."""

    server: "RoughReceiver"

    def handle(self) -> None:
        """Take requests and answer each, until the sender has enough."""
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
        """Wait; False when the receiver is to end."""
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
    """Counts attempts that came, and those whose answer it ended."""

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
        """Where it takes them."""
        return f"http://127.0.0.1:{self.server_address[1]}/hook"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: senders hang up."""


def hang(connection: Connection) -> None:
    """Say nothing."""
    while connection.stand_still(60):
        pass


def trickle(connection: Connection) -> None:
    """Say that all is well, and go on saying it."""
    connection.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while connection.stand_still(0.2):
        connection.write(b".")


def flood(connection: Connection) -> None:
    """Answer with four gigabytes."""
    connection.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4294967296\r\n\r\n")
    for _ in range(4096):
        connection.write(MEBIBYTE)


def redirect(url: str) -> Answer:
    """Send elsewhere."""
    head = f"HTTP/1.1 302 Found\r\nLocation: {url}\r\nContent-Length: 0\r\n\r\n".encode()
    return lambda connection: connection.write(head)


def refuse(connection: Connection) -> None:
    """Be broken, and say so."""
    connection.write(b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 6\r\n\r\nbroken")


@contextmanager
def rough(answer: Answer) -> Iterator[RoughReceiver]:
    """A receiver that listens as long as the context."""
    with RoughReceiver(answer) as receiver:
        thread = threading.Thread(target=receiver.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield receiver
        finally:
            receiver.ending.set()
            receiver.shutdown()
            thread.join()
