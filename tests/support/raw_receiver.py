"""A receiver of raw bytes for deliveries, and one attempt to it."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from scoring_model.service.delivery.egress import Egress
from scoring_model.service.delivery.sender import AiohttpSender, Reply

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
HEADERS = {"webhook-id": "msg_1", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA"}
BODY = b'{"type":"webhook.test"}'
LOOPBACK = "127.0.0.1"
LOCAL = Egress(development=True)

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Receiver:
    """What came to a server, and where it is."""

    port: int = 0
    peers: int = 0
    requests: list[bytes] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Its address in plain http."""
        return f"http://{LOOPBACK}:{self.port}/hook"


def fixed(answer: bytes) -> Answer:
    """Answer with the same bytes, always."""

    async def write(writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()

    return write


async def _serve(
    receiver: Receiver, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    receiver.peers += 1
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
            body = await reader.readexactly(int(length[0].split(b":")[1]) if length else 0)
            receiver.requests.append(head + body)
            await answer(writer)
    except (EOFError, OSError, asyncio.CancelledError):
        writer.transport.abort()


@asynccontextmanager
async def receiving(
    answer: Answer | bytes, *, tls: ssl.SSLContext | None = None, host: str = LOOPBACK
) -> AsyncIterator[Receiver]:
    """Run a server of raw bytes; what still runs at the end is broken off."""
    receiver = Receiver()
    answered = fixed(answer) if isinstance(answer, bytes) else answer
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(_serve(receiver, answered, reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    if tls is not None:
        tls.sni_callback = lambda _socket, name, _context: receiver.names.append(name)
    server = await asyncio.start_server(connected, host, 0, ssl=tls, backlog=512)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def posted(receiver: Receiver, sender: AiohttpSender | None = None, url: str | None = None) -> Reply:
    """Send one attempt in plain http."""
    async with sender or AiohttpSender(LOCAL) as used:
        return await used.send(url or receiver.url, HEADERS, BODY, client=1)
