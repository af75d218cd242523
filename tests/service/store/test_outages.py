"""Databases that become unavailable and return, are full, or refuse connections."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator

import asyncpg
import pytest

from databases import Databases, Server, running_server
from scoring_model.service.store import (
    Store,
    StoreUnavailable,
    migrate,
    open_store,
)
from store_story import run_story


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server that takes few connections, with a database that is copied for each test."""
    with running_server("max_connections = 6\nsuperuser_reserved_connections = 0") as found:
        Databases(found)
        found.create("unused", "migrated")
        yield found


@pytest.fixture
def frail(server: Server) -> Server:
    """The same, with an unused database; it may be stopped."""
    if not server.is_running:
        server.start()
    server.drop("migrated")
    server.create("migrated", "unused")
    return server


async def write(store: Store, name: str) -> None:
    """Write a fact."""
    async with store.writing(["1"]) as transaction:
        await transaction.set_fact(name, b"1")


async def read(store: Store, name: str) -> bytes | None:
    """Read a fact."""
    async with store.reading() as reader:
        return await reader.fact(name)


async def take(store: Store) -> bool:
    """Take a token."""
    return (await store.take(b"client", capacity=9, per_second=1.0, now=10**15)).allowed


async def connect_until_refused(url: str, connections: list[asyncpg.Connection]) -> None:
    """Take every connection."""
    while True:
        connections.append(await asyncpg.connect(url))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
def test_a_store_recovers_when_its_server_is_back(frail: Server, how: signal.Signals) -> None:
    """While the server is away, by will or by a crash, every call says so; afterwards the same store works again.

    A transaction that was open ends with an error, noticed by a statement or by the commit, and nothing of it is there.
    """

    async def look_up(store: Store) -> object:
        async with store.reading() as reader:
            return await reader.identity_and_key(1, bytes(16))

    async def half(store: Store, *, is_noticed: bool) -> None:
        async with store.writing(["1"]) as transaction:
            await transaction.set_fact("half", b"1")
            await asyncio.to_thread(frail.stop, how)
            if is_noticed:
                await transaction.set_fact("half", b"2")

    async def story(store: Store) -> None:
        await write(store, "before")
        for is_noticed in (True, False):
            assert await take(store)
            with pytest.raises(StoreUnavailable):
                await half(store, is_noticed=is_noticed)
            calls = [write(store, "a"), read(store, "a"), take(store), *(look_up(store) for _ in range(5))]
            answers = await asyncio.gather(*calls, return_exceptions=True)
            assert [type(answer) for answer in answers] == [StoreUnavailable] * 8
            await asyncio.to_thread(frail.start)
            assert (await read(store, "before"), await read(store, "half")) == (b"1", None)
            assert await look_up(store) is None
            await asyncio.gather(write(store, "b"), read(store, "b"), take(store))

    run_story(frail.url("migrated"), story, seconds=2, connections=2)


def test_a_connection_that_was_idle_when_its_server_said_goodbye(frail: Server) -> None:
    """However much of the goodbye was read when the next call comes, that call says that the database is away."""

    async def run() -> None:
        for steps in range(8):
            store = await open_store(frail.url("migrated"), seconds=2)
            await write(store, "a")
            # Nothing is read meanwhile; afterwards one message or the end of the connection with every step.
            frail.stop()
            for _ in range(steps):
                await asyncio.sleep(0)
            with pytest.raises(StoreUnavailable):
                await write(store, "b")
            await asyncio.to_thread(frail.start)
            await write(store, "c")
            await store.close()

    asyncio.run(run())


def test_a_server_that_takes_no_more_is_unavailable(frail: Server) -> None:
    """Too many connections are an error of their own, and calls succeed when there is room again."""

    async def run() -> None:
        url = frail.url("migrated")
        store = await open_store(url, seconds=2, connections=2)
        others: list[asyncpg.Connection] = []
        with pytest.raises(asyncpg.TooManyConnectionsError):
            await connect_until_refused(url, others)
        assert await read(store, "a") is None  # over the connection that it has
        with pytest.raises(StoreUnavailable, match="TooManyConnections"):
            await take(store)
        for connection in others:
            await connection.close()
        await asyncio.sleep(0.1)
        assert await take(store)
        await store.close()

    asyncio.run(run())


