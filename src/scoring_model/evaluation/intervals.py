"""Shares of counts, with intervals."""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

CONFIDENCE = 0.95


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
        return {
            "count": self.count,
            "total": self.total,
            "share": self.share,
            "low": self.low,
            "high": self.high,
        }


def share_of(count: int, total: int) -> Share:
    """Share of a count, with Wilson's score interval (1927, doi 10.1080/01621459.1927.10502953).

    Parameters
    ----------
    count, total : int
        0 <= count <= total.

    Returns
    -------
    Share

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
