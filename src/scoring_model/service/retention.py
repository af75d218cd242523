"""Retention: old rows are swept every hour while serving, or by a command; signals only by a command."""

import asyncio
import math
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scoring_model.contract.verification import VerificationStatus
from scoring_model.records.times import DAY
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.faults import log_fault, log_warning
from scoring_model.service.core.ids import AHEAD, first_of
from scoring_model.service.core.rows import PersonKeyRow, VerificationRow
from scoring_model.service.idempotency import LIFETIME
from scoring_model.service.keys.data_keys import DataKey, Vault
from scoring_model.service.keys.keyring import Keyring, Unreadable
from scoring_model.service.scoring.payload import pack_stored, signals_are_gone, unpack_payload
from scoring_model.service.scoring.score import SKEW
from scoring_model.service.store import Cutoffs, Expiring, Key, Store, StoreUnavailable

BATCH: Final = 500
"""Rows per key range: deleting all of them blocks other writers for some milliseconds."""

SIGNALS_BATCH: Final = 250
"""Verifications per transaction: each with signals is rewritten, about a kilobyte."""

PAUSE: Final = 0.01
"""Pause between two batches in seconds, which frees the CPU core and the lock."""

INTERVAL: Final = 3600.0
"""Maximum seconds between two sweeps of a serving process; the minimum is half of it."""

KEPT_SINCE: Final = "links_kept_since"
"""Fact with the instant since which the history is complete. All facts here are microseconds in decimal digits."""

KEPT_FOR: Final = "links_kept_for"
"""Fact with how long link records are kept: the longest window of the bundle that was opened last, or longer."""

SIGNALS_SINCE: Final = "signals_kept_since"
"""Fact with the instant before which all signals were removed."""

Payload = tuple[bytes, bytes, bytes]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ages:
    """Retention periods of settled rows, in microseconds.

    Parameters
    ----------
    deliveries : int
        Since they were delivered or dropped.
    dead_letters : int
        Since they became dead letters.
    events : int
        Since they happened.
    """

    deliveries: int = 30 * DAY
    dead_letters: int = 30 * DAY
    events: int = 30 * DAY

    def cutoffs(self, *, now: int, longest: int | None) -> Cutoffs:
        """Compute the instants from which rows are kept.

        Parameters
        ----------
        now : int
            Microseconds since 1970-01-01 UTC.
        longest : int or None
            The longest window, microseconds; None to keep all link records.
        """
        settled = {
            Expiring.ANSWERS: now - LIFETIME,
            Expiring.DELIVERIES: now - self.deliveries,
            Expiring.DEAD_LETTERS: now - self.dead_letters,
            Expiring.EVENTS: now - self.events,
        }
        if longest is None:
            return settled
        # The clock of another process may be that far behind, and its scores need the whole window.
        links = now - longest - SKEW
        with_links = (Expiring.LINKS, Expiring.IMPORTED, Expiring.CONTROL_PASSES, Expiring.LABEL_TIMES)
        return dict.fromkeys(with_links, links) | settled


class Housekeeping:
    """Sweeps the whole database periodically while the service runs.

    Several processes may run it. Link records are deleted at their age, whether or not their person was erased.

    Parameters
    ----------
    longest : int
        How long link records are kept, microseconds: at least the longest window of the bundles that serve now or may
        serve again.
    """

    def __init__(self, *, store: Store, clock: Clock, longest: int) -> None:
        self.longest = longest
        self._store = store
        self._clock = clock

    async def run(self) -> None:
        """Sweep periodically until cancelled."""
        while True:
            await asyncio.sleep(INTERVAL * random.uniform(0.5, 1))
            try:
                await self.walk()
            except StoreUnavailable:
                pass  # the next sweep retries
            except Exception as error:
                log_fault("deleting expired rows", error)

    async def walk(self) -> None:
        """Sweep once; see `sweep`."""
        await sweep(self._store, Ages().cutoffs(now=self._clock.now(), longest=self.longest))


