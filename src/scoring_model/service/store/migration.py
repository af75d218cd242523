"""Bringing the tables of a database to this version. Alembic and SQLAlchemy are loaded here and nowhere else."""

import io
from pathlib import Path
from typing import Literal

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from scoring_model.service.store.schema import HEAD

_DIRECTORY = Path(__file__).with_name("migrations")

Dialect = Literal["sqlite", "postgresql"]


def script(dialect: Dialect, version: str | None) -> str:
    """Write the statements that bring a database to the newest version.

    Parameters
    ----------
    version : str or None
        What it has; None for an empty database.

    Returns
    -------
    str
        SQL, statement by statement, to be run in one transaction.
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
