"""Rotation of the master key, beside servers that go on serving.

The order of a rotation: the source gives the new key first and the older ones after it, to every server too
where servers can't read it again (an environment variable is fixed when a process starts); `rotate` wraps
everything under the new key; servers learn of it by `follow`, or when they first meet a key under it. What
they wrapped under the older key meanwhile is for `rotate` once more: the older key may leave the source when
`finished` says so after all servers have followed.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from scoring_model.service.core.rows import PersonKeyRow
from scoring_model.service.core.store import Store
from scoring_model.service.keys.keyring import ID_BYTES, Keyring
from scoring_model.service.keys.secrets import ROOT_FACT, ROOT_POOL, unwrap
from scoring_model.service.keys.vault import Vault

BATCH: Final = 500
"""Keys per transaction: a few milliseconds for which others wait."""


async def rotate(
    store: Store,
    masters: Keyring,
    *,
    progress: Callable[[int], None] | None = None,
    batch: int = BATCH,
) -> int:
    """Wrap the root secret and every person's key under the current master key.

    It may stop at any instant and be run again: what is wrapped already is left as it is.

    Parameters
    ----------
    masters : MasterKeys
        The new key first, and all that wrapped before.
    progress : callable or None
        Called with how many persons' keys have been wrapped by this call, after each transaction.
    batch : int
        Keys per transaction, at least 1.

    Returns
    -------
    int
        How many persons' keys it has wrapped.

    Raises
    ------
    UnknownMasterKey
        If something is wrapped by a key that is not among the master keys.
    Unreadable
        If a row was changed.
    StoreUnavailable
        What earlier transactions wrapped stays wrapped.
    """
    if batch < 1:
        raise ValueError(f"batch must be at least 1, got {batch}")
    # The root secret first, since servers learn of the rotation from it.
    await _rotate_root(store, masters)
    vault, done = Vault(masters), 0
    while count := await _rotate_batch(store, vault, batch):
        done += count
        if progress is not None:
            progress(done)
    return done


async def finished(store: Store, masters: Keyring) -> bool:
    """Whether everything is wrapped by the current master key.

    Returns
    -------
    bool
        False while a rotation has to be run, again or at all.

    Raises
    ------
    StoreUnavailable
    """
    if await _root_master(store) not in (None, masters.current.id):
        return False
    async with store.writing(()) as transaction:
        return not await transaction.keys_under_other_masters(masters.current.id, 1)


async def follow(store: Store, vault: Vault) -> None:
    """Learn of a rotation that another process ran, so that new persons' keys are wrapped by the new key.

    Parameters
    ----------
    vault : Vault
        It reads its source again, if the root secret is under a master key that it does not know.

    Raises
    ------
    StoreUnavailable
    """
    master_id = await _root_master(store)
    if master_id is not None:
        # The source may be a command that takes seconds, for which no request shall wait.
        await asyncio.to_thread(vault.learn, master_id)


async def _root_master(store: Store) -> bytes | None:
    async with store.reading() as reader:
        wrapped = await reader.fact(ROOT_FACT)
    return None if wrapped is None else wrapped[:ID_BYTES]


async def _rotate_root(store: Store, masters: Keyring) -> None:
    async with store.writing((ROOT_POOL,)) as transaction:
        wrapped = await transaction.fact(ROOT_FACT)
        if wrapped is not None and wrapped[:ID_BYTES] != masters.current.id:
            await transaction.set_fact(ROOT_FACT, unwrap(wrapped, masters).wrap(masters))


async def _rotate_batch(store: Store, vault: Vault, batch: int) -> int:
    async with store.writing(()) as transaction:
        rows: Sequence[PersonKeyRow] = await transaction.keys_under_other_masters(
            vault.masters.current.id, batch
        )
        await transaction.rewrap([vault.rewrap(row) for row in rows])
    return len(rows)
