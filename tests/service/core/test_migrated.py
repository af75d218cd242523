"""A migrated database of an older version returns its resources, and its verdicts replay."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from scoring_model.service.clients import Caller
from scoring_model.service.scoring.verifications import Replay, replay
from scoring_model.service.store import migrate, migrations
from scoring_model.service.store.migrations import script
from service_use import MASTERS, World, applicants, decider_of, file_of, opened, run_story


def put_back(path: Path, old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copy a database into one of version 0003."""
    with monkeypatch.context() as patched, closing(sqlite3.connect(old)) as connection:
        patched.setattr(migrations, "HEAD", "0003")
        connection.executescript(script("sqlite", None))
        connection.execute("ATTACH ? AS new", (str(path),))
        tables = [
            name for (name,) in connection.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'")
        ]
        for name in set(tables) - {"alembic_version", "identities", "webhooks"}:
            found = connection.execute("SELECT name FROM pragma_table_info(?, 'main')", (name,))
            columns = ", ".join(column for (column,) in found)
            connection.execute(f"INSERT INTO main.{name} SELECT {columns} FROM new.{name}")
        connection.execute(
            "INSERT INTO main.identities SELECT id, client, key_id, x'00', status, payload, created_at, updated_at "
            "FROM new.identities"
        )
        connection.commit()


def test_a_database_of_version_3_is_served_on(
    sqlite_url: str, sealed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Identities and verifications are unchanged, the history continues, and a verdict replays equal."""
    person = applicants(sealed)[0]

    async def made(world: World) -> tuple[Caller, bytes, bytes]:
        caller = await world.client()
        identity = await world.identity(caller, person.identity)
        verification = await world.verify(caller, identity=identity, signals=person.signals)
        return caller, identity, verification.resource.id

    async def seen(world: World, caller: Caller, identity: bytes, verification: bytes) -> list[object]:
        found = await replay(world.store, MASTERS, verification, find=lambda *_: decider_of(sealed))
        assert found is Replay.SAME
        return [
            await world.service.identities.get(caller, identity),
            await world.verification(caller, verification),
        ]

    async def story(world: World) -> None:
        caller, identity, verification = await made(world)
        before = await seen(world, caller, identity, verification)
        old = tmp_path / "old.db"
        put_back(file_of(sqlite_url), old, monkeypatch)
        url = f"sqlite:///{old}"
        await migrate(url)
        async with opened(url, sealed, clock=world.clock) as migrated:
            assert await seen(migrated, caller, identity, verification) == before
            world.clock.advance(1)
            rows = []
            for one in (world, migrated):
                again = await one.verify(caller, identity=identity, signals=person.signals)
                rows.append(await one.features(again.resource.id))
            assert repr(rows[0]) == repr(rows[1])  # with NaN

    run_story(sqlite_url, sealed, story)
