"""What clients send to a service that is replayed: applications, steps up and labels, while the clock runs on."""

import asyncio
import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Final

from applications import Application
from replay_client import IDENTITIES, VERIFICATIONS, Connection, Credentials, connected
from replay_clock import SharedClock
from replay_verdicts import told
from scoring_model.contract.ids import from_text
from scoring_model.records import parse_duration
from scoring_model.service.labels import LabelLine, import_labels
from scoring_model.service.store import Store

DAY: Final = parse_duration("1d")
LABELLED: Final = 0.06
"""Share of the applications whose label is told, at random: what is told is to be seen by many."""

DELAY: Final = parse_duration("2d")
"""After which a label is told, on average, if it is not told at once."""

PACE: Final = parse_duration("15m")
"""By which the clock runs on for every answer, on average."""


@dataclass
class Traffic:
    """What one client sends, and what it is told.

    Parameters
    ----------
    waiting : deque of Application
        Not sent yet.
    rng : random.Random
    clock : SharedClock
    answers : dict
        Score, outcome and reasons by verification.
    identities : list
        Identities that may be verified once more, with what was applied for.
    labels : list
        When a label is due (by the clock), and what it says.
    """

    waiting: deque[Application]
    rng: random.Random
    clock: SharedClock
    answers: dict[str, tuple[int, str, tuple[str, ...]]] = field(default_factory=dict)
    identities: list[tuple[str, Application]] = field(default_factory=list)
    labels: list[tuple[int, LabelLine]] = field(default_factory=list)

    async def send_all(self, connection: Connection) -> None:
        """Send what waits, one after the other, now and then an identity once more."""
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
        status, answer = await connection.post(VERIFICATIONS, request)
        assert status == 201
        self.answers[answer["id"]] = told(answer)
        if self.rng.random() < 1 / 30:
            self.clock.advance(round(self.rng.expovariate(1 / (30 * PACE))))
        return answer

    async def tell(self, store: Store, sent: asyncio.Event) -> None:
        """Import labels when they are due, until everything is sent."""
        async with store.reading() as reader:
            clients = await reader.clients()
        while not sent.is_set():
            await asyncio.sleep(0.1)
            now = self.clock.now()
            due = [
                line._replace(known_at=now - self.rng.randrange(5 * DAY))
                for at, line in self.labels
                if at <= now
            ]
            self.labels = [(at, line) for at, line in self.labels if at > now]
            imported = await import_labels(store, clients, due, self.clock)
            assert imported.unknown == ()
            assert imported.repeated == 0


async def send(traffic: Traffic, client: Credentials, url: str) -> None:
    """Send what waits over one connection."""
    async with connected(url, client) as connection:
        await traffic.send_all(connection)
