"""Load at a rate: requests are sent when they are due, whether or not earlier ones were answered.

Latency counts from the instant at which a request was due, so that a stalled server is charged for every request that
it delayed.
"""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import numpy as np

_CONNECTIONS: Final = 64
_LONGEST: Final = 30.0  # longest wait for an answer, in seconds


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """Results of a period of time.

    Parameters
    ----------
    requests : int
        Requests with the expected answer.
    failures : Counter of str
        Other answers, by status line and problem of the body, or by the error of the connection.
    rate : float
        Answers per second.
    p50, p99 : float
        Latency in milliseconds.
    """

    requests: int
    failures: Counter[str]
    rate: float
    p50: float
    p99: float


class SteadyLoad:
    """Requests to one URL over persistent connections.

    Parameters
    ----------
    url : str
    requests : iterator of bytes
        Complete requests with headers, at least as many as are sent.
    status : int
        Required of every answer.
    """

    def __init__(self, url: str, requests: Iterator[bytes], *, status: int) -> None:
        parts = urlsplit(url)
        self._address = (parts.hostname or "", parts.port or 80)
        self._requests = requests
        self._line = f"HTTP/1.1 {status} ".encode()
        self._idle: asyncio.LifoQueue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.LifoQueue()
        self._took: list[float] = []
        self._failures: Counter[str] = Counter()

    async def open(self) -> None:
        """Open the connections."""
        for _ in range(_CONNECTIONS):
            self._idle.put_nowait(await asyncio.open_connection(*self._address))

    async def close(self) -> None:
        """Close the connections. No request may be under way."""
        while not self._idle.empty():
            self._idle.get_nowait()[1].close()

    async def run(self, rate: float, seconds: float) -> Window:
        """Send for some seconds and wait for the last answer.

        Parameters
        ----------
        rate : float
            Requests per second.
        seconds : float
        """
        self._took, self._failures = [], Counter()
        began, count = time.monotonic(), round(rate * seconds)
        tasks: set[asyncio.Task[None]] = set()
        for number in range(count):
            due = began + number / rate
            if (early := due - time.monotonic()) > 0:
                await asyncio.sleep(early)
            task = asyncio.create_task(self._send(due))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)
        p50, p99 = np.percentile(self._took, [50, 99]).tolist() if self._took else (0.0, 0.0)
        return Window(
            requests=len(self._took),
            failures=self._failures,
            rate=len(self._took) / (time.monotonic() - began),
            p50=1e3 * p50,
            p99=1e3 * p99,
        )

    async def _send(self, due: float) -> None:
        connection = await self._idle.get()
        if connection[0].at_eof():  # servers close idle connections
            connection[1].close()
            connection = await asyncio.open_connection(*self._address)
        try:
            async with asyncio.timeout(_LONGEST):
                wrong = await self._exchange(*connection)
        except (OSError, EOFError) as error:
            wrong = type(error).__name__
            connection[1].close()
            connection = await asyncio.open_connection(*self._address)
        self._idle.put_nowait(connection)
        if wrong is None:
            self._took.append(time.monotonic() - due)
        else:
            self._failures[wrong] += 1

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str | None:
        """Send one request; return what is wrong with the answer."""
        writer.write(next(self._requests))
        head = await reader.readuntil(b"\r\n\r\n")
        fields = (line.partition(b":") for line in head.split(b"\r\n"))
        length = next(int(value) for name, _, value in fields if name.lower() == b"content-length")
        body = await reader.readexactly(length)
        if head.startswith(self._line):
            return None
        return " ".join(
            [head.partition(b"\r\n")[0].decode(), *re.findall(r'"type":"([^"]*)"', body.decode())]
        )
