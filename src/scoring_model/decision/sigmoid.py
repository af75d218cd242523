"""The logistic function in additions, multiplications and divisions alone, which IEEE 754 defines to the bit.

So a logit gets the same probability alone, among others, and on every machine.
"""

import math
from typing import Final, TypeVar

import numpy as np

from scoring_model.arrays import FloatArray

RESOLUTION: Final = 2.0**-30
"""Probabilities are multiples of this."""

_SATURATED: Final = 32.0  # exp(-32) is far below half the resolution: beyond it the probability is 0 or 1
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
