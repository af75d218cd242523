"""No client learns anything from another's data: rows, scores, reasons, times and events are independent."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from scoring_model.contract.outcome import Outcome
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core.errors import Unavailable
from scoring_model.service.labels.imports import LabelLine, import_labels
from service_use import (
    HOUR,
    SECOND,
    START,
    SetClock,
    World,
    applicants,
    opened,
    run_story,
    signals_of,
    together,
    with_service,
)

STEPS = 6


@dataclass(frozen=True)
class Seen:
    """Everything that a client sees of a verification, and its feature row."""

    row: bytes
    score: int | None
    outcome: Outcome | None
    reasons: tuple[tuple[str, str], ...]
    created_at: int
    completed_at: int | None


async def seen(world: World, caller: Caller, resource: bytes) -> Seen:
    """The visible data of a verification."""
    found = await world.verification(caller, resource)
    stored = await world.row(resource)
    async with world.store.reading() as reader:
        key = await world.persons.key_of(reader, stored.key_id)
    assert key is not None
    row = world.persons.verification_payload(stored, key)[2]
    assert row is not None
    return Seen(row, found.score, found.outcome, found.reasons, found.created_at, found.completed_at)


async def traffic(world: World, caller: Caller, step: int) -> list[bytes]:
    """One step of the common traffic: a person with a device, and the same device under a reference."""
    outcome = tuple(Outcome)[step % 3]
    person = applicants(world.bundle, outcome)[step // 3]
    identity = await world.identity(caller, person.identity)
    alone = {**signals_of(world.bundle, outcome)[0], "deviceId": person.signals["deviceId"]}
    return [
        (await world.verify(caller, identity=identity, signals=person.signals)).resource.id,
        (await world.verify(caller, signals=alone, subject="same")).resource.id,
    ]


async def labelled(world: World, verifications: Sequence[bytes]) -> None:
    """Report that verifications were fraud."""
    async with world.store.reading() as reader:
        clients = await reader.clients()
    lines = [LabelLine(one, None, "fraud", START) for one in verifications]
    await import_labels(world.store, clients, lines, world.clock)


async def lived(world: World, caller: Caller, others: Sequence[Caller]) -> list[Seen]:
    """A client's traffic from the start of the clock, interleaved with that of the others."""
    world.clock.at = START
    mine: list[bytes] = []
    for step in range(STEPS):
        for other in others:
            theirs = await traffic(world, other, step)
            await labelled(world, theirs)
        world.clock.advance(60)
        mine += await traffic(world, caller, step)
        world.clock.advance(60)
    return [await seen(world, caller, one) for one in mine]


async def events_of(world: World, caller: Caller) -> list[tuple[int, str, list[str], int]]:
    """Number, type, names of the data and instant of each event of a client."""
    return [
        (event.sequence, event.type, sorted(json.loads(event.data)), event.created_at)
        for event in await world.events(caller)
    ]


@with_service
async def test_privacy_a_client_sees_the_same_with_and_without_others(world: World) -> None:
    """Rows, scores, reasons, times and events equal bit for bit those without a client that sends the same earlier.

    A client of the same history scope sees all of it, so the traffic could reveal it.
    """
    one, other = await world.client(), await world.client()
    alone = await lived(world, one, [])
    beside = await lived(world, other, [await world.client()])
    assert beside == alone
    events = await events_of(world, one)
    assert await events_of(world, other) == events
    assert [number for number, *_ in events] == list(range(1, len(events) + 1))
    assert {one.outcome for one in alone} == set(Outcome)
    pooled = await lived(world, await world.client("bank"), [await world.client("bank")])
    assert all(mine.row != theirs.row for mine, theirs in zip(alone, pooled, strict=True))
    assert [one.score for one in pooled] != [one.score for one in alone]


