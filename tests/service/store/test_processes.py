"""Several processes on one database: each gets to write, one that dies delays nobody, and one serves a file."""

import asyncio
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scoring_model.service.store import AlreadyServed, Store, StoreUnavailable, open_store, serving
from store_story import run_story

COUNTER = """
import asyncio, sys
from scoring_model.service.store import open_store

async def count(store, name):
    async with store.writing(["1"]) as transaction:
        before = int.from_bytes(await transaction.fact("count") or b"", "big")
        await asyncio.sleep(0)
        await transaction.set_fact("count", (before + 1).to_bytes(4, "big"))
        await transaction.set_fact(f"step {before:04d}", name.encode())

async def main(url, name, times):
    store = await open_store(url, seconds=60)
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(times // 4):
        await asyncio.gather(*(count(store, name) for _ in range(4)))
    await store.close()

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""
HOLDER = """
import asyncio, sys
from scoring_model.service.store import open_store

async def main(url):
    store = await open_store(url)
    async with store.writing(["1"]) as transaction:
        await transaction.set_fact("half", b"written")
        print("writing", flush=True)
        sys.stdin.readline()

asyncio.run(main(sys.argv[1]))
"""

ENDLESS = """
import asyncio, os, sys
from scoring_model.service.store import open_store

async def main(url):
    store = await open_store(url)
    print("ready", flush=True)
    while True:
        async with store.writing(["1"]) as transaction:
            for number in range(20):
                await transaction.set_fact(f"fact {number}", os.urandom(8))

asyncio.run(main(sys.argv[1]))
"""
SERVER = """
import sys
from scoring_model.service.store import serving

with serving(sys.argv[1]):
    print("serving", flush=True)
    sys.stdin.readline()
"""


def start(program: str, *arguments: str) -> "subprocess.Popen[str]":
    """Start a program and wait for its first line."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_no_count_is_lost_between_processes(store_url: str) -> None:
    """Three processes that read, add one and write under one lock count to the sum, and all of them take part."""
    processes = [start(COUNTER, store_url, name, "80") for name in "abc"]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        process.communicate()
        assert process.returncode == 0

    async def run() -> list[bytes | None]:
        store = await open_store(store_url)
        async with store.reading() as reader:
            assert await reader.fact("count") == (240).to_bytes(4, "big")
            steps = [await reader.fact(f"step {step:04d}") for step in range(240)]
        await store.close()
        return steps

    steps = asyncio.run(run())
    assert all(steps.count(name) == 80 for name in (b"a", b"b", b"c"))


def test_a_process_that_dies_while_writing_delays_nobody(store_url: str) -> None:
    """A process that is killed within a transaction gives its lock back and has written nothing."""
    holder = start(HOLDER, store_url)

    async def story(store: Store) -> None:

        async def write() -> None:
            async with store.writing(["1"]) as transaction:
                assert await transaction.fact("half") is None
                await transaction.set_fact("whole", b"written")

        writing = asyncio.create_task(write())
        await asyncio.sleep(0.1)
        assert not writing.done()
        async with store.reading() as reader:  # waits for nobody
            assert await reader.fact("whole") is None
        holder.send_signal(signal.SIGKILL)
        await writing
        async with store.reading() as reader:
            assert await reader.fact("whole") == b"written"

    run_story(store_url, story, seconds=30)
    holder.communicate()


def test_a_lock_that_is_held_for_too_long_is_not_waited_for(store_url: str) -> None:
    """After its time limit a writer gets an error, and can write once the other one has ended."""
    holder = start(HOLDER, store_url)

    async def story(store: Store) -> None:
        for _ in range(3):
            with pytest.raises(StoreUnavailable):
                await store.writing(["1"]).__aenter__()
        holder.communicate("end\n")
        async with store.writing(["1"]) as transaction:
            assert await transaction.fact("half") == b"written"

    run_story(store_url, story, seconds=0.2)


def test_the_event_loop_goes_on_while_another_process_writes(sqlite_url: str) -> None:
    """A wait for a locked file has an end, blocks nothing else, and ends when the file is free."""

    async def story(store: Store) -> None:
        foreign = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)
        foreign.execute("BEGIN IMMEDIATE")
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        ticking = asyncio.create_task(tick())
        with pytest.raises(StoreUnavailable, match="writing for too long"):
            await store.writing(["1"]).__aenter__()
        assert ticks > 3
        asyncio.get_running_loop().call_later(0.1, foreign.execute, "ROLLBACK")
        async with store.writing(["1"]) as transaction:
            await transaction.set_fact("a", b"1")
        ticking.cancel()
        foreign.close()

    run_story(sqlite_url, story, seconds=0.3)


def test_a_process_that_never_pauses_lets_others_write(sqlite_url: str) -> None:
    """SQLite: beside one that writes without a pause another one writes within a fraction of its time limit."""
    writer = start(ENDLESS, sqlite_url)
    waits = []

    async def story(store: Store) -> None:
        for number in range(20):
            began = time.monotonic()
            async with store.writing(["1"]) as transaction:
                waits.append(time.monotonic() - began)
                await transaction.set_fact("other", bytes([number]))

    try:
        run_story(sqlite_url, story)
        assert writer.poll() is None
    finally:
        writer.kill()
        writer.communicate()
    assert max(waits) < 2.0


def test_one_process_serves_a_file(tmp_path: Path) -> None:
    """A second one is refused, by whatever name it calls the file, until the first one ends, however it does."""
    database = tmp_path / "a.db"
    (tmp_path / "b.db").symlink_to(database)
    holder = start(SERVER, f"sqlite:///{database}")
    for name in ("a.db", "b.db"):
        with (
            pytest.raises(AlreadyServed, match=r"another process serves a\.db: .* PostgreSQL"),
            serving(f"sqlite:///{tmp_path / name}"),
        ):
            pass
    with serving(f"sqlite:///{tmp_path / 'c.db'}"):
        pass
    holder.kill()
    holder.communicate()
    with serving(f"sqlite:///{database}"):
        pass


def test_any_number_serves_a_database_of_postgresql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is locked there, and no file is made."""
    monkeypatch.chdir(tmp_path)
    with serving("postgresql://h/d"), serving("postgresql://h/d"):
        assert list(tmp_path.iterdir()) == []
