"""Databases for tests of storage, on SQLite and on a PostgreSQL that the tests start; and a bundle."""

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import cast

import pytest

from databases import Databases, running_server
from identity_use import shared, train_bundle
from linked_use import linked
from scoring_model.service.store import Reader, Store, open_store


@pytest.fixture(scope="session")
def postgres() -> Iterator[Databases]:
    """A PostgreSQL, started for the first test that needs it."""
    with running_server() as server:
        yield Databases(server)


@pytest.fixture
def sqlite_url(migrated: Path, tmp_path: Path) -> str:
    """The URL of a file of SQLite with all tables."""
    return f"sqlite:///{shutil.copy(migrated, tmp_path)}"


@pytest.fixture
def postgres_url(postgres: Databases) -> Iterator[str]:
    """The URL of a database of PostgreSQL with all tables, which tests do not change."""
    with postgres.emptied() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest) -> str:
    """The URL of a database with all tables, on either store."""
    fixture = {"sqlite": "sqlite_url", "postgresql": "postgres_url"}[request.param]
    return cast(str, request.getfixturevalue(fixture))


@pytest.fixture
def anyio_backend() -> str:
    """The event loop of tests that are coroutines."""
    return "asyncio"


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    """An open store, of either database."""
    store = await open_store(store_url)
    yield store
    await store.close()


@pytest.fixture
async def reader(store: Store) -> AsyncIterator[Reader]:
    """Committed rows of `store`."""
    async with store.reading() as reader:
        yield reader


@pytest.fixture
async def postgres_store(postgres_url: str) -> AsyncIterator[Store]:
    """An open store on PostgreSQL."""
    store = await open_store(postgres_url)
    yield store
    await store.close()


@pytest.fixture(scope="session")
def summing(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a bundle of a few trees that sums an amount over six link keys."""
    return shared(tmp_path_factory, "summing", lambda out: train_bundle(small, linked(summing=True), out))
