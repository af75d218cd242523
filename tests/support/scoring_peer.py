"""A hand-written peer for the client: the interface in memory, on a real socket, with faults when asked for."""

import json
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

NOW: Final = "2026-01-02T03:04:05.678901Z"
SECRET: Final = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="
INPUT: Final = [
    "firstName",
    "lastName",
    "dob",
    "citizenship",
    "documentType",
    "imageUrls",
    "address",
    "externalId",
]


@dataclass(frozen=True)
class Seen:
    """A request as it came."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Lost:
    """The connection is closed in the middle of the answer."""

    done: bool  # whether the request is carried out before


class Cut(Exception):
    """What makes the server close a connection whose answer has begun."""


@dataclass
class Peer:
    """The interface in memory.

    Parameters
    ----------
    url : str
        Its address.
    faults : deque of Response or Lost
        What happens to the next requests instead of, or after, what they ask for.
    seen : list of Seen
    connections : set of int
        The ports that requests came from.
    polls : int
        How often a verification is still pending when it is read.
    changes : list of mapping
        What is put over the next answers that hold one resource.
    """

    url: str = ""
    faults: deque[Response | Lost] = field(default_factory=deque)
    seen: list[Seen] = field(default_factory=list)
    connections: set[int] = field(default_factory=set)
    polls: int = 0
    changes: list[Mapping[str, object]] = field(default_factory=list)
    resources: dict[str, dict[str, Any]] = field(default_factory=dict)
    answers: dict[tuple[str, str], tuple[int, dict[str, Any]]] = field(default_factory=dict)
    poll_headers: dict[str, str] = field(default_factory=dict)
    ready: bool = True

    def of(self, method: str) -> list[Seen]:
        """The requests of one method."""
        return [seen for seen in self.seen if seen.method == method]

    def application(self) -> ASGIApp:
        """The ASGI application."""
        return Faulty(self, Starlette(routes=self._routes()))

    def _routes(self) -> list[Route]:
        base = "/scoring/v1"
        return [
            Route(f"{base}/identities", self.create_identity, methods=["POST"]),
            Route(f"{base}/identities/{{id}}", self.read, methods=["GET"]),
            Route(f"{base}/identities/{{id}}", self.erase, methods=["DELETE"]),
            Route(f"{base}/verifications", self.create_verification, methods=["POST"]),
            Route(f"{base}/verifications/{{id}}", self.read_verification, methods=["GET"]),
            Route(f"{base}/verifications/{{id}}/signals", self.erase, methods=["DELETE"]),
            Route(f"{base}/webhooks", self.create_webhook, methods=["POST"]),
            Route(f"{base}/webhooks", self.list_webhooks, methods=["GET"]),
            Route(f"{base}/webhooks/{{id}}", self.read, methods=["GET"]),
            Route(f"{base}/webhooks/{{id}}", self.update_webhook, methods=["PUT"]),
            Route(f"{base}/webhooks/{{id}}", self.delete_webhook, methods=["DELETE"]),
            Route(f"{base}/webhooks/{{id}}/test", self.test_webhook, methods=["POST"]),
            Route(f"{base}/webhooks/{{id}}/rotate-secret", self.rotate, methods=["POST"]),
            Route("/health/live", self.live, methods=["GET"]),
            Route("/health/ready", self.is_ready, methods=["GET"]),
        ]

    def _shown(
        self, resource: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None
    ) -> Response:
        change = self.changes.pop(0) if self.changes else {}
        return JSONResponse(dict(resource) | dict(change), status, headers)

    def _kept(self, request: Request, resource: Mapping[str, Any], seconds: int) -> Response:
        etag = f'"{hash(json.dumps(resource, sort_keys=True)):x}"'
        headers = {"ETag": etag, "Cache-Control": f"private, max-age={seconds}"}
        if request.headers.get("If-None-Match") == etag:
            return Response(status_code=304, headers=headers)
        return self._shown(resource, 200, headers)

    def _once(self, request: Request, status: int, made: dict[str, Any]) -> Response:
        """Keep what was made, unless the same idempotency key was seen before."""
        key = request.headers.get("Idempotency-Key")
        known = (request.url.path, key or str(uuid4()))
        status, found = self.answers.setdefault(known, (status, made))
        self.resources.setdefault(found["id"], found)
        return self._shown(found, status)

    def _found(self, request: Request) -> dict[str, Any] | None:
        return self.resources.get(request.path_params["id"])

    async def create_identity(self, request: Request) -> Response:
        """POST of an identity."""
        body = await request.json()
        made: dict[str, Any] = {
            "id": str(uuid4()),
            "createdAt": NOW,
            "updatedAt": NOW,
            "validationErrors": [],
        }
        made |= {name: body.get(name) for name in INPUT}
        whole = all(made[name] is not None for name in INPUT[:7])
        return self._once(
            request, 201, made | {"validated": whole, "status": "VALIDATED" if whole else "INCOMPLETE"}
        )

    async def create_verification(self, request: Request) -> Response:
        """POST of a verification; PENDING where polls are asked for."""
        body = await request.json()
        made: dict[str, Any] = {
            "id": str(uuid4()),
            "identityId": body.get("identityId"),
            "subjectId": body.get("subjectId"),
            "previousVerificationId": body.get("previousVerificationId"),
            "status": "PENDING",
            "createdAt": NOW,
            "left": self.polls,
        }
        if self.polls:
            return self._once(request, 202, made)
        return self._once(request, 201, self._complete(made))

    def _complete(self, made: dict[str, Any]) -> dict[str, Any]:
        reasons = [{"code": "NAME_UNUSUAL", "description": "The name is unusual."}]
        made |= {"status": "COMPLETED", "scoringOutcome": "STEPPED_UP", "scoringScore": 612}
        made |= {"reasonCodes": reasons, "modelVersion": "m1", "policyVersion": "p1", "completedAt": NOW}
        return made

    async def read_verification(self, request: Request) -> Response:
        """GET of a verification."""
        found = self._found(request)
        if found is None:
            return problem(404, "not_found")
        if found["status"] == "PENDING":
            found["left"] -= 1
            if found["left"] < 0:
                self._complete(found)
        if found["status"] == "PENDING":
            return self._shown(found, 200, {"Cache-Control": "no-store"} | self.poll_headers)
        return self._kept(request, found, 300)

    async def read(self, request: Request) -> Response:
        """GET of an identity or a webhook."""
        found = self._found(request)
        if found is None:
            return problem(404, "not_found")
        return self._kept(request, {k: v for k, v in found.items() if k != "secret"}, 60)

    async def erase(self, request: Request) -> Response:
        """DELETE of a person."""
        found = self._found(request)
        if found is None:
            return problem(404, "not_found")
        found |= {name: None for name in [*INPUT, "subjectId"] if name in found}
        if "validated" in found:
            found |= {"status": "REDACTED", "validated": False}
        return self._shown(found)

    async def create_webhook(self, request: Request) -> Response:
        """POST of a webhook."""
        body = await request.json()
        made: dict[str, Any] = {"id": str(uuid4()), "createdAt": NOW, "updatedAt": NOW, "eventTypes": ["*"]}
        made |= {"description": None, "disabledReason": None, "secret": SECRET}
        return self._once(request, 200, made | body)

    async def list_webhooks(self, request: Request) -> Response:
        """GET of a page of webhooks."""
        limit = int(request.query_params.get("limit", "100"))
        start = int(request.query_params.get("cursor", "0"))
        hooks = [found for found in self.resources.values() if "destinationUrl" in found]
        headers = {}
        if start + limit < len(hooks):
            # An address that only the service knows, as one behind a proxy would write it.
            link = f"http://inside.invalid/v1?limit={limit}&cursor={start + limit}"
            headers = {"Link": f'<{link}>; rel="next"'}
        return JSONResponse(hooks[start : start + limit], headers=headers)

    async def update_webhook(self, request: Request) -> Response:
        """PUT of a webhook."""
        found = self._found(request)
        if found is None:
            return problem(404, "not_found")
        found |= await request.json()
        return self._shown(found)

    async def delete_webhook(self, request: Request) -> Response:
        """DELETE of a webhook."""
        found = self.resources.pop(request.path_params["id"], None)
        return problem(404, "not_found") if found is None else self._shown(found)

    async def test_webhook(self, request: Request) -> Response:
        """POST of a test event."""
        found = self._found(request)
        return problem(404, "not_found") if found is None else self._once(request, 200, found)

    async def rotate(self, request: Request) -> Response:
        """POST for a new secret."""
        found = self._found(request)
        return problem(404, "not_found") if found is None else self._once(request, 200, found)

    async def live(self, request: Request) -> Response:
        """GET of whether it runs."""
        return JSONResponse({})

    async def is_ready(self, request: Request) -> Response:
        """GET of whether it can answer."""
        return JSONResponse({}, 200 if self.ready else 503)


@dataclass
class Faulty:
    """Notes every request and does to it what the peer's next fault says."""

    peer: Peer
    inner: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        body = await Request(scope, receive).body()
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        self.peer.seen.append(
            Seen(scope["method"], scope["path"], scope["query_string"].decode(), headers, body)
        )
        self.peer.connections.add(scope["client"][1])

        async def again() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        match self.peer.faults.popleft() if self.peer.faults else None:
            case Response() as answer:
                await answer(scope, again, send)
            case Lost(done=done):
                if done:
                    await self.inner(scope, again, _nowhere)
                await _begin(send)
                raise Cut
            case None:
                await self.inner(scope, again, send)


