"""Intervals that hold for several groups at once: the largest deviation of all groups in each draw (max-t).

Westfall and Young 1993, ISBN 978-0-471-55761-6; Montiel Olea and Plagborg-Møller 2019, doi:10.1002/jae.2656.
"""

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray
from scoring_model.evaluation.uncertainty import CONFIDENCE


def half_widths(
    values: FloatArray, drawn: FloatArray, *, floor: FloatArray, enough: BoolArray, days: int
) -> tuple[FloatArray, FloatArray]:
    """Return the half widths of 95 % intervals around values of groups.

    A group with few errors varies too little between draws. So its variance is at least `floor`, and its draws get
    independent normal noise that makes up the difference.

    Parameters
    ----------
    values : ndarray of shape (g, f), float64
        f values of g groups.
    drawn : ndarray of shape (r, g, f), float64
        The same in every draw; NaN in a draw without such records.
    floor : ndarray of shape (g, f), float64
        Least variance of each value.
    enough : ndarray of shape (g, f), bool
        Groups with enough data; only these get a width, and only these count at once.
    days : int
        Number of days from which is drawn.

    Returns
    -------
    alone, together : ndarray of shape (g, f), float64
        Of each interval alone, and of all groups at once for each of the f values; NaN without enough data.
    """
    absent = np.full(values.shape, np.nan)
    if not len(drawn) or not enough.any():
        return absent, absent
    moved = np.where(enough & np.isfinite(drawn), drawn - np.where(enough, values, 0.0), 0.0)
    spread = np.mean(moved**2, axis=0) * days / (days - 1)
    errors = np.sqrt(np.where(enough, np.maximum(spread, floor), 1.0))
    missing = np.sqrt(np.where(enough, np.maximum(floor - spread, 0.0), 0.0))
    noise = np.random.default_rng(0).standard_normal(drawn.shape)
    deviations = np.abs(moved + noise * missing) / errors
    alone = np.quantile(deviations, CONFIDENCE, axis=0)
    together = np.maximum(np.quantile(deviations.max(axis=1), CONFIDENCE, axis=0), alone)
    return np.where(enough, alone * errors, np.nan), np.where(enough, together * errors, np.nan)
