"""The families of features of the record, in the order of their columns: a new one is listed here alone."""

from collections.abc import Mapping
from typing import Literal, get_args

from scoring_model.features import addresses, dates, documents, images, label_statistics, names, signals
from scoring_model.features.catalogue import Family
from scoring_model.features.signal_settings import SignalSettings
from scoring_model.features.state import FittedState

FamilyName = Literal["names", "dates", "documents", "addresses", "images", "signals", "label_statistics"]
FAMILIES: tuple[FamilyName, ...] = get_args(FamilyName)
DEFAULT_FAMILIES = tuple(name for name in FAMILIES if name != label_statistics.FAMILY)
"""Label statistics have to be asked for."""


def families_of(
    state: FittedState, signals_of_use: Mapping[str, SignalSettings], *, local: bool
) -> tuple[Family, ...]:
    """Return every family of value functions, the families of signals that are read last.

    Parameters
    ----------
    local : bool
        Whether the dates have features of local time.
    """
    of_signals = {name: state.vocabulary(f"signals.{name}") for name in signals_of_use}
    return (
        names.family(state.names),
        dates.family(local=local),
        documents.family(state.vocabulary("citizenship"), state.documents),
        addresses.family(state.vocabulary("address.country"), state.lines),
        images.family(),
        signals.family(signals_of_use, of_signals),
        label_statistics.family(signals_of_use, state.known_labels),
        *signals.read_families(signals_of_use, state),
    )
