"""A fast receiver of webhooks: it checks every signature, counts every delivery, and answers 204 immediately.

`counting` runs it in its own process. Deliveries are counted by path.
"""

import asyncio
import base64
import hmac
import json
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, cast

_DONE: Final = b"HTTP/1.1 204 No Content\r\n\r\n"
_START_SECONDS: Final = 30
_SIGNED: Final = (b"webhook-id", b"webhook-timestamp", b"webhook-signature")


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """Deliveries that arrived at a path.

    Parameters
    ----------
    deliveries : int
        Distinct deliveries.
    again : int
        Attempts after the first of each delivery.
    forged : int
        Attempts with a wrong signature.
    seconds : float
        Between the first delivery and the last new one.
    """

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
    seen: Counter[bytes] = field(default_factory=Counter)
    forged: int = 0
    first: float = 0.0
    last: float = 0.0

    def add(self, delivery: bytes) -> None:
        if delivery not in self.seen:
            self.last = time.monotonic()
            self.first = self.first or self.last
        self.seen[delivery] += 1

    def counts(self) -> bytes:
        attempts = sum(self.seen.values())
        counts = {
            "deliveries": len(self.seen),
            "again": attempts - len(self.seen),
            "forged": self.forged,
            "seconds": self.last - self.first,
        }
        return json.dumps(counts).encode()


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
            counts = path.counts()
            self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(counts), counts))
            return
        message, timestamp, signature = (headers.get(name, b"") for name in _SIGNED)
        own = hmac.digest(self._key, b".".join((message, timestamp, body)), "sha256")
        if signature == b"v1," + base64.b64encode(own):
            path.add(message)
        else:
            path.forged += 1
        self._transport.write(_DONE)


@contextmanager
def counting(secret: str) -> Iterator[str]:
    """Run a receiver in its own process; yields its base URL.

    Parameters
    ----------
    secret : str
        ``whsec_...``, which signs every delivery.
    """
    process = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(secret + "\n")
        process.stdin.flush()
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.communicate()


def counts_of(url: str) -> Counts:
    """Fetch from a receiver the counts of a URL."""
    with urllib.request.urlopen(url, timeout=_START_SECONDS) as answer:
        return Counts(**json.load(answer))


async def _serve(secret: str) -> None:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    paths: dict[bytes, _Path] = {}
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Exchange(key, paths), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    import uvloop

    uvloop.run(_serve(sys.stdin.readline().strip()))
