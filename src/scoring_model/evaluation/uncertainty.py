"""Figures with intervals: shares of counts, and percentiles of draws.

Decision record: docs/adr/0021-intervals-and-groups.md.
"""

import math
from dataclasses import asdict, dataclass, replace
from statistics import NormalDist
from typing import Any, Final, Self

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray

CONFIDENCE: Final = 0.95


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """A count of a total, with a 95 % interval for the share behind it.

    Parameters
    ----------
    count, total : int
        0 <= count <= total.
    share, low, high : float or None
        In [0, 1], low <= share <= high; None when the total is 0. Where records stand for others, the share is that of
        their weights, not `count` / `total`.
    """

    count: int
    total: int
    share: float | None
    low: float | None
    high: float | None

    def to_json(self) -> dict[str, Any]:
        """Give the share as a JSON document."""
        return asdict(self)


def share_of(count: int, total: int) -> Share:
    """Share of a count, with Wilson's score interval (1927, doi 10.1080/01621459.1927.10502953).

    Examples
    --------
    >>> share_of(0, 10).low
    0.0
    """
    if total == 0:
        return Share(count=0, total=0, share=None, low=None, high=None)
    low, high = _wilson(count / total, total)
    return Share(count=count, total=total, share=count / total, low=low, high=high)


def weighted_share(errors: BoolArray, weights: FloatArray, *, heaviest: float) -> Share:
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
    >>> weighted_share(np.array([True, False]), np.array([1.0, 3.0]), heaviest=3.0).share
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
    return Share(count=count, total=total, share=share, low=low, high=high)


def _wilson(share: float, total: float) -> tuple[float, float]:
    """Return the ends of Wilson's interval."""
    z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
    centre = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(share * (1 - share) / total + (z / (2 * total)) ** 2)
    # At the ends the formula gives 0 and 1 but for rounding.
    return (0.0 if share == 0 else centre - half), (1.0 if share == 1 else centre + half)


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """A 95 % interval.

    Parameters
    ----------
    low, high : float or None
        low <= high; None where it is unknown.
    """

    low: float | None
    high: float | None

    def to_json(self) -> dict[str, Any]:
        """Give the interval as a JSON document."""
        return {"low": self.low, "high": self.high}


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """A figure with its 95 % interval from whole days drawn with replacement.

    Parameters
    ----------
    value : float or None
        None where the records do not give it, such as recall without a fraud.
    low, high : float or None
        low <= high; None with fewer than ten days, or where the figure has no interval.
    records : int
        Records that it rests on: those of its denominator, such as the genuine ones for a false-reject rate; for
        figures of the ranking, the frauds.
    """

    value: float | None
    low: float | None
    high: float | None
    records: int

    def times(self, factor: float) -> Self:
        """Return the same figure in another unit."""
        value, low, high = (
            None if one is None else one * factor for one in (self.value, self.low, self.high)
        )
        return replace(self, value=value, low=low, high=high)

    def to_json(self) -> dict[str, Any]:
        """Give the figure as a JSON document."""
        return asdict(self)


def interval_of(values: FloatArray) -> Interval:
    """Return percentiles of the values of draws.

    Parameters
    ----------
    values : ndarray of shape (r,), float64
        NaN in a draw that has none.

    Returns
    -------
    Interval
        Without ends if no draw has a value.
    """
    found = np.sort(values[~np.isnan(values)])
    if not len(found):
        return Interval(low=None, high=None)
    tail = round((1 - CONFIDENCE) / 2 * len(found))
    return Interval(low=float(found[tail]), high=float(found[-1 - tail]))


def band_of(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return `interval_of` of each column of an array of shape (r, m); NaN for None."""
    ends = [interval_of(column) for column in values.T]
    low, high = (np.array([getattr(end, name) for end in ends], dtype=np.float64) for name in ("low", "high"))
    return low, high


def rate_estimate(count: int, total: int, drawn: FloatArray) -> Estimate:
    """Make the estimate of a share of counts.

    Draws of few errors vary too little, and not at all without errors. So the interval also covers Wilson's.

    Parameters
    ----------
    drawn : ndarray of shape (r,), float64
        The share in every draw of days; without any, the estimate has no interval.
    """
    return share_estimate(share_of(count, total), drawn)


def share_estimate(share: Share, drawn: FloatArray) -> Estimate:
    """Make the estimate of a share, like `rate_estimate`."""
    blocks = interval_of(drawn)
    if share.low is None or share.high is None or blocks.low is None or blocks.high is None:
        return Estimate(value=share.share, low=None, high=None, records=share.total)
    low, high = min(share.low, blocks.low), max(share.high, blocks.high)
    return Estimate(value=share.share, low=low, high=high, records=share.total)
