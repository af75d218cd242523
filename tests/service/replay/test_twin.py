"""What another bundle would have decided: the bits that a second service with it gives to the same traffic."""

import asyncio
import base64
import json
import random
import shutil
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import pytest

from applications import Application, applications
from program import Captured, run
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.texts import to_text
from scoring_model.scorer import Scorer
from scoring_model.service.clients.clients import Caller
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.labels.imports import LabelLine, import_labels
from scoring_model.service.past.pages import LATEST, past_pages
from scoring_model.service.past.replay import Replayer
from scoring_model.service.store import EARLIEST
from service_use import MASTERS, SetClock, World, opened

COUNT: Final = 200
DAY: Final = 86_400_000_000


def traffic() -> list[Application]:
    """Applications within the longest window, many by the same devices."""
    rng = random.Random(4)
    found = applications(COUNT, seed=31, months=2)
    devices = [one.signals["deviceId"] for one in found if "deviceId" in one.signals][:8]
    return [
        replace(one, signals={**one.signals, "deviceId": rng.choice(devices)}) if rng.random() < 0.5 else one
        for one in found
    ]


async def feed(
    world: World, caller: Caller, sent: Sequence[Application], followed: set[int], *, asks: bool
) -> list[bytes]:
    """Send the traffic to a service: ties, follow-ups, labels, erasures; returns the verifications in their order.

    The champion (`asks`) says by its step-ups which applications have a follow-up. Its twin gets the same ones, also
    where it would not have asked.
    """
    made: list[bytes] = []
    async with world.store.reading() as reader:
        clients = await reader.clients()
    for place, one in enumerate(sent):
        if place % 3:  # the others come at the instant of their predecessors
            world.clock.at = one.at
        identity = None if one.identity is None else await world.identity(caller, one.identity)
        fields: dict[str, Any] = {
            "identity": identity,
            "signals": one.signals or None,
            "subject": one.subject,
        }
        answer = (await world.verify(caller, **fields)).resource
        made.append(answer.id)
        is_known = identity is not None or one.subject is not None
        asked = is_known and answer.outcome is Outcome.STEPPED_UP
        if asks and asked:
            followed.add(place)
        if place in followed:
            previous = answer.id if asked else None
            made.append((await world.verify(caller, **fields, previous=previous)).resource.id)
        if place % 7 == 3:
            word = ("fraud", "genuine", "withdrawn")[place % 3]
            label = LabelLine(made[place // 2], None, word, world.clock.at)
            await import_labels(world.store, clients, [label], world.clock)
        if place % 40 == 25:
            await world.erase_signals(caller, made[place // 2])
    return made


async def replayed(world: World, scorer: Scorer) -> Mapping[bytes, Any]:
    """The decisions of a bundle about the verifications of a service, by id."""
    replayer = Replayer(world.store, world.secrets, scorer)
    found: dict[bytes, Any] = {}
    async for page in past_pages(world.store, Vault(MASTERS), since=EARLIEST, before=LATEST):
        scores, _ = await replayer.replay(page)
        found |= scores
    return found


async def bits(world: World, resource: bytes) -> tuple[Any, ...]:
    """Event time, verdict and feature row of a verification."""
    row = await world.row(resource)
    async with world.store.reading() as reader:
        key = await world.persons.key_of(reader, row.key_id)
    assert key is not None
    features = world.persons.verification_payload(row, key)[2]
    return row.completed_at, row.outcome, row.score, row.reasons, features


def test_another_bundle_decides_as_its_twin(
    migrated: Path,
    summing: Path,
    challenger: Path,
    tmp_path: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Follow-ups, labels, ties and erasures included; a service with that bundle got the same traffic."""
    monkeypatch.setenv("MASTERS", base64.b64encode(bytes(range(32))).decode())
    sent = traffic()

    async def main() -> None:
        async with AsyncExitStack() as stack:
            made: list[list[bytes]] = []
            worlds: list[World] = []
            followed: set[int] = set()
            for name, bundle in (("champion", summing), ("twin", challenger)):
                url = f"sqlite:///{shutil.copy(migrated, tmp_path / name)}"
                world = await stack.enter_async_context(opened(url, bundle, clock=SetClock(sent[0].at)))
                caller = await world.client()
                made.append(await feed(world, caller, sent, followed, asks=not worlds))
                worlds.append(world)
            found = await replayed(worlds[0], Scorer.load(challenger))
            pairs = [pair for pair in zip(*made, strict=True) if pair[0] in found]
            assert 0.9 * COUNT < len(pairs) < len(made[0])
            flipped = 0
            for mine, twins in pairs:
                new = found[mine]
                again = (new.instant, str(new.outcome), new.score, new.reasons or None, new.features)
                instant, outcome, score, reasons, features = await bits(worlds[1], twins)
                assert again == (instant, outcome, score, reasons or None, features)
                flipped += (await bits(worlds[0], mine))[1] != outcome
            assert min(flipped, len(followed)) > 5
            out = tmp_path / "whatif.parquet"
            words = (
                "whatif",
                "--database",
                worlds[0].url,
                "--master-key",
                "env:MASTERS",
                "--bundle",
                challenger,
            )
            code, said, error = await asyncio.to_thread(run, capsys, *words, "--out", out, "--json")
            assert code == 0, error
            summary = json.loads(said)
            assert sum(one["verifications"] for one in summary["flips"]) == flipped
            assert summary["notReplayed"]["erased"] == len(made[0]) - len(pairs)
            rows = {row["verificationId"]: row["whatifScore"] for row in pq.read_table(out).to_pylist()}
            assert rows == {to_text(mine): found[mine].score for mine, _ in pairs}

    asyncio.run(main())
