import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import get_args, get_type_hints

import asyncpg
import pytest
from alembic.script import ScriptDirectory
from alembic.util import CommandError

from databases import Databases
from scoring_model.cli import main
from scoring_model.service.core.rows import TABLES, LinkRow
from scoring_model.service.store import (
    SchemaForeign,
    SchemaMissing,
    SchemaNewer,
    SchemaOlder,
    SchemaRefused,
    SchemaUnreleased,
    Store,
    StoreUnavailable,
    migrate,
    migrations,
    open_store,
)
from scoring_model.service.store.migrations import HEAD, pending_script, script
from store_story import run_story, write_to
from stored_rows import event_row, identity_row, webhook_row

VERSIONS = ScriptDirectory(str(Path(migrations.__file__).parent))
BEYOND_ROWS = {"label_times", "buckets", "alembic_version"}
PAGE = Path(__file__).parents[3] / "docs" / "service-storage.md"
COMMAND = "scoring-model database migrate --database URL"


def select(url: str, statement: str) -> list[tuple[object, ...]]:
    """Run a statement on either database; returns its rows."""

    async def run() -> list[tuple[object, ...]]:
        connection = await asyncpg.connect(url)
        # A script of several statements goes another way than a query.
        found = await connection.fetch(statement) if statement.startswith("SELECT") else []
        if not statement.startswith("SELECT"):
            await connection.execute(statement)
        await connection.close()
        return [tuple(row) for row in found]

    if not url.startswith("sqlite"):
        return asyncio.run(run())
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as connection:
        return connection.execute(statement).fetchall()


def catalogue(url: str) -> list[tuple[object, ...]]:
    """What a database says of its tables, indexes and keys."""
    if url.startswith("sqlite"):
        return sorted(select(url, "SELECT type, name, tbl_name, sql FROM sqlite_master"))
    queries = (
        "SELECT relname, relpersistence::text, relkind::text, reloptions FROM pg_class "
        "WHERE relnamespace = 'public'::regnamespace ORDER BY relname",
        # By their order: a column that was dropped leaves its number.
        "SELECT attrelid::regclass::text, attname, format_type(atttypid, atttypmod), attnotnull, "
        "attidentity::text FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid "
        "WHERE relnamespace = 'public'::regnamespace AND attnum > 0 AND relkind = 'r' AND NOT attisdropped "
        "ORDER BY attrelid::regclass::text, attnum",
        "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
        "SELECT conname, contype::text, pg_get_constraintdef(oid) FROM pg_constraint "
        "WHERE connamespace = 'public'::regnamespace ORDER BY 1",
    )
    return [row for query in queries for row in select(url, query)]


@pytest.fixture
def own_url(store_url: str, postgres: Databases) -> Iterator[str]:
    """A database whose tables may be changed."""
    if store_url.startswith("sqlite"):
        yield store_url
    else:
        with postgres.fresh() as url:
            yield url


def empty(url: str) -> None:
    """Drop everything on a server."""
    select(url, "DROP SCHEMA public CASCADE")
    select(url, "CREATE SCHEMA public")


def columns(url: str) -> dict[str, list[tuple[str, str, bool]]]:
    """Name, type and whether it may be NULL of each column of each table; the number of a label is no field."""
    if url.startswith("sqlite"):
        query = (
            "SELECT t.name, c.name, c.type, c.[notnull] FROM sqlite_master t, pragma_table_info(t.name) c "
            "WHERE t.type = 'table' ORDER BY t.name, c.cid"
        )
    else:
        query = (
            "SELECT table_name::text, column_name::text, data_type::text, is_nullable = 'NO' "
            "FROM information_schema.columns WHERE table_schema = 'public' ORDER BY table_name, ordinal_position"
        )
    found: dict[str, list[tuple[str, str, bool]]] = {}
    for table, name, kind, is_required in select(url, query):
        if (table, name) != ("labels", "number"):
            found.setdefault(str(table), []).append((str(name), str(kind).lower(), not is_required))
    return found


def test_every_field_has_its_column(store_url: str) -> None:
    """A table has a column per field, in its order and type, NULL where the field can be None; no other table."""
    found = columns(store_url)
    assert set(found) - BEYOND_ROWS == set(TABLES.values())
    types: dict[str, type] = {"blob": bytes, "bytea": bytes, "integer": int, "bigint": int, "text": str}
    types |= {"double": float, "double precision": float}
    for kind, table in TABLES.items():
        expected = [
            (name, next(iter(get_args(hint)), hint), type(None) in get_args(hint))
            for name, hint in get_type_hints(kind).items()
        ]
        assert [(name, types[sort], null) for name, sort, null in found[table]] == expected


