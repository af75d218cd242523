"""Figures with intervals: shares of counts, percentiles of draws, and intervals that hold for several groups at once.

Those take the largest deviation of all groups in each draw (max-t): Westfall and Young 1993, ISBN 978-0-471-55761-6;
Montiel Olea and Plagborg-Møller 2019, doi:10.1002/jae.2656. Decision record: docs/adr/0021-intervals-and-groups.md.
"""

import math
from dataclasses import replace
from statistics import NormalDist
from typing import Final, Literal, TypeAlias

import numpy as np
from scipy.special import stdtrit

from scoring_model.arrays import BoolArray, FloatArray
from scoring_model.estimates import Absence, Estimate
from scoring_model.evaluation.draws import MIN_BLOCKS, Basis
from scoring_model.evaluation.metrics import known

CONFIDENCE: Final = 0.95

Scale: TypeAlias = Literal["share", "odds", "sum", "difference"]
"""Where a number can lie: in [0, 1], there with draws far from symmetric, above 0, or anywhere."""

_LARGEST_EXPONENT: Final = 700.0
_LEAST: Final = 1e-6
"""Share that is taken for 0 on the scale of log-odds."""


def normal_quantile(several: int = 1) -> float:
    """Return how many deviations the ends of so many intervals lie away that hold at once (Bonferroni)."""
    return NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2 / several)


def share_of(count: int, total: int) -> Estimate:
    """Share of a count, with Wilson's score interval (1927, doi 10.1080/01621459.1927.10502953).

    Examples
    --------
    >>> share_of(0, 10).low
    0.0
    """
    if total == 0:
        return Estimate(value=None, records=0, count=0, method="wilson", absence="no records")
    low, high = _wilson(count / total, total)
    return Estimate(value=count / total, low=low, high=high, records=total, count=count, method="wilson")


def weighted_share(errors: BoolArray, weights: FloatArray, *, heaviest: float) -> Estimate:
    """Share of errors among independent records that stand for others, with an interval.

    The interval is Wilson's for the number of records without weights whose share would have the same variance (Korn
    and Graubard 1998, Survey Methodology 24, 193-201). If all records are errors, or none, the variance is not known:
    then each counts as one record of the greatest weight, since one of those might be the first that differs.

    Parameters
    ----------
    errors : ndarray of shape (n,), bool
    weights : ndarray of shape (n,), float64
        How many records each stands for.
    heaviest : float
        Greatest weight of any evaluated record, also of other classes.

    Examples
    --------
    >>> weighted_share(np.array([True, False]), np.array([1.0, 3.0]), heaviest=3.0).value
    0.25
    """
    count, total = int(np.count_nonzero(errors)), len(errors)
    if total == 0:
        return share_of(0, 0)
    parts = np.sort(weights[errors]), np.sort(weights[~errors])  # the order of the records changes no bit
    wrong, right = (float(part.sum()) for part in parts)
    share = wrong / (wrong + right)
    if count in (0, total):
        effective = (wrong + right) / heaviest
    else:
        squares = [float((part**2).sum()) for part in parts]
        variance = squares[0] * (1 - share) ** 2 + squares[1] * share**2
        effective = share * (1 - share) * (wrong + right) ** 2 / variance
    low, high = _wilson(share, effective)
    return Estimate(value=share, low=low, high=high, records=total, count=count, method="wilson")


def _wilson(share: float, total: float) -> tuple[float, float]:
    """Return the ends of Wilson's interval."""
    z = normal_quantile()
    centre = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(share * (1 - share) / total + (z / (2 * total)) ** 2)
    # At the ends the formula gives 0 and 1 but for rounding.
    return (0.0 if share == 0 else centre - half), (1.0 if share == 1 else centre + half)


def effective_share(share: float, records: float) -> Estimate:
    """Return an estimated share with Wilson's interval for the number of records that would give its variance."""
    if records <= 0:
        return Estimate(value=share, records=0, method="none", absence="no records")
    low, high = _wilson(share, records)
    return Estimate(value=share, low=low, high=high, records=round(records), method="wilson")


