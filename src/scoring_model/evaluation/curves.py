"""Curves of an evaluation as small arrays, for plots."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.bundle import ScoreCounts
from scoring_model.configuration import CostSettings
from scoring_model.decision.rules import NEVER_REACHED, Policy
from scoring_model.decision.scale import MAX_SCORE
from scoring_model.evaluation.cost import at_or_above, expected_cost
from scoring_model.evaluation.decomposition import Reliability, measure_reliability
from scoring_model.evaluation.draws import Basis, Draws
from scoring_model.evaluation.evaluated_records import EvaluatedRecords
from scoring_model.evaluation.figures import DailyQueues, drawn_rankings
from scoring_model.evaluation.measures import Measures, measure_periods
from scoring_model.evaluation.metrics import RankCounts, Ranking, divide
from scoring_model.evaluation.uncertainty import band_around
from scoring_model.records.times import DAY

FALSE_POSITIVE_RATES: Final = np.logspace(-4, 0, 61)
RECALLS: Final = np.arange(1, 101) / 100
_BIN: Final = 10
_CAPACITY_POINTS: Final = 60


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ScoreHistogram:
    """Records by score and class.

    Parameters
    ----------
    edges : ndarray of shape (102,), int64
        Scores 0, 10, ..., 1000, 1001: bin i holds the scores from edges[i] to edges[i + 1] - 1.
    genuine, frauds : ndarray of shape (101,), int64
        Numbers of records.
    """

    edges: IntArray
    genuine: IntArray
    frauds: IntArray

    @property
    def records(self) -> int:
        """Number of records."""
        return int(self.genuine.sum() + self.frauds.sum())


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Band:
    """A curve with its pointwise 95 % band from whole days drawn with replacement.

    Parameters
    ----------
    x : ndarray of shape (m,), float64, ascending
        The grid.
    y : ndarray of shape (m,), float64
        NaN where the records do not give it.
    low, high : ndarray of shape (m,), float64
        NaN with fewer than ten days.
    records : int
        Records that the curve rests on.
    frauds : int
        Frauds among them.
    """

    x: FloatArray
    y: FloatArray
    low: FloatArray
    high: FloatArray
    records: int
    frauds: int


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ThresholdMap:
    """What other thresholds would have done to the evaluated records.

    Rates depend on one threshold each, so they are arrays over `thresholds`; a map is drawn by broadcasting: the
    step-up threshold along one axis and the fail threshold along the other, where step_up_from <= fail_from.

    Parameters
    ----------
    thresholds : ndarray of shape (t,), int64, ascending, 1 to 1001
        Every 10 points, and the chosen pair; 1001 is never reached.
    step_up : ndarray of shape (t,), float64
        Share of genuine records that step_up_from = t steps up or fails. NaN without genuine records.
    missed_fraud : ndarray of shape (t,), float64
        Share of frauds that step_up_from = t passes. NaN without frauds.
    false_reject : ndarray of shape (t,), float64
        Share of genuine records that fail_from = t fails. NaN without genuine records.
    stepped_up : ndarray of shape (t, t), float64
        Share of all records that the pair (row: step_up_from, column: fail_from) steps up; NaN where
        step_up_from > fail_from.
    cost : ndarray of shape (t, t), float64, or None
        Expected cost of an applicant, same shape; None if the policy has no costs.
    chosen : tuple of (int, int)
        step_up_from and fail_from of the policy.
    limits : mapping of str to float
        Promised limits by name: `max_false_reject`, `max_step_up`, `max_missed_fraud`.
    genuine, frauds : int
        Records that the map rests on.
    """

    thresholds: IntArray
    step_up: FloatArray
    missed_fraud: FloatArray
    false_reject: FloatArray
    stepped_up: FloatArray
    cost: FloatArray | None
    chosen: tuple[int, int]
    limits: Mapping[str, float]
    genuine: int
    frauds: int


@dataclass(frozen=True, kw_only=True)
class Curves:
    """The curves of one evaluation; each is computed when first read.

    Parameters
    ----------
    records : EvaluatedRecords
    draws : Draws
    policy : Policy
    costs : CostSettings or None
    counts : ScoreCounts or None
        Counts of the records that certified the policy; None where they are not at hand.
    """

    records: EvaluatedRecords
    draws: Draws
    policy: Policy
    costs: CostSettings | None
    counts: ScoreCounts | None

    @cached_property
    def scores(self) -> ScoreHistogram:
        """Records by score and class."""
        edges = np.append(np.arange(0, MAX_SCORE + 1, _BIN), MAX_SCORE + 1)
        genuine, frauds = (np.histogram(self._scores(label), edges)[0] for label in (0, 1))
        return ScoreHistogram(edges=edges, genuine=genuine, frauds=frauds)

    @cached_property
    def roc(self) -> Band:
        """Recall (y) by false positive rate (x: 61 points from 0.0001 to 1 in equal steps of the logarithm)."""
        return self._ranking_bands[0]

    @cached_property
    def precision_recall(self) -> Band:
        """Precision (y) of the highest threshold that reaches a recall (x: 100 points from 0.01 to 1)."""
        return self._ranking_bands[1]

    @cached_property
    def _ranking_bands(self) -> tuple[Band, Band]:
        ranking = Ranking.of(self.records.decisions.margins, self.records.labels)
        points = len(FALSE_POSITIVE_RATES)

        def values(counts: RankCounts) -> FloatArray:
            recalls, precisions = (
                counts.at_fpr(FALSE_POSITIVE_RATES)[0],
                counts.precision_at_recall(RECALLS),
            )
            return np.concatenate([recalls, precisions], axis=-1)

        drawn = [np.empty((0, points + len(RECALLS))), *map(values, drawn_rankings(ranking, self.draws))]
        found = values(ranking.counts)
        low, high = band_around(found, np.concatenate(drawn), self._basis)
        roc, precision_recall = (
            self._band(x, found[part], low[part], high[part])
            for x, part in ((FALSE_POSITIVE_RATES, slice(points)), (RECALLS, slice(points, None)))
        )
        return roc, precision_recall

    @cached_property
    def capacity(self) -> Band:
        """Recall (y) when the K riskiest records of each day are reviewed (x: K, from 1 to the fullest day's records).

        Only evaluated records stand in the queues; y is NaN where one of them stands for others, who queued too.
        """
        queues = DailyQueues.of(self.records, self.draws)
        capacities = np.unique(np.geomspace(1, max(queues.longest, 1), _CAPACITY_POINTS).round())
        caught = np.stack([queues.caught(int(capacity)) for capacity in capacities], axis=-1)
        frauds = self.draws.totals(self.records.labels.astype(np.float64))
        drawn = divide(self.draws.drawn(caught), self.draws.drawn(frauds)[:, None])
        known = 1.0 if self.records.weights is None else np.nan
        shares = divide(caught.sum(axis=0), frauds.sum()) * known
        return self._band(capacities, shares, *band_around(shares, drawn, self._basis))

    @cached_property
    def reliability(self) -> Reliability:
        """Predicted against recalibrated probability."""
        return measure_reliability(self.records, self.draws)

    @cached_property
    def thresholds(self) -> ThresholdMap:
        """Results of other thresholds."""
        genuine, frauds = self._scores(0), self._scores(1)
        chosen = (self.policy.step_up_from, self.policy.fail_from)
        grid = np.unique([1, *range(_BIN, NEVER_REACHED, _BIN), NEVER_REACHED, *chosen])
        flagged, caught = at_or_above(genuine)[grid - 1], at_or_above(frauds)[grid - 1]
        flagged_share, caught_share = (
            divide(flagged, np.array(len(genuine))),
            divide(caught, np.array(len(frauds))),
        )
        either = flagged + caught
        ordered = grid[:, None] <= grid[None, :]
        between = divide(either[:, None] - either[None, :], np.array(len(self.records)))
        cost = None
        if self.costs is not None and len(self.records):
            parts = expected_cost(genuine, frauds, self.costs)
            cost = np.where(
                ordered, parts.step_up_parts[grid - 1][:, None] + parts.fail_parts[grid - 1][None, :], np.nan
            )
        return ThresholdMap(
            thresholds=grid,
            step_up=flagged_share,
            missed_fraud=1 - caught_share,
            false_reject=flagged_share,
            stepped_up=np.where(ordered, between, np.nan),
            cost=cost,
            chosen=chosen,
            limits={promise.bound: promise.limit for promise in self.policy.promises},
            genuine=len(genuine),
            frauds=len(frauds),
        )

    @cached_property
    def certified(self) -> tuple[range, range] | None:
        """The step_up_from and the fail_from that are certified: every ordered pair of the two keeps all promises.

        None without promises or counts. It needs SciPy, which the extra ``[train]`` brings.
        """
        if self.counts is None or not self.policy.promises:
            return None
        from scoring_model.evaluation.bounds import certified_thresholds

        return certified_thresholds(self.counts, self.policy.promises)

    @cached_property
    def weeks(self) -> Mapping[str, Measures]:
        """Measures by week (Monday to Sunday in UTC): first day `YYYY-MM-DD`, ascending; empty weeks are left out."""
        days = self.records.event_times // DAY
        mondays = days - (days + 3) % 7  # 1970-01-01 was a Thursday
        return measure_periods(self.records, mondays.astype("datetime64[D]"))

    @property
    def _basis(self) -> Basis:
        """What figures of frauds rest on."""
        return self.draws.basis(self.draws.totals(self.records.labels.astype(np.float64)))

    def _scores(self, label: int) -> IntArray:
        scores: IntArray = self.records.decisions.scores[self.records.labels == label]
        return scores

    def _band(self, x: FloatArray, y: FloatArray, low: FloatArray, high: FloatArray) -> Band:
        return Band(
            x=x,
            y=y,
            low=low,
            high=high,
            records=len(self.records),
            frauds=int(np.count_nonzero(self.records.labels == 1)),
        )
