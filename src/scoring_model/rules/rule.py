"""A rule of an operator, and the rules of a file."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeAlias

from scoring_model.contract.outcome import Outcome
from scoring_model.rules.names import SCORE, is_field

MOST_RULES: Final = 50
MOST_NAMES: Final = 20
"""Names in one rule."""
MOST_VALUES: Final = 100
"""Values in one `in` or `not_in`."""

Value: TypeAlias = float | bool | str
Operand: TypeAlias = Value | tuple[Value, ...]


class Operator(StrEnum):
    """How a value is compared. A missing value makes every operator but `is_missing` false."""

    BELOW = "below"
    AT_MOST = "at_most"
    ABOVE = "above"
    AT_LEAST = "at_least"
    IS = "is"
    IS_NOT = "is_not"
    IN = "in"
    NOT_IN = "not_in"
    IS_MISSING = "is_missing"


class Action(StrEnum):
    """What a rule that holds does."""

    PASSED = "PASSED"
    STEPPED_UP = "STEPPED_UP"
    FAILED = "FAILED"
    OBSERVE = "OBSERVE"  # the hit is recorded, and nothing changes

    @property
    def outcome(self) -> Outcome | None:
        """Return the outcome that it decides; None for OBSERVE."""
        return None if self is Action.OBSERVE else Outcome(self.value)


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of one value.

    Parameters
    ----------
    name : str
        ``score``, a field or signal of the record, or a feature.
    operand : float, bool, str or tuple of them
        Canonical, as records hold values; a tuple for `in` and `not_in`, a boolean for `is_missing`.
    """

    name: str
    operator: Operator
    operand: Operand = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class OperatorRule:
    """A rule of an operator.

    Parameters
    ----------
    code : str
        Unique in its file: capitals, digits and underscores.
    conditions : tuple of Condition
        All hold where the rule holds.
    ends : int or None
        Microseconds since 1970-01-01 UTC: an event at this instant or later is not subject to the rule.
    until : str or None
        The same as the file has it.
    by : str or None
        Who is responsible.
    """

    code: str
    title: str
    conditions: tuple[Condition, ...]
    then: Action
    ends: int | None = None
    until: str | None = None
    by: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Give the rule as a file has it."""
        when: dict[str, dict[str, Operand]] = {}
        for one in self.conditions:
            when.setdefault(one.name, {})[one.operator.value] = one.operand
        plain = {"code": self.code, "title": self.title, "when": when, "then": self.then.value}
        return plain | {name: value for name in ("until", "by") if (value := getattr(self, name)) is not None}


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a file, in its order: the first that holds and does not only observe decides.

    Attributes
    ----------
    version : str
        First 16 hexadecimal digits of the SHA-256 of the canonical JSON.
    """

    rules: tuple[OperatorRule, ...]
    version: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "version", hashlib.sha256(self.to_bytes()).hexdigest()[:16])

    def __len__(self) -> int:
        return len(self.rules)

    def to_json(self) -> Mapping[str, Any]:
        """Give the rules as a file has them."""
        return {"rules": [rule.to_json() for rule in self.rules]}

    def to_bytes(self) -> bytes:
        """Give the canonical JSON, which `parse_rules` reads back as the same rules."""
        return json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"), allow_nan=False).encode()

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names that conditions read, sorted."""
        return tuple(sorted({one.name for rule in self.rules for one in rule.conditions}))

    @property
    def features(self) -> tuple[str, ...]:
        """Return the features among the names."""
        return tuple(name for name in self.names if name != SCORE and not is_field(name))
