"""Backups whose person keys are apart, and how those keys return to a copy.

Decision record: docs/adr/0030-erasure.md.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from scoring_model.service.core.ids import first_of
from scoring_model.service.keys.restored import RESTORED_FACT, require_keys
from scoring_model.service.keys.secrets import CHECK_FACT
from scoring_model.service.store import ERASED_NOTHING, Store, open_store, parse_address
from scoring_model.service.store.backup import KeyFile, KeyFileHeader
from scoring_model.service.store.backup import back_up as copy_apart

PAGE: Final = 500
"""Keys that one transaction restores."""


class Restored(NamedTuple):
    """The persons whose keys were restored, who had been erased since the copy, and whose keys are not in the file."""

    restored: int
    erased: int
    lost: int


async def back_up(url: str, copy: Path, keys: Path, *, now: int) -> int:
    """Back up a database; see `scoring_model.service.store.backup.back_up`. Servers keep running.

    Raises
    ------
    KeysMissing
        If the keys were not restored to the database: the new files would be worth less than those before.
    """
    store = await open_store(url)
    try:
        async with store.reading() as reader:
            await require_keys(reader)
            root_check = await reader.fact(CHECK_FACT)
    finally:
        await store.close()
    return await copy_apart(parse_address(url), copy, keys, KeyFileHeader(now, root_check or b""))


async def restore_keys(
    store: Store, file: KeyFile | None, *, now: int, progress: Callable[[int], None]
) -> Restored:
    """Restore the keys of persons to a copy of a database, and repeat the erasures that happened since the copy.

    Keys that seal nothing any more stay away: an older backup brings no erased person back. It can be interrupted and
    run again. No server may run.

    Parameters
    ----------
    file : KeyFile or None
        None if the keys are lost: nothing is erased then, and what they sealed stays unreadable.
    progress : callable
        Called after each transaction with the number of keys looked at.

    Raises
    ------
    ValueError
        If the keys are those of another database.
    """
    as_of = 0 if file is None else file.header.as_of
    async with store.writing(()) as transaction:
        root_check = await transaction.fact(CHECK_FACT)
        if file is not None and file.header.root_check != (root_check or b""):
            raise ValueError("the keys are those of another database")
        await transaction.set_fact(RESTORED_FACT, b"")
    restored = erased = lost = 0
    after, youngest = b"", first_of(as_of)
    while True:
        async with store.writing(()) as transaction:
            page = await transaction.sealing_keys(after, PAGE)
            known = await transaction.person_keys(page)
            missing = [key_id for key_id in page if key_id not in known]
            rows = [] if file is None else file.rows(missing)
            await transaction.insert(rows)
        found = {row.key_id for row in rows}
        gone = [key_id for key_id in missing if key_id not in found]
        for key_id in gone:
            if key_id < youngest:
                await _erase(store, key_id, now)
        restored += len(rows)
        erased += sum(key_id < youngest for key_id in gone)
        lost += sum(key_id >= youngest for key_id in gone)
        progress(restored + erased + lost)
        if len(page) < PAGE:
            break
        after = page[-1]
    async with store.writing(()) as transaction:
        await transaction.set_fact(RESTORED_FACT, str(as_of).encode())
    return Restored(restored, erased, lost)


async def _erase(store: Store, key_id: bytes, now: int) -> None:
    """Empty what a key sealed. Clients were told when the person was erased."""
    until = ERASED_NOTHING
    while True:
        async with store.writing(()) as transaction:
            step = await transaction.erase(key_id, now, until)
        if step.until is None:
            return
        until = step.until
