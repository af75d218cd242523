"""How good probabilities are: numpy alone.

Every metric is a function of the records as a set: their order does not matter. Without records it is None.
"""

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray

LEAST_PROBABILITY = 2.0**-31
"""Half the resolution of a probability: what a probability of 0 may have been."""


def brier(probabilities: FloatArray, labels: NDArray[np.integer]) -> float | None:
    """Mean squared error of the probabilities (Brier 1950, Monthly Weather Review 78, 1-3)."""
    if not len(labels):
        return None
    return float(np.mean(np.sort(squared_errors(probabilities, labels))))


def log_loss(probabilities: FloatArray, labels: NDArray[np.integer]) -> float | None:
    """Mean of `log_losses`."""
    if not len(labels):
        return None
    return float(np.mean(np.sort(log_losses(probabilities, labels))))


def squared_errors(probabilities: FloatArray, labels: NDArray[np.integer]) -> FloatArray:
    """Squared error of each probability, of shape (n,)."""
    return (probabilities - labels) ** 2


def log_losses(probabilities: FloatArray, labels: NDArray[np.integer]) -> FloatArray:
    """Negative log-likelihood of each probability in nats, of shape (n,); they are kept 2^-31 away from 0 and 1."""
    clipped = np.clip(probabilities, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    return -np.log(np.where(labels == 1, clipped, 1 - clipped))
