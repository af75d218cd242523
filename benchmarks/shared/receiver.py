"""A fast receiver of webhooks: it checks every signature, counts every delivery, and answers 204 immediately.

`counting` runs it in its own process. Deliveries are counted by path.
"""

import asyncio
import base64
import hmac
import json
import multiprocessing
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from typing import Final, cast

import uvloop

_DONE: Final = b"HTTP/1.1 204 No Content\r\n\r\n"
_SIGNED: Final = (b"webhook-id", b"webhook-timestamp", b"webhook-signature")


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """Distinct deliveries at a path, repeated and forged attempts, and seconds from the first to the last new one."""

    deliveries: int
    again: int
    forged: int
    seconds: float

    @property
    def rate(self) -> float:
        """Deliveries per second."""
        return (self.deliveries - 1) / self.seconds if self.deliveries > 1 else 0.0


@dataclass(slots=True)
class _Path:
    seen: dict[bytes, float] = field(default_factory=dict)  # first arrival of each delivery
    again: int = 0
    forged: int = 0

    def counts(self) -> Counts:
        times = self.seen.values()
        seconds = max(times, default=0.0) - min(times, default=0.0)
        return Counts(deliveries=len(times), again=self.again, forged=self.forged, seconds=seconds)


class _Exchange(asyncio.Protocol):
    """One connection; requests arrive complete, one after another."""

    def __init__(self, key: bytes, paths: dict[bytes, _Path]) -> None:
        self._key = key
        self._paths = paths
        self._data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._data += data
        while (end := self._data.find(b"\r\n\r\n")) >= 0:
            line, *fields = self._data[:end].split(b"\r\n")
            headers = {name.lower(): value for name, _, value in (one.partition(b": ") for one in fields)}
            after = end + 4 + int(headers.get(b"content-length", 0))
            if len(self._data) < after:
                return
            body, self._data = self._data[end + 4 : after], self._data[after:]
            method, path, _ = line.split(b" ")
            self._answer(method, self._paths.setdefault(path, _Path()), headers, body)

    def _answer(self, method: bytes, path: _Path, headers: dict[bytes, bytes], body: bytes) -> None:
        if method == b"GET":
            counts = json.dumps(asdict(path.counts())).encode()
            self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(counts), counts))
            return
        message, timestamp, signature = (headers.get(name, b"") for name in _SIGNED)
        own = hmac.digest(self._key, b".".join((message, timestamp, body)), "sha256")
        if signature != b"v1," + base64.b64encode(own):
            path.forged += 1
        elif path.seen.setdefault(message, now := time.monotonic()) != now:
            path.again += 1
        self._transport.write(_DONE)


@contextmanager
def counting(secret: str) -> Iterator[str]:
    """Run a receiver in a process of its own; yields its base URL. `secret`, ``whsec_...``, signs every delivery."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_receive, args=(secret, there))
    process.start()
    try:
        yield f"http://127.0.0.1:{here.recv()}"
    finally:
        process.kill()
        process.join()


def counts_of(url: str) -> Counts:
    """Fetch from a receiver the counts of a URL."""
    with urllib.request.urlopen(url, timeout=30) as answer:
        return Counts(**json.load(answer))


def _receive(secret: str, port: "Connection[int, int]") -> None:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    paths: dict[bytes, _Path] = {}

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Exchange(key, paths), "127.0.0.1", 0, backlog=1024)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    uvloop.run(serve())
