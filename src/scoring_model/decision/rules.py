"""From margins to decisions: scale, probability and policy together."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.decision.policy import Policy
from scoring_model.decision.probability import Calibration
from scoring_model.decision.scale import ScoreScale


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """The decisions about n rows.

    Parameters
    ----------
    margins : ndarray of shape (n,), float64
        Log-odds of the booster.
    scores : ndarray of shape (n,), int64
        0 to 1000.
    outcomes : ndarray of shape (n,), int8
        Codes into `scoring_model.contract.outcome.OUTCOMES`.
    probabilities : ndarray of shape (n,), float64
        Calibrated chance of fraud, in [0, 1].
    """

    margins: FloatArray
    scores: IntArray
    outcomes: NDArray[np.int8]
    probabilities: FloatArray

    def take(self, rows: IntArray) -> "Decisions":
        """The decisions about some rows, in their order."""
        return Decisions(self.margins[rows], self.scores[rows], self.outcomes[rows], self.probabilities[rows])


@dataclass(frozen=True, kw_only=True, slots=True)
class DecisionRules:
    """The rules that turn a margin into a decision."""

    scale: ScoreScale
    calibration: Calibration
    policy: Policy

    def decide(self, margins: FloatArray) -> Decisions:
        """Decide about margins.

        Parameters
        ----------
        margins : ndarray of shape (n,), float64
            Without NaN.
        """
        scores = self.scale.scores(margins)
        return Decisions(
            margins, scores, self.policy.outcomes(scores), self.calibration.probabilities(margins)
        )
