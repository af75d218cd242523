"""A peer for the client: the interface on a real socket over a service in memory, with faults injected by a test."""

import asyncio
import json
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import uvicorn
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import fake_service
from fake_service import GOOD, HOOK, FakeService, StoppedClock
from scoring_model.contract.texts import from_text, to_text
from scoring_model.records import rfc3339
from scoring_model.service.http import HttpSettings, create_app

NOW: Final = rfc3339(fake_service.NOW)
CLIENT_ID: Final = "client-7"
API_KEY: Final = "key-canary-9f2c"
VERDICT: Final = {
    "status": "COMPLETED",
    "scoringOutcome": "STEPPED_UP",
    "scoringScore": 531,
    "modelVersion": "m1",
    "policyVersion": "p1",
    "completedAt": NOW,
}
"""Of a verification that was PENDING."""


@dataclass(frozen=True)
class Seen:
    """A received request."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Lost:
    """Close the connection in the middle of the answer; with `done` the request is carried out first."""

    done: bool


class Cut(Exception):
    """Makes the server close a connection whose answer has begun."""


class Peer(FakeService):
    """The service in memory, its received requests, and faults for the next requests.

    Parameters
    ----------
    faults : deque of Response or Lost
        Faults of the next requests, instead of or after carrying them out.
    connections : set of int
        Source ports of the requests.
    polls : int
        Number of reads for which a verification stays pending.
    poll_headers : dict
        Additional headers of answers.
    changes : list of mapping
        Replacement members for the next answers.
    """

    def __init__(self, url: str = "") -> None:
        super().__init__()
        self.callers[CLIENT_ID, API_KEY] = self.callers[GOOD["x-client-id"], GOOD["x-api-key"]]
        self.url = url
        self.faults: deque[Response | Lost] = deque()
        self.seen: list[Seen] = []
        self.connections: set[int] = set()
        self.polls = 0
        self.poll_headers: dict[str, str] = {}
        self.changes: list[Mapping[str, object]] = []
        self.app = create_app(self.parts, HttpSettings(access_log=False), clock=StoppedClock())

    def of(self, method: str) -> list[Seen]:
        """The requests of one method."""
        return [seen for seen in self.seen if seen.method == method]

    @property
    def ids(self) -> list[str]:
        """The ids of all resources."""
        return [to_text(resource) for _, resource in self.kept if resource is not None]

    def deactivate(self, webhook: str) -> None:
        """Change a webhook outside the client."""
        resource = from_text(webhook)
        assert resource is not None
        caller = self.callers[CLIENT_ID, API_KEY]
        asyncio.run(self.webhooks.update(caller, resource, {**HOOK, "active": False}))


@dataclass
class Server:
    """Records every request to a peer and applies the next fault."""

    peer: Peer = field(default_factory=Peer)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        peer, body = self.peer, await Request(scope, receive).body()
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        peer.seen.append(Seen(scope["method"], scope["path"], headers, body))
        peer.connections.add(scope["client"][1])
        peer.pending = peer.polls > 0

        async def again() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        match peer.faults.popleft() if peer.faults else None:
            case Response() as answer:
                await answer(scope, again, send)
            case Lost(done=done):
                if done:
                    await peer.app(scope, again, _nowhere)
                await _begin(send)
                raise Cut
            case None:
                await peer.app(scope, again, _changed(peer, scope["method"], send))


def _changed(peer: Peer, method: str, send: Send) -> Send:
    """Send answers as the peer changes them; each has one part."""
    start: list[Message] = []

    async def changed(message: Message) -> None:
        if message["type"] == "http.response.start":
            start.append(message)
            return
        headers, body = MutableHeaders(raw=start[0]["headers"]), message.get("body", b"")
        changes: dict[str, object] = {}
        if method == "GET" and b'"PENDING"' in body:
            headers.update(peer.poll_headers)
            changes |= {} if peer.polls else VERDICT
            peer.polls = max(0, peer.polls - 1)
        if peer.changes:
            changes |= peer.changes.pop(0)
        if changes:
            body = json.dumps(json.loads(body) | changes).encode()
            headers["content-length"] = str(len(body))
        await send({**start[0], "headers": headers.raw})
        await send({**message, "body": body})

    return changed


async def _nowhere(message: Message) -> None:
    """Send nothing."""


async def _begin(send: Send) -> None:
    await send({"type": "http.response.start", "status": 201, "headers": [(b"content-length", b"1000")]})
    await send({"type": "http.response.body", "body": b'{"id": ', "more_body": True})


def problem(status: int, code: str, **more: object) -> Response:
    """An answer of RFC 9457; `headers` among the further members are its headers."""
    headers = {"X-Request-Id": "0190-ab", **dict(more.pop("headers", {}))}  # type: ignore[call-overload]
    body = {"type": "about:blank", "title": "Error", "status": status, "code": code, "detail": "The reason."}
    return JSONResponse(body | more, status, headers, media_type="application/problem+json")


@contextmanager
def running_peer() -> Iterator[Server]:
    """A server on a socket of this machine, in a thread."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        served = Server(Peer(f"http://127.0.0.1:{listener.getsockname()[1]}"))
        app: ASGIApp = served
        config = uvicorn.Config(app, lifespan="off", ws="none", log_level=100, timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.005)
        yield served
        server.should_exit = True
        thread.join(10)


@dataclass
class Time:
    """A clock that only moves when a client sleeps, and the durations slept."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        """The present."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Advance the clock."""
        if seconds:
            self.slept.append(seconds)
            self.now += seconds

    async def sleep_async(self, seconds: float) -> None:
        """Advance the clock."""
        self.sleep(seconds)
