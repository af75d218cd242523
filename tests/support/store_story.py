"""Helpers for tests of a store: open it, write rows, read stored rows."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, TypeVar

from scoring_model.service.core.rows import DeliveryRow, LinkRow, Row
from scoring_model.service.store import Store, open_store
from stored_rows import link_labels

T = TypeVar("T")
Story = Callable[[Store], Awaitable[T]]


def run_story(url: str, story: Story[T], **options: Any) -> T:
    """Open a store, run a story with it and close it; see `open_store`."""

    async def run() -> T:
        store = await open_store(url, **options)
        try:
            return await story(store)
        finally:
            await store.close()

    return asyncio.run(run())


def as_test(run: Callable[..., None], story: Callable[..., Any], *fixtures: str) -> Callable[..., None]:
    """Make a test that takes fixtures by name and the parameters of a story except the first."""
    own = list(inspect.signature(story).parameters.values())[1:]
    test = wraps(story)(run)
    taken = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in fixtures]
    test.__signature__ = inspect.Signature([*taken, *own])  # type: ignore[attr-defined]
    return test


def with_store(story: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Make a test of a story: it runs over an open store on either database."""

    def run(store_url: str, **arguments: Any) -> None:
        run_story(store_url, lambda store: story(store, **arguments))

    return as_test(run, story, "store_url")


async def write(store: Store, *rows: Row) -> None:
    """Insert rows of any kinds in a transaction."""
    async with store.writing([]) as transaction:
        for row in rows:
            await transaction.insert([row._replace(labels=None) if isinstance(row, LinkRow) else row])
            if isinstance(row, LinkRow):
                await link_labels(transaction, [row.hash], row.time, row.labels or b"")


def write_to(url: str, *rows: Row) -> None:
    """Insert rows of any kinds into a database that this process has not opened."""
    run_story(url, lambda store: write(store, *rows))


async def kept(store: Store, resource: bytes) -> DeliveryRow:
    """The current row of a delivery."""
    async with store.reading() as reader:
        found = await reader.delivery(resource)
    assert found is not None
    return found[0]
