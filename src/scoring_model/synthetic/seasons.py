"""When verifications happen: growth, seasons, weekdays and hours of the day as one cumulative intensity."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from scoring_model.arrays import FloatArray, IntArray

_GROWTH = 0.5
_BY_MONTH = np.array([0.97, 0.90, 0.96, 0.94, 0.98, 1.02, 0.95, 0.88, 1.12, 1.04, 1.16, 1.24])
_BY_WEEKDAY = np.array([1.10, 1.12, 1.08, 1.06, 1.04, 0.84, 0.76])
_BY_HOUR = np.array([40, 28, 20, 18, 20, 30, 48, 72, 98, 118, 128, 130, 126, 128, 132, 130])
_BY_EVENING_HOUR = np.array([126, 120, 118, 116, 110, 96, 76, 56])


@dataclass(frozen=True, kw_only=True, slots=True)
class Calendar:
    """The period of a history and the share of its records up to any instant.

    Parameters
    ----------
    edges : ndarray of shape (hours + 1,), int64
        Starts of the hours and the end, microseconds since 1970 UTC.
    shares : ndarray of shape (hours + 1,), float64
        Share of the records before each edge, from 0 to 1.
    """

    edges: IntArray
    shares: FloatArray

    @classmethod
    def over(cls, start: str, months: int) -> Self:
        """Lay out `months` whole months from the day `start` (YYYY-MM-DD, UTC)."""
        first = np.datetime64(start, "D")
        month = first.astype("datetime64[M]")
        into_month = first - month.astype("datetime64[D]")
        last = (month + np.timedelta64(months, "M")).astype("datetime64[D]") + into_month
        end = last.astype("datetime64[h]") + np.timedelta64(1, "h")
        hours = np.arange(first.astype("datetime64[h]"), end)
        weights = _hour_weights(hours[:-1])
        total = np.cumsum(weights)
        return cls(
            edges=hours.astype("datetime64[us]").astype(np.int64),
            shares=np.concatenate([[0.0], total / total[-1]]),
        )

    @property
    def start(self) -> int:
        """First instant, microseconds."""
        return int(self.edges[0])

    @property
    def end(self) -> int:
        """Instant after the last, microseconds."""
        return int(self.edges[-1])

    def instants(self, shares: FloatArray) -> IntArray:
        """Instants (microseconds, in [start, end)) before which these shares of the records lie."""
        instants = np.interp(shares, self.shares, self.edges - self.start).astype(np.int64) + self.start
        return np.minimum(instants, self.end - 1)

    def progress(self, instants: IntArray) -> FloatArray:
        """Return the elapsed share of the period at each instant, in [0, 1]; it drives all drift."""
        return np.clip((instants - self.start) / (self.end - self.start), 0.0, 1.0)


def _hour_weights(hours: np.typing.NDArray[np.datetime64]) -> FloatArray:
    since = hours.astype(np.int64)
    month = hours.astype("datetime64[M]").astype(np.int64) % 12
    weekday = (since // 24 + 3) % 7  # 1970-01-01 was a Thursday
    by_hour = np.concatenate([_BY_HOUR, _BY_EVENING_HOUR])
    growth = 1.0 + _GROWTH * np.arange(len(hours)) / len(hours)
    weights: FloatArray = growth * _BY_MONTH[month] * _BY_WEEKDAY[weekday] * by_hour[since % 24]
    return weights
