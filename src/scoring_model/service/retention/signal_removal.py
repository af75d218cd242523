"""Removes old signals from sealed payloads; subject and feature row stay, so that verdicts can be replayed."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from scoring_model.contract.verification import VerificationStatus
from scoring_model.service.core.ids import AHEAD, first_of
from scoring_model.service.core.rows import PersonKeyRow, VerificationRow
from scoring_model.service.core.store import Store
from scoring_model.service.keys.data_keys import DataKey, Vault
from scoring_model.service.keys.keyring import Unreadable
from scoring_model.service.retention.sweep import PAUSE
from scoring_model.service.scoring.payload import pack_stored, signals_are_gone, unpack_payload

BATCH: Final = 250
"""Verifications per transaction: each that had signals is rewritten, about a kilobyte."""

SIGNALS_SINCE: Final = "signals_kept_since"
"""Fact with the instant before which no signals are left: microseconds, in decimal digits."""

Payload = tuple[bytes, bytes, bytes]


@dataclass(frozen=True, kw_only=True, slots=True)
class Removed:
    """What came of a removal.

    Parameters
    ----------
    signals : int
        Verifications whose signals were removed, or would be.
    unreadable : int
        Verifications that were skipped because their payload does not open: its bytes were changed.
    """

    signals: int
    unreadable: int


@dataclass(slots=True)
class _Batch:
    payloads: list[Payload]
    unreadable: int
    waiting: bool
    last: bytes | None


async def remove_signals(
    store: Store,
    vault: Vault,
    *,
    before: int,
    dry: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Removed:
    """Remove the signals of settled verifications that are older than an instant.

    It may stop at any moment and be run again. PENDING verifications keep their signals.

    Parameters
    ----------
    before : int
        Verifications created before it lose their signals. Microseconds since 1970-01-01 UTC.
    dry : bool
        Count only.
    progress : callable, optional
        Called with the count so far, after each batch.

    Raises
    ------
    UnknownMasterKey
        If the keyring lacks the master key of a person's key.
    StoreUnavailable
        What was removed before stays removed.
    """
    removed, unreadable, whole = 0, 0, True
    after = first_of(await _signals_since(store) - AHEAD)
    while True:
        batch = await _look(store, vault, before, after)
        count = len(batch.payloads)
        if batch.payloads and not dry:
            async with store.writing([]) as transaction:
                count = len(await transaction.reseal(batch.payloads))
        removed, unreadable = removed + count, unreadable + batch.unreadable
        whole &= not batch.waiting and count == len(batch.payloads)
        if progress is not None:
            progress(removed)
        if batch.last is None:
            break
        after = batch.last
        await asyncio.sleep(PAUSE)
    if whole and not dry:
        await _note_signals_since(store, before)
    return Removed(signals=removed, unreadable=unreadable)


async def _look(store: Store, vault: Vault, before: int, after: bytes) -> _Batch:
    """Read a batch and seal it without signals."""
    async with store.reading() as reader:
        rows = await reader.verifications(after, BATCH)
        old = [row for row in rows if row.created_at < before and row.payload is not None]
        over = [row for row in old if row.status != VerificationStatus.PENDING]
        keys = await reader.person_keys(list({row.key_id: None for row in over}))
    opened = {name: _opened(vault, key) for name, key in keys.items()}
    payloads, unreadable = _without_signals(over, opened)
    more = len(rows) == BATCH and rows[-1].id < first_of(before + AHEAD)
    return _Batch(payloads, unreadable, len(over) < len(old), rows[-1].id if more else None)


def _opened(vault: Vault, row: PersonKeyRow) -> DataKey | None:
    try:
        return vault.open_key(row)
    except Unreadable:
        return None


def _without_signals(
    rows: Sequence[VerificationRow], keys: dict[bytes, DataKey | None]
) -> tuple[list[Payload], int]:
    payloads, unreadable = [], 0
    for row in rows:
        if row.payload is None or row.key_id not in keys:  # erased meanwhile
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
    """The payload without signals; None where it has none."""
    signals, subject, row = unpack_payload(
        key.open(payload, table="verifications", column="payload", row=resource)
    )
    if not signals:
        return None
    packed = pack_stored(None, subject, row)
    return key.seal(packed, table="verifications", column="payload", row=resource)


async def _signals_since(store: Store) -> int:
    async with store.reading() as reader:
        fact = await reader.fact(SIGNALS_SINCE)
    return 0 if fact is None else int(fact)


async def _note_signals_since(store: Store, before: int) -> None:
    if before > await _signals_since(store):
        async with store.writing([]) as transaction:
            await transaction.set_fact(SIGNALS_SINCE, b"%d" % before)


def lost_its_signals(row: VerificationRow, key: DataKey) -> bool:
    """Whether a verification had signals that were removed; raises `Unreadable` if its payload does not open."""
    if row.payload is None:
        return False
    return signals_are_gone(key.open(row.payload, table="verifications", column="payload", row=row.id))
