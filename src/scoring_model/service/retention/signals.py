"""Removal of old signals, by a command alone."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scoring_model.contract.verification import VerificationStatus
from scoring_model.service.core.ids import AHEAD, first_of
from scoring_model.service.core.payload import pack_stored, unpack_payload
from scoring_model.service.core.rows import PersonKeyRow, VerificationRow
from scoring_model.service.keys.data_keys import DataKey, Vault
from scoring_model.service.keys.keyring import Keyring, Unreadable
from scoring_model.service.retention.kept import raise_fact, read_fact
from scoring_model.service.retention.sweeping import PAUSE
from scoring_model.service.store import Store

SIGNALS_BATCH: Final = 250
"""Verifications per transaction: each with signals is rewritten, about a kilobyte."""

SIGNALS_SINCE: Final = "signals_kept_since"
"""Fact with the instant before which all signals were removed."""
Payload = tuple[bytes, bytes, bytes]


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
    after: bytes | None = first_of((await read_fact(store, SIGNALS_SINCE) or 0) - AHEAD)
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
        await raise_fact(store, SIGNALS_SINCE, before)
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
