"""The calibrated probability of fraud: Platt's sigmoid of the margin."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.decision.document import DocumentError, check_document, number

RESOLUTION = 2.0**-30
"""Probabilities are multiples of this."""

_SATURATED = 32.0  # exp(-32) is far below half the resolution: beyond it the probability is 0 or 1
_LN2 = math.log(2.0)
_TAYLOR = tuple(1.0 / math.factorial(power) for power in range(12, -1, -1))

_Real = TypeVar("_Real", float, FloatArray)


@dataclass(frozen=True, kw_only=True, slots=True)
class Platt:
    """Calibrated chance of fraud, 1 / (1 + exp(-(slope * margin + intercept))).

    It is for costs and for people; no outcome depends on it. The exponential is computed with
    additions and multiplications alone, which IEEE 754 defines to the bit: a margin gets the same
    probability alone, among others, and on every machine. J. Platt, Probabilistic outputs for
    support vector machines, in Advances in Large Margin Classifiers (MIT Press, 2000).

    Parameters
    ----------
    slope : float
        Positive and finite: a higher margin is never less probable to be fraud.
    intercept : float
        Finite.

    Raises
    ------
    ValueError
        If a parameter breaks its rule.

    Examples
    --------
    >>> Platt(slope=1.0, intercept=0.0).probability(0.0)
    0.5
    """

    slope: float
    intercept: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.slope) and self.slope > 0 and math.isfinite(self.intercept)):
            raise ValueError(
                "slope: must be positive and finite, intercept: must be finite, "
                f"got slope={self.slope}, intercept={self.intercept}"
            )

    def probability(self, margin: float) -> float:
        """Chance of fraud of one margin.

        Parameters
        ----------
        margin : float
            Log-odds of the booster; may be infinite.

        Returns
        -------
        float
            In [0, 1], a multiple of 2^-30.

        Raises
        ------
        ValueError
            If the margin is NaN.
        """
        if math.isnan(margin):
            raise ValueError("margin: must be a number, got NaN")
        logit = max(-_SATURATED, min(_SATURATED, self.slope * float(margin) + self.intercept))
        doublings = round(-logit / _LN2)
        odds_against = math.ldexp(_exp_near_zero(-logit - doublings * _LN2), doublings)
        return round(1.0 / (1.0 + odds_against) / RESOLUTION) * RESOLUTION

    def probabilities(self, margins: FloatArray) -> FloatArray:
        """Chances of fraud of many margins, the same bits that `probability` gives.

        Parameters
        ----------
        margins : ndarray of shape (n,), float64

        Returns
        -------
        ndarray of shape (n,), float64, multiples of 2^-30 in [0, 1]

        Raises
        ------
        ValueError
            If a margin is NaN.
        """
        missing = int(np.count_nonzero(np.isnan(margins)))
        if missing:
            raise ValueError(f"margins: must be numbers, got NaN in {missing} of {len(margins)}")
        with np.errstate(over="ignore"):  # an overflow is a saturated probability
            logits = np.clip(self.slope * margins + self.intercept, -_SATURATED, _SATURATED)
        doublings = np.rint(-logits / _LN2)
        odds_against = np.ldexp(_exp_near_zero(-logits - doublings * _LN2), doublings.astype(np.int32))
        return np.rint(1.0 / (1.0 + odds_against) / RESOLUTION) * RESOLUTION

    def to_json(self) -> dict[str, Any]:
        """Give the parameters as a JSON document that reads back exactly."""
        return {"slope": self.slope, "intercept": self.intercept}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "Platt":
        """Read what `to_json` wrote.

        Raises
        ------
        DocumentError
            With every field that is missing, unknown or breaks its rule.
        """
        check_document("probability", document, {"slope": number, "intercept": number})
        if document["slope"] <= 0:
            raise DocumentError("probability", ("slope: must be positive",))
        return cls(slope=float(document["slope"]), intercept=float(document["intercept"]))


def _exp_near_zero(exponent: _Real) -> _Real:
    """exp(x) for |x| <= ln(2)/2 by Taylor's series to x^12, whose error is below 2e-16."""
    value = exponent * 0.0
    for coefficient in _TAYLOR:
        value = value * exponent + coefficient
    return value
