"""Figures with intervals: shares of counts, and percentiles of draws."""

import math
from dataclasses import asdict, dataclass, replace
from statistics import NormalDist
from typing import Any, Final, Self

import numpy as np

from scoring_model.arrays import FloatArray

CONFIDENCE: Final = 0.95


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """A count of a total, with a 95 % interval for the share behind it.

    Parameters
    ----------
    count, total : int
        0 <= count <= total.
    share, low, high : float or None
        In [0, 1], low <= share <= high; None when the total is 0.
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
    z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
    share = count / total
    centre = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(share * (1 - share) / total + (z / (2 * total)) ** 2)
    # At the ends the formula gives 0 and 1 but for rounding.
    low = 0.0 if count == 0 else centre - half
    high = 1.0 if count == total else centre + half
    return Share(count=count, total=total, share=share, low=low, high=high)


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
    share, blocks = share_of(count, total), interval_of(drawn)
    if share.low is None or share.high is None or blocks.low is None or blocks.high is None:
        return Estimate(value=share.share, low=None, high=None, records=total)
    low, high = min(share.low, blocks.low), max(share.high, blocks.high)
    return Estimate(value=share.share, low=low, high=high, records=total)
