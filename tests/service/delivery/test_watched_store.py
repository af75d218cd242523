"""A store that reports committed events, on real stores."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from scoring_model.contract.event import EventType
from scoring_model.service.core.store import Transaction
from scoring_model.service.delivering import WatchedStore
from scoring_model.service.store import open_store
from scoring_model.service.webhooks.events import NewEvent, webhook_data, write_events
from stored_rows import client_row, new_id, webhook_row

Story = Callable[[WatchedStore, list[str], int], Awaitable[None]]


def tell(url: str, story: Story) -> None:
    """Watch a store with a client, and do something with it."""

    async def run() -> None:
        rung: list[str] = []
        store = await open_store(url)
        watched = WatchedStore(store, lambda: rung.append("committed"))
        try:
            async with watched.writing([]) as transaction:
                client = await transaction.new_client(client_row())
            await story(watched, rung, client)
        finally:
            await watched.close()

    asyncio.run(run())


async def write(transaction: Transaction, client: int) -> None:
    """Write an event as the service does."""
    resource = new_id()
    event = NewEvent(client, EventType.IDENTITY_CREATED, resource, 10, webhook_data(resource))
    await write_events(transaction, [event])


async def write_and_fail(store: WatchedStore, client: int) -> None:
    """Write an event in a transaction that is rolled back."""
    async with store.writing([]) as transaction:
        await write(transaction, client)
        raise RuntimeError("rolled back")


def test_a_waiting_event_is_reported_once_it_is_committed(store_url: str) -> None:
    """Not before, when it could not be seen; and once for all of a transaction."""

    async def story(store: WatchedStore, rung: list[str], client: int) -> None:
        async with store.writing([]) as transaction:
            await transaction.insert([webhook_row(client=client)])
            await write(transaction, client)
            await write(transaction, client)
            assert rung == []
        assert rung == ["committed"]
        async with store.writing([]) as transaction:
            assert len(await transaction.take_events({1: 9})) == 2

    tell(store_url, story)


def test_nothing_else_is_reported(store_url: str) -> None:
    """Neither events of a client without an active webhook, nor other rows, nor what was rolled back."""

    async def story(store: WatchedStore, rung: list[str], client: int) -> None:
        async with store.writing([]) as transaction:
            await write(transaction, client)
        async with store.writing([]) as transaction:
            await transaction.insert([webhook_row(client=client)])
        with pytest.raises(RuntimeError):
            await write_and_fail(store, client)
        assert rung == []

    tell(store_url, story)
