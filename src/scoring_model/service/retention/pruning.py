"""Commands of operators: delete at once what has expired, remove old signals, and repair link records of the future."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from scoring_model.service.core.expiry import Expiring
from scoring_model.service.core.store import Store
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.keys.keyring import Keyring
from scoring_model.service.retention.signal_removal import Removed, remove_signals
from scoring_model.service.retention.sweep import Ages, noted_window, sweep
from scoring_model.service.scoring.score import SKEW


@dataclass(frozen=True, kw_only=True, slots=True)
class OldSignals:
    """Which signals are removed, and the keys that open them.

    Parameters
    ----------
    age : int
        Since the creation of their verifications, microseconds.
    """

    age: int
    keyring: Keyring


@dataclass(frozen=True, kw_only=True, slots=True)
class Pruned:
    """What was deleted, or would be.

    Parameters
    ----------
    rows : mapping of Expiring to int
        Rows of each kind; link records are missing where no service ever served the database.
    signals : Removed or None
        None where their removal was not requested.
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
    """Delete what has expired. It may stop at any moment and be run again, also while servers run.

    Parameters
    ----------
    now : int
        Microseconds since 1970-01-01 UTC.
    signals : OldSignals, optional
        Without it all signals stay.
    dry : bool
        Count only.
    progress : callable, optional
        Called after each batch with a kind and its count so far.

    Raises
    ------
    UnknownMasterKey
        If the keyring lacks the master key of a person's key.
    StoreUnavailable
        What was deleted before stays deleted.
    """
    cutoffs = ages.cutoffs(now=now, longest=await noted_window(store))
    rows = await sweep(store, cutoffs, dry=dry, progress=lambda kind, count: progress(kind.value, count))
    removed = None
    if signals is not None:
        removed = await remove_signals(
            store,
            Vault(signals.keyring),
            before=now - signals.age,
            dry=dry,
            progress=lambda count: progress("signals", count),
        )
    return Pruned(rows=rows, signals=removed)


async def future_links(store: Store, *, now: int, delete: bool = False) -> Mapping[int, int]:
    """Find link records that are further ahead than clocks may differ (`SKEW`), left by a clock that ran ahead.

    A verification that shares a link key with one is refused as long as the record is ahead of the clock.

    Parameters
    ----------
    now : int
        Microseconds since 1970-01-01 UTC, by a correct clock.
    delete : bool
        Whether to delete them with their labels. Verdicts stay.

    Returns
    -------
    mapping of int to int
        How many link records each instant has.

    Raises
    ------
    StoreUnavailable
        What was deleted before stays deleted.
    """
    found: Counter[int] = Counter()
    for first in range(256):  # hashes are uniform: each part is small, so that servers go on
        if delete:
            async with store.writing([]) as transaction:
                found.update(await transaction.delete_future_links(first, now + SKEW))
        else:
            async with store.reading() as reader:
                found.update(await reader.future_links(first, now + SKEW))
    return found
