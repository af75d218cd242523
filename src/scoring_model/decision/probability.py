"""The calibrated probability of fraud: Platt's sigmoid of the margin, or the beta family."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.contract.violation import Violation
from scoring_model.decision.document import (
    DocumentError,
    an_object,
    check_document,
    fields,
    is_number,
    must_be,
    number,
    one_of,
)
from scoring_model.decision.scale import check_margins

RESOLUTION: Final = 2.0**-30
"""Probabilities are multiples of this."""

_SATURATED: Final = 32.0  # exp(-32) is far below half the resolution: beyond this the probability is 0 or 1
_LN2: Final = math.log(2.0)
_TAYLOR: Final = tuple(1.0 / math.factorial(power) for power in range(12, -1, -1))

_Real = TypeVar("_Real", float, FloatArray)


def sigmoid(logit: float) -> float:
    """Give 1 / (1 + exp(-logit)) of one logit, which may be infinite, as a multiple of `RESOLUTION`."""
    clipped = max(-_SATURATED, min(_SATURATED, logit))
    return round(1.0 / (1.0 + exponential(-clipped)) / RESOLUTION) * RESOLUTION


def sigmoids(logits: FloatArray) -> FloatArray:
    """Give the same bits as `sigmoid` for many logits."""
    clipped = np.clip(logits, -_SATURATED, _SATURATED)
    return np.rint(1.0 / (1.0 + exponentials(-clipped)) / RESOLUTION) * RESOLUTION


def exponential(exponent: float) -> float:
    """Give exp(x) of one finite number."""
    doublings = round(exponent / _LN2)
    return math.ldexp(_exp_near_zero(exponent - doublings * _LN2), doublings)


def exponentials(exponents: FloatArray) -> FloatArray:
    """Give the same bits as `exponential` for many numbers."""
    doublings = np.rint(exponents / _LN2)
    return np.ldexp(_exp_near_zero(exponents - doublings * _LN2), doublings.astype(np.int32))


def _exp_near_zero(exponent: _Real) -> _Real:
    """exp(x) for |x| <= ln(2)/2 by Taylor's series to x^12, whose error is below 2e-16."""
    value = exponent * 0.0
    for coefficient in _TAYLOR:
        value = value * exponent + coefficient
    return value


_FARTHEST: Final = 64.0  # of a margin: beyond it the curve is a straight line
_MARGIN_STEP: Final = 2.0**-30
_LOGIT_STEP: Final = 2.0**-36
_ATANH: Final = tuple(1.0 / (2 * power + 1) for power in range(17, -1, -1))

_slope: Final = must_be("a number of at least 0", lambda value: is_number(value) and value >= 0)


