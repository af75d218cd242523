import asyncio
import os
from pathlib import Path

from scoring_model.service.core.rows import FactRow
from scoring_model.service.store import Store, open_store
from scoring_model.service.store.sqlite_file import BACKSTOP_PAGES, ROWS
from store_story import run_story

BATCH = 200
ROUNDS = 25
PAGE = 4096


async def write(store: Store) -> None:
    """A transaction of rows that land all over the table."""
    rows = [FactRow(os.urandom(8).hex(), bytes(1500)) for _ in range(BATCH)]
    async with store.writing(["1"]) as transaction:
        await transaction.insert(rows)


def test_the_log_stays_small_however_long_others_write(sqlite_url: str) -> None:
    """Two writers who never pause do not keep the log from starting anew, long before SQLite itself would see to it."""
    log = Path(sqlite_url.removeprefix("sqlite:///") + "-wal")
    sizes = []

    async def work(store: Store) -> None:
        for _ in range(ROUNDS * ROWS // BATCH // 2):
            await write(store)
            sizes.append(log.stat().st_size)

    async def story(store: Store) -> None:
        await asyncio.gather(work(store), work(store))

    run_story(sqlite_url, story)
    assert ROWS * PAGE / 4 < max(sizes) < BACKSTOP_PAGES * PAGE


def test_closing_leaves_one_file_with_everything(sqlite_url: str) -> None:
    """A store that was closed has copied its log into the database, which can then be moved alone."""
    path = Path(sqlite_url.removeprefix("sqlite:///"))

    async def run(url: str) -> bytes | None:
        store = await open_store(url)
        async with store.writing(["1"]) as transaction:
            found = await transaction.fact("a")
            await transaction.set_fact("a", b"1")
        await store.close()
        return found

    asyncio.run(run(sqlite_url))
    assert not path.with_name(path.name + "-wal").exists()
    moved = path.rename(path.with_name("moved.db"))
    assert asyncio.run(run(f"sqlite:///{moved}")) == b"1"
