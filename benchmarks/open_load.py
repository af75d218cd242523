"""Load over many connections, as an open loop that ignores answers or one that obeys `Retry-After`.

A request costs the client about 30 us, so one core can send several times the load that a service on the other answers.
"""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

import numpy as np

TICK: Final = 0.002
"""Seconds between two checks for due requests."""

_SETTLED_SECONDS: Final = 60.0
_LENGTH: Final = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)
_RETRY: Final = re.compile(rb"\r\nretry-after: (\d+)", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """Results of some requests.

    Parameters
    ----------
    seconds : float
        Duration of sending.
    latencies : dict of int to list of float
        By status, in seconds from the instant at which each request was due.
    missing : int
        Requests without an answer or a free connection.
    """

    seconds: float
    latencies: dict[int, list[float]] = field(repr=False)
    missing: int

    @property
    def goodput(self) -> float:
        """Answers with 201 per second."""
        return self.count(201) / self.seconds

    def count(self, status: int) -> int:
        """Number of answers with a status."""
        return len(self.latencies.get(status, []))

    def p99(self, status: int) -> float:
        """Seconds within which 99 % of the answers with a status arrived; NaN if there are none."""
        found = self.latencies.get(status)
        return float(np.percentile(found, 99)) if found else float("nan")

    def __str__(self) -> str:
        counts = Counter({status: len(found) for status, found in self.latencies.items()})
        statuses = ", ".join(f"{count} x {status}" for status, count in sorted(counts.items()))
        return (
            f"{self.goodput:,.0f} verdicts/s, p99 {self.p99(201):.2f} s; {statuses}; {self.missing} missing"
        )


class _Connection(asyncio.Protocol):
    """One connection, with at most one request under way."""

    def __init__(self, answered: Callable[["_Connection", int, int], None]) -> None:
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
        self._answered(self, int(data[9:12]), 0 if retry is None else int(retry[1]))


class OpenLoad:
    """Connections of one client to one server. Use it within one event loop.

    Parameters
    ----------
    url : str
    requests : iterator of bytes
        Complete requests, at least as many as are sent.
    """

    def __init__(self, url: str, requests: Iterator[bytes]) -> None:
        parts = urlsplit(url)
        self._address = (parts.hostname or "", parts.port or 80)
        self._requests = requests
        self._all: list[_Connection] = []
        self._idle: list[_Connection] = []
        self._latencies: dict[int, list[float]] = {}
        self._then: Callable[[_Connection, int], object] | None = None

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

        Parameters
        ----------
        rate, seconds : float
        whole : bool
            True to count late answers too; False to count the answers that arrive in time, whenever requested.
        """
        self._begin()
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
        return self._end(taken, missing)

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
        self._begin()
        self._then = then
        began = time.monotonic()
        for connection in self._take(connections):
            self._send_now(connection)
        await asyncio.sleep(seconds)
        return self._end(time.monotonic() - began, 0)

    def so_far(self, seconds: float) -> Answered:
        """Return and forget the results since the last call, or since the phase began, while it goes on."""
        found, self._latencies = self._latencies, {}
        return Answered(seconds=seconds, latencies=found, missing=0)

    async def settle(self) -> None:
        """Wait until no request is under way."""
        async with asyncio.timeout(_SETTLED_SECONDS):
            while len(self._idle) < sum(connection.transport is not None for connection in self._all):
                await asyncio.sleep(TICK)

    def _take(self, connections: int) -> list[_Connection]:
        taken, self._idle = self._idle[:connections], self._idle[connections:]
        return taken

    def _begin(self) -> None:
        self._latencies, self._then = {}, None

    def _end(self, seconds: float, missing: int) -> Answered:
        self._then = None
        found, self._latencies = self._latencies, {}
        return Answered(seconds=seconds, latencies=found, missing=missing)

    def _send_now(self, connection: _Connection) -> None:
        if self._then is None:
            self._idle.append(connection)
        else:
            self._send(connection, time.monotonic())

    def _send(self, connection: _Connection, due: float) -> None:
        connection.send(next(self._requests), due)

    def _answered(self, connection: _Connection, status: int, retry: int) -> None:
        self._latencies.setdefault(status, []).append(time.monotonic() - connection.due)
        if self._then is None:
            self._idle.append(connection)
        else:
            self._then(connection, retry)
