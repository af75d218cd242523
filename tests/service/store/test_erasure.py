import asyncio
import os
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from scoring_model.service.core.rows import PersonKeyRow
from scoring_model.service.store import TRUNCATION_FACT, Store, sqlite_file
from service_use import eventually
from store_story import run_story
from stored_rows import identity_row, person_key_row, verification_row


def occurrences(folder: Path, canary: bytes) -> int:
    """How often some bytes occur in all files of a folder."""
    return sum(path.read_bytes().count(canary) for path in folder.iterdir())


async def fill(store: Store, canary: bytes, persons: int) -> list[PersonKeyRow]:
    """Store persons whose key, identity and verification all hold the canary, in pieces of all sizes."""
    draw = random.Random(7)
    keys = []
    for _ in range(persons):
        sealed = canary + os.urandom(draw.choice([30, 300, 900, 3000, 9000]))
        key = person_key_row(key_id=os.urandom(16), wrapped=canary + os.urandom(40))
        keys.append(key)
        async with store.writing(["1"]) as transaction:
            await transaction.insert([key])
            # Identifiers that do not grow split pages, which moves what is on them.
            await transaction.insert([identity_row(id=os.urandom(16), key_id=key.key_id, payload=sealed)])
            await transaction.insert([verification_row(id=os.urandom(16), key_id=key.key_id, payload=sealed)])
    return keys


async def is_complete(store: Store) -> bool:
    """Return True if no truncation of the log is pending."""
    async with store.reading() as reader:
        return await reader.fact(TRUNCATION_FACT) is None


async def erase(store: Store, *keys: PersonKeyRow) -> None:
    """Erase persons, each in a transaction."""
    for key in keys:
        async with store.writing(["1"]) as transaction:
            await transaction.erase(key.key_id, 5)


def test_nothing_that_was_erased_is_left_in_the_files(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Privacy, Erasure: after it the bytes of keys and payloads are in no file of the database, in no free place."""
    canary = os.urandom(12)
    monkeypatch.setattr(sqlite_file, "INTERVAL", 3600.0)  # an erasure does not wait for the next poll

    async def story(store: Store) -> None:
        keys = await fill(store, canary, 150)
        assert await is_complete(store)  # as long as nobody was erased
        await erase(store, *random.Random(8).sample(keys, len(keys)))
        await eventually(lambda: is_complete(store))
        assert occurrences(tmp_path, canary) == 0

    run_story(sqlite_url, story)
    assert occurrences(tmp_path, canary) == 0


def test_an_erasure_completes_while_others_read_and_write(sqlite_url: str, tmp_path: Path) -> None:
    """Requests of the same process that never pause do not keep the log from being truncated, nor lose an erasure."""

    async def use(store: Store, done: asyncio.Event) -> None:
        while not done.is_set():
            async with store.reading() as reader:
                await reader.identity_and_key(1, os.urandom(16))
            async with store.writing(["1"]) as transaction:
                await transaction.set_fact("a", os.urandom(8))

    async def story(store: Store) -> None:
        done = asyncio.Event()
        using = asyncio.gather(*(use(store, done) for _ in range(4)))
        for key in await fill(store, b"canary", 5):
            await erase(store, key)
            await eventually(lambda: is_complete(store))
            assert not using.done()
        done.set()
        await using
        assert occurrences(tmp_path, b"canary") == 0

    run_story(sqlite_url, story)


def test_another_process_finishes_what_one_left(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An open store completes an erasure of a process that has ended."""
    monkeypatch.setattr(sqlite_file, "INTERVAL", 0.05)

    async def story(store: Store) -> None:
        await fill(store, b"canary", 1)
        await eventually(lambda: is_complete(store))
        with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as other:
            other.execute("PRAGMA secure_delete = ON")
            other.execute("DELETE FROM person_keys")
            other.execute("UPDATE identities SET payload = NULL")
            other.execute("UPDATE verifications SET payload = NULL")
            other.execute("INSERT INTO facts VALUES (?, ?)", (TRUNCATION_FACT, b"5"))
            other.commit()
        await eventually(lambda: is_complete(store))
        assert occurrences(tmp_path, b"canary") == 0

    run_story(sqlite_url, story)
