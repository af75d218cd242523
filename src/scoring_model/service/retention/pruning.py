"""Everything that an operator lets be deleted at once: what servers delete too, and signals."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from scoring_model.service.core.expiry import Expiring
from scoring_model.service.core.store import Store
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.keys.keyring import Keyring
from scoring_model.service.retention.signal_removal import Removed, remove_signals
from scoring_model.service.retention.sweep import Ages, noted_window, sweep

Told = Callable[[str, int], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class OldSignals:
    """Which signals are taken out, and what opens them.

    Parameters
    ----------
    age : int
        Since the creation of their verifications, in microseconds.
    """

    age: int
    keyring: Keyring


@dataclass(frozen=True, kw_only=True, slots=True)
class Pruned:
    """What was deleted, or would be.

    Parameters
    ----------
    rows : mapping of Expiring to int
        Rows of each kind; links and what belongs to them are missing where no service ever served the database.
    signals : Removed or None
        None where nobody asked for it.
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
    told: Told = lambda kind, count: None,
) -> Pruned:
    """Delete what is old.

    It may stop at any instant and be run again, beside servers too.

    Parameters
    ----------
    now : int
        Microseconds since 1970-01-01 UTC.
    signals : OldSignals, optional
        Signals stay unless this is given.
    dry : bool
        Whether nothing is changed, only counted.
    told : callable, optional
        Called with a kind and how many there were of it so far, after each stretch.

    Raises
    ------
    UnknownMasterKey
        If a person's key is wrapped by a master key that is not given.
    StoreUnavailable
        What was deleted before stays deleted.
    """
    cutoffs = ages.cutoffs(now=now, longest=await noted_window(store))
    rows = await sweep(store, cutoffs, dry=dry, told=lambda kind, count: told(kind.value, count))
    removed = None
    if signals is not None:
        removed = await remove_signals(
            store,
            Vault(signals.keyring),
            before=now - signals.age,
            dry=dry,
            told=lambda count: told("signals", count),
        )
    return Pruned(rows=rows, signals=removed)
