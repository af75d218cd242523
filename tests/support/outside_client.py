"""A service as clients see it: real processes, credentials, requests as bytes on a socket."""

import asyncio
import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any, Final

from running_service import SECONDS, Running, running
from scoring_model.service.clients.clients import NewClient, Permission, create_client, parse_quota
from scoring_model.service.core.clock import SystemClock
from scoring_model.service.store import open_store

HUGE: Final = "1000000/1"
DATABASE: Final = "sqlite:///scoring.db"
UNKNOWN: Final = "01890a5d-ac96-774b-bcce-b302099a8057"
"""A UUID that nobody was ever given."""

PERSON: Final[dict[str, Any]] = {
    "firstName": "Marta",
    "lastName": "Wilson",
    "dob": "1991-07-23",
    "citizenship": "GB",
    "documentType": "PASSPORT",
    "imageUrls": ["https://images.example/1.jpg"],
    "address": {"line1": "4 Mill Lane", "city": "Leeds", "country": "GB"},
}
HOOK: Final[dict[str, Any]] = {"destinationUrl": "https://hooks.example/in", "active": True}
IDENTITIES, VERIFICATIONS, WEBHOOKS = (
    f"/scoring/v1/{name}" for name in ("identities", "verifications", "webhooks")
)


@dataclass(frozen=True)
class Answer:
    """A response; its headers are by name in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True)
class OutsideClient:
    """A client of a service on this machine, with the headers of its credentials or without."""

    port: int
    credentials: Mapping[str, str] = field(default_factory=dict)

    def ask(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send one request on a new connection."""
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        sent = {**self.credentials, **({} if content is None else {"Content-Type": "application/json"})}
        connection = HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            connection.request(method, path, content, {**sent, **(headers or {})})
            return answer_of(connection.getresponse())
        finally:
            connection.close()

    def made(self, path: str, body: object, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Create what must be created."""
        answer = self.ask("POST", path, body, headers)
        assert answer.status in (200, 201), answer.body
        found: dict[str, Any] = answer.json
        return found

    def head(self, method: str, path: str, *lines: str) -> bytes:
        """The beginning of a request, for those who write bytes; `lines` are further headers."""
        credentials = [f"{name}: {value}" for name, value in self.credentials.items()]
        return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: a", *credentials, *lines, "", ""]).encode(
            "latin-1"
        )


def answer_of(response: HTTPResponse) -> Answer:
    """Read an answer to its end."""
    body = response.read()
    return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, body)


def port_of(service: Running) -> int:
    """Address of a service."""
    return int(service.url.rpartition(":")[2])


def new_credentials(folder: Path, database: str = DATABASE, *, quota: str = HUGE) -> dict[str, str]:
    """The headers of a new client of a database."""
    requests, seconds = parse_quota(quota)

    async def create() -> NewClient:
        store = await open_store(database.replace(DATABASE, f"sqlite:///{folder}/scoring.db"))
        try:
            return await create_client(
                store,
                name="a client",
                permissions=frozenset(Permission),
                quota=requests,
                quota_seconds=seconds,
                now=SystemClock().now(),
            )
        finally:
            await store.close()

    made = asyncio.run(create())
    return {"x-client-id": made.client_id, "x-api-key": made.api_key}


@contextmanager
def open_service(
    folder: Path, bundle: Path, *words: object, database: str = DATABASE, **options: Any
) -> Iterator[Running]:
    """Start a service in a folder, with default settings except for `words`."""
    named = ["--bundle", bundle, "--bundles", "shelf", "--database", database, *words]
    with running(folder, *named, **options) as service:
        yield service


class Wire:
    """A client's end of a connection, for bytes that no library would send."""

    def __init__(self, port: int, *, seconds: float = SECONDS) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=seconds)
        self._file = self.socket.makefile("rb")

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self.socket.close()

    def send(self, *parts: bytes) -> None:
        """Write; a closed connection is noticed when reading."""
        try:
            for part in parts:
                self.socket.sendall(part)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def answer(self) -> Answer | None:
        """The next answer; None if the connection ended without one.

        Raises
        ------
        TimeoutError
            If neither comes.
        """
        try:
            line = self._file.readline()
            if not line:
                return None
            headers: dict[str, str] = {}
            while (text := self._file.readline().strip()) != b"":
                name, _, value = text.decode("latin-1").partition(": ")
                headers[name.lower()] = value
            body = self._file.read(int(headers.get("content-length", "0")))
        except ConnectionResetError:
            return None
        return Answer(int(line.split()[1]), headers, body)
