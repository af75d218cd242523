"""Load over many connections: at a rate, or as fast as a service answers.

A request costs the client about 30 us, so one core can send several times the load that a service on the other answers.
"""

import asyncio
import itertools
import json
import os
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np
import uvloop

CREATE: Final = "/scoring/v1/verifications"
CONNECTIONS: Final = 32
TICK: Final = 0.002
"""Seconds between two checks for due requests."""

_SETTLED_SECONDS: Final = 60.0
_KEPT_EVERY: Final = 11
_LENGTH: Final = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)
_RETRY: Final = re.compile(rb"\r\nretry-after: (\d+)", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """Results of some requests.

    Latencies are by status, in seconds from the instant at which each request was due; `seconds` is the duration of
    sending; `missing` had no answer or no free connection; `answers` are the bodies of one answer in eleven.
    """

    seconds: float
    latencies: dict[int, list[float]] = field(repr=False)
    missing: int = 0
    answers: list[bytes] = field(default_factory=list, repr=False)

    @property
    def goodput(self) -> float:
        """Answers with 201 per second."""
        return self.count(201) / self.seconds

    def count(self, status: int) -> int:
        """Number of answers with a status."""
        return len(self.latencies.get(status, []))

    def others(self) -> int:
        """Number of answers with another status than 201."""
        return sum(map(len, self.latencies.values())) - self.count(201)

    def percentile(self, percent: float, status: int = 201) -> float:
        """Seconds within which a share of the answers with a status arrived; NaN if there are none."""
        found = self.latencies.get(status)
        return float(np.percentile(found, percent)) if found else float("nan")

    def __str__(self) -> str:
        counts = Counter({status: len(found) for status, found in self.latencies.items()})
        statuses = ", ".join(f"{count} x {status}" for status, count in sorted(counts.items()))
        p50, p99 = (1e3 * self.percentile(percent) for percent in (50, 99))
        return f"{self.goodput:,.0f} verdicts/s, p50 {p50:.1f} ms, p99 {p99:.1f} ms; {statuses}; {self.missing} missing"


class _Connection(asyncio.Protocol):
    """One connection, with at most one request under way."""

    def __init__(self, answered: Callable[["_Connection", int, int, bytes], None]) -> None:
        self._answered = answered
        self._received = b""
        self.transport: asyncio.Transport | None = None
        self.due = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self.transport = transport  # type: ignore[assignment]

    def connection_lost(self, _: Exception | None) -> None:
        """End; a request under way stays unanswered."""
        self.transport = None

    def send(self, request: bytes, due: float) -> None:
        """Send a request."""
        self.due = due
        if self.transport is not None:
            self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        """Take received bytes; report the answer once it is complete."""
        self._received = data = self._received + data
        end = data.find(b"\r\n\r\n")
        if end < 0:
            return
        length = _LENGTH.search(data, 0, end + 2)
        if length is None or len(data) < end + 4 + int(length[1]):
            return
        retry = _RETRY.search(data, 0, end + 2)
        self._received = b""
        self._answered(self, int(data[9:12]), 0 if retry is None else int(retry[1]), data[end + 4 :])


class OpenLoad:
    """Connections of one client to one server, for complete requests. Use it within one event loop."""

    def __init__(self, url: str, requests: Iterator[bytes]) -> None:
        parts = urlsplit(url)
        self._address = (parts.hostname or "", parts.port or 80)
        self._requests = requests
        self._all: list[_Connection] = []
        self._idle: list[_Connection] = []
        self._then: Callable[[_Connection, int], object] | None = None
        self._forget()

    async def open(self, connections: int, first: bytes) -> None:
        """Open connections, each with a first request that authenticates it."""
        loop = asyncio.get_running_loop()
        for number in range(1, connections + 1):
            _, made = await loop.create_connection(lambda: _Connection(self._answered), *self._address)
            made.send(first, 0.0)
            self._all.append(made)
            while len(self._idle) < number:
                await asyncio.sleep(0)

    def close(self) -> None:
        """Close all."""
        for connection in self._all:
            if connection.transport is not None:
                connection.transport.abort()

    async def at_rate(self, rate: float, seconds: float, *, whole: bool = False) -> Answered:
        """Send requests at a rate, each when it is due; those without an idle connection count as missing.

        Counts the answers that arrive in time, whenever requested; with `whole` late ones too.
        """
        self._forget()
        began, sent, missing = time.monotonic(), 0, 0
        while (now := time.monotonic()) < began + seconds:
            for number in range(sent, int((now - began) * rate)):
                if self._idle:
                    self._send(self._idle.pop(), began + number / rate)
                else:
                    missing += 1
                sent += 1
            await asyncio.sleep(TICK)
        taken = time.monotonic() - began
        if whole:
            await self.settle()
        return self.so_far(taken, missing)

    async def obeying(self, connections: int, seconds: float) -> Answered:
        """Send again on each connection as soon as it is answered, or when `Retry-After` allows."""
        loop = asyncio.get_running_loop()
        return await self._closed(
            connections, seconds, lambda connection, retry: loop.call_later(retry, self._send_now, connection)
        )

    async def flooding(self, connections: int, seconds: float) -> Answered:
        """Send again on each connection as soon as it is answered."""
        return await self._closed(connections, seconds, lambda connection, _: self._send_now(connection))

    async def _closed(
        self, connections: int, seconds: float, then: Callable[[_Connection, int], object]
    ) -> Answered:
        self._forget()
        self._then = then
        began = time.monotonic()
        taken, self._idle = self._idle[:connections], self._idle[connections:]
        for connection in taken:
            self._send_now(connection)
        await asyncio.sleep(seconds)
        self._then = None
        return self.so_far(time.monotonic() - began)

    def so_far(self, seconds: float, missing: int = 0) -> Answered:
        """Return and forget the results since the last call, or since the phase began."""
        latencies, answers = self._latencies, self._answers
        self._forget()
        return Answered(seconds=seconds, latencies=latencies, missing=missing, answers=answers)

    async def settle(self) -> None:
        """Wait until no request is under way."""
        async with asyncio.timeout(_SETTLED_SECONDS):
            while len(self._idle) < sum(connection.transport is not None for connection in self._all):
                await asyncio.sleep(TICK)

    def _forget(self) -> None:
        self._latencies: dict[int, list[float]] = {}
        self._answers: list[bytes] = []
        self._number = 0

    def _send_now(self, connection: _Connection) -> None:
        if self._then is None:
            self._idle.append(connection)
        else:
            self._send(connection, time.monotonic())

    def _send(self, connection: _Connection, due: float) -> None:
        connection.send(next(self._requests), due)

    def _answered(self, connection: _Connection, status: int, retry: int, body: bytes) -> None:
        self._latencies.setdefault(status, []).append(time.monotonic() - connection.due)
        self._number += 1
        if self._number % _KEPT_EVERY == 0:
            self._answers.append(body)
        if self._then is None:
            self._idle.append(connection)
        else:
            self._then(connection, retry)


class Visitors:
    """A client whose customers send verifications in turn; each load continues where the last one ended.

    `credentials` are headers; with `keys` each request has its own idempotency key.
    """

    def __init__(
        self, bodies: Iterable[Mapping[str, Any]], credentials: Mapping[str, str], *, keys: bool = False
    ) -> None:
        self._credentials = credentials
        self._requests = self._endless([json.dumps(body).encode() for body in bodies], keys)

    def _endless(self, bodies: list[bytes], keys: bool) -> Iterator[bytes]:
        head = self._head("POST", CREATE) + b"Content-Type: application/json\r\n"
        whole = [(head + b"Content-Length: %d\r\n" % len(body), body) for body in bodies]
        prefix = os.urandom(4).hex().encode()
        for number, (start, body) in enumerate(itertools.cycle(whole)):
            key = b"Idempotency-Key: %b-%d\r\n" % (prefix, number) if keys else b""
            yield start + key + b"\r\n" + body

    def _head(self, method: str, path: str) -> bytes:
        lines = [f"{method} {path} HTTP/1.1", "Host: service"]
        lines += [f"{name}: {value}" for name, value in self._credentials.items()]
        return "".join(f"{line}\r\n" for line in lines).encode()

    @asynccontextmanager
    async def connected(self, url: str, connections: int) -> AsyncIterator[OpenLoad]:
        """Connections to the service at a URL."""
        load = OpenLoad(url, self._requests)
        try:
            await load.open(connections, self._head("GET", "/scoring/v1/webhooks") + b"\r\n")
            yield load
        finally:
            load.close()

    def drive(self, url: str, seconds: float, connections: int = CONNECTIONS) -> Answered:
        """Send for some seconds, again on each connection as soon as it is answered; every answer must be a 201."""

        async def run() -> Answered:
            async with self.connected(url, connections) as load:
                found = await load.flooding(connections, seconds)
                await load.settle()
                return found

        found = uvloop.run(run())
        if found.others() or not found.count(201):
            raise SystemExit(f"answers other than 201: {found}, {found.answers[:1]}")
        return found