def interval_of(values: FloatArray) -> tuple[float | None, float | None]:
    """Return the ends of the 95 % interval of the values of draws.

    Parameters
    ----------
    values : ndarray of shape (r,), float64
        NaN in a draw that has none.

    Returns
    -------
    low, high : float or None
        None if no draw has a value.
    """
    found = np.sort(values[~np.isnan(values)])
    if not len(found):
        return None, None
    tail = round((1 - CONFIDENCE) / 2 * len(found))
    return float(found[tail]), float(found[-1 - tail])


def drawn_estimate(value: float, drawn: FloatArray, records: int) -> Estimate:
    """Make the estimate of a number from its value in every draw of days.

    Parameters
    ----------
    value : float
        NaN where the records do not give it.
    drawn : ndarray of shape (r,), float64
        NaN in a draw that has none; r = 0 with fewer than ten days.
    """
    low, high = interval_of(drawn)
    absence: Absence = "no value" if len(drawn) else "fewer than ten days"
    if low is not None or not records:
        absence = "no records" if low is None else ""
    return Estimate(value=known(value), low=low, high=high, records=records, method="days", absence=absence)


def block_estimate(
    value: float, drawn: FloatArray, records: int, basis: Basis, *, scale: Scale = "share"
) -> Estimate:
    """Make the estimate of a number from its values in draws of blocks.

    The interval is that of Student's t with independent - 1 degrees of freedom, half as many on the scale `odds`, and
    the deviation in the draws, on a scale without ends: log-odds for a share, the logarithm for a sum.

    Parameters
    ----------
    value : float
        NaN where the records do not give it.
    drawn : ndarray of shape (r,), float64
        NaN in a draw that has none; r = 0 with fewer than ten days.
    basis : Basis
        What it rests on; below ten blocks there is no interval.
    scale : {"share", "odds", "sum", "difference"}
        A share at an end has the interval of as many independent records as the basis says (Wilson). For `odds` the
        deviation is that of the log-odds in the draws, which a share of few counts has no finite one of. A difference
        stays on its scale.

    References
    ----------
    Cameron and Miller 2015, A Practitioner's Guide to Cluster-Robust Inference, section VI (few clusters, t of G - 1).
    """
    value, independent = float(value), basis.blocks
    found = Estimate(value=known(value), records=records, independent=independent, method="blocks")
    if found.value is None or not records:
        return replace(found, absence="no records" if not records else "no value")
    if independent < MIN_BLOCKS or not len(drawn):
        return replace(found, absence="few independent")
    if scale != "sum" and scale != "difference" and not 0 < value < 1:
        low, high = _wilson(min(max(value, 0.0), 1.0), basis.alike)
        return replace(found, low=low, high=high)
    # How easily frauds are found is skewed: its variance is known half as well as one of normal numbers.
    degrees = independent - 1.0 if scale != "odds" else independent / 2 - 1
    quantile = float(stdtrit(degrees, (1 + CONFIDENCE) / 2))
    reach = quantile * math.sqrt(independent / (independent - 1)) * _deviation(value, drawn, scale)
    if scale == "difference":
        return replace(found, low=value - reach, high=value + reach)
    factor = math.exp(min(reach, _LARGEST_EXPONENT))
    if scale == "sum":
        return replace(found, low=value / factor, high=value * factor)
    odds = value / (1 - value)
    return replace(found, low=odds / factor / (1 + odds / factor), high=odds * factor / (1 + odds * factor))


def _deviation(value: float, drawn: FloatArray, scale: Scale) -> float:
    """Return the standard deviation of draws on the scale of the interval."""
    held = np.sort(drawn[~np.isnan(drawn)])
    if scale == "odds":
        inside = np.clip(held, _LEAST, 1 - _LEAST)
        return float(np.std(np.log(inside / (1 - inside)), ddof=1))
    slope = {"share": value * (1 - value), "sum": value, "difference": 1.0}[scale]
    return float(np.std(held, ddof=1)) / slope if slope > 0 and len(held) > 1 else 0.0


