"""Law 3 with the instants of a file: sent to the service out of order, it is decided as the file is."""

import asyncio
import random
from collections.abc import Hashable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from applications import Application, applications
from link_order import LinkOrder
from replay_client import (
    DAY,
    IDENTITIES,
    VERIFICATIONS,
    Connection,
    Credentials,
    connected,
    new_client,
    opened,
)
from replay_server import reference
from replay_verdicts import columns, decision_of, differences, scored, stored, write_lines
from scoring_model.contract.texts import from_text
from scoring_model.history import key_codes
from scoring_model.records.reading import read_records
from scoring_model.scorer import Scorer
from scoring_model.service.core.rows import ClientRow
from scoring_model.service.labels.imports import Imported, LabelLine, import_labels
from scoring_model.service.store import Store
from service_use import SetClock

EVENTS = 500
CONNECTIONS = 4
"""To each of the two processes."""

HALF_A_SECOND = 500_000  # labels lie between events, which are numbered within their second


class Step(NamedTuple):
    """An application or its label."""

    at: int
    application: Application
    is_label: bool


class Replay:
    """A file on its way into the service."""

    def __init__(self, store: Store, clients: list[ClientRow]) -> None:
        self._store = store
        self._clients = clients
        self.ids: dict[str, str] = {}
        self.answers: dict[str, tuple[int, str, tuple[str, ...]]] = {}

    async def work(self, order: LinkOrder[Step], client: Credentials, url: str) -> None:
        """Do steps over one connection."""
        async with connected(url, client) as connection:

            async def do(step: Step) -> None:
                await (self._label(step) if step.is_label else self._apply(connection, step))

            await order.work(do)

    async def _apply(self, connection: Connection, step: Step) -> None:
        application, identity_id = step.application, None
        if application.identity is not None:
            _, identity = await connection.post(IDENTITIES, application.identity)
            identity_id = identity["id"]
        key = reference(step.at, application.name)
        status, answer = await connection.post(VERIFICATIONS, application.request(identity_id), key=key)
        assert status == 201
        self.ids[application.name] = answer["id"]
        self.answers[application.name] = decision_of(answer)

    async def _label(self, step: Step) -> None:
        """Report a label when the clock stands where the file says that it was known."""
        label = step.application.label
        assert label is not None
        line = LabelLine(from_text(self.ids[step.application.name]), None, label, step.at)
        found = await import_labels(self._store, self._clients, [line], SetClock(step.at))
        assert found == Imported(1, 0, ())


def link_keys(scorer: Scorer, source: Path, everything: list[Application]) -> dict[str, list[Hashable]]:
    """The link keys of each record of a file, and one of its own."""
    table = read_records(source, scorer.contents.schema, labelled=False).table
    assert list(table.record_ids) == [application.name for application in everything]
    found: dict[str, list[Hashable]] = {name: [name] for name in table.record_ids}
    for key in scorer.matrix.link_keys:
        for name, code in zip(table.record_ids, key_codes(table, key).tolist(), strict=True):
            if code >= 0:
                found[name].append((key.name, code))
    return found


def steps(everything: list[Application]) -> list[Step]:
    """Applications and labels, in their order."""
    applied = [Step(application.at, application, False) for application in everything]
    labels = [Step(a.known_at, a, True) for a in everything if a.label is not None and a.known_at is not None]
    return sorted([*applied, *labels], key=lambda step: step.at)


def labelled(everything: list[Application], rng: random.Random) -> Iterator[Application]:
    """The same applications, a fifth of them with a label that is known within 20 days: linked ones are to see it."""
    for one in everything:
        known = one.at + rng.randrange(20) * DAY + HALF_A_SECOND
        label = rng.choice(("fraud", "genuine"))
        yield replace(one, label=label, known_at=known) if rng.random() < 1 / 5 else one


def test_a_file_scores_alike_through_the_service(served: Any, linked: Scorer, tmp_path: Path) -> None:
    """Hundreds of applications and their labels over 8 connections, only those with a common link key in order."""
    everything = list(labelled(applications(EVENTS, seed=6, months=5), random.Random(5)))
    source = write_lines(tmp_path / "history.jsonl", [application.record() for application in everything])
    keys = link_keys(linked, source, everything)
    in_order = steps(everything)
    served.clock.put(in_order[0].at)
    assert len({step.at for step in in_order}) == len(in_order)

    async def main() -> None:
        async with opened(served.database) as store:
            client = await new_client(store, now=served.clock.now())
            async with store.reading() as reader:
                replay = Replay(store, await reader.clients())
            order = LinkOrder([(step, keys[step.application.name]) for step in in_order], random.Random(2))
            await asyncio.gather(
                *(replay.work(order, client, url) for url in served.urls for _ in range(CONNECTIONS))
            )
            names = {of: name for name, of in replay.ids.items()}
            found = {names[of]: row for of, row in (await stored(store, client.number)).items()}
            assert {name: row.at for name, row in found.items()} == {a.name: a.at for a in everything}
            verdicts = {name: row.verdict for name, row in found.items()}
            assert {name: verdict[1:] for name, verdict in verdicts.items()} == replay.answers
            assert not differences(linked, verdicts, scored(linked, source))
            seen = columns(linked, verdicts.values())
            assert order.overtakings > EVENTS / 4
            for key in linked.matrix.link_keys:
                assert seen[f"link_{key.name}_90d_frauds"].max() > 0

    asyncio.run(main())
