"""Gates: conditions that an evaluation or a comparison must meet."""

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias, get_args

from pydantic import PlainValidator, WithJsonSchema

from scoring_model.configuration.findings import FindingSettings, unknown_finding
from scoring_model.configuration.reading import ConfigurationError, UnknownKey, read_settings, read_yaml
from scoring_model.contract.violation import OUT_OF_RANGE, Invalid, Violation, check_fields
from scoring_model.estimates import Form
from scoring_model.figures import FLIPS, GROUP_RATES, RANKING, ErrorName
from scoring_model.findings import Code, Severity
from scoring_model.records.near_misses import near_misses

PromiseName = Literal["all", "max_false_reject", "max_step_up", "max_missed_fraud"]

EarlyPromise = Literal["all", "max_false_reject", "max_step_up"]

_LIMITS: Final = "above, below or both, but not with promise, findings, drift or early"


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Limits of the ends of a 95 % interval, of which at least one is set.

    Parameters
    ----------
    above : float or None
        The lower end must be above it.
    below : float or None
        The upper end must be below it.

    Raises
    ------
    Invalid
        With every field that is out of range.
    """

    above: float | None = None
    below: float | None = None

    form: ClassVar[Form] = "value"
    """Form of the number that it limits."""

    def __post_init__(self) -> None:
        check_fields(self, *self.rules())

    @property
    def subject(self) -> str:
        """The value of the key of a file that only such gates have."""
        return str(getattr(self, fields(self)[-1].name))

    @property
    def limited(self) -> str:
        """Name of the figure that it limits."""
        return self.subject

    @property
    def column(self) -> str:
        """The column whose groups it limits; empty: all records."""
        return ""

    def rules(self) -> Iterator[tuple[str, str, bool]]:
        """Yield the field, the rule that it must keep, and whether it does."""
        limits = {"above": self.above, "below": self.below}
        yield "", _LIMITS, any(limit is not None for limit in limits.values())
        for name, limit in limits.items():
            yield name, "finite", limit is None or math.isfinite(limit)


def _chosen(name: str, value: str, known: Collection[str]) -> tuple[str, str, bool]:
    """Return the rule that a field names something known."""
    near = near_misses(value, tuple(known))
    hint = f" (did you mean {near[0]}?)" if near else ""
    return name, f"one of {', '.join(known)}{hint}", value in known


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupLimits(Limits):
    """Limits of a rate in each group of a column.

    Parameters
    ----------
    rate : str
        One of `GROUP_RATES`.
    min_group : int
        Groups with fewer records in the denominator of the rate are left out, and reported; at least 0.
    """

    rate: Annotated[str, WithJsonSchema({"enum": list(GROUP_RATES), "type": "string"})]
    min_group: int = 0

    form: ClassVar[Form] = "difference"

    @property
    def limited(self) -> str:
        """The rate."""
        return self.rate

    @property
    def column(self) -> str:
        """The named column."""
        return self.subject

    def rules(self) -> Iterator[tuple[str, str, bool]]:
        """Yield those of limits, and those of the rate and the size of groups."""
        yield from Limits.rules(self)
        yield _chosen("rate", self.rate, GROUP_RATES)
        yield "min_group", "at least 0", self.min_group >= 0


@dataclass(frozen=True, kw_only=True, slots=True)
class FigureGate(Limits):
    """On a figure of the model itself: of the challenger, where two are compared."""

    figure: str


@dataclass(frozen=True, kw_only=True, slots=True)
class DifferenceGate(Limits):
    """On a figure of the challenger minus that of the champion."""

    difference: str

    form: ClassVar[Form] = "difference"


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupGapGate(GroupLimits):
    """On the gap of each group of the named column: `rate` minus that of all other records."""

    group_gap: str


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupChangeGate(GroupLimits):
    """On the change of each group of the named column: `rate` under the challenger minus that under the champion."""

    group_change: str


@dataclass(frozen=True, kw_only=True, slots=True)
class FlipGate(Limits):
    """On a share of records whose outcome differs: one of `FLIPS`."""

    flips: Annotated[str, WithJsonSchema({"enum": list(FLIPS), "type": "string"})]

    def rules(self) -> Iterator[tuple[str, str, bool]]:
        """Yield those of limits, and that of the share."""
        yield from Limits.rules(self)
        yield _chosen("flips", self.flips, FLIPS)


@dataclass(frozen=True, kw_only=True, slots=True)
class PromiseGate:
    """On a promise of the policy, which must be kept."""

    promise: PromiseName


@dataclass(frozen=True, kw_only=True, slots=True)
class FindingGate:
    """On a check, by its code, or on all of a severity and graver ones: they must find nothing."""

    findings: str

    def __post_init__(self) -> None:
        known = [*Severity, *Code]
        if self.findings not in known:
            raise Invalid([unknown_finding(self.findings, known).within("findings")])


@dataclass(frozen=True, kw_only=True, slots=True)
class DriftGate:
    """On a feature, `score`, `outcome` or `all` of them in a monitored window: no drift may be found."""

    drift: str


@dataclass(frozen=True, kw_only=True, slots=True)
class EarlyGate:
    """On a promise that the outcomes of a window alone must not show to be broken, before labels mature."""

    early: EarlyPromise


@dataclass(frozen=True, kw_only=True, slots=True)
class EstimateGate(Limits):
    """On an error of the policy, estimated from the probabilities of a window before labels mature."""

    estimate: ErrorName

    form: ClassVar[Form] = "expected"


PairGate: TypeAlias = DifferenceGate | GroupChangeGate | FlipGate
"""Gates that need two models."""

WindowGate: TypeAlias = DriftGate | EarlyGate | EstimateGate
"""Gates that need a monitored window."""

Gate: TypeAlias = (
    FigureGate
    | DifferenceGate
    | GroupGapGate
    | GroupChangeGate
    | FlipGate
    | PromiseGate
    | FindingGate
    | DriftGate
    | EarlyGate
    | EstimateGate
)
"""One condition on the ends of a 95 % interval, on a promise or on findings. Its type says what it is about."""

_KINDS: Final[Mapping[str, type[Gate]]] = {fields(kind)[-1].name: kind for kind in get_args(Gate)}
"""Types of gates by the key of a file that only they have, their last."""

_KEYS: Final = (*_KINDS, "rate", "min_group", "above", "below")


def _read_gate(plain: object) -> Gate:
    """Convert plain values to the gate of their subject.

    Raises
    ------
    Invalid
        With everything that is wrong.
    """
    if isinstance(plain, Gate):
        return plain
    keys = dict(plain) if isinstance(plain, Mapping) else {}
    given = {key for key in _KEYS if keys.get(key) is not None}
    subjects = [key for key in _KINDS if key in given]
    kind: type[Any] = _KINDS[subjects[0]] if subjects else Limits
    own = {field.name for field in fields(kind)}
    rules = (
        (f"exactly one of {', '.join(_KINDS)}", len(subjects) == 1),
        ("rate with group_gap and group_change, and only there", ("rate" in given) == ("rate" in own)),
        (_LIMITS, "above" in own or not given & {"above", "below"}),
        ("min_group only with group_gap and group_change", "min_group" in own or not keys.get("min_group")),
    )
    problems = [Violation("", OUT_OF_RANGE, f"must have {rule}") for rule, kept in rules if not kept]
    problems += [UnknownKey((), key, _KEYS).violation() for key in keys if key not in _KEYS]
    try:
        gate: Gate = read_settings(kind, {key: value for key, value in keys.items() if key in own})
    except ConfigurationError as error:
        problems += [one for one in error.violations if one.code != "missing"]
    if problems:
        raise Invalid(problems)
    return gate


@dataclass(frozen=True, kw_only=True, slots=True)
class LookSettings:
    """What a challenger must show that is compared again and again while labels mature; fixed before the first look.

    Parameters
    ----------
    figure : str
        One of `RANKING`.
    gain : float
        Difference that is worth a promotion, above 0.
    error : float
        Chance to promote a challenger that is no better, in (0, 0.5).
    power : float
        Chance to promote one that is better by `gain`, in (0.5, 1).

    Raises
    ------
    Invalid
        With every field that is out of range.
    """

    figure: str = "recall_at_fpr_0.01"
    gain: float = 0.03
    error: float = 0.025
    power: float = 0.85

    def __post_init__(self) -> None:
        check_fields(
            self,
            _chosen("figure", self.figure, RANKING),
            ("gain", "above 0 and finite", 0 < self.gain < math.inf),
            ("error", "above 0 and below 0.5", 0 < self.error < 0.5),
            ("power", "above 0.5 and below 1", 0.5 < self.power < 1),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class GateSettings:
    """Gates by name, and the data below which none of them is decided.

    Parameters
    ----------
    gates : mapping of str to Gate
    min_days : int
        Days with evaluated records, at least 10.
    allow_trained : bool
        Whether gates are decided on records that a model may have been trained on.
    findings : FindingSettings
        Codes that gates on a severity leave out. Gates look at what a bundle's own configuration mutes.
    looks : LookSettings
        For promotions that may be decided later, with more labels.

    Raises
    ------
    Invalid
        With every field that is out of range.
    """

    gates: Mapping[str, Annotated[Gate, PlainValidator(_read_gate, json_schema_input_type=Gate)]]
    min_days: int = 30
    allow_trained: bool = False
    findings: FindingSettings = field(default_factory=FindingSettings)
    looks: LookSettings = field(default_factory=LookSettings)

    def __post_init__(self) -> None:
        muted = [
            name
            for name, gate in self.gates.items()
            if isinstance(gate, FindingGate) and gate.findings in self.findings.mute
        ]
        check_fields(
            self,
            ("", f"no gate on a muted finding: {', '.join(muted)}", not muted),
            ("", "at least one gate", len(self.gates) > 0),
            ("min_days", "at least 10", self.min_days >= 10),
        )

    def columns(self, *, pair: bool) -> tuple[str, ...]:
        """Return the columns of the group gates: of all for a pair of models, else of those about one model."""
        gates = [gate for gate in self.gates.values() if pair or not isinstance(gate, PairGate)]
        return tuple(dict.fromkeys(gate.column for gate in gates if isinstance(gate, GroupLimits)))


def load_gates(path: Path) -> GateSettings:
    """Read gates from a YAML file.

    Raises
    ------
    ConfigurationError
        With everything that is wrong.
    """
    return read_settings(GateSettings, read_yaml(path))
