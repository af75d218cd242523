"""Changes of lists: entries are added and removed, and never changed, so that a verdict can be replayed.

Each change of a list has the next number of the database, under a lock that all changes take, so that a process which
has read up to a number has read all that is before it.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from scoring_model.contract.operator_list import list_name
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.rules import Rule, RuleError
from scoring_model.contract.texts import rfc3339
from scoring_model.contract.violation import Invalid, Violation
from scoring_model.service.core.rows import ListChangeRow, ListEntryRow, OperatorListRow
from scoring_model.service.store import WHOLE_DATABASE, Reader, Store, Transaction

ALL_SCOPES: Final = ""
"""The history scope of the lists of all; no client has it."""

MOST_LISTS: Final = 20
"""Lists of a history scope, besides as many of all scopes."""

MOST_ENTRIES: Final = 200_000
"""Entries of a list that were not removed."""

AT_ONCE: Final = 1_000
"""Entries of one transaction: it holds the lock of all changes, and on SQLite that of the database, for some 30 ms."""

ACTIONS: Final = {"pass": Outcome.PASSED, "fail": Outcome.FAILED, "step_up": Outcome.STEPPED_UP}
_SHOWN_CHANGES: Final = 10
BEFORE_HASHES: Final = b""
_NOT_SEALED: Final[Mapping[bytes, bytes]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListChange:
    """Who changes which list.

    Parameters
    ----------
    by : str
        Who answers for it: an operator, or the client.
    """

    history_scope: str
    name: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """What is added to a list.

    Parameters
    ----------
    key : str
        Name of its link key.
    outcome : Outcome
        Of those who have a value of it.
    until : int or None
        Microseconds since 1970-01-01 UTC: events from this instant on are not subject to it.
    """

    key: str
    outcome: Outcome
    until: int | None


@dataclass(frozen=True, slots=True)
class Changed:
    """The result of a change.

    Parameters
    ----------
    changed : int
        Entries that were added or removed.
    unchanged : int
        Values that were on the list already with this end, or were not on it.
    entries : int
        Entries of the list that were not removed.
    """

    changed: int
    unchanged: int
    entries: int

    def __add__(self, later: "Changed") -> "Changed":
        return Changed(self.changed + later.changed, self.unchanged + later.unchanged, later.entries)


def check_name(name: str) -> str:
    """Return the name of a list; raises `Invalid`."""
    try:
        return list_name(name)
    except RuleError as error:
        raise Invalid([Violation("/list", error.type, error.message())]) from None


async def add_entries(
    store: Store,
    change: ListChange,
    addition: Addition,
    hashes: Sequence[bytes],
    *,
    now: int,
    sealed: Mapping[bytes, bytes] = _NOT_SEALED,
) -> Changed:
    """Add values to a list, which is made if there is none with its name.

    Parameters
    ----------
    hashes : sequence of bytes
        Of the values. More than `AT_ONCE` are added in several changes, in order: `check_addition` first.
    sealed : mapping of bytes to bytes
        Encrypted values by hash, for lists of all scopes.

    Raises
    ------
    Invalid
        If the list has another key or outcome, the history scope has `MOST_LISTS`, or the list would have more than
        `MOST_ENTRIES`.
    """
    done = Changed(0, 0, 0)
    for at in range(0, len(hashes), AT_ONCE):
        async with store.writing([WHOLE_DATABASE]) as transaction:
            part = list(dict.fromkeys(hashes[at : at + AT_ONCE]))
            done += await add_part(transaction, change, addition, part, now=now, sealed=sealed)
    return done


async def add_part(
    transaction: Transaction,
    change: ListChange,
    addition: Addition,
    hashes: Sequence[bytes],
    *,
    now: int,
    sealed: Mapping[bytes, bytes] = _NOT_SEALED,
) -> Changed:
    """Add different values in a transaction that holds the lock of all changes; errors as for `add_entries`."""
    number = 1 + (await transaction.latest_overrides())[1]
    row = await _list_of(transaction, change, addition)
    if row is None:
        row = OperatorListRow(
            number, change.history_scope, change.name, addition.key, addition.outcome.value, 0
        )
        await transaction.insert([row])
    until = addition.until
    open_ones = {
        one.hash: one.until
        for one in await transaction.list_entries(hashes)
        if one.list_number == row.number and one.removed is None
    }
    kept = {value for value, end in open_ones.items() if end == until and (until is None or until > now)}
    new = [value for value in hashes if value not in kept]
    ended = [value for value in new if value in open_ones]
    entries, over = row.entries + len(new) - len(ended), frozenset[bytes]()
    if entries > MOST_ENTRIES:
        over = await transaction.end_expired([(row.number, number, now)])
        entries -= len(over.difference(ended))
    _check_room(entries)
    if new:
        await transaction.end_entries([(value, row.number, number, now) for value in ended])
        rows = [
            ListEntryRow(value, number, row.number, until, None, until, sealed.get(value)) for value in new
        ]
        await transaction.insert(rows)
        await _note(transaction, row, number, change.by, now, (len(new), len(over.union(ended))))
    return Changed(len(new), len(kept), entries)


async def check_addition(
    store: Store,
    change: ListChange,
    addition: Addition,
    hashes: Sequence[bytes],
    *,
    now: int,
    beside: Collection[str] = (),
    of_all: bool = False,
) -> None:
    """Check that a list takes values, before the first is added.

    Parameters
    ----------
    beside : collection of str
        Names of the lists that are added to together with it.
    of_all : bool
        Whether it will be a list of all scopes, which are not counted in the history scope of a client.

    Raises
    ------
    Invalid
        As for `add_entries`, or if their end has passed.
    """
    if addition.until is not None and addition.until <= now:
        raise Invalid([Violation("/until", Rule.TOO_EARLY, "must be later than now")])
    async with store.reading() as reader:
        row = await _list_of(reader, change, addition, beside, of_all=of_all)
        if row is None:
            _check_room(len(set(hashes)))
        elif row.entries + len(hashes) > MOST_ENTRIES:
            open_ones = {
                one.hash
                for at in range(0, len(hashes), AT_ONCE)
                for one in await reader.list_entries(hashes[at : at + AT_ONCE])
                if one.list_number == row.number and one.removed is None
            }
            over = await reader.expired_entries(row.number, now)
            _check_room(row.entries - len(over - open_ones) + len({*hashes} - open_ones))


async def remove_entries(
    store: Store, change: ListChange, hashes: Sequence[bytes] | None, *, now: int
) -> Changed:
    """Remove values from a list; all of them without hashes.

    Raises
    ------
    Invalid
        If there is no such list.
    """
    done = Changed(0, 0, 0)
    if hashes is None:
        while True:
            async with store.writing([WHOLE_DATABASE]) as transaction:
                row = await existing(transaction, change)
                living = await transaction.living_entries(row.number, BEFORE_HASHES, AT_ONCE)
                done += await _remove(transaction, row, [one.hash for one in living], change.by, now)
            if len(living) < AT_ONCE:
                return done
    for at in range(0, len(hashes), AT_ONCE):
        async with store.writing([WHOLE_DATABASE]) as transaction:
            row = await existing(transaction, change)
            part = list(dict.fromkeys(hashes[at : at + AT_ONCE]))
            done += await _remove(transaction, row, part, change.by, now)
    return done


async def show_lists(store: Store, history_scope: str | None, name: str | None) -> list[dict[str, Any]]:
    """Describe lists for an operator, with their last changes and how often each was hit.

    Counting hits reads the verifications of the database.
    """
    async with store.reading() as reader:
        rows = [
            row
            for row in await reader.lists_after(0)
            if history_scope in (None, row.history_scope) and name in (None, row.name)
        ]
        hits = Counter[tuple[str, str]]()
        for scope, names, count in await reader.list_hits():
            hits.update({(scope, one): count for one in names.split(",")})
        return [
            {
                "historyScope": row.history_scope,
                "list": row.name,
                "key": row.key,
                "outcome": row.outcome,
                "entries": row.entries,
                "changes": [
                    {"at": rfc3339(one.at), "by": one.changed_by, "added": one.added, "removed": one.removed}
                    for one in await reader.list_changes(row.number, _SHOWN_CHANGES)
                ],
                "hits": hits[row.history_scope, row.name],
            }
            for row in rows
        ]


def _check_room(entries: int) -> None:
    if entries > MOST_ENTRIES:
        detail = f"would have {entries:,} entries; a list takes {MOST_ENTRIES:,}"
        raise Invalid([Violation("/list", "too_many_entries", detail)])


async def _list_of(
    reader: Reader,
    change: ListChange,
    addition: Addition,
    beside: Collection[str] = (),
    *,
    of_all: bool = False,
) -> OperatorListRow | None:
    """Find the list; refuse another key or outcome, and one list more than there may be.

    So many lists as a client may have do not keep an operator from adding one of all scopes.
    """
    known = {row.name: row for row in await reader.lists_of(change.history_scope)}
    row = known.get(change.name)
    if row is None:
        own = {change.name, *known, *beside}
        if change.history_scope != ALL_SCOPES:
            own = set() if of_all else own - {one.name for one in await reader.lists_of(ALL_SCOPES)}
        if len(own) > MOST_LISTS:
            detail = f"would be one list more than {MOST_LISTS}, which a history scope may have"
            raise Invalid([Violation("/list", "too_many_lists", detail)])
    elif (row.key, row.outcome) != (addition.key, addition.outcome.value):
        detail = f"has the key {row.key} and the outcome {row.outcome}, which never change"
        raise Invalid([Violation("/list", "list_differs", detail)])
    return row


async def _remove(
    transaction: Transaction, row: OperatorListRow, hashes: Sequence[bytes], by: str, now: int
) -> Changed:
    number = 1 + (await transaction.latest_overrides())[1]
    ended = await transaction.end_entries([(value, row.number, number, now) for value in hashes])
    if ended:
        await _note(transaction, row, number, by, now, (0, len(ended)))
    return Changed(len(ended), len(hashes) - len(ended), row.entries - len(ended))


async def _note(
    transaction: Transaction,
    row: OperatorListRow,
    number: int,
    by: str,
    now: int,
    counts: tuple[int, int],
) -> None:
    added, removed = counts
    await transaction.insert([ListChangeRow(number, row.number, now, by, added, removed)])
    await transaction.count_entries(row.number, added - removed)


async def existing(reader: Reader, change: ListChange) -> OperatorListRow:
    """Return the list that a change names; raises `Invalid` if there is none."""
    for row in await reader.lists_of(change.history_scope):
        if row.name == change.name:
            return row
    detail = f"there is no list {change.name} in the history scope"
    raise Invalid([Violation("/list", Rule.NOT_LISTED, detail)])
