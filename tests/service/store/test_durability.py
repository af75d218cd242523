import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from databases import Databases
from scoring_model.service.store import NotDurable, open_store
from scoring_model.service.store.sqlite_file import connect, require_sync
from store_story import run_story


def test_a_server_that_does_not_wait_is_refused(postgres: Databases) -> None:
    """A database with `synchronous_commit` off is refused by that name; one that waits for a disk is opened."""
    with postgres.fresh() as url:
        for value in ("local", "on", "off"):
            alter = f"ALTER DATABASE {url.rpartition('/')[2]} SET synchronous_commit = {value}"
            postgres.server.execute("postgres", alter)
            if value == "off":
                with pytest.raises(NotDurable, match="synchronous_commit"):
                    asyncio.run(open_store(url))
            else:
                run_story(url, lambda store: asyncio.sleep(0))


@pytest.mark.parametrize(("level", "name"), [(0, "OFF"), (1, "NORMAL"), (2, "FULL"), (3, "EXTRA")])
def test_a_connection_that_does_not_wait_is_refused(level: int, name: str) -> None:
    """SQLite waits for the disk at each commit from FULL on."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute(f"PRAGMA synchronous = {name}")
        if level < 2:
            with pytest.raises(NotDurable, match=str(level)):
                require_sync(connection)
        else:
            require_sync(connection)


def test_a_connection_is_set_up(sqlite_url: str) -> None:
    """A file is in WAL mode, syncs at each commit, and overwrites what is deleted."""
    with closing(connect(Path(sqlite_url.removeprefix("sqlite:///")), cache_mebibytes=1)) as connection:
        for pragma, value in {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1}.items():
            assert connection.execute(f"PRAGMA {pragma}").fetchone() == (value,)