def test_the_head_is_the_newest_migration() -> None:
    """The version that serving compares with is that of the newest migration; there is one line of them."""
    assert VERSIONS.get_heads() == [HEAD]
    numbers = [revision.revision for revision in VERSIONS.walk_revisions()]
    assert numbers == sorted(numbers, reverse=True)


def test_no_version_can_be_taken_back() -> None:
    """A downgrade is refused by a text that says what it would do; a version that is not there is no script."""
    for revision in VERSIONS.walk_revisions():
        with pytest.raises(NotImplementedError, match="would delete all data"):
            revision.module.downgrade()
    with pytest.raises(CommandError):
        script("sqlite", "9999")


NEXT = """
from alembic import op
from sqlalchemy import Column, Text

revision = "1001"
down_revision = "1000"


def upgrade() -> None:
    op.create_table("notes", Column("text", Text, nullable=False))
    op.execute("INSERT INTO notes SELECT model_version FROM bundles")
"""
"""A version after the first, which no release has: it makes the first an older one."""


def test_a_database_of_an_older_version_is_migrated(
    own_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres: Databases
) -> None:
    """It is refused until the command has run, keeps its rows, and then is like a new one."""
    select(own_url, "INSERT INTO bundles VALUES ('m', 'p', '{}', 1)")
    (tmp_path / "v1001_notes.py").write_text(NEXT)
    monkeypatch.setattr(migrations, "HEAD", "1001")
    monkeypatch.setattr(migrations, "VERSIONS", [*migrations.VERSIONS, tmp_path])
    for create in (False, True):
        with pytest.raises(SchemaOlder, match=f"have version 1000, this program needs 1001.*{COMMAND}"):
            asyncio.run(open_store(own_url, create=create))
    assert main(["database", "migrate", "--database", own_url]) == 0
    assert select(own_url, "SELECT text FROM notes") == [("m",)]

    async def story(store: Store) -> None:
        async with store.reading() as reader:
            assert [row.model_version for row in await reader.bundles()] == ["m"]

    run_story(own_url, story)
    with postgres.fresh() as other:
        if not own_url.startswith("sqlite"):
            empty(other)
        new = f"sqlite:///{tmp_path / 'new.db'}" if own_url.startswith("sqlite") else other
        assert main(["database", "migrate", "--database", new]) == 0
        assert len(catalogue(new)) > 20
        assert catalogue(own_url) == catalogue(new)


@pytest.mark.parametrize("version", [f"{number:04}" for number in range(1, 13)])
def test_what_was_made_before_the_first_release_is_refused(version: str) -> None:
    """Every version that was never released is refused by name, as nothing that could be migrated."""
    for only_new in (False, True):
        with pytest.raises(
            SchemaUnreleased, match=f"{version}, was made before the first release; make it anew"
        ):
            pending_script("sqlite", version, {"clients"}, only_new=only_new)


def test_migrating_again_changes_nothing(own_url: str) -> None:
    """A database of this version is left alone by a migration, with what is in it."""
    select(own_url, "INSERT INTO bundles VALUES ('m', 'p', '{}', 1)")
    asyncio.run(migrate(own_url))

    async def story(store: Store) -> None:
        async with store.reading() as reader:
            assert [row.model_version for row in await reader.bundles()] == ["m"]

    run_story(own_url, story)


@pytest.mark.parametrize(
    ("statement", "refusal", "words"),
    [
        (
            "UPDATE alembic_version SET version_num = '0012'",
            SchemaUnreleased,
            ["0012", "make it anew", COMMAND],
        ),
        ("UPDATE alembic_version SET version_num = '9999'", SchemaNewer, ["9999", HEAD, COMMAND]),
        ("UPDATE alembic_version SET version_num = 'b0c1'", SchemaForeign, ["b0c1"]),
        ("DROP TABLE alembic_version", SchemaForeign, ["not those of scoring-model"]),
    ],
)
def test_other_versions_are_refused_by_name(
    own_url: str, statement: str, refusal: type[SchemaRefused], words: list[str]
) -> None:
    """Unreleased, newer and foreign tables have errors of their own, which name the command that helps."""
    select(own_url, statement)
    for create in (False, True):
        with pytest.raises(refusal) as caught:
            asyncio.run(open_store(own_url, create=create))
        assert all(word in str(caught.value) for word in words)
    with pytest.raises(refusal):
        asyncio.run(migrate(own_url))


