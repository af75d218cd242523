"""Rows that distinguish two readings of a model of trees."""

from collections.abc import Collection

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.decision.forest import ZERO, Forest

ZEROS = np.array([0.0, ZERO, np.nextafter(ZERO, 1), np.nextafter(ZERO, 0), 1e-40, 5e-324])
EDGES = np.concatenate([ZEROS, -ZEROS, [np.inf, -np.inf, np.nan, 1e308, -1e308, 1.0, 0.5]])
CODES = np.array([np.nan, -1.0, -2.0, -(2.0**31), 2.0**31 - 1, 2.0**31, 2.0**53, 199.0, 200.0, 201.0, 1e6])


def hostile_rows(forest: Forest, plain: FloatArray, *, categorical: Collection[int], seed: int) -> FloatArray:
    """Replace most values of plain rows, of shape (n, d), by what two readings of a forest may see differently.

    These are its thresholds, their neighbours, zeros of all kinds, infinities, denormals and missing values; unknown,
    negative and huge codes in the columns of `categorical`.
    """
    rng = np.random.default_rng(seed)
    count, rows = len(plain), plain.copy()
    for column in range(forest.feature_count):
        if column in categorical:
            odd = rng.choice(CODES, count)
        else:
            numeric = (forest.feature == column) & (forest.category_set < 0)
            odd = rng.choice(np.concatenate([EDGES, forest.threshold[numeric]]), count)
            beside = np.nextafter(odd, rng.choice([-np.inf, np.inf], count))
            odd = np.where(rng.random(count) < 0.5, odd, beside)
        rows[:, column] = np.where(rng.random(count) < 0.7, odd, rows[:, column])
    return rows
