"""Erasure under attack: a reader of the database, a killed service, a stolen database with its key."""

import asyncio
import logging
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from scoring_model.records.times import DAY
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core.faults import FAULTS
from scoring_model.service.identities.assessment import parse_identity
from scoring_model.service.keys.link_hashes import Linker
from scoring_model.service.keys.secrets import load_or_create
from scoring_model.service.labels.imports import LabelLine, import_labels
from scoring_model.service.store import TRUNCATION_FACT, Store, open_store
from scoring_model.service.store.sqlite_file import COMPLETE, DELAYED
from service_use import MASTERS, START, World, applicants, eventually, file_of, run_story, select
from stored_rows import person_key_row

READER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN")
connection.execute("SELECT count(*) FROM person_keys").fetchone()
print("reading", flush=True)
sys.stdin.readline()
"""
ERASER = """
import asyncio, sys
from scoring_model.service.store import open_store

async def main(url, key_id):
    store = await open_store(url)
    async with store.writing(["1"]) as transaction:
        await transaction.erase(key_id, 5)
    print("erased", flush=True)
    await asyncio.Event().wait()

asyncio.run(main(sys.argv[1], bytes.fromhex(sys.argv[2])))
"""


@contextmanager
def running(program: str, *arguments: object) -> Iterator["subprocess.Popen[str]"]:
    """A process that has written its first line; it ends with the context at the latest."""
    words = [sys.executable, "-c", program, *map(str, arguments)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.communicate()


def held(url: str, canary: bytes) -> bool:
    """Whether the file of a database or its log holds some bytes."""
    path = file_of(url)
    files = [path, path.with_name(path.name + "-wal")]
    return any(canary in file.read_bytes() for file in files if file.exists())


async def is_complete(store: Store) -> bool:
    """Return True if no truncation of the log is pending."""
    async with store.reading() as reader:
        return await reader.fact(TRUNCATION_FACT) is None


def test_erasure_waits_for_no_reader(sqlite_url: str, sealed: Path, caplog: pytest.LogCaptureFixture) -> None:
    """DELETE answers and others write while a process reads the log; when that one ends, the erasure is complete."""

    async def story(world: World) -> None:
        caller, other = await world.client(), await world.client()
        first, second = applicants(sealed)[:2]
        erased = await world.identity(caller, first.identity)
        async with world.store.reading() as reader:
            row = await reader.identity(caller.client, erased)
        assert row is not None
        assert row.payload is not None
        with running(READER, file_of(sqlite_url)):
            await world.service.identities.erase(caller, erased)
            assert (await world.service.identities.get(caller, erased)).status == "REDACTED"
            await eventually(lambda: DELAYED in caplog.text)
            await world.identity(other, second.identity)
            ready = await world.service.readiness.check()
            assert ready is not None
            assert ready.erasure_incomplete_since is not None
            assert held(sqlite_url, row.payload[-40:])
        await eventually(lambda: COMPLETE in caplog.text)
        assert not held(sqlite_url, row.payload[-40:])
        ready = await world.service.readiness.check()
        assert ready is not None
        assert ready.erasure_incomplete_since is None

    with caplog.at_level(logging.INFO, FAULTS):
        run_story(sqlite_url, sealed, story)


def test_an_erasure_outlives_its_process(sqlite_url: str) -> None:
    """If a process is killed before it truncates the log, the next one completes the erasure."""
    key = person_key_row(wrapped=b"canary" * 8)

    async def write() -> None:
        store = await open_store(sqlite_url)
        async with store.writing(["1"]) as transaction:
            await transaction.insert([key])
        await store.close()

    async def complete() -> None:
        store = await open_store(sqlite_url)
        await eventually(lambda: is_complete(store))
        assert not held(sqlite_url, b"canary")
        await store.close()

    asyncio.run(write())
    with running(READER, file_of(sqlite_url)), running(ERASER, sqlite_url, key.key_id.hex()) as eraser:
        eraser.send_signal(signal.SIGKILL)
        eraser.wait()
    assert held(sqlite_url, b"canary")
    asyncio.run(complete())


async def guessed(world: World, caller: Caller, dictionary: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Number of rows per table that match a guess, for an attacker with database and master key."""
    linker = Linker(await load_or_create(world.store, MASTERS), ())
    hashes = set()
    for body in dictionary:
        person = linker.link(caller.history_scope, caller.client, parse_identity(body, START)).person
        assert person is not None
        hashes.add(person)
    if world.url.startswith("sqlite"):
        query = "SELECT name FROM sqlite_master WHERE type = 'table'"
    else:
        query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    found = {}
    for (name,) in await select(world.url, query):
        rows = await select(world.url, f"SELECT * FROM {name}")
        hits = [
            1
            for row in rows
            if any(isinstance(value, bytes) and any(one in value for one in hashes) for value in row)
        ]
        if hits:
            found[str(name)] = len(hits)
    return found


def test_erased_persons_are_not_found_by_guessing(store_url: str, summing: Path) -> None:
    """Before their link records expire they are found there alone, afterwards nowhere, late labels included."""

    async def story(world: World) -> None:
        caller = await world.client()
        persons = [one.identity for one in applicants(summing)[:4]]
        for body in persons:
            identity = await world.identity(caller, body)
            made = (await world.verify(caller, identity=identity)).resource
            world.clock.at += 60 * DAY
            async with world.store.reading() as reader:
                clients = await reader.clients()
            await import_labels(world.store, clients, [LabelLine(made.id, None, "fraud", START)], world.clock)
            await world.service.identities.erase(caller, identity)
        assert set(await guessed(world, caller, persons)) == {"links", "label_times"}
        world.clock.at += 46 * DAY  # the link records are older than any window sees, the last label is not
        await world.service.housekeeping.walk()
        assert await guessed(world, caller, persons) == {}
        if store_url.startswith("sqlite"):
            await eventually(lambda: is_complete(world.store))

    run_story(store_url, summing, story)
