"""Several processes on one database: they queue to write, nobody starves, and who dies holds up nobody."""

import asyncio
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from scoring_model.service.core.store import StoreUnavailable
from scoring_model.service.store import open_store
from scoring_model.service.store.sqlite.turn import Turn

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


def test_who_dies_while_writing_holds_up_nobody(store_url: str) -> None:
    """A process that is killed within a transaction gives its lock back and has written nothing."""
    holder = start(HOLDER, store_url)

    async def run() -> None:
        store = await open_store(store_url, seconds=30)

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
        await store.close()

    asyncio.run(run())
    holder.communicate()


def test_who_holds_the_lock_for_too_long_is_not_waited_for(store_url: str) -> None:
    """After the time that was given a writer is told, and can write once the other one has ended."""
    holder = start(HOLDER, store_url)

    async def run() -> None:
        store = await open_store(store_url, seconds=0.2)
        for _ in range(3):
            with pytest.raises(StoreUnavailable):
                await store.writing(["1"]).__aenter__()
        holder.communicate("end\n")
        async with store.writing(["1"]) as transaction:
            assert await transaction.fact("half") == b"written"
        await store.close()

    asyncio.run(run())


def test_a_writer_who_does_not_know_of_the_turn_is_waited_for(sqlite_url: str) -> None:
    """The shell of SQLite, say, may write too: the loop goes on meanwhile, and the wait has an end."""

    async def run() -> None:
        store = await open_store(sqlite_url, seconds=0.3)
        foreign = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)
        foreign.execute("BEGIN IMMEDIATE")
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        ticking = asyncio.create_task(tick())
        with pytest.raises(StoreUnavailable, match="SQLITE_BUSY"):
            await store.writing(["1"]).__aenter__()
        assert ticks > 3
        asyncio.get_running_loop().call_later(0.1, foreign.execute, "ROLLBACK")
        async with store.writing(["1"]) as transaction:
            await transaction.set_fact("a", b"1")
        ticking.cancel()
        foreign.close()
        await store.close()

    asyncio.run(run())


def test_the_turn_alternates_between_those_who_want_it(tmp_path: Path) -> None:
    """Who has just had the turn and wants it again comes after those who wait: nobody has it three times in a row."""
    order: list[str] = []

    async def work(turn: Turn, name: str) -> None:
        for _ in range(30):
            await turn.take()
            order.append(name)
            await asyncio.sleep(0.002)
            turn.give_back()

    async def run() -> None:
        turns = [Turn(tmp_path / "a.db", seconds=30) for _ in range(2)]
        await asyncio.gather(work(turns[0], "a"), work(turns[1], "b"))
        for turn in turns:
            turn.close()

    asyncio.run(run())
    both = "".join(order).rstrip(order[-1])
    assert "aaa" not in both
    assert "bbb" not in both


async def give_up(turn: Turn) -> None:
    """Wait for the turn until the time is over."""
    with pytest.raises(StoreUnavailable):
        await turn.take()


async def call_off(turn: Turn) -> None:
    """Wait for the turn and be cancelled."""
    waiting = asyncio.create_task(turn.take())
    await asyncio.sleep(0.02)
    waiting.cancel()
    await asyncio.wait((waiting,))


@pytest.mark.parametrize("stop", [give_up, call_off])
def test_a_turn_that_comes_too_late_is_given_back(
    tmp_path: Path, stop: Callable[[Turn], Awaitable[None]]
) -> None:
    """A wait that was given up or called off keeps the turn from nobody, whether the same one asks again or not."""

    async def run() -> None:
        mine, yours = (Turn(tmp_path / "a.db", seconds=0.05) for _ in range(2))
        # Who asks again while the turn is still on its way gets it, and has it alone.
        await yours.take()
        await stop(mine)
        yours.give_back()
        await mine.take()
        await asyncio.sleep(0.02)
        await give_up(yours)
        mine.give_back()
        await yours.take()
        await give_up(mine)
        # Who does not ask again does not get it.
        yours.give_back()
        await asyncio.sleep(0.05)
        for turn in (yours, mine):
            await turn.take()
            turn.give_back()
        await yours.take()
        await stop(mine)
        yours.give_back()
        await asyncio.sleep(0.05)
        await yours.take()
        yours.give_back()
        mine.close()
        yours.close()

    asyncio.run(run())
