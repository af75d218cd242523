"""Databases for everything that stores, a file of SQLite and one of a PostgreSQL that the tests start; and a bundle."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import cast

import pytest

from databases import Databases, running_server
from identity_use import configuration_of
from linked_use import linked
from scoring_model.records.reading import read_records
from scoring_model.service.store import Reader, Store, migrate, open_store
from scoring_model.training.run import run_training


@pytest.fixture(scope="session")
def postgres() -> Iterator[Databases]:
    """A PostgreSQL, started when the first test asks for it."""
    with running_server() as server:
        yield Databases(server)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The URL of a file of SQLite with all tables."""
    url = f"sqlite:///{tmp_path / 'scoring.db'}"
    asyncio.run(migrate(url))
    return url


@pytest.fixture
def postgres_url(postgres: Databases) -> Iterator[str]:
    """The URL of a database of PostgreSQL with all tables, which stay as they are."""
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
    """What has been committed to `store`."""
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
    configuration = configuration_of(tmp_path_factory.mktemp("summing"), linked(summing=True))
    table = read_records(small, configuration.schema, labelled=True).table
    return run_training(table, configuration, threads=1).bundle.save(tmp_path_factory.mktemp("bundles") / "b")