async def sweep(
    store: Store,
    cutoffs: Cutoffs,
    *,
    dry: bool = False,
    progress: Callable[[str, int], None] = lambda kind, count: None,
) -> dict[Expiring, int]:
    """Delete all expired rows, one key range per transaction.

    It can be interrupted and run again, also by several processes concurrently. Keeps waiting deliveries, and leaves
    rows that another transaction has locked to the next sweep.

    Parameters
    ----------
    dry : bool
        Count only.
    progress : callable, optional
        Called after each key range with a kind and its count so far.

    Returns
    -------
    dict of Expiring to int
        Number of rows of each kind that were deleted, or would be.

    Raises
    ------
    StoreUnavailable
        What was deleted before stays deleted.
    """
    if Expiring.LINKS in cutoffs and not dry:
        await _raise_fact(store, KEPT_SINCE, cutoffs[Expiring.LINKS])
    swept = {
        kind: await _sweep_kind(store, kind, cutoffs, dry, progress) for kind in Expiring if kind in cutoffs
    }
    if not dry and swept.get(Expiring.LINKS):
        # Link records hold the last data of erased persons: remove it from the write-ahead log too.
        async with store.writing([]) as transaction:
            await transaction.require_truncation()
    return swept


async def _sweep_kind(
    store: Store, kind: Expiring, cutoffs: Cutoffs, dry: bool, progress: Callable[[str, int], None]
) -> int:
    after: Key | None = None
    count = 0
    while True:
        async with store.reading() as reader:
            key_range = await reader.key_range(kind, cutoffs, after, BATCH)
        if dry or not key_range.old:
            count += key_range.old
        else:
            async with store.writing([]) as transaction:
                count += await transaction.drop(key_range, cutoffs)
        progress(kind.value, count)
        if key_range.last:
            return count
        after = key_range.through
        await asyncio.sleep(PAUSE)


async def kept_since(store: Store) -> int:
    """Return the instant since which the history is complete, microseconds since 1970-01-01 UTC; 0 for all of it."""
    return await _fact(store, KEPT_SINCE) or 0


async def note_window(store: Store, longest: int) -> None:
    """Store how long the service keeps link records, microseconds, for commands that have no bundle."""
    if await noted_window(store) != longest:
        async with store.writing([]) as transaction:
            await transaction.set_fact(KEPT_FOR, b"%d" % longest)


async def noted_window(store: Store) -> int | None:
    """Return how long the service opened last keeps link records, microseconds; None if there was none."""
    return await _fact(store, KEPT_FOR)


async def warn_of_short_history(store: Store, clock: Clock, *, longest: int) -> None:
    """Warn if the history is shorter than the longest window of this bundle, so that its counts are too low."""
    days = math.ceil((await kept_since(store) - (clock.now() - longest)) / DAY)
    if days > 0:
        log_warning(
            "The windows of this bundle are longer than the history that was kept for earlier bundles: "
            f"its counts are too low for the next {days} days."
        )


async def _fact(store: Store, name: str) -> int | None:
    async with store.reading() as reader:
        fact = await reader.fact(name)
    return None if fact is None else int(fact)


async def _raise_fact(store: Store, name: str, instant: int) -> None:
    """Store an instant, unless a later one is stored."""
    async with store.writing([]) as transaction:
        if instant > int(await transaction.fact(name) or 0):
            await transaction.set_fact(name, b"%d" % instant)


@dataclass(frozen=True, kw_only=True, slots=True)
class OldSignals:
    """The signals to remove, and the keys that decrypt them.

    Parameters
    ----------
    age : int
        Minimum age of their verifications since creation, microseconds.
    """

    age: int
    keyring: Keyring


@dataclass(frozen=True, kw_only=True, slots=True)
class Removed:
    """The result of a removal.

    Parameters
    ----------
    signals : int
        Verifications whose signals were removed, or would be.
    unreadable : int
        Verifications that were skipped because their payload can't be decrypted: its bytes were changed.
    """

    signals: int
    unreadable: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Pruned:
    """The rows and signals that were deleted, or would be.

    Parameters
    ----------
    rows : mapping of Expiring to int
        Number of rows of each kind, without link records if the database was never served.
    signals : Removed or None
        None if their removal was not requested.
    """

    rows: Mapping[Expiring, int]
    signals: Removed | None


async def prune(
    store: Store,
    ages: Ages,
    *,
    now: int,
    signals: OldSignals | None = None,
    dry: bool = False,
    progress: Callable[[str, int], None] = lambda kind, count: None,
) -> Pruned:
    """Sweep once, and remove old signals if requested; see `sweep` and `remove_signals`.

    Parameters
    ----------
    now : int
        Microseconds since 1970-01-01 UTC.
    signals : OldSignals, optional
        By default all signals stay.
    """
    cutoffs = ages.cutoffs(now=now, longest=await noted_window(store))
    rows = await sweep(store, cutoffs, dry=dry, progress=progress)
    removed = None
    if signals is not None:
        vault, before = Vault(signals.keyring), now - signals.age
        removed = await remove_signals(store, vault, before=before, dry=dry, progress=progress)
    return Pruned(rows=rows, signals=removed)


