"""Where `serve` keeps the bundles of a database, so that a replay finds them without being given the directory."""

import os
from pathlib import Path
from typing import Final

from scoring_model.service.core.store import Store

_FACT: Final = "bundle_directory"
_POOL: Final = "*"  # no client's: what the whole database agrees on is written under its lock


async def write_bundle_directory(store: Store, directory: Path) -> None:
    """Write the directory into the database; of several servers the one that started last decides.

    Parameters
    ----------
    directory : Path
        Holds every bundle that ever served the database. It is made absolute.
    """
    value = os.fsencode(directory.resolve())
    async with store.writing([_POOL]) as transaction:
        if await transaction.fact(_FACT) != value:
            await transaction.set_fact(_FACT, value)


async def read_bundle_directory(store: Store) -> Path | None:
    """Read the directory; None where only older versions have served the database."""
    async with store.reading() as reader:
        value = await reader.fact(_FACT)
    return None if value is None else Path(os.fsdecode(value))
