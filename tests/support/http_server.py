"""The server of one process on a real socket, and clients that write bytes."""

import asyncio
import contextlib
import os
import signal
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import uvloop

from fake_service import FakeService, StoppedClock
from scoring_model.service.http import HttpSettings, create_app
from scoring_model.service.http.server import run

LIVE = b"GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n"
"""A request that is always answered."""


@dataclass
class Running:
    """A running server."""

    service: FakeService
    port: int
    task: asyncio.Task[None]
    closed: list[float]
    connections: list["Connection"] = field(default_factory=list)

    async def connect(self) -> "Connection":
        """Open a connection that is closed at the end."""
        connection = Connection(*await asyncio.open_connection("127.0.0.1", self.port))
        self.connections.append(connection)
        return connection

    async def answer(self, request: bytes) -> tuple[int, dict[str, str], bytes]:
        """Send a request on a new connection."""
        connection = await self.connect()
        connection.writer.write(request)
        return await connection.read()


@dataclass
class Connection:
    """A client's end of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def read(self) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of the next answer."""
        async with asyncio.timeout(20):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = dict(line.split(": ", 1) for line in head[1:] if line)
            body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        return int(head[0].split()[1]), headers, body

    async def ended(self) -> bool:
        """Return True if the server soon closes it without sending more."""
        try:
            async with asyncio.timeout(20):
                return await self.reader.read() == b""
        except ConnectionResetError:
            return True


def stop() -> None:
    """Signal the server of this process to stop."""
    os.kill(os.getpid(), signal.SIGTERM)


@asynccontextmanager
async def _running(
    settings: HttpSettings, grace_seconds: float, notice_seconds: float
) -> AsyncIterator[Running]:
    service = FakeService()
    app = create_app(service.parts, settings, clock=StoppedClock())
    listener = socket.create_server(("127.0.0.1", 0))
    closed: list[float] = []

    async def close() -> None:
        closed.append(time.monotonic())

    task = asyncio.create_task(
        run(
            app,
            settings,
            sockets=[listener],
            close=close,
            grace_seconds=grace_seconds,
            notice_seconds=notice_seconds,
        )
    )
    server = Running(service, listener.getsockname()[1], task, closed)
    try:
        await server.answer(LIVE)
        yield server
    finally:
        if not task.done():
            stop()  # also after a failed test: on cancellation it would wait for its connections
        await asyncio.wait((task,))
        for connection in server.connections:
            connection.writer.close()
            with contextlib.suppress(ConnectionError):
                await connection.writer.wait_closed()
    await task
    assert len(closed) == 1


def serve(
    use: Callable[[Running], Awaitable[None]],
    *,
    grace_seconds: float = 10.0,
    notice_seconds: float = 0.0,
    **settings: Any,
) -> None:
    """Run a server, use it, and stop it. Further settings are those of HTTP."""

    async def main() -> None:
        http = HttpSettings(access_log=False, **settings)
        async with _running(http, grace_seconds, notice_seconds) as server:
            await use(server)

    uvloop.run(main())
