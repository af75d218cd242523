"""Law 3 with the service's own instants: what it decided under load is what its history gives as a file."""

import asyncio
import random
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from applications import Application, applications
from replay_client import IDENTITIES, VERIFICATIONS, Connection, Credentials, connected, new_client, opened
from replay_clock import SharedClock
from replay_verdicts import Verdict, columns, differences, exported, scored, stored, told, write_lines
from scoring_model.records import parse_duration
from scoring_model.scorer import Scorer
from scoring_model.service.core.ids import from_text
from scoring_model.service.core.labels import import_labels
from scoring_model.service.core.store import Store
from scoring_model.service.label_file import LabelLine

EVENTS = 20_000
APPLICATIONS = 18_000
CONNECTIONS = 8
"""To each of the two processes."""

DAY = parse_duration("1d")
LABELLED = 0.06
"""Share of the applications whose label is told, at random: what is told is to be seen by many."""

DELAY = parse_duration("2d")
"""After which a label is told, on average, if it is not told at once."""

PACE = parse_duration("15m")
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


def assert_everything_happened(
    scorer: Scorer, verdicts: list[Verdict], history: list[dict[str, Any]]
) -> None:
    """The history has all that could go wrong: every window and every cap full, labels, bumped instants, reasons."""
    assert len(verdicts) >= EVENTS
    found = columns(scorer, verdicts)
    for key in scorer.matrix.link_keys:
        for span in ("1h", "1d", "7d", "30d", "90d"):
            assert found[f"link_{key.name}_{span}_records"].max() > 1
        assert (found[f"link_{key.name}_since_last"] == 1e-6).any()
        assert found[f"link_{key.name}_90d_frauds"].max() > 0
    assert (found["link_mail_90d_records"] == 100).any()
    assert np.ptp([verdict.score for verdict in verdicts]) > 300
    assert {verdict.outcome for verdict in verdicts} == {"PASSED", "STEPPED_UP", "FAILED"}
    assert len({reason for verdict in verdicts for reason in verdict.reasons}) > 10
    assert sum("label" in record for record in history) > EVENTS / 100


def test_a_history_of_the_service_scores_alike_as_a_file(served: Any, linked: Scorer, tmp_path: Path) -> None:
    """20,000 verifications over 16 connections to two processes, labels told meanwhile, another client beside."""
    everything = applications(APPLICATIONS, seed=23, months=12)
    rng = random.Random(1)
    one = Traffic(deque(everything), rng, served.clock)
    other = Traffic(deque(rng.sample(everything, APPLICATIONS // 10)), rng, served.clock)

    async def main() -> None:
        async with opened(served.database) as store:
            first, second = [await new_client(store, now=served.clock.now()) for _ in range(2)]
            sent = asyncio.Event()
            telling = [asyncio.create_task(t.tell(store, sent)) for t in (one, other)]
            await asyncio.gather(
                *(send(one, first, url) for url in served.urls for _ in range(CONNECTIONS)),
                *(send(other, second, url) for url in served.urls),
            )
            sent.set()
            await asyncio.gather(*telling)
            for traffic, client in ((one, first), (other, second)):
                verdicts = {
                    name: found.verdict for name, found in (await stored(store, client.number)).items()
                }
                assert {name: verdict[1:] for name, verdict in verdicts.items()} == traffic.answers
                history = await exported(store, client.number)
                source = write_lines(tmp_path / f"{client.number}.jsonl", history)
                assert not differences(linked, verdicts, scored(linked, source))
                if traffic is one:
                    assert_everything_happened(linked, list(verdicts.values()), history)

    asyncio.run(main())
