"""Gates: conditions that an evaluation or a comparison must meet."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from scoring_model.configuration.findings import FindingSettings, unknown_finding
from scoring_model.configuration.reading import read_settings, read_yaml
from scoring_model.contract.violation import Invalid, check_fields
from scoring_model.figures import RANKING, ErrorName, GroupRateName
from scoring_model.findings import Code, Severity
from scoring_model.records.near_misses import near_misses

FlipRate = Literal["all", "genuine_stricter", "genuine_milder", "fraud_stricter", "fraud_milder"]
PromiseName = Literal["all", "max_false_reject", "max_step_up", "max_missed_fraud"]

EarlyPromise = Literal["all", "max_false_reject", "max_step_up"]

_SUBJECTS: Final = (
    "figure",
    "difference",
    "group_gap",
    "group_change",
    "flips",
    "promise",
    "findings",
    "drift",
    "early",
    "estimate",
)
_UNLIMITED: Final = ("promise", "findings", "drift", "early")


@dataclass(frozen=True, kw_only=True, slots=True)
class Gate:
    """One condition on the ends of a 95 % interval, on a promise or on findings. Exactly one of the subjects is set.

    Parameters
    ----------
    figure : str or None
        A figure of the model itself: of the challenger, where two are compared.
    difference : str or None
        A figure of the challenger minus that of the champion.
    group_gap : str or None
        Column: in each group `rate` minus that of all other records.
    group_change : str or None
        Column: in each group `rate` under the challenger minus that under the champion.
    flips : str or None
        Share of records whose outcome differs.
    promise : str or None
        Promise of the policy that must be kept.
    findings : str or None
        Code of a check that must find nothing, or a severity: no check of this or a graver one may find anything.
    drift : str or None
        A feature, `score`, `outcome` or `all` of them: of a monitored window, in which no drift may be found.
    early : str or None
        Promise that outcomes alone must not show to be broken, before labels mature.
    estimate : str or None
        Error of the policy, estimated from probabilities before labels mature.
    rate : str or None
        Rate of a group gate.
    min_group : int
        Groups with fewer records in the denominator of the rate are left out, and reported; at least 0.
    above : float or None
        The lower end must be above it.
    below : float or None
        The upper end must be below it.

    Raises
    ------
    Invalid
        With every field that is out of range.
    """

    figure: str | None = None
    difference: str | None = None
    group_gap: str | None = None
    group_change: str | None = None
    flips: FlipRate | None = None
    promise: PromiseName | None = None
    findings: str | None = None
    drift: str | None = None
    early: EarlyPromise | None = None
    estimate: ErrorName | None = None
    rate: GroupRateName | None = None
    min_group: int = 0
    above: float | None = None
    below: float | None = None

    def __post_init__(self) -> None:
        limits = {"above": self.above, "below": self.below}
        unlimited = any(map(self._has, _UNLIMITED))
        check_fields(
            self,
            ("", f"exactly one of {', '.join(_SUBJECTS)}", sum(map(self._has, _SUBJECTS)) == 1),
            ("", "rate with group_gap and group_change, and only there", self._has("rate") == self.of_groups),
            (
                "",
                "above, below or both, but not with promise, findings, drift or early",
                self._limited != unlimited,
            ),
            ("min_group", "at least 0", self.min_group >= 0),
            ("", "min_group only with group_gap and group_change", self.of_groups or self.min_group == 0),
            *((name, "finite", limit is None or math.isfinite(limit)) for name, limit in limits.items()),
        )
        known = [*Severity, *Code]
        if self.findings is not None and self.findings not in known:
            raise Invalid([unknown_finding(self.findings, known).within("findings")])

    @property
    def of_groups(self) -> bool:
        """Whether the gate is about the groups of a column."""
        return self._has("group_gap") or self._has("group_change")

    @property
    def of_pair(self) -> bool:
        """Whether the gate needs two models."""
        return self._has("difference") or self._has("group_change") or self._has("flips")

    @property
    def of_window(self) -> bool:
        """Whether the gate needs a monitored window."""
        return self._has("drift") or self._has("early") or self._has("estimate")

    @property
    def column(self) -> str | None:
        """Column of a group gate."""
        return self.group_gap or self.group_change

    @property
    def _limited(self) -> bool:
        return self._has("above") or self._has("below")

    def _has(self, name: str) -> bool:
        return getattr(self, name) is not None


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
        near = near_misses(self.figure, RANKING)
        allowed = f"one of {', '.join(RANKING)}" + (f" (did you mean {near[0]}?)" if near else "")
        check_fields(
            self,
            ("figure", allowed, self.figure in RANKING),
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

    gates: Mapping[str, Gate]
    min_days: int = 30
    allow_trained: bool = False
    findings: FindingSettings = field(default_factory=FindingSettings)
    looks: LookSettings = field(default_factory=LookSettings)

    def __post_init__(self) -> None:
        muted = [name for name, gate in self.gates.items() if gate.findings in self.findings.mute]
        check_fields(
            self,
            ("", f"no gate on a muted finding: {', '.join(muted)}", not muted),
            ("", "at least one gate", len(self.gates) > 0),
            ("min_days", "at least 10", self.min_days >= 10),
        )

    def columns(self, *, pair: bool) -> tuple[str, ...]:
        """Return the columns of the group gates: of all for a pair of models, else of those about one model."""
        gates = [gate for gate in self.gates.values() if pair or not gate.of_pair]
        return tuple(dict.fromkeys(gate.column for gate in gates if gate.column is not None))


def load_gates(path: Path) -> GateSettings:
    """Read gates from a YAML file.

    Raises
    ------
    ConfigurationError
        With everything that is wrong.
    """
    return read_settings(GateSettings, read_yaml(path))