def test_a_statement_that_is_cut_off_is_reported(postgres_url: str, postgres: Databases) -> None:
    """A session that its administrator ends in the middle of a statement reports it; the next statement works."""

    async def story(store: Store) -> None:
        async with store.writing(["1"]):
            waiting = asyncio.create_task(write(store, "a"))
            while not waiting.done():
                await asyncio.to_thread(
                    postgres.server.execute,
                    "postgres",
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'",
                )
            with pytest.raises(StoreUnavailable, match=r"AdminShutdown|ConnectionDoesNotExist"):
                await waiting
        await write(store, "a")

    run_story(postgres_url, story, seconds=30)


def test_a_server_that_is_not_there_is_unavailable(frail: Server) -> None:
    """Opening and migrating say that there is no server, and not its password."""
    frail.stop()
    url = frail.url("migrated").replace("scoring@", "scoring:pa55word@")
    for attempt in (open_store(url), migrate(url)):
        with pytest.raises(StoreUnavailable) as caught:
            asyncio.run(attempt)
        assert "pa55word" not in repr(caught.value)


def test_all_connections_in_use_are_waited_for(postgres_url: str) -> None:
    """A call waits for a connection as long as it may and then gets an error."""

    async def story(store: Store) -> None:
        async with store.writing([]) as transaction:
            reading = asyncio.create_task(read(store, "a"))
            while not reading.done():  # an idle transaction would be ended
                await transaction.fact("a")
            with pytest.raises(StoreUnavailable):
                await reading
        assert await read(store, "a") is None

    run_story(postgres_url, story, seconds=0.3, connections=1)


FULL = """
import asyncio, os, resource, sys
from scoring_model.service.core.rows import FactRow
from scoring_model.service.store import StoreUnavailable
from scoring_model.service.store import open_store

def allow(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

async def write(store, name, rows):
    async with store.writing(["1"]) as transaction:
        try:
            await transaction.insert([FactRow(f"{name} {row}", os.urandom(900)) for row in range(rows)])
        except StoreUnavailable as error:
            print(error)
            await transaction.set_fact(f"{name} 0", b"")  # a transaction that was rolled back writes nothing

async def main(path):
    store = await open_store(f"sqlite:///{path}")
    await write(store, "before", 20)
    for name, rows in (("at its end", 40), ("in its middle", 60_000)):
        allow(os.path.getsize(path + "-wal"))  # no file can grow any more
        try:
            await write(store, name, rows)
        except StoreUnavailable as error:
            print(error)
        async with store.reading() as reader:
            assert await reader.fact("before 19") is not None
            assert await reader.fact(f"{name} 0") is None
        allow(resource.RLIM_INFINITY)
        await write(store, "after " + name, 20)
    await store.close()
    store = await open_store(f"sqlite:///{path}")
    async with store.reading() as reader:
        for name in ("before", "after at its end", "after in its middle"):
            assert await reader.fact(f"{name} 19") is not None
        for name in ("at its end", "in its middle"):
            assert await reader.fact(f"{name} 0") is None
    await store.close()

asyncio.run(main(sys.argv[1]))
"""


def test_a_full_disk_writes_nothing_and_is_recovered_from(sqlite_url: str) -> None:
    """Where a file can't grow, at a commit or before it, all is rolled back; with room again the store works."""
    path = sqlite_url.removeprefix("sqlite:///")
    done = subprocess.run([sys.executable, "-c", FULL, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    at_its_end, in_its_middle, over = done.stdout.splitlines()
    assert at_its_end.startswith("SQLite: SQLITE_")
    assert in_its_middle.startswith("SQLite: SQLITE_")
    assert over == "SQLite: the transaction has ended"


def test_what_was_acknowledged_survives_a_kill(store_url: str) -> None:
    """Nothing lost: whatever was committed when the process is killed is there afterwards, and nothing half of it."""
    program = (
        "import asyncio, sys\n"
        "from scoring_model.service.store import open_store\n"
        "async def main():\n"
        "    store = await open_store(sys.argv[1])\n"
        "    for number in range(100_000):\n"
        "        async with store.writing(['1']) as transaction:\n"
        "            await transaction.set_fact(f'a{number}', b'')\n"
        "            await transaction.set_fact(f'b{number}', b'')\n"
        "        print(number, flush=True)\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, store_url], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        for _ in range(30):
            writer.stdout.readline()
        writer.kill()
        last = int([b"29", *writer.stdout.read().split(b"\n")[:-1]][-1])

    async def story(store: Store) -> None:
        for number in range(last + 2):
            pair = [await read(store, f"{letter}{number}") for letter in "ab"]
            assert pair == [b"", b""] or (number > last and pair == [None, None])

    run_story(store_url, story)
