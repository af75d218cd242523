"""The calibrated probability of fraud: Platt's sigmoid of the margin, or the beta family."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.decision.beta import Beta
from scoring_model.decision.document import DocumentError, check_document, number
from scoring_model.decision.sigmoid import RESOLUTION, sigmoid, sigmoids

__all__ = ["RESOLUTION", "Calibration", "Platt", "calibration_json", "read_calibration"]


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
        return sigmoid(self.slope * float(margin) + self.intercept)

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
            return sigmoids(self.slope * margins + self.intercept)

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


Calibration: TypeAlias = Platt | Beta
"""Either way from a margin to a probability."""


_METHODS: Final[Mapping[str, type[Calibration]]] = {"platt": Platt, "beta": Beta}


def calibration_json(calibration: Calibration) -> dict[str, Any]:
    """Give either calibration as a JSON document that names its method and reads back exactly."""
    method = next(name for name, kind in _METHODS.items() if isinstance(calibration, kind))
    return {"method": method, **calibration.to_json()}


def read_calibration(document: object) -> Calibration:
    """Read what `calibration_json` wrote.

    Bundles of protocol 1 name no method: theirs is Platt's.

    Raises
    ------
    DocumentError
        When the method is unknown, or with every field that is missing, unknown or breaks its rule.
    """
    if not isinstance(document, Mapping):
        raise DocumentError("probability", (f"must be an object, got {type(document).__name__}",))
    fields = dict(document)
    method = fields.pop("method", "platt")
    if method not in _METHODS:
        raise DocumentError("probability", (f"method: must be one of {', '.join(_METHODS)}",))
    return _METHODS[method].from_json(fields)
