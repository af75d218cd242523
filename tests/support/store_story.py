"""What a test does with a store: open it, write rows, look at what is kept."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from scoring_model.service.core.rows import DeliveryRow, LinkRow, Row
from scoring_model.service.store import Store, open_store

Story: TypeAlias = Callable[[Store], Awaitable[None]]


def tell(url: str, story: Story, **options: Any) -> None:
    """Open a store, do something with it and close it; see `open_store`."""

    async def run() -> None:
        store = await open_store(url, **options)
        try:
            await story(store)
        finally:
            await store.close()

    asyncio.run(run())


async def write(store: Store, *rows: Row) -> None:
    """Insert rows of any kinds in a transaction."""
    async with store.writing([]) as transaction:
        for row in rows:
            await transaction.insert([row._replace(labels=None) if isinstance(row, LinkRow) else row])
            if isinstance(row, LinkRow):
                await transaction.link_labels([row.hash], row.time, row.labels or b"")


def write_to(url: str, *rows: Row) -> None:
    """Insert rows of any kinds into a database that nobody has open here."""
    tell(url, lambda store: write(store, *rows))


async def kept(store: Store, resource: bytes) -> DeliveryRow:
    """A delivery as it is."""
    async with store.reading() as reader:
        found = await reader.delivery(resource)
    assert found is not None
    return found[0]
