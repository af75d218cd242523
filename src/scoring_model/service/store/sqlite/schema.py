"""The tables of a file of SQLite."""

import sqlite3
from pathlib import Path

from scoring_model.service.store.schema import VERSION_TABLE, SchemaMissing, SchemaOlder, check_version
from scoring_model.service.store.sqlite.connection import connect, translate


def check_schema(path: Path) -> None:
    """Refuse a database whose tables are not those of this version.

    Raises
    ------
    SchemaRefused
    StoreUnavailable
    """
    if not path.exists():
        check_version(None, ())
    connection = connect(path, cache_mebibytes=1, busy_seconds=1.0)
    try:
        check_version(*_version(connection))
    except sqlite3.Error as error:
        raise translate(error) from None
    finally:
        connection.close()


def migrate(path: Path, *, seconds: float, sync: bool = True, only_new: bool = False) -> None:
    """Bring the tables to this version, while nobody else writes.

    Parameters
    ----------
    path : Path
        The file is created if it is not there.
    seconds : float
        How long to wait for other writers, blocking the thread.
    sync : bool
        Whether a commit waits for the disk.
    only_new : bool
        Refuse a database that has tables of another version, as `check_schema` does.

    Raises
    ------
    SchemaRefused
        If the tables belong to a later version or to another program.
    StoreUnavailable
    """
    connection = connect(path, cache_mebibytes=1, sync=sync, busy_seconds=seconds)
    try:
        connection.execute("BEGIN IMMEDIATE")
        version, tables = _version(connection)
        try:
            check_version(version, tables)
        except SchemaMissing:
            _run(connection, None)
        except SchemaOlder:
            if only_new:
                raise
            _run(connection, version)
    except sqlite3.Error as error:
        raise translate(error) from None
    finally:
        connection.close()


def _run(connection: sqlite3.Connection, version: str | None) -> None:
    """Run the migrations in the transaction that is open, which `executescript` would end, and commit."""
    from scoring_model.service.store.migrations import script  # loads Alembic

    statement = ""
    for line in script("sqlite", version).splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection) -> tuple[str | None, list[str]]:
    found = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    )
    tables = [name for (name,) in found]
    if VERSION_TABLE not in tables:
        return None, tables
    row = connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()
    return (None if row is None else str(row[0])), tables
