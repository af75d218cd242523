"""The deliverer within a process: how it is woken, and how it ends."""

import asyncio
import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import httpx
import pytest

from outside_client import IDENTITIES, PERSON, WEBHOOKS
from scoring_model.contract.event import EventType
from scoring_model.service.clients.clients import Permission, create_client
from scoring_model.service.core.rows import DeliveryRow
from scoring_model.service.delivery import deliverer as deliverers
from scoring_model.service.delivery.deliverer import Deliverer, DeliveryLimits
from scoring_model.service.delivery.delivering import WatchedStore, delivering
from scoring_model.service.delivery.egress import Egress
from scoring_model.service.events.events import NewEvent, webhook_data, write_events
from scoring_model.service.events.webhooks import associated_data, new_secret
from scoring_model.service.http.settings import HttpSettings
from scoring_model.service.keys.keyring import add_master_key, load_master_keys
from scoring_model.service.keys.secrets import load_or_create
from scoring_model.service.process import note_rows, open_application
from scoring_model.service.run import prepare
from scoring_model.service.settings import ServiceSettings
from scoring_model.service.store import Store, open_store
from store_story import run_story
from stored_rows import client_row, event_row, new_id, webhook_row
from webhook_receiver import Receiver, receiving

HERE: Final = Egress(development=True)
MANY: Final = 30.0  # seconds: more than an attempt takes


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver that holds attempts without an answer."""
    with receiving() as found:
        found.open.clear()
        yield found


@pytest.fixture
def key(tmp_path: Path) -> str:
    """Source of the master keys."""
    add_master_key(tmp_path / "key")
    return f"file:{tmp_path / 'key'}"


async def write_test(store: Store, key: str, receiver: Receiver) -> None:
    """Write a test of a webhook."""
    secrets, resource = await load_or_create(store, load_master_keys(key)), new_id()
    sealed = secrets.seal(associated_data("secret", resource), new_secret().encode())
    kind, data = EventType.WEBHOOK_TEST.value, webhook_data(resource)
    async with store.writing([]) as transaction:
        await transaction.insert([webhook_row(id=resource, destination_url=receiver.url, secret=sealed)])
        await transaction.insert([event_row(type=kind, resource=resource, data=data)])


async def attempt(receiver: Receiver) -> None:
    """Wait until an attempt is under way; the test's own time limit is the only one."""
    while not receiver.taken:
        await asyncio.sleep(0.01)


async def kept(store: Store) -> DeliveryRow:
    """The only delivery."""
    async with store.reading() as reader:
        (row,) = await reader.deliveries(limit=9)
    return row


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_cuts_attempts_off_that_are_ending(
    sqlite_url: str, key: str, receiver: Receiver, number: signal.Signals
) -> None:
    """A cancellation while the deliverer ends acts like the end of the grace period: the store can be closed."""

    async def deliver(store: Store) -> None:
        async with delivering(store, key, HERE, grace_seconds=MANY):
            await attempt(receiver)
            asyncio.get_running_loop().call_later(0.1, os.kill, os.getpid(), number)

    async def story() -> DeliveryRow:
        store = await open_store(sqlite_url)
        try:
            await write_test(store, key, receiver)
            with pytest.raises(asyncio.CancelledError):
                await deliver(store)
            return await kept(store)
        finally:
            await store.close()

    row = asyncio.run(story())
    assert (row.status, row.attempts, row.leased_until is None) == ("WAITING", 0, False)


def test_an_error_that_ends_a_deliverer_is_logged(
    sqlite_url: str, key: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The log has the type and places of a fault but not its text; awaiting the task raises it."""

    async def fail(self: Deliverer) -> None:
        raise RuntimeError("s3cret")

    async def story() -> None:
        store = await open_store(sqlite_url)
        try:
            async with delivering(store, key, HERE, grace_seconds=MANY) as task:
                with pytest.raises(RuntimeError):
                    await task
        finally:
            await store.close()

    monkeypatch.setattr(Deliverer, "run", fail)
    asyncio.run(story())
    assert '"doing":"delivering"' in caplog.text
    assert "RuntimeError" in caplog.text
    assert "s3cret" not in caplog.text


def test_an_event_is_sent_as_soon_as_a_request_has_committed_it(
    sealed: Path, sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A serving process delivers immediately, without waiting for the next poll (here in an hour)."""
    monkeypatch.setattr(deliverers, "DeliveryLimits", partial(DeliveryLimits, interval=3_600.0))

    async def story(receiver: Receiver) -> None:
        settings = ServiceSettings(
            bundle=sealed, bundles=tmp_path / "shelf", database=sqlite_url, development=True
        )
        app, close = await open_application(await prepare(settings, report=lambda _: None), HttpSettings())
        try:
            headers = await credentials(sqlite_url)
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(
                transport=transport, base_url="http://service", headers=headers
            ) as client:
                await client.post(WEBHOOKS, json={"destinationUrl": receiver.url, "active": True})
                for made in range(1, 4):
                    assert (await client.post(IDENTITIES, json=PERSON)).status_code == 201
                    while len(receiver.taken) < 2 * made:  # created, and validated
                        await asyncio.sleep(0.01)
        finally:
            await close()

    with receiving() as receiver:
        asyncio.run(story(receiver))


async def credentials(url: str) -> dict[str, str]:
    """Headers of a new client."""
    store = await open_store(url)
    try:
        made = await create_client(store, name="a client", permissions=frozenset(Permission), now=1)
    finally:
        await store.close()
    return {"x-client-id": made.client_id, "x-api-key": made.api_key}


async def write_event(store: Store, client: int, error: Exception | None = None) -> None:
    """Write an event as the service does, in a separate transaction that may fail."""
    resource = new_id()
    async with store.writing([]) as transaction:
        event = NewEvent(client, EventType.IDENTITY_CREATED, resource, 10, webhook_data(resource))
        await write_events(transaction, [event])
        if error is not None:
            raise error


class Wakes(asyncio.Event):
    """Counts how often it is set."""

    count = 0

    def set(self) -> None:
        """Count."""
        self.count += 1


def test_a_waiting_event_is_reported_once_it_is_committed(store_url: str) -> None:
    """A commit wakes the deliverer once; events without a webhook and rolled-back events do not."""

    async def story(store: Store) -> None:
        wakes = Wakes()
        watched = WatchedStore(store, partial(note_rows, wakes))
        async with watched.writing([]) as transaction:
            client = await transaction.new_client(client_row())
        await write_event(watched, client)
        async with watched.writing([]) as transaction:
            await transaction.insert([webhook_row(client=client)])
        assert wakes.count == 0
        with pytest.raises(ZeroDivisionError):
            await write_event(watched, client, ZeroDivisionError())
        async with watched.writing([]) as transaction:
            await transaction.insert([event_row(client=client), event_row(client=client)])
            assert wakes.count == 0
        await write_event(watched, client)
        assert wakes.count == 2

    run_story(store_url, story)
