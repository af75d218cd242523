import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import get_args, get_type_hints

import asyncpg
import pytest
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Table, create_engine, inspect
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

from databases import Databases
from scoring_model.service.core.rows import TABLES, LinkRow, Row
from scoring_model.service.core.store import StoreUnavailable
from scoring_model.service.store import (
    HEAD,
    SchemaForeign,
    SchemaMissing,
    SchemaNewer,
    SchemaOlder,
    SchemaRefused,
    check_schema,
    migrate,
    migrations,
    open_store,
    tables,
)
from scoring_model.service.store.migrations import script
from scoring_model.service.store.statements import server_types
from scoring_model.service.webhooks.webhook import UNSEALED_FACT
from stored_rows import event_row, identity_row, packed, webhook_row

SOURCE = Path(tables.__file__).parent
BEYOND_ROWS = {"label_times", "buckets"}
BEYOND_FIELDS = {"labels": ["number"]}
DIALECT = postgresql.dialect()  # type: ignore[no-untyped-call]
COMMAND = "scoring-model database migrate --database URL"


def execute(url: str, statement: str) -> None:
    """Run a statement on either database."""

    async def run() -> None:
        connection = await asyncpg.connect(url)
        await connection.execute(statement)
        await connection.close()

    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"))
        connection.execute(statement)
        connection.commit()
        connection.close()
    else:
        asyncio.run(run())


