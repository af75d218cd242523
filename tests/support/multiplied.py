"""Many verifications of one identity, written directly beside a running service."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from uuid import UUID

from scoring_model.service.core.rows import LinkRow, VerificationRow

_VERIFICATION = ", ".join(VerificationRow._fields)
_LINK = ", ".join(LinkRow._fields)


def multiply(database: Path, verification: str, count: int) -> None:
    """Write verifications like one, each a microsecond earlier than the one before, with their own link records."""
    with closing(sqlite3.connect(database, timeout=60)) as connection, connection:
        of_one = (UUID(verification).bytes,)
        row = VerificationRow(
            *connection.execute(f"SELECT {_VERIFICATION} FROM verifications WHERE id = ?", of_one).fetchone()
        )
        links = [
            LinkRow(*connection.execute(f"SELECT {_LINK} FROM links WHERE hash = ?", (value,)).fetchone())
            for value in (
                (row.links or b"")[place : place + 16] for place in range(0, len(row.links or b""), 16)
            )
        ]
        at = row.completed_at or 0
        # A sealed payload can be read in its own row alone.
        made = [
            row._replace(id=os.urandom(16), completed_at=at - step, payload=None)
            for step in range(1, count + 1)
        ]
        linked = [link._replace(time=at - step) for step in range(1, count + 1) for link in links]
        for name, kind, rows in (("verifications", VerificationRow, made), ("links", LinkRow, linked)):
            places = ", ".join("?" * len(kind._fields))
            names = ", ".join(kind._fields)
            connection.executemany(f"INSERT INTO {name} ({names}) VALUES ({places})", rows)
