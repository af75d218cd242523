"""Backups as files: what they hold, their one instant, passwords, restorations that are refused or interrupted."""

import asyncio
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from databases import Databases, binaries
from scoring_model.service.core.rows import FactRow, PersonKeyRow
from scoring_model.service.keys import backup
from scoring_model.service.keys.backup import Restored, back_up, restore_keys
from scoring_model.service.keys.restored import KeysMissing, require_keys
from scoring_model.service.keys.secrets import CHECK_FACT
from scoring_model.service.store import Store
from scoring_model.service.store.backup import KeyFile
from scoring_model.service.store.errors import BackupFailed
from service_use import select, table
from store_story import run_story, write_to
from stored_rows import identity_row, person_key_row, verification_row


def filled(url: str, persons: int) -> list[PersonKeyRow]:
    """Store persons with an identity each, and half of them with a verification."""
    keys = [person_key_row(wrapped=b"secret-of-person" + os.urandom(24)) for _ in range(persons)]
    rows = [identity_row(key_id=key.key_id) for key in keys]
    more = [verification_row(key_id=key.key_id) for key in keys[::2]]
    write_to(url, FactRow(CHECK_FACT, b"check"), *keys, *rows, *more)
    return keys


def restored(url: str, keys: Path) -> Restored:
    """Restore the keys of a file."""

    async def story(store: Store) -> Restored:
        return await restore_keys(store, file, now=5, progress=lambda _: None)

    with KeyFile(keys) as file:
        return run_story(url, story)


def test_security_a_copy_of_sqlite_holds_no_key_in_any_free_place(sqlite_url: str, tmp_path: Path) -> None:
    """Keys of persons are nowhere in the bytes of the copy, which is sound, and all of them are in their own file."""
    keys = filled(sqlite_url, 300)
    copy, key_file = tmp_path / "copy", tmp_path / "keys"
    assert asyncio.run(back_up(sqlite_url, copy, key_file, now=1)) == 300
    assert copy.read_bytes().count(b"secret-of-person") == 0
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("SELECT count(*) FROM identities").fetchone() == (300,)
        assert connection.execute("PRAGMA quick_check").fetchone() == ("ok",)
    with KeyFile(key_file) as file:
        assert file.rows([key.key_id for key in keys]) == keys


def test_recovery_the_dump_of_a_server_is_of_one_instant_and_no_program_shows_its_password(
    postgres: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is committed between the keys and the dump is in neither; arguments of pg_dump have no password."""
    said = tmp_path / "said"
    with postgres.fresh() as url:
        filled(url, 3)
        program = tmp_path / "bin" / "pg_dump"
        program.parent.mkdir()
        program.write_text(
            f'#!/bin/sh\necho "$PGPASSWORD" "$@" > {said}\n'
            f"{binaries()}/psql -q {url} -c 'DELETE FROM identities' && exec {binaries()}/pg_dump \"$@\"\n"
        )
        program.chmod(0o700)
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
        secret = url.replace("scoring@", "scoring:s%40cret@", 1)
        asyncio.run(back_up(secret, tmp_path / "copy", tmp_path / "keys", now=1))
        assert asyncio.run(select(url, "SELECT * FROM identities")) == []
    arguments = said.read_text().split(" ", 1)
    assert (arguments[0], "cret" in arguments[1]) == ("s@cret", False)
    name = "restored_once"
    target = postgres.server.create(name)
    try:
        os.spawnl(os.P_WAIT, binaries() / "pg_restore", "pg_restore", f"--dbname={target}", tmp_path / "copy")
        assert asyncio.run(select(target, "SELECT count(*) FROM identities")) == [(3,)]
        assert restored(target, tmp_path / "keys") == Restored(restored=3, erased=0, lost=0)
    finally:
        postgres.server.drop(name)


def test_usability_a_missing_or_failing_pg_dump_is_named(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither leaves a file."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BackupFailed, match="among the client programs of PostgreSQL"):
        asyncio.run(back_up(postgres_url, tmp_path / "copy", tmp_path / "keys", now=1))
    program = tmp_path / "pg_dump"
    program.write_text("#!/bin/sh\necho aborting because of server version mismatch >&2; exit 1\n")
    program.chmod(0o700)
    with pytest.raises(BackupFailed, match="pg_dump failed: aborting because of server version mismatch"):
        asyncio.run(back_up(postgres_url, tmp_path / "copy", tmp_path / "keys", now=1))
    assert list(tmp_path.iterdir()) == [program]


def test_recovery_an_interrupted_restoration_is_no_database_to_serve_and_goes_on(
    store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the keys are not enough to serve; running it again restores the others."""
    keys = filled(store_url, 5)
    monkeypatch.setenv("PATH", f"{binaries()}{os.pathsep}{os.environ['PATH']}")
    asyncio.run(back_up(store_url, tmp_path / "copy", tmp_path / "keys", now=1 << 50))
    asyncio.run(select(store_url, "DELETE FROM person_keys"))
    monkeypatch.setattr(backup, "PAGE", 2)

    async def interrupted(store: Store) -> None:
        def stop(done: int) -> None:
            if done >= 2:
                raise KeyboardInterrupt

        with KeyFile(tmp_path / "keys") as file:
            await restore_keys(store, file, now=5, progress=stop)

    async def check(store: Store) -> None:
        async with store.reading() as reader:
            await require_keys(reader)

    with pytest.raises(KeyboardInterrupt):
        run_story(store_url, interrupted)
    assert len(asyncio.run(table(store_url, PersonKeyRow))) == 2
    with pytest.raises(KeysMissing):
        run_story(store_url, check)
    assert restored(store_url, tmp_path / "keys") == Restored(restored=3, erased=0, lost=0)
    run_story(store_url, check)
    assert sorted(asyncio.run(table(store_url, PersonKeyRow))) == sorted(keys)


def test_usability_keys_of_another_database_and_other_files_are_refused(
    sqlite_url: str, tmp_path: Path
) -> None:
    """A wrong file of keys would erase everyone: nothing is changed."""
    filled(sqlite_url, 1)
    key_file = tmp_path / "keys"
    asyncio.run(back_up(sqlite_url, tmp_path / "copy", key_file, now=1 << 50))
    asyncio.run(select(sqlite_url, "DELETE FROM person_keys"))
    asyncio.run(select(sqlite_url, f"UPDATE facts SET value = x'00' WHERE name = '{CHECK_FACT}'"))
    with pytest.raises(ValueError, match="the keys are those of another database"):
        restored(sqlite_url, key_file)
    assert asyncio.run(select(sqlite_url, "SELECT count(*) FROM identities WHERE payload IS NULL")) == [(0,)]
    for path, reason in ((tmp_path / "copy", "no such table"), (Path(__file__), "not a database")):
        with pytest.raises(BackupFailed, match=f"no file of keys.*{reason}"):
            KeyFile(path)
