"""The tables of a file of SQLite."""

import sqlite3
from pathlib import Path

from scoring_model.service.store.schema import VERSION_TABLE, SchemaMissing, SchemaOlder, check_version
from scoring_model.service.store.sqlite.connection import connect
from scoring_model.service.store.sqlite.errors import translate
from scoring_model.service.store.sqlite.turn import Turn


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


async def migrate(path: Path, *, seconds: float, sync: bool = True, only_new: bool = False) -> None:
    """Bring the tables to this version, while nobody else writes.

    Parameters
    ----------
    path : Path
        The file is made if it is not there.
    seconds : float
        How long to wait for others.
    sync : bool
        Whether a commit waits for the disk.
    only_new : bool
        Whether a database that has tables already is refused as `check_schema` does.

    Raises
    ------
    SchemaRefused
        If the tables belong to a later version or to someone else.
    StoreUnavailable
    """
    turn = Turn(path, seconds=seconds)
    try:
        await turn.take()
        try:
            _migrate(path, sync=sync, only_new=only_new, seconds=seconds)
        finally:
            turn.give_back()
    finally:
        turn.close()


def _migrate(path: Path, *, sync: bool, only_new: bool, seconds: float) -> None:
    connection = connect(path, cache_mebibytes=1, sync=sync, busy_seconds=seconds)
    try:
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
    from scoring_model.service.store.migrations import script  # loads Alembic

    try:
        connection.executescript(f"BEGIN IMMEDIATE;\n{script('sqlite', version)}\nCOMMIT;")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection) -> tuple[str | None, list[str]]:
    found = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    )
    tables = [name for (name,) in found]
    if VERSION_TABLE not in tables:
        return None, tables
    row = connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()
    return (None if row is None else str(row[0])), tables
