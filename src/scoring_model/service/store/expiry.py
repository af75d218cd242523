"""Kinds of rows that expire, key ranges, and the SQL that finds and deletes old rows, as in `statements`.

A sweep follows the primary key: an index by instant would cost every request another page. Identifiers grow with time,
so a sweep over them ends at the cutoff.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from scoring_model.service.core.ids import AHEAD, first_of
from scoring_model.service.store.statements import OF_LIST, Each, places

Key = tuple[bytes | int, ...]
"""The primary key of a row."""


class Expiring(StrEnum):
    """Kinds of rows that are deleted when they are old, in the order of deletion."""

    LINKS = "links"  # by their instants
    IMPORTED = "importedRecords"  # with their link records
    CONTROL_PASSES = "controlPasses"  # who passed in a control group
    LIST_ENTRIES = "listEntries"  # of operators' lists, once they have ended
    LABEL_TIMES = "labelTimes"  # the newest label of each link key, see `Transaction.newest`
    ANSWERS = "answers"  # for idempotent replays
    DELIVERIES = "deliveries"  # delivered or dropped
    DEAD_LETTERS = "deadLetters"  # without attempts left
    EVENTS = "events"  # last: an event stays while it waits for a webhook, or has a delivery


Cutoffs = Mapping[Expiring, int]
"""Instants from which rows are kept, microseconds since 1970-01-01 UTC. A missing kind never expires."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyRange:
    """A part of a table, in the order of its primary key.

    Parameters
    ----------
    after : Key
        The key before the range.
    through : Key
        The last key in the range.
    old : int
        Number of rows to delete, given that the earlier kinds were deleted.
    last : bool
        Whether no old row can follow the range.
    """

    kind: Expiring
    after: Key
    through: Key
    old: int
    last: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Expiry:
    """The statements that sweep one kind of rows.

    Parameters
    ----------
    end : str
        Finds the last key of a range. Arguments: the key before it, and how many rows to skip.
    count : str
        Counts old rows. Arguments: the key before, the last key, the cutoff, and the cutoffs of `earlier`.
    drop : Each
        Deletes old rows and returns a row for each, of entries of lists with `OF_LIST`. Arguments: the key before, the
        last key, and the cutoff. A server skips locked rows, to avoid deadlocks.
    first : Key
        A key before all others.
    last : callable
        Maps a cutoff to the last key that can be old.
    earlier : tuple of Expiring
        Kinds that are deleted earlier and keep rows of this kind.
    """

    end: str
    count: str
    drop: Each
    first: Key
    last: Callable[[int], Key]
    earlier: tuple[Expiring, ...]


NEVER: Final = -(2**63)
"""A cutoff earlier than all instants."""

_AFTER_HASHES: Final = b"\xff" * 33  # hashes have 32 bytes at most


def _expiry(
    table: str,
    key: tuple[str, ...],
    condition: str,
    *,
    last: Callable[[int], Key] = lambda before: (first_of(before + AHEAD),),
    among: str = "",
    to_be: str = "",
    returned: str = "1",
    earlier: tuple[Expiring, ...] = (),
) -> Expiry:
    """Generate the statements of a kind.

    A row is old if `condition` holds, with ``{0}`` for the cutoff; `to_be`, with further placeholders for the cutoffs
    of `earlier`, says the same before the earlier kinds are deleted.
    """
    names, size = ", ".join(key), len(key)
    of_key = names if size == 1 else f"({names})"
    after, through = (f"({places(first, size)})" if size > 1 else f"${first}" for first in (1, size + 1))
    in_range = f"{of_key} > {after} AND {of_key} <= {through}"
    instants = [f"${2 * size + place}" for place in (1, 2, 3)]
    found = f"FROM {table} WHERE {in_range} AND {condition.format(*instants)}"
    return Expiry(
        end=f"SELECT {names} FROM {table} WHERE {among}{of_key} > {after} ORDER BY {names} LIMIT 1 OFFSET ${size + 1}",
        count=f"SELECT count(*) FROM {table} WHERE {in_range} AND {(to_be or condition).format(*instants)}",
        drop=Each(
            f"DELETE {found} RETURNING {returned}",
            # By ctid, to avoid a self-join: locked rows don't move.
            f"DELETE FROM {table} WHERE ctid = any(ARRAY("
            f"SELECT ctid {found} ORDER BY {names} FOR UPDATE SKIP LOCKED)) RETURNING {returned}",
        ),
        first=(b"", 0)[:size],
        last=last,
        earlier=earlier,
    )


_OVER: Final = "status IN ('DELIVERED', 'DROPPED') AND finished_at <"
_DEAD: Final = "status = 'DEAD' AND finished_at <"
_OLD_EVENT: Final = "waiting = 0 AND created_at < {0}"
_A_DELIVERY: Final = "(SELECT 1 FROM deliveries d WHERE d.event = events.id"
"""A scalar subquery per event: a server may turn EXISTS into a join with all deliveries."""

EXPIRY: Final = {
    Expiring.LINKS: _expiry(
        "links",
        ("hash", "time"),
        "time < {0}",
        last=lambda _: (_AFTER_HASHES, 0),
    ),
    Expiring.IMPORTED: _expiry(
        "imported_records",
        ("record",),
        "time < {0}",
        last=lambda _: (_AFTER_HASHES,),
    ),
    Expiring.CONTROL_PASSES: _expiry(
        "control_passes",
        ("digest",),
        "time < {0}",
        last=lambda _: (_AFTER_HASHES,),
    ),
    Expiring.LIST_ENTRIES: _expiry(
        "list_entries",
        ("hash", "added"),
        "ended_at < {0}",
        returned=OF_LIST,
        last=lambda _: (_AFTER_HASHES, 0),
    ),
    Expiring.LABEL_TIMES: _expiry(
        "label_times",
        ("hash",),
        # Useless without link records, and its hash may be of an erased person.
        "(time < {0} OR NOT EXISTS "
        "(SELECT 1 FROM links WHERE links.hash = label_times.hash AND links.time >= {0}))",
        last=lambda _: (_AFTER_HASHES,),
    ),
    Expiring.ANSWERS: _expiry(
        "idempotency",
        ("digest",),
        "created_at < {0}",
        last=lambda _: (_AFTER_HASHES,),
    ),
    Expiring.DELIVERIES: _expiry("deliveries", ("id",), f"{_OVER} {{0}}"),
    Expiring.DEAD_LETTERS: _expiry(
        "deliveries",
        ("id",),
        f"{_DEAD} {{0}}",
        among="status = 'DEAD' AND ",  # which has an index
    ),
    Expiring.EVENTS: _expiry(
        "events",
        ("id",),
        f"{_OLD_EVENT} AND {_A_DELIVERY} LIMIT 1) IS NULL",
        to_be=f"{_OLD_EVENT} AND {_A_DELIVERY} AND NOT (d.{_OVER} {{1}} OR d.{_DEAD} {{2}}) LIMIT 1) IS NULL",
        earlier=(Expiring.DELIVERIES, Expiring.DEAD_LETTERS),
    ),
}
"""The statements of each kind."""
