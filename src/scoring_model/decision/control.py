"""The control group: some of those whom the policy would stop pass, so that it is learnt whether they are frauds.

Whether a person is drawn depends on a keyed hash alone, so that a retry changes nothing and a replay finds the same.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from scoring_model.contract.outcome import Outcome
from scoring_model.contract.violation import check_fields
from scoring_model.decision.document import Check, fields, integer, is_number, must_be

_DRAW_BYTES: Final = 8
_MOST: Final = 10**9


@dataclass(frozen=True, kw_only=True, slots=True)
class ControlArm:
    """How many of those with one outcome of the policy pass.

    Parameters
    ----------
    share : float
        Share of persons, in (0, 1).
    most_per_day : int
        Verifications of one history that pass in a UTC day, at least 1.
    most_expected_cost_per_day : float or None
        Most that those who pass in a UTC day are expected to cost: the sum of probability of fraud times `fraud_loss`.
        At least `fraud_loss`, so that the first of a day fits in any case. None: no such cap.

    Raises
    ------
    Invalid
        With every field that is out of range.
    """

    share: float
    most_per_day: int
    most_expected_cost_per_day: float | None = None

    def __post_init__(self) -> None:
        cost = self.most_expected_cost_per_day
        check_fields(
            self,
            ("share", "in (0, 1)", 0 < self.share < 1),
            ("most_per_day", f"in 1..{_MOST}", 1 <= self.most_per_day <= _MOST),
            ("most_expected_cost_per_day", "above 0", cost is None or 0 < cost < math.inf),
        )

    def draws(self, digest: bytes) -> bool:
        """Return True if a person is drawn, by the first 8 bytes of a keyed hash of the person."""
        return int.from_bytes(digest[:_DRAW_BYTES]) < int(self.share * 2.0 ** (8 * _DRAW_BYTES))

    def admits(self, drawn: int, expected_cost: float) -> bool:
        """Return True if a drawn verification passes, which the caps prevent once they are reached.

        Parameters
        ----------
        drawn : int
            Verifications drawn on this UTC day, with this one. Those that were drawn in vain count too: the first ones
            of a day pass, whatever they cost, so that the others differ from them by the time of the day alone.
        expected_cost : float
            Their expected cost, in the unit of `fraud_loss`.
        """
        most = self.most_expected_cost_per_day
        return drawn <= self.most_per_day and (most is None or expected_cost <= most)


@dataclass(frozen=True, kw_only=True, slots=True)
class Control:
    """The control group of a policy.

    Parameters
    ----------
    failed, stepped_up : ControlArm
        By the outcome of the policy.
    fraud_loss : float
        Cost of a missed fraud; 1 if the policy has no costs: expected costs are expected frauds then.
    """

    failed: ControlArm
    stepped_up: ControlArm
    fraud_loss: float = 1.0

    def arm(self, outcome: Outcome) -> ControlArm | None:
        """Return the arm of an outcome of the policy; None for those who pass anyway."""
        return {Outcome.FAILED: self.failed, Outcome.STEPPED_UP: self.stepped_up}.get(outcome)

    def to_json(self) -> dict[str, Any]:
        """Give the control group as a JSON document."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "Control":
        """Read the result of `to_json`, which fulfils `CONTROL`."""
        arms = {name: ControlArm(**document[name]) for name in ("failed", "stepped_up")}
        return cls(**arms, fraud_loss=document["fraud_loss"])


def _above_zero(value: object) -> bool:
    return is_number(value) and value > 0  # type: ignore[operator]


_arm: Final = fields(
    {
        "share": must_be("a number in (0, 1)", lambda value: is_number(value) and 0 < value < 1),
        "most_per_day": integer(1, _MOST),
        "most_expected_cost_per_day": must_be(
            "null or a number above 0", lambda value: value is None or _above_zero(value)
        ),
    }
)
CONTROL: Final[Check] = fields(
    {"failed": _arm, "stepped_up": _arm, "fraud_loss": must_be("a number above 0", _above_zero)}
)
