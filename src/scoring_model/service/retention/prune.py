"""Deletes by age what a command asks for: old rows, and old signals."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.retention.kept import noted_window
from scoring_model.service.retention.signals import OldSignals, Removed, remove_signals
from scoring_model.service.retention.sweeping import Ages, sweep
from scoring_model.service.store import Expiring, Store


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