def test_an_empty_file_gets_tables_only_when_asked(tmp_path: Path) -> None:
    """An empty database is refused unless it may be made, and is not made by the refusal."""
    path = tmp_path / "new.db"
    url = f"sqlite:///{path}"
    with pytest.raises(SchemaMissing, match=COMMAND):
        asyncio.run(open_store(url))
    assert not path.exists()

    async def run() -> None:
        await (await open_store(url, create=True)).close()
        await (await open_store(url)).close()

    asyncio.run(run())


def test_an_empty_database_of_a_server_gets_tables_only_when_asked(postgres: Databases) -> None:
    """The same on a server; several that make them at once end with one set of tables."""
    with postgres.fresh() as url:
        empty(url)
        with pytest.raises(SchemaMissing, match=COMMAND):
            asyncio.run(open_store(url))

        async def run() -> None:
            for store in await asyncio.gather(*(open_store(url, create=True) for _ in range(4))):
                await store.close()

        asyncio.run(run())


def test_several_processes_make_one_file(tmp_path: Path) -> None:
    """Processes that open a new file at the same time all get to work with the same tables."""
    program = (
        "import asyncio, sys\n"
        "from scoring_model.service.store import open_store\n"
        "async def main():\n"
        "    await (await open_store(sys.argv[1], create=True, seconds=30)).close()\n"
        "asyncio.run(main())\n"
    )
    url = f"sqlite:///{tmp_path / 'new.db'}"
    processes = [
        subprocess.Popen([sys.executable, "-c", program, url], stderr=subprocess.PIPE) for _ in range(3)
    ]
    for process in processes:
        _, said = process.communicate()
        assert process.returncode == 0, said
    run_story(url, lambda store: asyncio.sleep(0))


def test_a_file_of_something_else_is_no_database(tmp_path: Path) -> None:
    """A file that is not one of SQLite's is refused as such and left as it was."""
    path = tmp_path / "text.db"
    path.write_text("something else " * 100)
    with pytest.raises(StoreUnavailable, match="SQLITE_NOTADB"):
        asyncio.run(open_store(f"sqlite:///{path}", create=True))
    assert path.read_text() == "something else " * 100


def test_a_file_in_a_missing_folder_can_not_be_opened(tmp_path: Path) -> None:
    """A folder is never made up."""
    url = f"sqlite:///{tmp_path / 'missing' / 'new.db'}"
    with pytest.raises(StoreUnavailable):
        asyncio.run(open_store(url, create=True))
    assert not (tmp_path / "missing").exists()


def test_serving_loads_neither_sqlalchemy_nor_alembic(store_url: str) -> None:
    """Opening and using a database that has its tables loads nothing of what makes them."""
    program = (
        "import asyncio, sys\n"
        "from scoring_model.service.store import open_store\n"
        "async def main():\n"
        "    store = await open_store(sys.argv[1])\n"
        "    async with store.writing(['1']) as transaction:\n"
        "        await transaction.set_fact('a', b'1')\n"
        "    await store.close()\n"
        "asyncio.run(main())\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, store_url], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert not loaded & {"sqlalchemy", "alembic", "mako", "numpy", "pyarrow", "numba", "pydantic"}
    assert ("asyncpg" in loaded) == store_url.startswith("postgresql")


def test_a_check_of_sqlite_finds_nothing_else_than_what_operators_are_told(tmp_path: Path) -> None:
    """A healthy file is ok, but for a line that docs/service-storage.md explains."""
    url = f"sqlite:///{tmp_path / 'scoring.db'}"
    asyncio.run(migrate(url))
    write_to(url, *(LinkRow(bytes([at]) * 16, at, b"p" * 16, None, at or None) for at in range(200)))
    write_to(url, identity_row(), webhook_row(), event_row())

    with closing(sqlite3.connect(tmp_path / "scoring.db")) as connection:
        lines = {line for (line,) in connection.execute("PRAGMA integrity_check(100000000)")}
    assert lines in ({"ok"}, {"NULL value in links.person"})
    assert select(url, "SELECT count(*) FROM links WHERE person IS NULL") == [(0,)]
    assert "NULL value in links.person" in PAGE.read_text(encoding="utf-8")
