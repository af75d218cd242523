"""SQL of lists (resources of a client, latest first, a page at a time), and of what operators see.

A page reads one index backwards from a position. Conditions that the index does not decide are checked on at most
`SCAN` rows, so that a page takes as long in a large database as in a small one. Such a page may have fewer rows than
wanted; the list then continues after the last row that was checked.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import Any, Final, NamedTuple

from scoring_model.service.core.rows import TABLES, DeliveryRow, IdentityRow, Row, VerificationRow
from scoring_model.service.store.statements import Each, columns, select_each

SCAN: Final = 1_000
"""Rows that one page checks at most."""

STEP: Final = 100
"""Rows that one statement checks at most; other requests get a turn between statements."""


class Position(NamedTuple):
    """A place in a list: when a row was created, microseconds, and its id."""

    created_at: int
    id: bytes


FIRST: Final = Position(2**63 - 1, b"")
"""Before the latest row."""

EARLIEST: Final = -(2**63)


class Index(Enum):
    """An index that lists read: the kind of its rows, and the condition that it decides on a key `$1`."""

    VERIFICATIONS = (VerificationRow, "client = $1")
    FAILED = (VerificationRow, "client = $1 AND outcome = 'FAILED'")
    STEPPED_UP = (VerificationRow, "client = $1 AND outcome = 'STEPPED_UP'")
    UNFINISHED = (VerificationRow, "client = $1 AND status <> 'COMPLETED'")
    OF_PERSON = (VerificationRow, "key_id = $1")
    OF_SUBJECT = (VerificationRow, "subject = $1")
    IDENTITIES = (IdentityRow, "client = $1")
    OF_EXTERNAL = (IdentityRow, "external = $1")
    DELIVERIES = (DeliveryRow, "webhook = $1")

    @property
    def kind(self) -> type[Row]:
        """The kind of its rows."""
        kind: type[Row] = self.value[0]
        return kind

    @property
    def rows(self) -> str:
        """Its rows after a position (`$2`, `$3`) that were created after an instant (`$4`)."""
        kind, condition = self.value
        return (
            f"FROM {TABLES[kind]} WHERE {condition} AND (created_at, id) < ($2, $3) AND created_at > $4 "
            "ORDER BY created_at DESC, id DESC"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a page is to hold.

    Parameters
    ----------
    index : Index
    key : object
        What the index is searched for.
    after : Position
        The page begins after it.
    created_after : int
        Only rows created later, microseconds.
    filters : mapping of str to object
        Values of other columns.
    limit : int
        Most rows.
    """

    index: Index
    key: object
    after: Position = FIRST
    created_after: int = EARLIEST
    filters: Mapping[str, Any] = field(default_factory=dict)
    limit: int

    @property
    def bounds(self) -> tuple[object, ...]:
        """The first arguments of its statements."""
        return (self.key, *self.after, self.created_after)


@cache
def rows(index: Index) -> str:
    """Return a query for at most `$5` rows of an index."""
    return f"SELECT {columns(index.kind)} {index.rows} LIMIT $5"


_DERIVED: Final = {
    "resolution": (
        "coalesce((SELECT r.result FROM resolutions r WHERE r.verification_id = verifications.id "
        "ORDER BY r.created_at DESC, r.id DESC LIMIT 1), 'NONE')"
    )
}
"""Filters that are no columns: what they compare."""


@cache
def checked(index: Index, filters: tuple[str, ...]) -> str:
    """Return a query for at most `$5` rows: position, and whether the columns have the values `$6`, ..."""
    conditions = " AND ".join(
        f"{_DERIVED.get(name, name)} = ${place}" for place, name in enumerate(filters, 6)
    )
    return f"SELECT created_at, id, {conditions} {index.rows} LIMIT $5"


BY_IDS: Final[Mapping[type[Row], Each]] = {
    kind: select_each(kind, "id") for kind in (VerificationRow, IdentityRow, DeliveryRow)
}


def real(rows: str) -> str:
    """Return the condition that rows of a table or alias are of no sandbox client, whose rows count nowhere."""
    return f"(SELECT sandbox FROM clients WHERE clients.client = {rows}.client) = 0"


LABELLED: Final = (
    "SELECT l.number, l.verification_id, l.label, l.known_at, l.told_at, v.completed_at, v.outcome, v.policy_outcome, "
    "v.decided_by "
    "FROM labels l JOIN verifications v ON v.id = l.verification_id "
    f"WHERE (l.verification_id, l.number) > ($1, $2) AND v.completed_at IS NOT NULL AND {real('l')} "
    "ORDER BY l.verification_id, l.number LIMIT $3"
)
RESOLVED: Final = (
    "SELECT r.verification_id, r.created_at, r.id, r.result, r.method, "
    "CASE WHEN v.control_share IS NULL THEN 0 ELSE 1 END "
    "FROM resolutions r JOIN verifications v ON v.id = r.verification_id "
    "WHERE (r.verification_id, r.created_at, r.id) > ($1, $2, $3) AND v.outcome = 'STEPPED_UP' "
    f"AND {real('r')} "
    "ORDER BY r.verification_id, r.created_at, r.id LIMIT $4"
)
OUTCOMES: Final = (
    "SELECT outcome, count(*) FROM verifications "
    f"WHERE status = 'COMPLETED' AND {real('verifications')} GROUP BY outcome"
)
LINKS_OF: Final = (
    "SELECT time, person, labels, (SELECT count(*) FROM links WHERE hash = $1) FROM links WHERE hash = $1 "
    "ORDER BY time DESC, tie DESC LIMIT $2"
)
