"""Clients of a replayed service: applications, step-ups and labels, over persistent connections."""

import asyncio
import json
import random
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp

from applications import Application
from replay_server import SharedClock
from replay_verdicts import decision_of
from scoring_model.contract.texts import from_text
from scoring_model.records import parse_duration
from scoring_model.service.clients.clients import Permission, create_client
from scoring_model.service.labels.imports import LabelLine, import_labels
from scoring_model.service.store import Store, open_store

VERIFICATIONS: Final = "/scoring/v1/verifications"
IDENTITIES: Final = "/scoring/v1/identities"
_QUOTA: Final = 1_000_000_000
_SECONDS: Final = 120
DAY: Final = parse_duration("1d")
LABELLED: Final = 0.5
"""Share of the applications whose label is reported, at random: many others are to see each label."""

DELAY: Final = parse_duration("2d")
"""Mean delay of a label that is not reported at once."""

ANSWERS_OF_ONE_INSTANT: Final = 30
"""The clock stands for so many, then moves by less than a day: some verdicts see a part of a key's records behind
the delay of a window, whatever the load of the machine.
"""


@dataclass(frozen=True)
class Credentials:
    """A client: its number in the store, and its headers."""

    number: int
    headers: Mapping[str, str] = field(repr=False)


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Store]:
    """Open a store, and always close it."""
    store = await open_store(url, seconds=_SECONDS)
    try:
        yield store
    finally:
        await store.close()


async def new_client(store: Store, *, now: int, history_scope: str | None = None) -> Credentials:
    """Create a client without an effective quota."""
    made = await create_client(
        store,
        name="a client",
        permissions=frozenset(Permission),
        history_scope=history_scope,
        quota=_QUOTA,
        now=now,
    )
    async with store.reading() as reader:
        number = next(row.client for row in await reader.clients() if row.client_id == made.client_id)
    return Credentials(number, {"x-client-id": made.client_id, "x-api-key": made.api_key})


class Connection:
    """A connection to one process for sequential requests."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def post(self, path: str, body: object, *, key: str | None = None) -> tuple[int, dict[str, Any]]:
        """Send a POST that must succeed; return status and JSON."""
        headers = {"Content-Type": "application/json"} | ({} if key is None else {"Idempotency-Key": key})
        async with self._session.post(path, data=json.dumps(body), headers=headers) as response:
            text = await response.text()
            assert response.status in (201, 202), text
            return response.status, json.loads(text)

    async def get(self, path: str) -> dict[str, Any]:
        """Read a resource."""
        async with self._session.get(path) as response:
            text = await response.text()
            assert response.status == 200, text
            read: dict[str, Any] = json.loads(text)
            return read


@asynccontextmanager
async def connected(url: str, client: Credentials) -> AsyncIterator[Connection]:
    """Open a connection."""
    async with aiohttp.ClientSession(
        url,
        headers=client.headers,
        connector=aiohttp.TCPConnector(limit=1),
        timeout=aiohttp.ClientTimeout(total=_SECONDS),
    ) as session:
        yield Connection(session)


@dataclass
class Traffic:
    """Requests of one client, and the responses.

    Parameters
    ----------
    waiting : deque of Application
        Unsent applications.
    answers : dict
        Score, outcome and reasons by verification.
    identities : list
        Identities that may be verified again, with their applications.
    labels : list
        Due time of a label (by the clock), and the label.
    moving : asyncio.Lock
        Held while the clock waits to move. Nobody sends meanwhile: the number of answers of one instant would
        depend on the load of the machine.
    """

    waiting: deque[Application]
    rng: random.Random
    clock: SharedClock
    answers: dict[str, tuple[int, str, tuple[str, ...]]] = field(default_factory=dict)
    identities: list[tuple[str, Application]] = field(default_factory=list)
    labels: list[tuple[int, LabelLine]] = field(default_factory=list)
    moving: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    async def send_all(self, connection: Connection) -> None:
        """Send the waiting applications in turn, occasionally an identity again."""
        while self.waiting:
            await self._apply(connection, self.waiting.popleft())
            if self.identities and self.rng.random() < 0.1:
                identity_id, application = self.rng.choice(self.identities[-20:])
                await self._verify(connection, application.request(identity_id))

    async def _apply(self, connection: Connection, application: Application) -> None:
        identity_id = None
        if application.identity is not None:
            _, identity = await connection.post(IDENTITIES, application.identity)
            assert identity["status"] == "VALIDATED"
            identity_id = identity["id"]
            self.identities.append((identity_id, application))
        request = application.request(identity_id)
        answer = await self._verify(connection, request)
        if self.rng.random() < LABELLED:
            line = self._label(answer["id"], identity_id)
            delay = self.rng.choice((0, round(self.rng.expovariate(1 / DELAY))))
            self.labels.append((self.clock.now() + delay, line))
        if answer["scoringOutcome"] == "STEPPED_UP" and self.rng.random() < 0.5 and "identityId" in request:
            await self._verify(connection, {**request, "previousVerificationId": answer["id"]})

    def _label(self, verification_id: str, identity_id: str | None) -> LabelLine:
        label = self.rng.choice(("fraud", "genuine"))
        if identity_id is not None and self.rng.random() < 0.3:
            return LabelLine(None, from_text(identity_id), label, 0)
        return LabelLine(from_text(verification_id), None, label, 0)

    async def _verify(self, connection: Connection, request: dict[str, Any]) -> dict[str, Any]:
        async with self.moving:
            pass
        status, answer = await connection.post(VERIFICATIONS, request)
        assert status == 201
        self.answers[answer["id"]] = decision_of(answer)
        if len(self.answers) % ANSWERS_OF_ONE_INSTANT == 0:
            async with self.moving:
                await self._due_labels_reported()
                self.clock.advance(self.rng.randrange(DAY))
        return answer

    async def _due_labels_reported(self) -> None:
        """Wait for the labels that are due, so that a busy machine reports them by the same instants."""
        while any(at <= self.clock.now() for at, _ in self.labels):
            await asyncio.sleep(0.01)

    async def report_labels(self, store: Store, sent: asyncio.Event) -> None:
        """Import labels when they are due, until all are sent."""
        async with store.reading() as reader:
            clients = await reader.clients()
        while not sent.is_set():
            await asyncio.sleep(0.02)
            now = self.clock.now()
            due = [waiting for waiting in self.labels if waiting[0] <= now]
            lines = [line._replace(known_at=now - self.rng.randrange(5 * DAY)) for _, line in due]
            imported = await import_labels(store, clients, lines, self.clock)
            assert imported.unknown == ()
            assert imported.repeated == 0
            self.labels = [waiting for waiting in self.labels if waiting not in due]


async def send(traffic: Traffic, client: Credentials, url: str) -> None:
    """Send the waiting applications over one connection."""
    async with connected(url, client) as connection:
        await traffic.send_all(connection)
