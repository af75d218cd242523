"""A process that is stopped (SIGSTOP, a paused machine) within a transaction, with the lock that others wait for."""

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from scoring_model.service.store import open_store

SECONDS = 2.0
"""How long the process that is stopped waits for the database; its transaction ends after twice that at most."""

PATIENCE = 7.0
"""How long others wait: they get a `StoreUnavailable` after that."""

WRITER = """
import asyncio, sys
from scoring_model.service.store import StoreUnavailable
from scoring_model.service.store import open_store

async def main(url, seconds):
    store = await open_store(url, seconds=seconds)
    try:
        async with store.writing(["1"]) as transaction:
            await transaction.set_fact("lost", b"1")
            print("writing", flush=True)
            sys.stdin.readline()
    except StoreUnavailable:
        print("refused", flush=True)
    async with store.writing(["1"]) as transaction:
        await transaction.set_fact("repeated", b"1")
    await store.close()

asyncio.run(main(sys.argv[1], float(sys.argv[2])))
"""

READER = """
import asyncio, os, signal, sys
from scoring_model.service.store import open_store

async def main(url, seconds):
    store = await open_store(url, seconds=seconds)
    async with store.writing(["1"]) as transaction:
        await transaction.set_fact("large", bytes(50_000_000))
    async with store.writing(["1"]) as transaction:
        if sys.argv[3] == "prepared":
            await transaction.fact("small")
        asking = asyncio.create_task(transaction.fact("large"))
        await asyncio.sleep(0)
        os.kill(os.getpid(), signal.SIGSTOP)
        await asking

asyncio.run(main(sys.argv[1], float(sys.argv[2])))
"""


def test_a_stopped_writer_blocks_others_for_a_bounded_time_on_postgresql(postgres_url: str) -> None:
    """The server ends its transaction before those who wait give up; it gets an error for it, and writes again."""
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, postgres_url, str(SECONDS)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == "writing\n"
    writer.send_signal(signal.SIGSTOP)

    async def run() -> None:
        store = await open_store(postgres_url, seconds=PATIENCE)
        async with store.writing(["1"]) as transaction:
            assert await transaction.fact("lost") is None
            await transaction.set_fact("others", b"1")
        writer.send_signal(signal.SIGCONT)
        said, _ = await asyncio.to_thread(writer.communicate, "go on\n")
        assert (said, writer.returncode) == ("refused\n", 0)
        async with store.reading() as reader:
            found = [await reader.fact(name) for name in ("lost", "others", "repeated")]
        assert found == [None, b"1", b"1"]
        await store.close()

    try:
        asyncio.run(run())
    finally:
        writer.kill()
        writer.communicate()


@pytest.mark.parametrize("statement", ["new", "prepared"])
def test_a_process_stopped_within_a_statement_blocks_others_for_a_bounded_time(
    postgres_url: str, statement: str
) -> None:
    """Its session is not idle: it was about to run what it has prepared, or does not read a large answer."""
    reader = subprocess.Popen([sys.executable, "-c", READER, postgres_url, str(SECONDS), statement])
    try:
        os.waitpid(reader.pid, os.WUNTRACED)  # until it has stopped itself

        async def run() -> None:
            store = await open_store(postgres_url, seconds=PATIENCE)
            async with store.writing(["1"]) as transaction:
                await transaction.set_fact("others", b"1")
            async with store.reading() as committed:
                assert await committed.fact("others") == b"1"
            await store.close()

        asyncio.run(run())
    finally:
        reader.kill()
        reader.wait()
