"""SQL that finds and deletes what is old, written as in `statements`.

What is old is found by walking along the key: an index of instants would cost every request another page. Where the
key is an identifier, it shows by itself how far there can be anything old.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from scoring_model.service.core.expiry import Cutoffs, Expiring
from scoring_model.service.core.ids import AHEAD, first_of
from scoring_model.service.core.rows import VerificationRow
from scoring_model.service.store.statements import Each, select

_NEVER: Final = -(2**63)
_OVER: Final = "status IN ('DELIVERED', 'DROPPED') AND finished_at <"
_DEAD: Final = "status = 'DEAD' AND finished_at <"

Key = tuple[bytes | int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Expiry:
    """How one kind of rows is walked through.

    Parameters
    ----------
    end : str
        Finds the last key of a stretch: after a key, and how many rows to pass.
    count : str
        Counts what is old: after a key, through a key, and `counted`.
    drop : str
        Deletes what is old, likewise with `dropped`; a row for each that it deleted.
    drop_skipping : str
        The same for a server: what others hold is left to them, so that nobody waits for anybody in a circle.
    first : tuple
        A key before all.
    last : callable
        The instant that is kept from to the last key that can be old.
    counted, dropped : callable
        Further arguments.
    """

    end: str
    count: str
    drop: str
    drop_skipping: str
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
    """Write the statements of a kind.

    `condition` is what makes a row old, ``{0}`` in it the place of the instant. Where `to_be` is given it is what will
    make a row old once the kinds before this one are gone, with as many places as `counted` gives values.
    """
    names, size = ", ".join(key), len(key)
    of_key = names if size == 1 else f"({names})"
    after, through = (_places(begin, size) for begin in (1, size + 1))
    walked = f"{of_key} > {after} AND {of_key} <= {through}"
    places = [f"${2 * size + place}" for place in (1, 2, 3)]
    found = f"FROM {table} WHERE {walked} AND {condition.format(*places)}"

    def instant(cutoffs: Cutoffs) -> Key:
        return (_known(cutoffs.of(kind)),)

    return Expiry(
        end=f"SELECT {names} FROM {table} WHERE {among}{of_key} > {after} ORDER BY {names} LIMIT 1 OFFSET ${size + 1}",
        count=f"SELECT count(*) FROM {table} WHERE {walked} AND {(to_be or condition).format(*places)}",
        drop=f"DELETE {found} RETURNING 1",
        # By their places, so that no plan joins the table with itself: nobody moves what is locked.
        drop_skipping=(
            f"DELETE FROM {table} WHERE ctid = any(ARRAY("
            f"SELECT ctid {found} ORDER BY {names} FOR UPDATE SKIP LOCKED)) RETURNING 1"
        ),
        first=(b"", 0)[:size],
        last=last,
        counted=counted or instant,
        dropped=instant,
    )


def _places(begin: int, size: int) -> str:
    places = ", ".join(f"${place}" for place in range(begin, begin + size))
    return places if size == 1 else f"({places})"


def _known(instant: int | None) -> int:
    return _NEVER if instant is None else instant


def _by_identifier(before: int) -> Key:
    return (first_of(before + AHEAD),)


def _by_hash(before: int) -> Key:
    return (b"\xff" * 33,)  # after all hashes, which have 32 bytes at most


def _by_hash_and_time(before: int) -> Key:
    return (b"\xff" * 33, 0)


def _event_and_deliveries(cutoffs: Cutoffs) -> Key:
    return (_known(cutoffs.events), _known(cutoffs.deliveries), _known(cutoffs.dead_letters))


_OLD_EVENT: Final = "waiting = 0 AND created_at < {0}"
_A_DELIVERY: Final = "(SELECT 1 FROM deliveries d WHERE d.event = events.id"
"""As a value of each event: what is asked for with EXISTS a server may look for in all deliveries at once."""

EXPIRY: Final = {
    Expiring.LINKS: _expiry(Expiring.LINKS, "links", ("hash", "time"), "time < {0}", last=_by_hash_and_time),
    Expiring.LABEL_TIMES: _expiry(
        Expiring.LABEL_TIMES,
        "label_times",
        ("hash",),
        # It is of use to labels of link records that are kept, and its hash may be that of an erased person.
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
"""How each kind is found and deleted."""

VERIFICATIONS: Final = select(VerificationRow, "WHERE id > $1 ORDER BY id LIMIT $2")
RESEAL: Final = Each(
    "UPDATE verifications SET payload = $3 WHERE id = $1 AND payload = $2 RETURNING id",
    "WITH found AS (SELECT v.id, given.new FROM unnest($1::bytea[], $2::bytea[], $3::bytea[]) AS given(id, old, new) "
    "JOIN verifications v ON v.id = given.id WHERE v.payload = given.old ORDER BY v.id FOR UPDATE OF v SKIP LOCKED) "
    "UPDATE verifications SET payload = found.new FROM found WHERE verifications.id = found.id "
    "RETURNING verifications.id",
)
"""What was erased meanwhile stays erased; what somebody is erasing is left alone."""
