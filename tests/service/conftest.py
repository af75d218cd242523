"""Databases for everything that stores: a file of SQLite, and one of a PostgreSQL that the tests start."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from databases import Databases, running_server
from scoring_model.service.store import migrate


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
