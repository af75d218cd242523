"""Migrations, one module per version in `versions`, and their SQL. Only here are Alembic and SQLAlchemy imported.

A new module has the next number as `revision`, the one before as `down_revision`, and operations of Alembic for both
databases; `schema.HEAD` and `tables` change with it, and tests compare all three. Alembic renders SQL (offline mode)
that runs over the serving drivers, so that no other driver is needed. Migrations can't read rows.
"""

import io
from pathlib import Path
from typing import Literal

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from scoring_model.service.store.schema import HEAD

_DIRECTORY = Path(__file__).parent

Dialect = Literal["sqlite", "postgresql"]


def script(dialect: Dialect, version: str | None) -> str:
    """Render the SQL that migrates a database to the newest version, to be run in one transaction.

    Parameters
    ----------
    version : str or None
        The present version; None for an empty database.
    """
    versions = ScriptDirectory(str(_DIRECTORY))
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
