"""How sure the metrics are, which stand for all records together: intervals from whole days."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.evaluation.blocks import DAY, Interval, draw_days, interval_of
from scoring_model.evaluation.metrics import log_losses, squared_errors
from scoring_model.evaluation.ranking import Ranking

REPEATS: Final = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Uncertainty:
    """95 % intervals of metrics, from days drawn with replacement.

    The expected calibration error has none: it is a mean of distances, which drawing again makes larger.

    Parameters
    ----------
    roc_auc, average_precision, brier, log_loss : Interval
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
        return {
            "roc_auc": self.roc_auc.to_json(),
            "average_precision": self.average_precision.to_json(),
            "brier": self.brier.to_json(),
            "log_loss": self.log_loss.to_json(),
            "recall_at_fpr": {f"{limit:g}": recall.to_json() for limit, recall in self.recalls.items()},
        }


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
        Without ends where there are fewer than ten days, or never a class that a metric needs.
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
    """Of the mean over the records; each day is summed in ascending order, so that theirs does not matter."""
    order = np.lexsort((losses, day_of))
    sums, records = np.bincount(day_of[order], losses[order]), np.bincount(day_of)
    return interval_of(float(draw @ sums / (draw @ records)) for draw in draws)
