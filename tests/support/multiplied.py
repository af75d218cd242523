"""Many verifications of one identity, or deliveries, written directly beside a running service."""

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from scoring_model.history import pack_label
from scoring_model.service.core.rows import DeliveryRow, LinkRow, VerificationRow

DAY = 86_400_000_000
_VERIFICATION = ", ".join(VerificationRow._fields)
_LINK = ", ".join(LinkRow._fields)


def multiply(database: Path, verification: str, count: int, *, labels: int = 0) -> None:
    """Write verifications like one, each a microsecond earlier than the one before, with their own link records.

    Each link record has some labels, fraud and genuine in turn.
    """
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
        packed = b"".join(pack_label(at - labels + place, fraud=place % 2 == 0) for place in range(labels))
        linked = [
            link._replace(time=at - step, labels=packed or link.labels)
            for step in range(1, count + 1)
            for link in links
        ]
        _insert(connection, "verifications", made)
        _insert(connection, "links", linked)


def multiply_deliveries(database: Path, count: int) -> bool:
    """Write waiting deliveries like each that waits, due in a day, of events of their own; False if none waits."""
    names = ", ".join(DeliveryRow._fields)
    with closing(sqlite3.connect(database, timeout=60)) as connection, connection:
        waiting = connection.execute(f"SELECT {names} FROM deliveries WHERE finished_at IS NULL").fetchall()
        rows = [
            DeliveryRow(*row)._replace(
                id=os.urandom(16), event=os.urandom(16), due_at=row[6] + DAY, leased_until=None
            )
            for row in waiting
            for _ in range(count)
        ]
        if rows:
            _insert(connection, "deliveries", rows)
    return bool(rows)


def _insert(connection: sqlite3.Connection, name: str, rows: Sequence[NamedTuple]) -> None:
    fields = rows[0]._fields
    places = ", ".join("?" * len(fields))
    connection.executemany(f"INSERT INTO {name} ({', '.join(fields)}) VALUES ({places})", rows)