def literal(url: str, value: object) -> str:
    """A value as a statement of either database writes it."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"x'{value.hex()}'" if url.startswith("sqlite") else f"'\\x{value.hex()}'::bytea"
    return f"'{value}'" if isinstance(value, str) else str(value)


def catalogue(url: str) -> list[tuple[object, ...]]:
    """What a server says of its tables and indexes."""

    async def run() -> list[tuple[object, ...]]:
        connection = await asyncpg.connect(url)
        found = []
        for query in (
            "SELECT relname, relpersistence::text, relkind::text, reloptions FROM pg_class "
            "WHERE relnamespace = 'public'::regnamespace AND relname NOT LIKE 'alembic%' ORDER BY relname",
            # By their order: a column that was dropped leaves its number.
            "SELECT attrelid::regclass::text, attname, format_type(atttypid, atttypmod), attnotnull, "
            "attidentity::text FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid "
            "WHERE relnamespace = 'public'::regnamespace AND attnum > 0 AND relkind = 'r' AND NOT attisdropped "
            "AND relname NOT LIKE 'alembic%' ORDER BY attrelid::regclass::text, attnum",
            "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename NOT LIKE 'alembic%' "
            "ORDER BY 1",
            "SELECT conname, contype::text, pg_get_constraintdef(oid) FROM pg_constraint "
            "WHERE connamespace = 'public'::regnamespace AND conname NOT LIKE 'alembic%' ORDER BY 1",
        ):
            found += [tuple(row) for row in await connection.fetch(query)]
        await connection.close()
        return found

    return asyncio.run(run())


@pytest.fixture
def own_url(store_url: str, postgres: Databases) -> Iterator[str]:
    """A database whose tables may be changed."""
    if store_url.startswith("sqlite"):
        yield store_url
    else:
        with postgres.fresh() as url:
            yield url


def test_every_field_has_its_column() -> None:
    """Tables have one column for each field, in its order, and null where the field can be None; no other tables."""
    described: Mapping[str, Table] = tables.metadata.tables | tables.server_only.tables
    assert set(described) == set(TABLES.values()) | BEYOND_ROWS
    for kind, name in TABLES.items():
        columns = [
            column for column in described[name].columns if column.name not in BEYOND_FIELDS.get(name, [])
        ]
        assert [column.name for column in columns] == list(kind._fields)
        for column, hint in zip(columns, get_type_hints(kind).values(), strict=True):
            plain = [argument for argument in get_args(hint) or (hint,) if argument is not type(None)]
            assert column.nullable == (type(None) in get_args(hint)), column
            assert column.type.python_type is plain[0], column


@pytest.mark.parametrize("kind", TABLES, ids=lambda kind: kind.__name__)
def test_fields_travel_in_the_types_of_their_columns(kind: type[Row]) -> None:
    """What is sent to a server as an array has the type of its column, but for numbers, which may be wider."""
    table = tables.metadata.tables[TABLES[kind]]
    compiled = [table.columns[name].type.compile(DIALECT) for name in kind._fields]
    assert server_types(kind) == [name.lower().replace("integer", "bigint") for name in compiled]


def test_migrations_make_what_the_metadata_describes_on_sqlite(tmp_path: Path) -> None:
    """A file that was migrated from nothing has the very tables and indexes that the metadata makes."""
    made, described = tmp_path / "made.db", tmp_path / "described.db"
    asyncio.run(migrate(f"sqlite:///{made}"))
    engine = create_engine(f"sqlite:///{described}")
    tables.metadata.create_all(engine)
    names = inspect(engine).get_table_names()
    engine.dispose()
    assert set(names) == set(tables.metadata.tables)
    query = (
        "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT LIKE '%alembic%' ORDER BY 1, 2"
    )
    found = []
    for path in (made, described):
        connection = sqlite3.connect(path)
        rows = connection.execute(query).fetchall()
        connection.close()
        # SQLite keeps the text of the statement: white space is not what this is about.
        found.append([(*row[:3], " ".join((row[3] or "").split()).replace("( ", "(")) for row in rows])
    assert found[0] == found[1]


def test_migrations_make_what_the_metadata_describes_on_postgresql(postgres: Databases) -> None:
    """A database that was migrated from nothing has the very tables, indexes and keys that the metadata makes."""
    with postgres.fresh() as made, postgres.fresh() as described:
        execute(described, "DROP SCHEMA public CASCADE")
        execute(described, "CREATE SCHEMA public")
        for table in (*tables.metadata.sorted_tables, *tables.server_only.sorted_tables):
            execute(described, str(CreateTable(table).compile(dialect=DIALECT)))
            for index in table.indexes:
                execute(described, str(CreateIndex(index).compile(dialect=DIALECT)))
        assert len(catalogue(made)) > 100
        assert catalogue(made) == catalogue(described)


def test_the_head_is_the_newest_migration() -> None:
    """The version that serving compares with is that of the newest migration; there is one line of them."""
    versions = ScriptDirectory(str(SOURCE / "migrations"))
    assert versions.get_heads() == [HEAD]
    numbers = [revision.revision for revision in versions.walk_revisions()]
    assert numbers == [f"{number:04d}" for number in range(len(numbers), 0, -1)]


@pytest.mark.parametrize(
    ("version", "loss"),
    [
        ("0001", "delete all data"),
        ("0002", "delete all deliveries"),
        ("0003", "delete all amounts"),
        ("0004", "delete the queries"),
        ("0005", "delete all amounts after"),
    ],
)
def test_no_version_can_be_taken_back(version: str, loss: str) -> None:
    """A downgrade is refused by a text that says what it would do."""
    versions = ScriptDirectory(str(SOURCE / "migrations"))
    with pytest.raises(NotImplementedError, match=loss):
        versions.get_revision(version).module.downgrade()
    with pytest.raises(CommandError):
        script("sqlite", "9999")


def put_back(url: str, version: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Give an empty database the tables of a version."""
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "HEAD", version)
        if url.startswith("sqlite"):
            path = Path(url.removeprefix("sqlite:///"))
            path.unlink()
            with closing(sqlite3.connect(path)) as connection:
                connection.executescript(script("sqlite", None))
        else:
            execute(url, "DROP SCHEMA public CASCADE")
            execute(url, "CREATE SCHEMA public")
            execute(url, script("postgresql", None))
    return url


