"""Rotation of the master key while servers go on serving.

The order of a rotation: the source lists the new key first and the older ones after it, for every server too that
can't read its source again (an environment variable is fixed when a process starts). `rotate` wraps everything under
the new key. Servers switch to it by `follow`, or when they first meet a key under it; what they wrapped under the
older key meanwhile needs another `rotate`. The older key may leave the source when `finished` returns True after all
servers have followed.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from scoring_model.service.core.rows import PersonKeyRow
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.keys.keyring import ID_BYTES, Keyring
from scoring_model.service.keys.secrets import ROOT_FACT, ROOT_POOL, unwrap
from scoring_model.service.store import Store

BATCH: Final = 500
"""Keys per transaction: other writers wait for a few milliseconds."""


async def rotate(
    store: Store,
    keyring: Keyring,
    *,
    progress: Callable[[int], None] | None = None,
    batch: int = BATCH,
) -> int:
    """Wrap the root secret and every data key under the primary master key; returns the number of data keys wrapped.

    It may stop at any moment and be run again: it skips what is wrapped already.

    Parameters
    ----------
    progress : callable or None
        Called after each transaction with the number of data keys wrapped so far.
    batch : int
        Keys per transaction, at least 1.

    Raises
    ------
    UnknownMasterKey
        If the keyring lacks a key that wraps something.
    Unreadable
        If a row was changed.
    StoreUnavailable
        What earlier transactions wrapped stays wrapped.
    """
    if batch < 1:
        raise ValueError(f"batch must be at least 1, got {batch}")
    # The root secret first: servers recognise the rotation by it.
    await _rotate_root(store, keyring)
    vault, done = Vault(keyring), 0
    while count := await _rotate_batch(store, vault, batch):
        done += count
        if progress is not None:
            progress(done)
    return done


async def finished(store: Store, keyring: Keyring) -> bool:
    """Whether everything is wrapped by the primary master key, so that no rotation is needed."""
    if await _root_master(store) not in (None, keyring.primary.id):
        return False
    async with store.writing(()) as transaction:
        return not await transaction.keys_under_other_masters(keyring.primary.id, 1)


async def follow(store: Store, vault: Vault) -> None:
    """Follow a rotation that another process ran: new data keys are wrapped by the new primary key."""
    master_id = await _root_master(store)
    if master_id is not None:
        # The source may be a command that takes seconds, and requests must not wait for it.
        await asyncio.to_thread(vault.learn, master_id)


async def _root_master(store: Store) -> bytes | None:
    async with store.reading() as reader:
        wrapped = await reader.fact(ROOT_FACT)
    return None if wrapped is None else wrapped[:ID_BYTES]


async def _rotate_root(store: Store, keyring: Keyring) -> None:
    async with store.writing((ROOT_POOL,)) as transaction:
        wrapped = await transaction.fact(ROOT_FACT)
        if wrapped is not None and wrapped[:ID_BYTES] != keyring.primary.id:
            await transaction.set_fact(ROOT_FACT, unwrap(wrapped, keyring).wrap(keyring))


async def _rotate_batch(store: Store, vault: Vault, batch: int) -> int:
    async with store.writing(()) as transaction:
        rows: Sequence[PersonKeyRow] = await transaction.keys_under_other_masters(
            vault.keyring.primary.id, batch
        )
        await transaction.rewrap([vault.rewrap(row) for row in rows])
    return len(rows)
