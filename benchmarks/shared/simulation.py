"""What simulations share: rules to decide by, and counts beside what is promised of them."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from scoring_model.decision.probability import Platt
from scoring_model.decision.rules import DecisionRules, Policy
from scoring_model.decision.scale import ScoreScale
from scoring_model.evaluation.uncertainty import share_of

DAY: Final = 86_400_000_000


def rules_of(*, fail_from: int) -> DecisionRules:
    """Rules for margins that are log-odds, which step up from 400."""
    return DecisionRules(
        scale=ScoreScale(cuts=np.linspace(-6, 4, 1000), extrapolated_from=800),
        calibration=Platt(slope=1.0, intercept=0.0),
        policy=Policy(step_up_from=400, fail_from=fail_from),
    )


@dataclass(frozen=True, slots=True)
class Figure:
    """A count of a total that is promised to be at least or at most a share, with its interval (Wilson, 95 %)."""

    name: str
    count: int
    total: int
    at_least: float = 0.0
    at_most: float = 1.0

    @property
    def holds(self) -> bool:
        """Whether the observed share is as promised."""
        return self.at_least <= self.count / self.total <= self.at_most

    def __str__(self) -> str:
        share = share_of(self.count, self.total)
        ends = f"{share.low:.3f} to {share.high:.3f}"
        return f"{self.name}: {self.count} of {self.total} ({ends}) {'' if self.holds else 'MISSED'}".rstrip()