async def _nowhere(message: Message) -> None:
    """Send nothing."""


async def _begin(send: Send) -> None:
    await send({"type": "http.response.start", "status": 201, "headers": [(b"content-length", b"1000")]})
    await send({"type": "http.response.body", "body": b'{"id": ', "more_body": True})


def problem(status: int, code: str, **more: object) -> Response:
    """An answer of RFC 9457; `headers` among what is given more are its headers."""
    headers = {"X-Request-Id": "0190-ab", **dict(more.pop("headers", {}))}  # type: ignore[call-overload]
    body = {"type": "about:blank", "title": "Error", "status": status, "code": code, "detail": "Told why."}
    return JSONResponse(body | more, status, headers, media_type="application/problem+json")


@contextmanager
def running_peer() -> Iterator[Peer]:
    """A peer on a socket of this machine, served by a thread."""
    peer = Peer()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        peer.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        server = uvicorn.Server(
            uvicorn.Config(
                peer.application(), lifespan="off", ws="none", log_level=100, timeout_graceful_shutdown=1
            )
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.005)
        yield peer
        server.should_exit = True
        thread.join(10)


@dataclass
class Time:
    """A clock that only moves when somebody sleeps, and what was slept."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        """The present."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Move on."""
        if seconds:
            self.slept.append(seconds)
            self.now += seconds

    async def sleep_async(self, seconds: float) -> None:
        """Move on."""
        self.sleep(seconds)
