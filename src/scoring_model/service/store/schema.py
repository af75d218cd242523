"""The version of the tables of a database, and the errors that refuse a database.

Alembic creates the tables and stores their version; comparing it takes plain SQL, so that serving needs neither
Alembic nor SQLAlchemy.
"""

from collections.abc import Collection
from typing import Final

HEAD: Final = "0005"
"""The version of the tables that this code reads and writes: the newest one of `migrations.versions`."""

VERSION_TABLE: Final = "alembic_version"

_COMMAND: Final = "scoring-model database migrate --database URL"


class NotDurable(Exception):
    """The database may lose acknowledged transactions, so the service refuses it."""


class SchemaRefused(Exception):
    """The database does not have the tables of this version."""


class SchemaMissing(SchemaRefused):
    """The database is empty."""


class SchemaOlder(SchemaRefused):
    """The database has to be migrated first."""


class SchemaNewer(SchemaRefused):
    """The database belongs to a later version of the program."""


class SchemaForeign(SchemaRefused):
    """The tables of the database belong to another program."""


def check_version(version: str | None, tables: Collection[str]) -> None:
    """Refuse tables that are not those of this version.

    Parameters
    ----------
    version : str or None
        What `alembic_version` says.
    tables : collection of str
        Names of the tables of the database.

    Raises
    ------
    SchemaRefused
        As the subclass of what is wrong; the text says what to do.
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
    if version < HEAD:
        raise SchemaOlder(
            f"The tables of the database have version {version}, this program needs {HEAD}. "
            f"Back the database up, then run: {_COMMAND}"
        )
    raise SchemaNewer(
        f"The tables of the database have version {version}, this program knows {HEAD} at most. "
        "Install the version of scoring-model that made them, or a later one. "
        f"(`{_COMMAND}` never takes tables back.)"
    )
