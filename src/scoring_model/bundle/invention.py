"""Synthetic feature rows that look like those of a population and belong to no person.

A feature row is personal data: features of names alone identify nearly everyone. So golden rows are drawn
independently by feature, from values that represent at least five persons.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.bundle.k_anonymity import is_k_anonymous, k_anonymous_quantiles

MOST_LEVELS: Final = 64
HOSTILE_NUMBERS: Final = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, -1e-35, 1e-35, 1e300])
HOSTILE_CODES: Final = np.array([np.nan, -1.0, 2.0**20])  # missing, unseen, out of range
NO_THRESHOLDS: Final[Mapping[int, FloatArray]] = {}


def invent_rows(
    rows: FloatArray,
    *,
    persons: IntArray,
    count: int,
    seed: int,
    categorical: Collection[int] = (),
    thresholds: Mapping[int, FloatArray] = NO_THRESHOLDS,
) -> FloatArray:
    """Invent feature rows of four kinds in turn.

    1. *Plain*: every feature is drawn from its own levels (`k_anonymous_quantiles`), missing as often as in `rows`.
       With no two features drawn together, not even the pair of values of one person survives but by chance.
    2. *At a split*: plain, but half of the features with splits stand at a threshold or at the double just
       below or above it, where an inexact engine would take another path.
    3. *Plain* again, half of its features missing.
    4. *Hostile*: plain, but half of the features are NaN, an infinity, a signed zero, a denormal, about the
       1e-35 that LightGBM takes for zero, or huge; codes are missing, negative or beyond every category.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float64
        Rows of real persons. No value of fewer than five of them is returned.
    persons : ndarray of shape (n,), int64
        Code of the person of each row: five rows of one person are one person.
    seed : int
        Equal arguments give equal rows.
    categorical : collection of int
        Columns of codes, which are integers or NaN by contract.
    thresholds : mapping of int to ndarray of float64
        By column, the splits of the model, which the bundle holds anyway.

    Returns
    -------
    ndarray of shape (count, d), float64

    Raises
    ------
    ValueError
        When a person is not given for each row.
    """
    if rows.ndim != 2 or persons.shape != (len(rows),):
        raise ValueError(f"one person for each row is needed, got rows {rows.shape}, persons {persons.shape}")
    random = np.random.Generator(np.random.PCG64(seed))
    invented = np.empty((count, rows.shape[1]))
    kinds = np.arange(count) % 4
    for column in range(rows.shape[1]):
        plain = _draw(rows[:, column], persons, random.random((2, count)))
        where, which, side = random.random((3, count))
        changed = where < 0.5
        extremes = HOSTILE_CODES if column in categorical else HOSTILE_NUMBERS
        splits = thresholds.get(column)
        if splits is not None and splits.size:
            _put(plain, _neighbours(_pick(splits, which), side), changed & (kinds == 1))
        _put(plain, np.full(count, np.nan), changed & (kinds == 2))
        _put(plain, _pick(extremes, which), changed & (kinds == 3))
        invented[:, column] = plain
    return invented


def _draw(values: FloatArray, persons: IntArray, uniform: FloatArray) -> FloatArray:
    """Draw from one feature by inversion of its levels; `uniform` is of shape (2, count)."""
    levels = k_anonymous_quantiles(values, persons, most=MOST_LEVELS)
    if not levels.values.size:
        return np.full(uniform.shape[1], np.nan)
    missing = np.isnan(values)
    share = float(missing.mean()) if is_k_anonymous(persons[missing]) else 0.0
    last = levels.values.size - 1
    level = np.minimum(np.searchsorted(np.cumsum(levels.shares), uniform[0], side="right"), last)
    return np.where(uniform[1] < share, np.nan, levels.values[level])


def _pick(choices: FloatArray, uniform: FloatArray) -> FloatArray:
    return choices[(uniform * choices.size).astype(np.int64)]


def _neighbours(splits: FloatArray, side: FloatArray) -> FloatArray:
    """Return each split itself, the double below it or the one above, by thirds of `side`."""
    below, above = np.nextafter(splits, -np.inf), np.nextafter(splits, np.inf)
    return np.where(side < 1 / 3, below, np.where(side < 2 / 3, splits, above))


def _put(column: FloatArray, values: FloatArray, where: BoolArray) -> None:
    column[where] = values[where]
