"""Signals that the model does not know, over HTTP on either database: counted, and refused for strict clients."""

import asyncio
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from scoring_model.service.clients.clients import NewClient, Permission, create_client
from scoring_model.service.clients.unknown_signals import MOST_HINTS, MOST_NAMES, list_unknown_signals
from scoring_model.service.core.faults import FAULTS
from scoring_model.service.core.rows import UnknownSignalRow, VerificationRow
from scoring_model.service.http import create_app
from scoring_model.service.http.settings import HttpSettings
from scoring_model.service.store import StoreUnavailable
from service_use import START, World, opened, run_story, table

PATH = "/scoring/v1/verifications"
PERSONAL = "Grace Hopper"


async def new_client(world: World, **options: Any) -> NewClient:
    """A client of everything."""
    return await create_client(
        world.store, name="a client", permissions=frozenset(Permission), now=START, **options
    )


async def post(world: World, client: NewClient, signals: Mapping[str, object]) -> httpx.Response:
    """Send signals to a service."""
    app = create_app(world.service, HttpSettings(access_log=False), clock=world.clock)
    headers = {"x-client-id": client.client_id, "x-api-key": client.api_key}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as sender:
        return await sender.post(PATH, headers=headers, json={"signals": signals})


def errors_of(answer: httpx.Response) -> dict[str, tuple[str, str]]:
    """Code and detail of each error of a refused body, by pointer."""
    assert answer.status_code == 422
    return {error["pointer"]: (error["code"], error["detail"]) for error in answer.json()["errors"]}


def test_unknown_signals_are_counted_over_all_processes(
    store_url: str, sealed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Two services add up; a name near to none is part of a number, and neither it nor a value is kept or logged."""
    caplog.set_level(logging.WARNING, FAULTS)

    async def run() -> None:
        async with opened(store_url, sealed) as world, opened(store_url, sealed) as other:
            client, quiet = await new_client(world), await new_client(world)
            sent = {"vpn": True, "email_age_days": 41_123, PERSONAL: "zqx", "x1": None}
            for service in (world, other, world):
                assert (await post(service, client, sent)).status_code == 201
            assert (await post(world, quiet, {"vpn": True})).status_code == 201
            assert await list_unknown_signals(world.store) == []
            for service in (world, other, world):
                await service.service.unknown_signals.write()
            (others, near) = await list_unknown_signals(world.store)
            assert others == (client.client_id, UnknownSignalRow(others[1].client, "", "", 6, START))
            assert near == (
                client.client_id,
                UnknownSignalRow(others[1].client, "email_age_days", "emailAgeDays", 3, START),
            )

    asyncio.run(run())
    (first, second) = [json.loads(record.getMessage())["warning"] for record in caplog.records]
    assert first == second
    assert "clients unknown-signals" in first
    assert not [word for word in ("email", "Grace", "41123") if word in first]


def test_names_that_are_kept_are_bounded(store_url: str, sealed: Path) -> None:
    """At most 100 names of a client are kept, whichever process saw them; every signal is counted somewhere."""
    sent = [{f"emailAgeDays{place}{number}": 1 for number in range(60)} for place in "abc"]

    async def run() -> list[tuple[str, UnknownSignalRow]]:
        async with opened(store_url, sealed) as world, opened(store_url, sealed) as other:
            client = await new_client(world)
            for service, signals in zip((world, other, world), sent, strict=True):
                assert (await post(service, client, signals)).status_code == 201
        async with opened(store_url, sealed) as world:  # the others wrote when they were closed
            return await list_unknown_signals(world.store, delete=True)

    found = asyncio.run(run())
    names = [row.name for _, row in found if row.name]
    assert len(names) == MOST_NAMES == len(set(names))
    assert sum(row.requests for _, row in found) == 180
    assert {row.nearest for _, row in found} == {"", "emailAgeDays"}
    assert asyncio.run(table(store_url, UnknownSignalRow)) == []


def test_counts_outlive_an_outage(store_url: str, sealed: Path) -> None:
    """What could not be written is written with the next counts."""

    async def story(world: World) -> None:
        client = await new_client(world)
        await post(world, client, {"vnp": True})
        for outage in ("error", "error_on_commit"):
            setattr(world.store, outage, StoreUnavailable())
            with pytest.raises(StoreUnavailable):
                await world.service.unknown_signals.write()
            setattr(world.store, outage, None)
        await post(world, client, {"vnp": True})
        await world.service.unknown_signals.write()
        ((_, row),) = await list_unknown_signals(world.store)
        assert (row.name, row.nearest, row.requests) == ("vnp", "vpn", 2)

    run_story(store_url, sealed, story)


def test_strict_clients_are_refused_unknown_signals(store_url: str, sealed: Path) -> None:
    """422 names each unknown signal and the nearest, among all other errors, and no value; nothing is stored."""

    async def story(world: World) -> None:
        strict, other = await new_client(world, strict_signals=True), await new_client(world)
        sent = {"email_age_days": 41_123, PERSONAL: "zqxvalue", "x{1}/~": None, "vpn": "zqxvalue"}
        answer = await post(world, strict, sent)
        must = "must be a signal that the model knows"
        found = errors_of(answer)
        assert found["/signals/email_age_days"] == ("unknown_signal", f"{must}; did you mean emailAgeDays?")
        assert found["/signals/Grace Hopper"] == ("unknown_signal", must)
        assert found["/signals/x{1}~1~0"] == ("unknown_signal", must)
        assert found["/signals/vpn"][0] == "wrong_type"
        assert len(found) == 4
        assert not [word for word in ("41123", "zqxvalue") if word in answer.text]
        assert await table(world.url, VerificationRow) == []
        many = errors_of(await post(world, strict, {f"vpn{number}": True for number in range(30)}))
        assert [detail.endswith("mean vpn?") for _, detail in many.values()] == [True] * MOST_HINTS + [
            False
        ] * (30 - MOST_HINTS)
        known = {"vpn": True, "emailAgeDays": 41_123}
        assert (await post(world, strict, known)).status_code == 201
        assert (await post(world, other, {**known, PERSONAL: "x"})).status_code == 201

    run_story(store_url, sealed, story)