@pytest.fixture
def first_url(own_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database with the tables of version 0001."""
    return put_back(own_url, "0001", monkeypatch)


@pytest.fixture
def second_url(own_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database with the tables of version 0002."""
    return put_back(own_url, "0002", monkeypatch)


@pytest.fixture
def third_url(own_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database with the tables of version 0003."""
    return put_back(own_url, "0003", monkeypatch)


def test_webhooks_of_the_first_version_are_kept(first_url: str) -> None:
    """Webhooks that were there before deliveries keep all they had; they count as successful since their creation."""
    rows = [webhook_row(created_at=at, updated_at=99, succeeded_at=at, description=b"d") for at in (5, 7)]
    for row in rows:
        values = ", ".join(literal(first_url, "d" if value == b"d" else value) for value in row[:-3])
        execute(first_url, f"INSERT INTO webhooks VALUES ({values})")
    with pytest.raises(SchemaOlder):
        asyncio.run(open_store(first_url))

    async def run() -> None:
        await migrate(first_url)
        store = await open_store(first_url)
        async with store.reading() as reader:
            assert await reader.webhooks(1, None, 9) == rows
            assert await reader.deliveries(limit=9) == []
        await store.close()

    asyncio.run(run())


def test_link_rows_of_the_second_version_are_kept(second_url: str) -> None:
    """Link rows that were there before amounts keep all they had, have none, and take labels and neighbours."""
    rows = [LinkRow(b"h" * 16, time, b"p" * 16, labels) for time, labels in ((7, packed((9, 1))), (5, None))]
    for row in rows:
        values = ", ".join(literal(second_url, value) for value in row[:4])
        execute(second_url, f"INSERT INTO links VALUES ({values})")
    with pytest.raises(SchemaOlder):
        asyncio.run(open_store(second_url))

    async def run() -> None:
        await migrate(second_url)
        store = await open_store(second_url)
        async with store.writing(["1"]) as transaction:
            await transaction.insert([LinkRow(b"h" * 16, 8, b"q" * 16, None, -(2**63), b"m")])
            await transaction.link_labels([b"h" * 16], 5, packed((10, 0)))
        async with store.writing(["1"]) as transaction:
            (found,) = await transaction.histories([b"h" * 16], since=0, cap=9, amounts=3)
        assert found == [
            (8, b"q" * 16, None, -(2**63), b"m"),
            (7, b"p" * 16, packed((9, 1)), None, None),
            (5, b"p" * 16, packed((10, 0)), None, None),
        ]
        await store.close()

    asyncio.run(run())


HASH = b"hash of a person"


def test_hashes_of_persons_leave_the_identities_of_the_third_version(third_url: str) -> None:
    """Identities keep all but the hash of their person; on SQLite its bytes leave the file too."""
    rows = [identity_row(), identity_row(status="REDACTED", payload=None)]
    for id_, client, key_id, *rest in rows:
        values = ", ".join(literal(third_url, value) for value in (id_, client, key_id, HASH, *rest))
        execute(third_url, f"INSERT INTO identities VALUES ({values})")

    async def run() -> None:
        await migrate(third_url)
        if third_url.startswith("sqlite"):
            assert HASH not in Path(third_url.removeprefix("sqlite:///")).read_bytes()
        store = await open_store(third_url)
        async with store.reading() as reader:
            assert [await reader.identity(1, row.id) for row in rows] == rows
        await store.close()

    asyncio.run(run())


def test_webhooks_of_the_third_version_are_kept(third_url: str) -> None:
    """The query leaves the destination, a webhook follows the events older than itself, and a fact asks for keys."""
    plain = webhook_row(destination_url="https://a.example/b", created_at=7)
    asking = webhook_row(destination_url="https://a.example", query=b"?c=d?", description=b"e", created_at=7)
    events = [event_row(sequence=sequence, created_at=at) for sequence, at in ((3, 5), (4, 6), (5, 7))]

    for row in (plain, asking):
        old = row._replace(destination_url=row.destination_url + (row.query or b"").decode())[:-2]
        values = ", ".join(literal(third_url, "e" if value == b"e" else value) for value in old)
        execute(third_url, f"INSERT INTO webhooks VALUES ({values})")
    for event in events:
        values = ", ".join(literal(third_url, value) for value in event)
        execute(third_url, f"INSERT INTO events VALUES ({values})")

    async def run() -> None:
        await migrate(third_url)
        store = await open_store(third_url)
        async with store.reading() as reader:
            assert await reader.webhooks(1, None, 9) == [
                row._replace(since_sequence=4) for row in (plain, asking)
            ]
            assert await reader.fact(UNSEALED_FACT) == b""
        await store.close()

    asyncio.run(run())


def test_a_database_that_was_migrated_step_by_step_is_like_a_new_one(first_url: str) -> None:
    """From version 0001 on, a database gets the very tables, indexes and keys that a new one has."""
    asyncio.run(migrate(first_url))
    if first_url.startswith("sqlite"):
        path = Path(first_url.removeprefix("sqlite:///"))
        new = path.with_name("new.db")
        asyncio.run(migrate(f"sqlite:///{new}"))
        found = []
        for one in (path, new):
            with closing(sqlite3.connect(one)) as connection:
                found.append(set(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")))
        assert found[0] == found[1]
    else:
        migrated = catalogue(first_url)
        execute(first_url, "DROP SCHEMA public CASCADE")
        execute(first_url, "CREATE SCHEMA public")
        asyncio.run(migrate(first_url))
        assert migrated == catalogue(first_url)


def test_migrating_again_changes_nothing(own_url: str) -> None:
    """A database of this version is left alone by a migration, with what is in it."""
    execute(own_url, "INSERT INTO bundles VALUES ('m', 'p', '{}', 1)")

    async def run() -> None:
        await migrate(own_url)
        await check_schema(own_url)
        store = await open_store(own_url)
        async with store.reading() as reader:
            assert [row.model_version for row in await reader.bundles()] == ["m"]
        await store.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("statement", "refusal", "words"),
    [
        ("UPDATE alembic_version SET version_num = '0000'", SchemaOlder, ["0000", HEAD, COMMAND]),
        ("UPDATE alembic_version SET version_num = '0999'", SchemaNewer, ["0999", HEAD, COMMAND]),
        ("UPDATE alembic_version SET version_num = 'b0c1'", SchemaForeign, ["b0c1"]),
        ("DROP TABLE alembic_version", SchemaForeign, ["not those of scoring-model"]),
    ],
)
def test_other_versions_are_refused_by_name(
    own_url: str, statement: str, refusal: type[SchemaRefused], words: list[str]
) -> None:
    """Older, newer and foreign tables are told apart, with the command that helps, even where new ones may be made."""
    execute(own_url, statement)
    for attempt in (check_schema(own_url), open_store(own_url), open_store(own_url, create=True)):
        with pytest.raises(refusal) as caught:
            asyncio.run(attempt)
        assert all(word in str(caught.value) for word in words)
    if refusal is not SchemaOlder:
        with pytest.raises(refusal):
            asyncio.run(migrate(own_url))


def test_an_empty_file_gets_tables_only_when_asked(tmp_path: Path) -> None:
    """An empty database is refused unless it may be made, and is not made by the refusal."""
    path = tmp_path / "new.db"
    url = f"sqlite:///{path}"
    for attempt in (open_store(url), check_schema(url)):
        with pytest.raises(SchemaMissing, match=COMMAND):
            asyncio.run(attempt)
        assert not path.exists()

    async def run() -> None:
        store = await open_store(url, create=True)
        await store.close()
        await check_schema(url)

    asyncio.run(run())


def test_an_empty_database_of_a_server_gets_tables_only_when_asked(postgres: Databases) -> None:
    """The same on a server; several that make them at once end with one set of tables."""
    with postgres.fresh() as url:
        execute(url, "DROP SCHEMA public CASCADE")
        execute(url, "CREATE SCHEMA public")
        with pytest.raises(SchemaMissing, match=COMMAND):
            asyncio.run(open_store(url))

        async def run() -> None:
            for store in await asyncio.gather(*(open_store(url, create=True) for _ in range(4))):
                await store.close()
            await check_schema(url)

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
    asyncio.run(check_schema(url))


def test_a_file_of_something_else_is_no_database(tmp_path: Path) -> None:
    """A file that is not one of SQLite's is told as such and left as it was."""
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
