import asyncio
import os
import random
import sqlite3
from pathlib import Path

import pytest

from scoring_model.service.core.rows import PersonKeyRow
from scoring_model.service.core.store import Store, StoreUnavailable
from scoring_model.service.store import open_store
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


def test_nothing_that_was_erased_is_left_in_the_files(sqlite_url: str, tmp_path: Path) -> None:
    """Privacy, Erasure: after it the bytes of keys and payloads are in no file of the database, in no free place."""
    canary = os.urandom(12)

    async def run() -> None:
        store = await open_store(sqlite_url)
        keys = await fill(store, canary, 150)
        await store.after_erasure()
        assert occurrences(tmp_path, canary) == 3 * len(keys)
        for key in random.Random(8).sample(keys, len(keys)):
            async with store.writing(["1"]) as transaction:
                await transaction.erase(key.key_id, 5)
        assert occurrences(tmp_path, canary) > 0  # in the log
        await store.after_erasure()
        assert occurrences(tmp_path, canary) == 0
        await store.close()

    asyncio.run(run())
    assert occurrences(tmp_path, canary) == 0


def test_a_log_that_is_being_read_is_not_cut_in_silence(sqlite_url: str, tmp_path: Path) -> None:
    """Who reads what was there before keeps it in the log: that is told, and asking again later helps."""

    async def run() -> None:
        store = await open_store(sqlite_url)
        keys = await fill(store, b"canary", 1)
        backup = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)
        backup.execute("BEGIN")
        backup.execute("SELECT count(*) FROM person_keys").fetchone()
        async with store.writing(["1"]) as transaction:
            await transaction.erase(keys[0].key_id, 5)
        with pytest.raises(StoreUnavailable, match="in use"):
            await store.after_erasure()
        backup.execute("COMMIT")
        backup.close()
        await store.after_erasure()
        assert occurrences(tmp_path, b"canary") == 0
        await store.close()

    asyncio.run(run())
