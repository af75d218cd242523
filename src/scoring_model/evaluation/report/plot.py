"""The plots of an evaluation as matplotlib axes, each alone."""

from typing import TYPE_CHECKING

from scoring_model.evaluation.report.plots.groups import draw_groups
from scoring_model.evaluation.report.plots.importance import (
    draw_beeswarm,
    draw_dependence,
    draw_weights,
    measured,
)
from scoring_model.evaluation.report.plots.ranking import draw_capacity, draw_precision_recall, draw_roc
from scoring_model.evaluation.report.plots.reliability import draw_reliability
from scoring_model.evaluation.report.plots.scores import draw_score_distribution
from scoring_model.evaluation.report.plots.stability import draw_periods
from scoring_model.evaluation.report.plots.thresholds import draw_threshold_map
from scoring_model.evaluation.report.style import NothingToDraw, drawn, require_libraries
from scoring_model.evaluation.result import EvaluationResult
from scoring_model.figures import FIGURES

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Plots:
    """The plots of one evaluation. Each draws in `ax`, or in new axes, and returns the axes.

    Parameters
    ----------
    evaluation : EvaluationResult

    Raises
    ------
    MissingExtra
        Without matplotlib, which the extra ``[train]`` brings.
    NothingToDraw
        From a plot whose numbers the evaluation lacks.
    """

    def __init__(self, evaluation: EvaluationResult) -> None:
        require_libraries()
        self._of = evaluation

    def threshold_map(self, ax: "Axes | None" = None) -> "Axes":
        """Draw what each pair of thresholds does: step-up rate, missed frauds, cost, the chosen pair."""
        return drawn(ax, draw_threshold_map, self._of.curves.thresholds, self._of.curves.certified)

    def score_distribution(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the numbers of genuine records and frauds by score, per 100,000 applicants."""
        return drawn(ax, draw_score_distribution, self._of.curves.scores, self._of.curves.thresholds.chosen)

    def roc(self, ax: "Axes | None" = None) -> "Axes":
        """Draw recall against the false positive rate, which is logarithmic."""
        return drawn(ax, draw_roc, self._of.curves.roc, self._of.overall)

    def precision_recall(self, ax: "Axes | None" = None) -> "Axes":
        """Draw precision, which is logarithmic, against recall."""
        return drawn(ax, draw_precision_recall, self._of.curves.precision_recall, self._of.overall)

    def capacity(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the recall of reviewing the K riskiest applications of each day."""
        return drawn(ax, draw_capacity, self._of.curves.capacity, stopped_a_day(self._of))

    def reliability(self, ax: "Axes | None" = None) -> "Axes":
        """Draw predicted against observed shares of frauds, with consistency bands (CORP)."""
        return drawn(ax, draw_reliability, self._of.curves.reliability)

    def weeks(self, error: str, ax: "Axes | None" = None) -> "Axes":
        """Draw one error of the policy by week.

        Parameters
        ----------
        error : {"false_reject", "step_up", "missed_fraud"}
        """
        return drawn(ax, draw_weeks, self._of, error)

    def groups(self, column: str, rate: str, ax: "Axes | None" = None, *, top: int = 20) -> "Axes":
        """Draw one rate of the groups of one column.

        Parameters
        ----------
        column : str
            One of the columns of `by`.
        rate : str
            One of `GROUP_RATES` of `scoring_model.evaluation.groups`.
        top : int
            Number of groups to draw, those with the most records.
        """
        table = next((one for one in self._of.groups if one.column == column), None)
        if table is None:
            raise NothingToDraw(f"groups: no column {column!r}; pass it as by=[...] to the evaluation")
        return drawn(ax, draw_groups, rate, table.groups[:top], self._of.figures[rate].value)

    def families(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the mean absolute contribution of each family of features."""
        return drawn(ax, draw_weights, measured(self._of.importance).families)

    def features(self, ax: "Axes | None" = None, *, top: int = 15) -> "Axes":
        """Draw the mean absolute contribution of the heaviest features."""
        return drawn(ax, draw_weights, measured(self._of.importance).features[:top])

    def beeswarm(self, ax: "Axes | None" = None, *, top: int = 12) -> "Axes":
        """Draw the contributions of the heaviest features to single records."""
        return drawn(ax, draw_beeswarm, measured(self._of.importance), top)

    def dependence(self, feature: str, ax: "Axes | None" = None) -> "Axes":
        """Draw the contribution of one feature against its value."""
        return drawn(ax, draw_dependence, measured(self._of.importance), feature)


def draw_weeks(ax: "Axes", evaluation: EvaluationResult, error: str) -> None:
    """Draw one error of the policy by week, with its promise."""
    limits = {row.bound: row.limit for row in evaluation.stability}
    draw_periods(
        ax,
        error,
        {week: measures.figures[error] for week, measures in evaluation.curves.weeks.items()},
        overall=evaluation.overall.figures[error].value,
        limit=limits.get(str(FIGURES[error].bound)),
    )


def stopped_a_day(evaluation: EvaluationResult) -> float:
    """Return the records that are not passed, on the mean day with records."""
    share = evaluation.figures["passed"].value or 0.0
    return (1 - share) * evaluation.overall.records / max(evaluation.days, 1)