@with_service
async def test_privacy_a_client_sees_nothing_of_others_in_one_transaction(world: World) -> None:
    """Those of one batch: the same device of two clients at once, of two of a history scope at once."""
    unrelated = [await world.client(), await world.client()]
    mates = [await world.client("bank"), await world.client("bank")]
    signals = signals_of(world.bundle, Outcome.FAILED)[0]
    callers = (*unrelated, *mates)
    answers = await together(world, *(world.verify(caller, signals=signals) for caller in callers))
    assert world.store.history_scopes[-1:] == [sorted({caller.history_scope for caller in callers})]
    found = [
        await seen(world, caller, answer.resource.id) for caller, answer in zip(callers, answers, strict=True)
    ]
    assert found[0] == found[1] == found[2]
    assert found[3].row != found[0].row
    assert found[3].completed_at == START + 1


@with_service
async def test_privacy_the_clock_of_another_moves_nobody(world: World) -> None:
    """Events an hour ahead, from a wrong clock, delay only their own history scope."""
    caller, other = await world.client(), await world.client()
    pooled, mate = await world.client("bank"), await world.client("bank")
    signals = {"deviceId": "d"}
    async with opened(world.url, world.bundle, clock=SetClock(START + HOUR)) as ahead:
        await ahead.verify(other, signals=signals)
        await ahead.verify(mate, signals=signals)
    made = (await world.verify(caller, signals=signals)).resource
    assert made.completed_at == START
    with pytest.raises(Unavailable) as caught:
        await world.verify(pooled, signals=signals)
    assert caught.value.retry_after == 60  # the clock is an hour behind; a retry is cheap
    world.clock.at += HOUR - 5 * SECOND
    found = (await world.verify(pooled, signals=signals)).resource
    assert found.completed_at == START + HOUR + 1


@pytest.mark.parametrize("pool", [None, "bank"])
def test_privacy_erasure_changes_nobody_elses_rows(store_url: str, sealed: Path, pool: str | None) -> None:
    """An erasure does not change later results by a bit, of others and of the erased person."""

    async def rows(world: World, *, erase: bool) -> list[Seen]:
        # A history scope of its own each time, so that the second time begins with nothing.
        named = None if pool is None else f"{pool} {erase}"
        caller, other = await world.client(named), await world.client(named)
        world.clock.at = START
        person, neighbour = applicants(sealed, Outcome.FAILED)[:2]
        near = {**neighbour.identity, "address": person.identity["address"]}
        identity = await world.identity(caller, person.identity)
        first = (await world.verify(caller, identity=identity, signals=person.signals)).resource.id
        second = (await world.verify(caller, signals=person.signals, subject="s")).resource.id
        await labelled(world, [first, second])
        if erase:
            await world.service.identities.erase(caller, identity)
            await world.erase_signals(caller, second)
        world.clock.advance(60)
        made = []
        for who in (caller, other):
            for body in (near, person.identity):
                again = await world.identity(who, body)
                made.append(
                    (who, (await world.verify(who, identity=again, signals=person.signals)).resource.id)
                )
            made.append((who, (await world.verify(who, signals=person.signals, subject="s")).resource.id))
        return [await seen(world, who, one) for who, one in made]

    async def story(world: World) -> None:
        assert await rows(world, erase=True) == await rows(world, erase=False)

    run_story(store_url, sealed, story)


@with_service
async def test_privacy_processes_share_a_history_and_keep_clients_apart(world: World) -> None:
    """Four concurrent clients over two processes each get the rows that they would get alone."""
    callers = [await world.client() for _ in range(4)]
    async with opened(world.url, world.bundle, clock=world.clock) as other:
        answers = await asyncio.gather(
            *(
                each.verify(caller, signals={"deviceId": "d"})
                for _ in range(8)
                for each in (world, other)
                for caller in callers
            )
        )
    for number, caller in enumerate(callers):
        mine = sorted(
            (answer.resource for answer in answers[number::4]), key=lambda one: one.completed_at or 0
        )
        counts = [(await world.features(one.id))["link_device_1d_records"] for one in mine]
        assert counts == list(range(16))
        assert (await world.verification(caller, mine[0].id)).completed_at == START
