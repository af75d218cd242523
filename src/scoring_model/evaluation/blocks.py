"""Intervals from days drawn with replacement: records of one day stay together.

What the records of a day have in common, a campaign or an outage, widens such an interval as it should.

References
----------
Carlstein 1986, doi:10.1214/aos/1176350057, for a bootstrap of blocks; its percentiles are taken.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.evaluation.intervals import CONFIDENCE

MIN_DAYS: Final = 10
"""Fewer days are too few to draw from."""

DAY: Final = 86_400_000_000
"""Microseconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """A 95 % interval.

    Parameters
    ----------
    low, high : float or None
        low <= high; None where nothing can be said.
    """

    low: float | None
    high: float | None

    def to_json(self) -> dict[str, Any]:
        """Give the interval as a JSON document."""
        return {"low": self.low, "high": self.high}


def draw_days(days: int, *, repeats: int) -> Iterator[IntArray]:
    """Draw as many days as there are, again and again.

    Parameters
    ----------
    days : int
    repeats : int

    Yields
    ------
    ndarray of shape (days,), int64
        How often each day is drawn; nothing with fewer than ten days. The same number of days gives the same draws.
    """
    if days < MIN_DAYS:
        return
    generator = np.random.default_rng(0)
    for _ in range(repeats):
        yield np.bincount(generator.integers(0, days, days), minlength=days)


def interval_of(values: Iterable[float | None]) -> Interval:
    """Percentiles of what the draws gave; those that gave nothing are left out.

    Returns
    -------
    Interval
        Of nothing if no draw gave a value.
    """
    found = sorted(value for value in values if value is not None)
    if not found:
        return Interval(low=None, high=None)
    tail = round((1 - CONFIDENCE) / 2 * len(found))
    return Interval(low=found[tail], high=found[-1 - tail])
