"""Schema version and migrations of a database: one module per version in `versions`, and their SQL.

The first module is edited in place until the first release. After it a new module has the next number as `revision`,
the previous one as `down_revision`, and Alembic operations for both databases. Update `HEAD` too; tests compare both
databases with the row types. Alembic renders SQL (offline mode) that
runs over the serving drivers, so no other driver is needed. Migrations can't read rows. Versions are compared in plain
SQL, so serving needs neither Alembic nor SQLAlchemy.
"""

import io
from collections.abc import Collection
from pathlib import Path
from typing import Final, Literal

from scoring_model.service.store.errors import (
    SchemaForeign,
    SchemaMissing,
    SchemaNewer,
    SchemaOlder,
    SchemaUnreleased,
)

HEAD: Final = "1000"
"""The version of the tables that this code reads and writes: the newest one of `VERSIONS`."""

VERSIONS: Final = [Path(__file__).parent / "versions"]
"""Folders of the modules, one per version."""

_FIRST: Final = "1000"

VERSION_TABLE: Final = "alembic_version"

_COMMAND: Final = "scoring-model database migrate --database URL"

Dialect = Literal["sqlite", "postgresql"]


def check_version(version: str | None, tables: Collection[str]) -> None:
    """Raise `SchemaRefused` unless the tables have this version.

    Parameters
    ----------
    version : str or None
        The value in `alembic_version`.
    tables : collection of str
        Names of the tables of the database.

    Raises
    ------
    SchemaRefused
        A subclass for each problem; the message says what to do.
    """
    if version == HEAD:
        return
    if version is None and set(tables) <= {VERSION_TABLE}:
        raise SchemaMissing(f"The database has no tables yet. Make them with: {_COMMAND}")
    if version is None:
        raise SchemaForeign("The database has tables that are not those of scoring-model. Name another one.")
    if not version.isdecimal():
        raise SchemaForeign(
            f"The database says that its tables have version {version[:40]!r}, not one of ours."
        )
    if int(version) < int(_FIRST):
        raise SchemaUnreleased(
            f"The database, of version {version}, was made before the first release; make it anew: name an empty one, "
            f"then run: {_COMMAND}"
        )
    if int(version) < int(HEAD):
        raise SchemaOlder(
            f"The tables of the database have version {version}, this program needs {HEAD}. "
            f"Back the database up, then run: {_COMMAND}"
        )
    raise SchemaNewer(
        f"The tables of the database have version {version}, this program knows {HEAD} at most. "
        "Install the version of scoring-model that made them, or a later one. "
        f"(`{_COMMAND}` never takes tables back.)"
    )


def pending_script(dialect: Dialect, version: str | None, tables: Collection[str], *, only_new: bool) -> str:
    """Render the SQL that migrates a database to this version; empty if it is up to date.

    Parameters
    ----------
    version, tables
        See `check_version`.
    only_new : bool
        Refuse a database that has tables of another version.

    Raises
    ------
    SchemaRefused
        If the tables belong to a later version, to none that was released, or to another program.
    """
    try:
        check_version(version, tables)
    except SchemaMissing:
        return script(dialect, None)
    except SchemaOlder:
        if only_new:
            raise
        return script(dialect, version)
    return ""


def script(dialect: Dialect, version: str | None) -> str:
    """Render the SQL that migrates a database to the newest version, to be run in one transaction.

    Parameters
    ----------
    version : str or None
        The current version; None for an empty database.
    """
    from alembic.operations import Operations
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory

    versions = ScriptDirectory(str(Path(__file__).parent), version_locations=list(map(str, VERSIONS)))
    buffer = io.StringIO()
    options = {
        "fn": lambda present, _: versions._upgrade_revs(HEAD, present),
        "as_sql": True,
        "script": versions,
        "starting_rev": version,
        "output_buffer": buffer,
        "transactional_ddl": False,  # the caller begins and commits
    }
    context = MigrationContext.configure(dialect_name=dialect, opts=options)
    with Operations.context(context):
        context.run_migrations()
    return buffer.getvalue()