def band_around(values: FloatArray, drawn: FloatArray, basis: Basis) -> tuple[FloatArray, FloatArray]:
    """Return the ends that `block_estimate` gives each share of an array of shape (m,); NaN for None."""
    found = [block_estimate(value, column, 1, basis) for value, column in zip(values, drawn.T, strict=True)]
    low, high = np.array([(one.low, one.high) for one in found], dtype=np.float64).reshape(-1, 2).T
    return low, high


def band_of(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return `interval_of` of each column of an array of shape (r, m); NaN for None."""
    ends = [interval_of(column) for column in values.T]
    low, high = np.array(ends, dtype=np.float64).reshape(-1, 2).T
    return low, high


def rate_estimate(count: int, total: int, drawn: FloatArray, basis: Basis) -> Estimate:
    """Make the estimate of a share of counts, with the draws of blocks that it has.

    Draws of few errors vary too little, and not at all without errors. So the interval also covers Wilson's.

    Parameters
    ----------
    drawn : ndarray of shape (r,), float64
        The share in every draw of blocks.
    basis : Basis
        What it rests on; below ten blocks there is no interval.
    """
    return share_estimate(share_of(count, total), drawn, basis)


def share_estimate(share: Estimate, drawn: FloatArray, basis: Basis) -> Estimate:
    """Widen the interval of a share, like `rate_estimate`."""
    blocks = block_estimate(np.nan if share.value is None else share.value, drawn, share.records, basis)
    found = replace(blocks, count=share.count, method="blocks_and_wilson")
    if share.low is None or share.high is None or blocks.low is None or blocks.high is None:
        return found
    return replace(found, low=min(share.low, blocks.low), high=max(share.high, blocks.high))


def half_widths(
    values: FloatArray, drawn: FloatArray, *, floor: FloatArray, enough: BoolArray, blocks: int
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
    blocks : int
        Number of blocks from which is drawn.

    Returns
    -------
    alone, together : ndarray of shape (g, f), float64
        Of each interval alone, and of all groups at once for each of the f values; NaN without enough data.
    """
    absent = np.full(values.shape, np.nan)
    if not len(drawn) or not enough.any():
        return absent, absent
    moved = np.where(enough & np.isfinite(drawn), drawn - np.where(enough, values, 0.0), 0.0)
    spread = np.mean(moved**2, axis=0) * blocks / (blocks - 1)
    errors = np.sqrt(np.where(enough, np.maximum(spread, floor), 1.0))
    missing = np.sqrt(np.where(enough, np.maximum(floor - spread, 0.0), 0.0))
    noise = np.random.default_rng(0).standard_normal(drawn.shape)
    deviations = np.abs(moved + noise * missing) / errors
    alone = np.quantile(deviations, CONFIDENCE, axis=0)
    together = np.maximum(np.quantile(deviations.max(axis=1), CONFIDENCE, axis=0), alone)
    return np.where(enough, alone * errors, np.nan), np.where(enough, together * errors, np.nan)


def differing(
    values: FloatArray, drawn: FloatArray, *, floor: FloatArray, enough: BoolArray, blocks: int
) -> FloatArray:
    """Return differences of shares with the ends of their intervals, as `half_widths` makes them.

    Returns
    -------
    ndarray of shape (5, g, f), float64
        Values; ends of the intervals alone; ends of those of all groups at once. Ends are in [-1, 1].
    """
    alone, together = half_widths(values, drawn, floor=floor, enough=enough, blocks=blocks)
    ends = np.stack([values - alone, values + alone, values - together, values + together])
    return np.concatenate([values[None], np.clip(ends, -1, 1)])
