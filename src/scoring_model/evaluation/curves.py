"""Curves of an evaluation as small arrays, for plots."""

from collections.abc import Mapping
from dataclasses import dataclass

from scoring_model.arrays import FloatArray, IntArray


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
    certified : tuple of (range, range) or None
        The step_up_from and the fail_from that keep all promises (every ordered pair of the two does); None if
        unknown, since a bundle holds only the chosen pair.
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
    certified: tuple[range, range] | None
    limits: Mapping[str, float]
    genuine: int
    frauds: int


@dataclass(frozen=True, kw_only=True)
class Curves:
    """The curves of one evaluation; each is computed when first read.

    Parameters
    ----------
    records : EvaluatedRecords
    rules : DecisionRules
    costs : CostSettings or None
    certified : tuple of (range, range) or None
        As in `ThresholdMap`.
    """

    records: EvaluatedRecords
    rules: DecisionRules
    costs: CostSettings | None
    certified: tuple[range, range] | None

    @cached_property
    def scores(self) -> ScoreHistogram:
        """Records by score and class."""
        raise NotImplementedError

    @cached_property
    def roc(self) -> Band:
        """Recall (y) by false positive rate (x, 61 points from 10^-4 to 1 in equal steps of the logarithm)."""
        raise NotImplementedError

    @cached_property
    def precision_recall(self) -> Band:
        """Precision (y) of the highest threshold that reaches a recall (x, 100 points from 0.01 to 1)."""
        raise NotImplementedError

    @cached_property
    def capacity(self) -> Band:
        """Recall (y) when the K riskiest records of each day are reviewed (x: K, 1 to the records of the fullest day).

        `records` counts all evaluated records.
        """
        raise NotImplementedError

    @cached_property
    def reliability(self) -> Reliability:
        """Predicted against recalibrated probability."""
        raise NotImplementedError

    @cached_property
    def thresholds(self) -> ThresholdMap:
        """Results of other thresholds."""
        raise NotImplementedError

    @cached_property
    def weeks(self) -> Mapping[str, Measures]:
        """Measures by week (Monday to Sunday in UTC): first day `YYYY-MM-DD`, ascending; weeks without records are out."""
        raise NotImplementedError
