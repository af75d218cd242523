"""Intervals: of shares of counts, and of metrics by a bootstrap of whole days."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.evaluation.metrics import Ranking, log_losses, squared_errors

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


MIN_DAYS: Final = 10
"""Minimum number of days for a bootstrap."""

DAY: Final = 86_400_000_000
"""Microseconds."""


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
        Records that it rests on: those of its denominator, such as the frauds for recall.
    """

    value: float | None
    low: float | None
    high: float | None
    records: int

    def to_json(self) -> dict[str, Any]:
        """Give the figure as a JSON document."""
        return asdict(self)


def draw_days(days: int, *, repeats: int) -> Iterator[IntArray]:
    """Yield bootstrap samples of days.

    Yields
    ------
    ndarray of shape (days,), int64
        How often each day is drawn. Yields nothing with fewer than ten days. Draws depend only on the number of days.
    """
    if days < MIN_DAYS:
        return
    generator = np.random.default_rng(0)
    for _ in range(repeats):
        yield np.bincount(generator.integers(0, days, days), minlength=days)


def interval_of(values: Iterable[float | None]) -> Interval:
    """Return percentiles of the values of draws, without None.

    Returns
    -------
    Interval
        Without ends if no draw has a value.
    """
    found = sorted(value for value in values if value is not None)
    if not found:
        return Interval(low=None, high=None)
    tail = round((1 - CONFIDENCE) / 2 * len(found))
    return Interval(low=found[tail], high=found[-1 - tail])


REPEATS: Final = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Uncertainty:
    """95 % intervals of metrics, from days drawn with replacement.

    The expected calibration error has none: it is a mean of distances, which resampling inflates.

    Parameters
    ----------
    recalls : mapping of float to Interval
        By false positive rate.
    """

    roc_auc: Interval
    average_precision: Interval
    brier: Interval
    log_loss: Interval
    recalls: Mapping[float, Interval]

    def to_json(self) -> dict[str, Any]:
        """Give the intervals as a JSON document: the keys of the metrics."""
        plain = asdict(self)
        plain["recall_at_fpr"] = {f"{limit:g}": ends for limit, ends in plain.pop("recalls").items()}
        return plain


def measure_uncertainty(
    margins: FloatArray,
    probabilities: FloatArray,
    labels: NDArray[np.integer],
    event_times: IntArray,
    *,
    limits: Sequence[float],
) -> Uncertainty:
    """Measure metrics on draws of whole days in UTC.

    Parameters
    ----------
    margins, probabilities : ndarray of shape (n,), float64
    labels : ndarray of shape (n,), 1 fraud, 0 genuine
    event_times : ndarray of shape (n,), int64
        Microseconds since 1970-01-01 UTC.
    limits : sequence of float
        False positive rates at which recall is measured.

    Returns
    -------
    Uncertainty
        Without ends if there are fewer than ten days, or a metric lacks a class in every draw.
    """
    days, day_of = np.unique(event_times // DAY, return_inverse=True)
    draws = list(draw_days(len(days), repeats=REPEATS))
    ranking = Ranking.of(margins, labels)

    def ranked(draw: IntArray) -> list[float | None]:
        drawn = ranking.weighted(draw[day_of])
        return [drawn.roc_auc(), drawn.average_precision(), *map(drawn.recall_at_fpr, limits)]

    areas, precisions, *recalls = zip(*map(ranked, draws), strict=True) if draws else [()] * (2 + len(limits))
    return Uncertainty(
        roc_auc=interval_of(areas),
        average_precision=interval_of(precisions),
        brier=_interval_of_mean(squared_errors(probabilities, labels), day_of, draws),
        log_loss=_interval_of_mean(log_losses(probabilities, labels), day_of, draws),
        recalls={limit: interval_of(found) for limit, found in zip(limits, recalls, strict=True)},
    )


def _interval_of_mean(losses: FloatArray, day_of: IntArray, draws: Sequence[IntArray]) -> Interval:
    """Return the interval of a mean over records; days are summed in ascending order, so record order is irrelevant."""
    order = np.lexsort((losses, day_of))
    sums, records = np.bincount(day_of[order], losses[order]), np.bincount(day_of)
    return interval_of(float(draw @ sums / (draw @ records)) for draw in draws)