async def remove_signals(
    store: Store,
    vault: Vault,
    *,
    before: int,
    dry: bool = False,
    progress: Callable[[str, int], None] = lambda kind, count: None,
) -> Removed:
    """Remove the signals of settled verifications that are older than an instant.

    It can be interrupted and run again. Subject and feature row stay, so that verdicts can be replayed. PENDING
    verifications keep their signals.

    Parameters
    ----------
    before : int
        Removes the signals of verifications created before this instant, microseconds since 1970-01-01 UTC.
    dry : bool
        Count only.
    progress : callable, optional
        Called after each batch with "signals" and the count so far.

    Raises
    ------
    UnknownMasterKey
        If the keyring lacks the master key of a person's key.
    StoreUnavailable
        What was removed before stays removed.
    """
    removed, unreadable, is_whole = 0, 0, True
    after: bytes | None = first_of((await _fact(store, SIGNALS_SINCE) or 0) - AHEAD)
    while after is not None:
        async with store.reading() as reader:
            rows = await reader.verifications(after, SIGNALS_BATCH)
            old = [row for row in rows if row.created_at < before and row.payload is not None]
            over = [row for row in old if row.status != VerificationStatus.PENDING]
            keys = await reader.person_keys(list({row.key_id: None for row in over}))
        payloads, skipped = _without_signals(over, {name: _opened(vault, key) for name, key in keys.items()})
        count = len(payloads)
        if payloads and not dry:
            async with store.writing([]) as transaction:
                count = len(await transaction.reseal(payloads))
        removed, unreadable = removed + count, unreadable + skipped
        is_whole &= len(over) == len(old) and count == len(payloads)
        progress("signals", removed)
        has_more = len(rows) == SIGNALS_BATCH and rows[-1].id < first_of(before + AHEAD)
        after = rows[-1].id if has_more else None
        await asyncio.sleep(PAUSE)
    if is_whole and not dry:
        await _raise_fact(store, SIGNALS_SINCE, before)
    return Removed(signals=removed, unreadable=unreadable)


def _opened(vault: Vault, row: PersonKeyRow) -> DataKey | None:
    try:
        return vault.open_key(row)
    except Unreadable:
        return None


def _without_signals(
    rows: Sequence[VerificationRow], keys: Mapping[bytes, DataKey | None]
) -> tuple[list[Payload], int]:
    """Return the payloads that had signals, resealed without them, and the number of unreadable payloads."""
    payloads, unreadable = [], 0
    for row in rows:
        if row.payload is None or row.key_id not in keys:  # erased in the meantime
            continue
        key = keys[row.key_id]
        try:
            new = None if key is None else _resealed(row.id, row.payload, key)
        except Unreadable:
            key = None
        if key is None:
            unreadable += 1
        elif new is not None:
            payloads.append((row.id, row.payload, new))
    return payloads, unreadable


def _resealed(resource: bytes, payload: bytes, key: DataKey) -> bytes | None:
    """Return the payload without signals; None if it has none."""
    signals, subject, row = unpack_payload(
        key.open(payload, table="verifications", column="payload", row=resource)
    )
    if not signals:
        return None
    packed = pack_stored(None, subject, row)
    return key.seal(packed, table="verifications", column="payload", row=resource)


def lost_its_signals(row: VerificationRow, key: DataKey) -> bool:
    """Return True if a verification had signals that were removed; may raise `Unreadable`."""
    if row.payload is None:
        return False
    return signals_are_gone(key.open(row.payload, table="verifications", column="payload", row=row.id))


async def future_links(store: Store, *, now: int, delete: bool = False) -> Mapping[int, int]:
    """Find link records that are ahead of the clock by more than `SKEW`, left by a clock that ran ahead.

    A verification that shares a link key with such a record is refused until the clock has caught up.

    Parameters
    ----------
    now : int
        The correct time, microseconds since 1970-01-01 UTC.
    delete : bool
        Delete them with their labels. Verdicts stay.

    Returns
    -------
    mapping of int to int
        Number of link records by instant.

    Raises
    ------
    StoreUnavailable
        What was deleted before stays deleted.
    """
    found: Counter[int] = Counter()
    for first in range(256):  # hashes are uniform: each part is small, so that servers are not blocked
        if delete:
            async with store.writing([]) as transaction:
                found.update(await transaction.delete_future_links(first, now + SKEW))
        else:
            async with store.reading() as reader:
                found.update(await reader.future_links(first, now + SKEW))
    return found
