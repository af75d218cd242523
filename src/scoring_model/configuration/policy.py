"""Bounds on the errors of the policy, and what these errors cost."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from scoring_model.contract.violation import Invalid, Violation, check_fields, pointer
from scoring_model.decision.control import Control, ControlArm


@dataclass(frozen=True, kw_only=True, slots=True)
class CostSettings:
    """Costs of the errors of a policy, in any one unit: only their ratios matter.

    The chosen thresholds keep all bounds and have the lowest expected cost per applicant:

    - a passed fraud costs `fraud_loss`; a stepped-up fraud costs the same unless the step-up catches it, with
      probability `step_up_effectiveness`; a failed fraud costs nothing;
    - a stepped-up genuine applicant costs `step_up_cost`, a failed one `reject_cost`.

    Parameters
    ----------
    fraud_loss : float
        Above 0.
    reject_cost, step_up_cost : float
        At least 0.
    step_up_effectiveness : float
        In [0, 1].
    prevalence : float or None
        Share of frauds, in (0, 1), among applicants. None: the share in the labelled records of the validation part.

    Raises
    ------
    Invalid
        With every field that is out of range.
    """

    fraud_loss: float
    reject_cost: float
    step_up_cost: float
    step_up_effectiveness: float
    prevalence: float | None = None

    def __post_init__(self) -> None:
        least = {name: getattr(self, name) for name in ("reject_cost", "step_up_cost")}
        check_fields(
            self,
            ("fraud_loss", "above 0", 0 < self.fraud_loss < math.inf),
            *((name, "at least 0", 0 <= cost < math.inf) for name, cost in least.items()),
            ("step_up_effectiveness", "in [0, 1]", 0 <= self.step_up_effectiveness <= 1),
            ("prevalence", "in (0, 1)", self.prevalence is None or 0 < self.prevalence < 1),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ControlSettings:
    """Shares of those whom the policy would stop that a service lets pass, so that their labels become known.

    Both are needed: the share of fraud that the policy misses cannot be estimated without either.

    Parameters
    ----------
    failed, stepped_up : ControlArm
        By the outcome that the policy alone would give.
    """

    failed: ControlArm
    stepped_up: ControlArm


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicySettings:
    """Bounds that the policy must keep. Each bound may be None; delta = 1 - confidence is shared by the others.

    Parameters
    ----------
    max_false_reject : float or None
        Share, in (0, 1), of genuine applicants that score `fail_from` or more. None: no one fails.
    max_step_up : float or None
        Share, in (0, 1), of genuine applicants that score `step_up_from` or more, the failed included.
    max_missed_fraud : float or None
        Share, in (0, 1), of frauds that score below `step_up_from`.
    confidence : float
        Chance, in (0, 1), that all promises hold, for independent records.
    costs : CostSettings or None
        Minimised among the thresholds that keep the bounds. None: the lowest thresholds are used.
    reason_share : float
        Minimum share, in [0, 1], of all positive contributions for a reason after the first.
    control : ControlSettings or None
        None: outcomes follow from score and thresholds without exception.

    Raises
    ------
    Invalid
        With every field that is out of range.
    """

    max_false_reject: float | None = 0.002
    max_step_up: float | None = 0.05
    max_missed_fraud: float | None = None
    confidence: float = 0.95
    costs: CostSettings | None = None
    reason_share: float = 0.1
    control: ControlSettings | None = None

    def __post_init__(self) -> None:
        shares = {**self.limits(), "confidence": self.confidence}
        check_fields(
            self,
            *((name, "in (0, 1)", 0 < value < 1) for name, value in shares.items()),
            ("reason_share", "in [0, 1]", 0 <= self.reason_share <= 1),
        )
        self._check_cost_caps()

    @property
    def control_group(self) -> Control | None:
        """Return the control group as it is sealed, with the cost of a missed fraud."""
        if self.control is None:
            return None
        loss = 1.0 if self.costs is None else self.costs.fraud_loss
        return Control(failed=self.control.failed, stepped_up=self.control.stepped_up, fraud_loss=loss)

    def to_json(self) -> dict[str, Any]:
        """Give the settings as a JSON document. A control group stands in those that have one."""
        plain = asdict(self)
        if self.control is None:
            del plain["control"]
        return plain

    def limits(self) -> dict[str, float]:
        """Return the bounds that are set, by name."""
        values = {
            "max_false_reject": self.max_false_reject,
            "max_step_up": self.max_step_up,
            "max_missed_fraud": self.max_missed_fraud,
        }
        return {name: value for name, value in values.items() if value is not None}

    def _check_cost_caps(self) -> None:
        """Check that caps on expected cost have a unit, and let at least one person of a day pass."""
        if self.control is None:
            return
        loss = None if self.costs is None else self.costs.fraud_loss
        violations = []
        for name, arm in (("failed", self.control.failed), ("stepped_up", self.control.stepped_up)):
            cap = arm.most_expected_cost_per_day
            place = pointer("control", name, "most_expected_cost_per_day")
            if cap is not None and loss is None:
                violations.append(
                    Violation(place, "missing", "needs the costs of the policy, which are not set")
                )
            elif cap is not None and loss is not None and cap < loss:
                detail = f"must be at least costs.fraud_loss, {loss:g}: below it no one might pass on a day"
                violations.append(Violation(place, "invalid", detail))
        if violations:
            raise Invalid(violations)