class _Probability(ABC):
    """Chance of fraud as the logistic function of a log-odds that a subclass computes."""

    __slots__ = ()

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
        return sigmoid(self._logit(float(margin)))

    def probabilities(self, margins: FloatArray) -> FloatArray:
        """Chances of fraud of many margins, of shape (n,), the same bits that `probability` gives."""
        check_margins(margins)
        return sigmoids(self._logits(margins))

    @abstractmethod
    def _logit(self, margin: float) -> float:
        """Calibrated log-odds of one margin."""

    @abstractmethod
    def _logits(self, margins: FloatArray) -> FloatArray:
        """Calibrated log-odds of many margins."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Beta(_Probability):
    """Calibrated chance of fraud whose log-odds are below * ln(s) - above * ln(1 - s) + intercept.

    Here s = 1 / (1 + exp(-margin)), so that the log-odds rise with `below` per unit of a low margin and with
    `above` per unit of a high one, and bend in between. With both 1 and no intercept the margin is the log-odds.
    M. Kull, T. Silva Filho, P. Flach, Beyond sigmoids, Electronic Journal of Statistics 11 (2017), 5052-5080,
    doi 10.1214/17-EJS1338SI (their a, b and c).

    It is exactly non-decreasing in the margin: the margin is rounded to a multiple of 2^-30 and the log-odds to one
    of 2^-36, steps far above the errors of the two logarithms, and all other operations are monotone in IEEE 754.

    Parameters
    ----------
    below, above : float
        At least 0 and finite, one of them positive.
    intercept : float
        Finite.

    Examples
    --------
    >>> Beta(below=2.0, above=0.5, intercept=0.0).probability(-200.0)
    0.0
    """

    below: float
    above: float
    intercept: float

    def __post_init__(self) -> None:
        slopes = (self.below, self.above)
        if not (
            all(math.isfinite(v) and v >= 0 for v in slopes) and any(slopes) and math.isfinite(self.intercept)
        ):
            raise ValueError(
                "below and above: must be finite, at least 0 and not both 0, intercept: must be finite, "
                f"got below={self.below}, above={self.above}, intercept={self.intercept}"
            )

    def _logit(self, margin: float) -> float:
        place = round(max(-_FARTHEST, min(_FARTHEST, margin)) / _MARGIN_STEP) * _MARGIN_STEP
        excess = _log_one_plus(exponential(-abs(place)))
        up, down = max(place, 0.0) + excess, max(-place, 0.0) + excess
        return _steps_of((self.above * up - self.below * down) + self.intercept)

    def _logits(self, margins: FloatArray) -> FloatArray:
        places = np.rint(np.clip(margins, -_FARTHEST, _FARTHEST) / _MARGIN_STEP) * _MARGIN_STEP
        excess = _log_one_plus(exponentials(-np.abs(places)))
        up, down = np.maximum(places, 0.0) + excess, np.maximum(-places, 0.0) + excess
        logits = (self.above * up - self.below * down) + self.intercept
        return np.rint(np.clip(logits, -_FARTHEST, _FARTHEST) / _LOGIT_STEP) * _LOGIT_STEP

    def to_json(self) -> dict[str, Any]:
        """Give the parameters as a JSON document that reads back exactly."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "Beta":
        """Read the result of `to_json`."""
        check_document(
            "probability", document, fields({"below": _slope, "above": _slope, "intercept": number})
        )
        if not document["below"] and not document["above"]:
            raise DocumentError(
                [Violation("/above", "zero", "must be positive where below is 0")], "probability"
            )
        return cls(**{name: float(value) for name, value in document.items()})


def log_odds_terms(margins: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Give what `below` and `above` are multiplied with: ln(s), at most 0, and -ln(1 - s), at least 0."""
    return -np.logaddexp(0.0, -margins), np.logaddexp(0.0, margins)


def _steps_of(logit: float) -> float:
    return round(max(-_FARTHEST, min(_FARTHEST, logit)) / _LOGIT_STEP) * _LOGIT_STEP


def _log_one_plus(value: _Real) -> _Real:
    """ln(1 + x) for x in [0, 1] as 2 atanh(x / (2 + x)), whose series ends at t^35 with an error below 1e-17."""
    part = value / (2.0 + value)
    square = part * part
    total = square * 0.0
    for coefficient in _ATANH:
        total = total * square + coefficient
    return 2.0 * part * total


@dataclass(frozen=True, kw_only=True, slots=True)
class Platt(_Probability):
    """Calibrated chance of fraud, 1 / (1 + exp(-(slope * margin + intercept))).

    It is for costs and for people; no outcome depends on it. The exponential uses only additions
    and multiplications, which IEEE 754 defines exactly: a margin gets the same probability alone, in
    an array, and on every machine. J. Platt, Probabilistic outputs for
    support vector machines, in Advances in Large Margin Classifiers (MIT Press, 2000).

    Parameters
    ----------
    slope : float
        Positive and finite: a higher margin is never less probable to be fraud.
    intercept : float
        Finite.

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

    def _logit(self, margin: float) -> float:
        return self.slope * margin + self.intercept

    def _logits(self, margins: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):  # an overflow is a saturated probability
            return self.slope * margins + self.intercept

    def to_json(self) -> dict[str, Any]:
        """Give the parameters as a JSON document that reads back exactly."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "Platt":
        """Read the result of `to_json`."""
        positive = must_be("a positive number", lambda value: is_number(value) and value > 0)
        check_document("probability", document, fields({"slope": positive, "intercept": number}))
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

    Raises
    ------
    DocumentError
        When the method is unknown, or with every field that is missing, unknown or breaks its rule.
    """
    plain = check_document("probability", document, an_object)
    method = plain.pop("method", None)
    check_document("probability", {"method": method}, fields({"method": one_of(*_METHODS)}))
    return _METHODS[method].from_json(plain)
