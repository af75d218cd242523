"""Wrong clocks: what an instant in the future blocks, how it is reported, and how it is repaired."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from scoring_model.cli import main
from scoring_model.contract.event import EventType
from scoring_model.service import readiness
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core.clock import SKEW
from scoring_model.service.core.errors import Unavailable
from scoring_model.service.core.rows import LinkRow
from scoring_model.service.delivery.fan_out import fan_out
from scoring_model.service.retention.future_links import future_links
from scoring_model.service.scoring.score import LONGEST_RETRY
from service_use import HOUR, SECOND, START, World, applicants, id_of, run_story
from store_story import write_to

AHEAD = 48 * HOUR


async def behind(world: World) -> int:
    """Seconds by which the process reports its clock behind."""
    found = await world.service.readiness.check()
    assert found is not None
    return found.clock_behind // SECOND


@pytest.fixture(autouse=True)
def _looks_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "CLOCK_INTERVAL", 0.0)


def test_link_records_of_the_future_are_found_and_deleted(store_url: str, sealed: Path) -> None:
    """A clock two days ahead blocks one device, readiness says so, and deleting its records ends it; verdicts stay."""

    async def story(world: World) -> None:
        caller = await world.client()
        ours, theirs = ({"deviceId": name} for name in ("device-a", "device-b"))
        past = await world.link_rows()
        assert await behind(world) == 0
        world.clock.at += AHEAD
        early = (await world.verify(caller, signals=ours)).resource
        ahead = await world.link_rows() - past
        assert ahead
        world.clock.at -= AHEAD
        with pytest.raises(Unavailable) as refused:
            await world.verify(caller, signals=ours)
        assert refused.value.retry_after == LONGEST_RETRY
        await world.verify(caller, signals=theirs)
        assert await behind(world) == AHEAD // SECOND
        found = {START + AHEAD: len(ahead)}
        assert await future_links(world.store, now=START) == found
        assert await world.link_rows() > ahead
        assert await future_links(world.store, now=START, delete=True) == found
        assert await world.link_rows() & ahead == set()
        assert await future_links(world.store, now=START) == {}
        assert await behind(world) == 0
        assert (await world.verify(caller, signals=ours)).resource.completed_at == START
        assert await world.verification(caller, early.id) == early

    run_story(store_url, sealed, story)


def test_what_is_within_the_tolerance_is_not_of_the_future(store_url: str, sealed: Path) -> None:
    """Clocks may differ by five seconds: such records are seen, waited for, and stay."""

    async def story(world: World) -> None:
        caller = await world.client()
        world.clock.at += SKEW
        await world.verify(caller, signals={"deviceId": "device-a"})
        world.clock.at -= SKEW
        assert await behind(world) == 0
        assert await future_links(world.store, now=START, delete=True) == {}
        later = (await world.verify(caller, signals={"deviceId": "device-a"})).resource
        assert later.completed_at == START + SKEW + 1

    run_story(store_url, sealed, story)


def test_the_command_shows_and_deletes(
    sqlite_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`database future-links` lists the latest events first, changes nothing unless asked, and then leaves the rest."""
    now = time.time_ns() // 1000
    rows = [LinkRow(bytes([first]) * 16, now + at, b"p", None) for first, at in ((0, AHEAD), (255, AHEAD))]
    rows += [LinkRow(b"h" * 16, now + at, b"p", None) for at in (AHEAD // 2, -HOUR)]
    write_to(sqlite_url, *rows)

    def run(*words: str) -> Mapping[str, Any]:
        assert main(["database", "future-links", "--database", sqlite_url, "--json", *words]) == 0
        found: Mapping[str, Any] = json.loads(capsys.readouterr().out)
        return found

    shown = run()
    assert (shown["deleted"], shown["events"], shown["linkRecords"]) == (False, 2, 3)
    assert [event["linkRecords"] for event in shown["latest"]] == [2, 1]
    assert all(event["aheadSeconds"] > 0 for event in shown["latest"])
    assert run("--limit", "1")["latest"] == [
        {**shown["latest"][0], "aheadSeconds": pytest.approx(172_799, abs=99)}
    ]
    assert run("--delete")["linkRecords"] == 3
    assert run()["events"] == 0
    assert main(["database", "future-links", "--database", sqlite_url]) == 0
    assert "0 link records of 0 events are in the future" in capsys.readouterr().out


async def delivered_types(world: World, hook: bytes) -> list[str]:
    """Event types that a webhook gets of all events waiting for fan-out."""
    async with world.store.writing([]) as transaction:
        await fan_out(transaction, now=world.clock.now(), limit=100, after=0)
    async with world.store.reading() as reader:
        rows = await reader.deliveries(webhook=hook, status="WAITING", limit=100)
        pairs = [await reader.delivery(row.id) for row in rows]
    return sorted(pair[1].type for pair in pairs if pair is not None)


async def hooked(world: World, caller: Caller) -> bytes:
    """A new webhook that wants everything."""
    body = {"destinationUrl": "https://h.example/", "active": True}
    return id_of((await world.service.webhooks.create(caller, body, None)).resource)


@pytest.mark.parametrize("step", [-2 * HOUR, 2 * HOUR])
def test_a_webhook_gets_what_follows_it(store_url: str, sealed: Path, step: int) -> None:
    """Four events after its creation arrive and four before it do not, wherever the clock steps meanwhile."""

    async def story(world: World) -> None:
        caller = await world.client()
        await hooked(world, caller)  # so that events wait for somebody
        one, two = (person.identity for person in applicants(sealed)[:2])
        for body in (one, two):
            await world.identity(caller, body)
        hook = await hooked(world, caller)
        world.clock.at += step
        for body in (one, two):
            await world.identity(caller, body)
        assert await delivered_types(world, hook) == sorted(
            2 * [EventType.IDENTITY_CREATED, EventType.IDENTITY_VALIDATED]
        )

    run_story(store_url, sealed, story)


@pytest.mark.parametrize("step", [-2 * HOUR, 2 * HOUR])
def test_a_webhook_that_is_enabled_gets_what_follows_that(store_url: str, sealed: Path, step: int) -> None:
    """Events during inactivity do not arrive, even if they were not fanned out before."""

    async def story(world: World) -> None:
        caller = await world.client()
        await hooked(world, caller)
        hook = await hooked(world, caller)
        body = {"destinationUrl": "https://h.example/", "active": False}
        await world.service.webhooks.update(caller, hook, body)
        await world.identity(caller, {})
        world.clock.at += step
        await world.service.webhooks.update(caller, hook, {**body, "active": True})
        assert await delivered_types(world, hook) == []
        await world.identity(caller, applicants(sealed)[0].identity)
        assert len(await delivered_types(world, hook)) == 2

    run_story(store_url, sealed, story)
