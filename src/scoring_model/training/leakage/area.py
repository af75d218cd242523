"""The area under the ROC curve where both classes are known to be there."""

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray
from scoring_model.evaluation.ranking import Ranking


def area_under_curve(values: FloatArray, targets: NDArray[np.int8]) -> float:
    """Chance that a fraud has a higher value than a genuine record, ties counting one half.

    Parameters
    ----------
    values : ndarray of shape (n,), float64, without NaN
    targets : ndarray of shape (n,), 1 fraud, 0 genuine

    Returns
    -------
    float
        In [0, 1]; one half where a class is absent, which shows as little.
    """
    area = Ranking.of(values, targets).roc_auc()
    return 0.5 if area is None else area
