"""SQL that finds and deletes expired rows, written as in `statements`.

A sweep walks along the primary key: an index of instants would cost every request another page. Identifiers grow with
time, so that the walk over them ends at the cutoff.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from scoring_model.service.core.expiry import Cutoffs, Expiring, Key
from scoring_model.service.core.ids import AHEAD, first_of
from scoring_model.service.core.rows import VerificationRow
from scoring_model.service.store.statements import Each, places, select

_NEVER: Final = -(2**63)
_AFTER_HASHES: Final = b"\xff" * 33  # hashes have 32 bytes at most
_OVER: Final = "status IN ('DELIVERED', 'DROPPED') AND finished_at <"
_DEAD: Final = "status = 'DEAD' AND finished_at <"


@dataclass(frozen=True, kw_only=True, slots=True)
class Expiry:
    """How one kind of rows is swept.

    Parameters
    ----------
    end : str
        Finds the last key of a range: after a key, and how many rows to skip.
    count : str
        Counts old rows: after a key, through a key, and `counted`.
    drop : Each
        Deletes old rows, likewise with `dropped`; returns a row for each. A server skips locked rows, so that
        transactions never wait for each other in a circle.
    first : Key
        A key before all.
    last : callable
        Maps a cutoff to the last key that can be old.
    counted, dropped : callable
        Further arguments.
    """

    end: str
    count: str
    drop: Each
    first: Key
    last: Callable[[int], Key]
    counted: Callable[[Cutoffs], Key]
    dropped: Callable[[Cutoffs], Key]


def _expiry(
    kind: Expiring,
    table: str,
    key: tuple[str, ...],
    condition: str,
    *,
    last: Callable[[int], Key],
    among: str = "",
    to_be: str = "",
    counted: Callable[[Cutoffs], Key] | None = None,
) -> Expiry:
    """Generate the statements of a kind.

    A row is old under `condition`, with ``{0}`` for the cutoff; or, once the kinds before this one are deleted, under
    `to_be`, with as many placeholders as `counted` gives values.
    """
    names, size = ", ".join(key), len(key)
    of_key = names if size == 1 else f"({names})"
    after, through = (_key_places(first, size) for first in (1, size + 1))
    in_range = f"{of_key} > {after} AND {of_key} <= {through}"
    instants = [f"${2 * size + place}" for place in (1, 2, 3)]
    found = f"FROM {table} WHERE {in_range} AND {condition.format(*instants)}"

    def cutoff(cutoffs: Cutoffs) -> Key:
        return (_known(cutoffs.of(kind)),)

    return Expiry(
        end=f"SELECT {names} FROM {table} WHERE {among}{of_key} > {after} ORDER BY {names} LIMIT 1 OFFSET ${size + 1}",
        count=f"SELECT count(*) FROM {table} WHERE {in_range} AND {(to_be or condition).format(*instants)}",
        drop=Each(
            f"DELETE {found} RETURNING 1",
            # By ctid, so that no plan joins the table with itself: locked rows don't move.
            f"DELETE FROM {table} WHERE ctid = any(ARRAY("
            f"SELECT ctid {found} ORDER BY {names} FOR UPDATE SKIP LOCKED)) RETURNING 1",
        ),
        first=(b"", 0)[:size],
        last=last,
        counted=counted or cutoff,
        dropped=cutoff,
    )


def _key_places(first: int, size: int) -> str:
    return f"${first}" if size == 1 else f"({places(first, size)})"


def _known(instant: int | None) -> int:
    return _NEVER if instant is None else instant


def _by_identifier(before: int) -> Key:
    return (first_of(before + AHEAD),)


def _by_hash(before: int) -> Key:
    return (_AFTER_HASHES,)


def _by_hash_and_time(before: int) -> Key:
    return (_AFTER_HASHES, 0)


def _event_and_deliveries(cutoffs: Cutoffs) -> Key:
    return (_known(cutoffs.events), _known(cutoffs.deliveries), _known(cutoffs.dead_letters))


_OLD_EVENT: Final = "waiting = 0 AND created_at < {0}"
_A_DELIVERY: Final = "(SELECT 1 FROM deliveries d WHERE d.event = events.id"
"""A scalar subquery per event: a server may turn EXISTS into a join with all deliveries."""

EXPIRY: Final = {
    Expiring.LINKS: _expiry(Expiring.LINKS, "links", ("hash", "time"), "time < {0}", last=_by_hash_and_time),
    Expiring.LABEL_TIMES: _expiry(
        Expiring.LABEL_TIMES,
        "label_times",
        ("hash",),
        # Without link records it is useless, and its hash may be that of an erased person.
        "(time < {0} OR NOT EXISTS "
        "(SELECT 1 FROM links WHERE links.hash = label_times.hash AND links.time >= {0}))",
        last=_by_hash,
    ),
    Expiring.ANSWERS: _expiry(
        Expiring.ANSWERS, "idempotency", ("digest",), "created_at < {0}", last=_by_hash
    ),
    Expiring.DELIVERIES: _expiry(
        Expiring.DELIVERIES, "deliveries", ("id",), f"{_OVER} {{0}}", last=_by_identifier
    ),
    Expiring.DEAD_LETTERS: _expiry(
        Expiring.DEAD_LETTERS,
        "deliveries",
        ("id",),
        f"{_DEAD} {{0}}",
        last=_by_identifier,
        among="status = 'DEAD' AND ",  # of which there is an index
    ),
    Expiring.EVENTS: _expiry(
        Expiring.EVENTS,
        "events",
        ("id",),
        f"{_OLD_EVENT} AND {_A_DELIVERY} LIMIT 1) IS NULL",
        last=_by_identifier,
        to_be=f"{_OLD_EVENT} AND {_A_DELIVERY} AND NOT (d.{_OVER} {{1}} OR d.{_DEAD} {{2}}) LIMIT 1) IS NULL",
        counted=_event_and_deliveries,
    ),
}
"""The statements of each kind."""

VERIFICATIONS: Final = select(VerificationRow, "WHERE id > $1 ORDER BY id LIMIT $2")
RESEAL: Final = Each(
    "UPDATE verifications SET payload = $3 WHERE id = $1 AND payload = $2 RETURNING id",
    "WITH found AS (SELECT v.id, given.new FROM unnest($1::bytea[], $2::bytea[], $3::bytea[]) AS given(id, old, new) "
    "JOIN verifications v ON v.id = given.id WHERE v.payload = given.old ORDER BY v.id FOR UPDATE OF v SKIP LOCKED) "
    "UPDATE verifications SET payload = found.new FROM found WHERE verifications.id = found.id "
    "RETURNING verifications.id",
)
"""What was erased meanwhile stays erased; a server skips what another transaction is erasing."""
