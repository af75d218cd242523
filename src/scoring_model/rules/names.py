"""The names that conditions may read, with the kinds of their values."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final, TypeAlias

from scoring_model.contract.fields import SIGNAL_PREFIX
from scoring_model.contract.rules import IDENTITY_RULES, SIGNAL_RULES, SignalType, ValueRule
from scoring_model.features.catalogue import Feature

SCORE: Final = "score"


class Kind(StrEnum):
    """The kind of a value."""

    NUMBER = "number"
    BOOLEAN = "boolean"
    TEXT = "text"
    DATE = "date"
    LIST = "list"


RuleNames: TypeAlias = Mapping[str, Kind]
"""Kind by name: the score, fields and signals of the record, and features."""

_KINDS: Final = {"dob": Kind.DATE, "imageUrls": Kind.LIST}
_OF_SIGNALS: Final = {SignalType.NUMBER: Kind.NUMBER, SignalType.BOOLEAN: Kind.BOOLEAN}


def is_field(name: str) -> bool:
    """Return True for a field or signal of the record; others are the score and features."""
    return name in IDENTITY_RULES or name.startswith(SIGNAL_PREFIX)


def names_of(signals: Mapping[str, SignalType], features: Iterable[Feature]) -> RuleNames:
    """Collect the names of one bundle.

    Parameters
    ----------
    signals : mapping of str to SignalType
        By name, without prefix.
    features : iterable of Feature
        Those in use. Categories and fitted frequencies are left out: another training numbers them anew.
    """
    fields = {name: _KINDS.get(name, Kind.TEXT) for name in IDENTITY_RULES}
    of_signals = {SIGNAL_PREFIX + name: _OF_SIGNALS.get(kind, Kind.TEXT) for name, kind in signals.items()}
    stable = [one.name for one in features if not one.categorical and not one.fitted]
    return {**dict.fromkeys(stable, Kind.NUMBER), **fields, **of_signals, SCORE: Kind.NUMBER}


def value_rule(name: str, kind: Kind) -> ValueRule:
    """Return the rule that canonicalises a value to which a field is compared."""
    of_kind = {Kind.NUMBER: SignalType.NUMBER, Kind.BOOLEAN: SignalType.BOOLEAN}
    return IDENTITY_RULES.get(name) or SIGNAL_RULES[of_kind.get(kind, SignalType.IDENTIFIER)]
