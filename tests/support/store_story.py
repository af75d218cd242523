"""What a test does with a store: open it, write rows, look at what is kept."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from scoring_model.service.core.rows import DeliveryRow, Row
from scoring_model.service.core.store import Store
from scoring_model.service.store import open_store

T = TypeVar("T")
Story = Callable[[Store], Awaitable[T]]


def tell(url: str, story: Story[T]) -> T:
    """Open a store, do something with it and close it."""

    async def run() -> T:
        store = await open_store(url)
        try:
            return await story(store)
        finally:
            await store.close()

    return asyncio.run(run())


async def write(store: Store, *rows: Row) -> None:
    """Insert rows of any kinds in a transaction."""
    async with store.writing([]) as transaction:
        for row in rows:
            await transaction.insert([row])


def write_to(url: str, *rows: Row) -> None:
    """Insert rows of any kinds into a database that nobody has open here."""
    tell(url, lambda store: write(store, *rows))


async def kept(store: Store, resource: bytes) -> DeliveryRow:
    """A delivery as it is."""
    async with store.reading() as reader:
        found = await reader.delivery(resource)
    assert found is not None
    return found[0]
