"""The plots of an evaluation as matplotlib axes, each alone."""

from typing import TYPE_CHECKING, Final

import numpy as np

from scoring_model.contract.outcome import Outcome
from scoring_model.evaluation.importance import Importance, Weight
from scoring_model.evaluation.report.plots.groups import draw_groups
from scoring_model.evaluation.report.plots.importance import (
    draw_beeswarm,
    draw_dependence,
    draw_importance,
)
from scoring_model.evaluation.report.plots.ranking import draw_capacity, draw_precision_recall, draw_roc
from scoring_model.evaluation.report.plots.reliability import draw_reliability
from scoring_model.evaluation.report.plots.scores import draw_score_distribution
from scoring_model.evaluation.report.plots.stability import draw_weeks
from scoring_model.evaluation.report.plots.thresholds import draw_threshold_map
from scoring_model.evaluation.report.style import FRAUD, GENUINE, given_axes, require_libraries
from scoring_model.evaluation.result import EvaluationResult
from scoring_model.evaluation.uncertainty import Share
from scoring_model.figures import FIGURES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scoring_model.evaluation.curves import Band

COLOURS: Final = {
    "false_reject": GENUINE,
    "step_up": GENUINE,
    "missed_fraud": FRAUD,
    "passed": GENUINE,
    "stepped_up": GENUINE,
    "failed": GENUINE,
}
"""Colour of each rate: that of the class that it concerns, genuine for rates of all records."""


class NothingToDraw(ValueError):
    """The evaluation lacks the numbers of a plot."""


class Plots:
    """The plots of one evaluation. Each draws in `ax`, or in new axes, and returns the axes.

    Parameters
    ----------
    evaluation : EvaluationResult

    Raises
    ------
    MissingExtra
        Without matplotlib, which the extra ``[train]`` brings.
    """

    def __init__(self, evaluation: EvaluationResult) -> None:
        require_libraries()
        self._evaluation = evaluation

    def threshold_map(self, ax: "Axes | None" = None) -> "Axes":
        """Draw what each pair of thresholds does: step-up rate, missed frauds, cost, the chosen pair."""
        found = self._evaluation.curves.thresholds
        self._need(found.genuine and found.frauds, "both classes")
        with given_axes(ax) as drawn:
            draw_threshold_map(
                drawn,
                thresholds=found.thresholds,
                step_up=found.step_up,
                missed=found.missed_fraud,
                cost=found.cost,
                chosen=found.chosen,
                certified=self._evaluation.curves.certified,
            )
        return drawn

    def score_distribution(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the numbers of genuine records and frauds by score, per 100,000 applicants."""
        found = self._evaluation.curves.scores
        self._need(found.records, "records")
        with given_axes(ax) as drawn:
            draw_score_distribution(
                drawn,
                edges=found.edges,
                genuine=found.genuine,
                frauds=found.frauds,
                thresholds=self._evaluation.curves.thresholds.chosen,
            )
        return drawn

    def roc(self, ax: "Axes | None" = None) -> "Axes":
        """Draw recall against the false positive rate, which is logarithmic."""
        overall, found = self._evaluation.overall, self._evaluation.curves.roc
        self._need(overall.genuine and overall.frauds, "both classes")
        least = 10.0 ** max(np.floor(np.log10(1 / overall.genuine)), -4.0)
        with given_axes(ax) as drawn:
            draw_roc(
                drawn,
                false_positive_rates=found.x,
                recalls=found.y,
                band=_ends(found),
                operating=self._operating("roc"),
                least=float(least),
            )
        return drawn

    def precision_recall(self, ax: "Axes | None" = None) -> "Axes":
        """Draw precision, which is logarithmic, against recall."""
        overall, found = self._evaluation.overall, self._evaluation.curves.precision_recall
        self._need(overall.genuine and overall.frauds, "both classes")
        with given_axes(ax) as drawn:
            draw_precision_recall(
                drawn,
                recalls=found.x,
                precisions=found.y,
                band=_ends(found),
                operating=self._operating("precision_recall"),
                prevalence=overall.frauds / overall.records,
            )
        return drawn

    def capacity(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the recall of reviewing the K riskiest applications of each day."""
        overall, found = self._evaluation.overall, self._evaluation.curves.capacity
        self._need(overall.frauds, "frauds")
        with given_axes(ax) as drawn:
            draw_capacity(
                drawn,
                reviews=found.x,
                recalls=found.y,
                band=_ends(found),
                stepped_up=self.not_passed_a_day,
            )
        return drawn

    def reliability(self, ax: "Axes | None" = None) -> "Axes":
        """Draw predicted against observed shares of frauds, with consistency bands (CORP)."""
        self._need(self._evaluation.overall.records, "records")
        found = self._evaluation.curves.reliability
        with given_axes(ax) as drawn:
            draw_reliability(
                drawn,
                predicted=found.predicted,
                recalibrated=found.recalibrated,
                grid=found.grid,
                low=found.low,
                high=found.high,
                bin_edges=found.bin_edges,
                genuine=found.genuine,
                frauds=found.frauds,
            )
        return drawn

    def weeks(self, error: str, ax: "Axes | None" = None) -> "Axes":
        """Draw one error of the policy by week.

        Parameters
        ----------
        error : {"false_reject", "step_up", "missed_fraud"}
        """
        weeks = self._evaluation.curves.weeks
        self._need(weeks, "records")
        shares: list[Share] = [getattr(measures, error) for measures in weeks.values()]
        overall: Share = getattr(self._evaluation.overall, error)
        limits = {row.bound: row.limit for row in self._evaluation.stability}
        with given_axes(ax) as drawn:
            draw_weeks(
                drawn,
                weeks=np.array(list(weeks), dtype="datetime64[D]"),
                shares=np.array([_number(share.share) for share in shares]),
                band=(
                    np.array([_number(share.low) for share in shares]),
                    np.array([_number(share.high) for share in shares]),
                ),
                colour=COLOURS[error],
                title=FIGURES[error].title,
                overall=overall.share,
                limit=limits.get(f"max_{error}"),
            )
        return drawn

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
        table = next((found for found in self._evaluation.groups if found.column == column), None)
        if table is None:
            raise NothingToDraw(f"groups: no column {column!r}; pass it as by=[...] to the evaluation")
        shown = table.groups[:top]
        rates = [group.rates[rate] for group in shown]
        overall = self._evaluation.figures.get(rate)
        with given_axes(ax) as drawn:
            draw_groups(
                drawn,
                names=[group.value for group in shown],
                shares=[found.estimate.value if found.enough else None for found in rates],
                ends=[(found.estimate.low, found.estimate.high) for found in rates],
                colour=COLOURS[rate],
                title=FIGURES[rate].title,
                overall=None if overall is None else overall.value,
            )
        return drawn

    def families(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the mean absolute contribution of each family of features."""
        return self._bars(self._importance.families, ax)

    def features(self, ax: "Axes | None" = None, *, top: int = 15) -> "Axes":
        """Draw the mean absolute contribution of the heaviest features."""
        return self._bars(self._importance.features[:top], ax)

    def beeswarm(self, ax: "Axes | None" = None, *, top: int = 12) -> "Axes":
        """Draw the contributions of the heaviest features to single records."""
        found = self._importance
        with given_axes(ax) as drawn:
            draw_beeswarm(
                drawn,
                names=[weight.name for weight in found.features[:top]],
                values=found.values[:, :top],
                categorical=[weight.categorical for weight in found.features[:top]],
                contributions=found.contributions[:, :top],
            )
        return drawn

    def dependence(self, feature: str, ax: "Axes | None" = None) -> "Axes":
        """Draw the contribution of one feature against its value."""
        found = self._importance
        place = [weight.name for weight in found.features].index(feature)
        with given_axes(ax) as drawn:
            draw_dependence(
                drawn,
                name=feature,
                unit=found.features[place].unit,
                values=found.values[:, place],
                contributions=found.contributions[:, place],
            )
        return drawn

    @property
    def not_passed_a_day(self) -> float:
        """Records that are not passed, on the mean day with records."""
        evaluation = self._evaluation
        share = evaluation.figures["passed"].value or 0.0
        return (1 - share) * evaluation.overall.records / max(evaluation.days, 1)

    @property
    def _importance(self) -> Importance:
        found = self._evaluation.importance
        if found is None:
            raise NothingToDraw(
                "importance: the evaluation explained no records; decisions that were made earlier "
                "come without the values of features"
            )
        return found

    def _bars(self, weights: tuple[Weight, ...], ax: "Axes | None") -> "Axes":
        ends = [(weight.weight.low, weight.weight.high) for weight in weights]
        low, high = (np.array([_number(end[side]) for end in ends]) for side in (0, 1))
        with given_axes(ax) as drawn:
            draw_importance(
                drawn,
                names=[weight.name for weight in weights],
                means=np.array([weight.weight.value for weight in weights]),
                ends=(low, high) if np.isfinite(low).all() else None,
            )
        return drawn

    def _operating(self, curve: str) -> tuple[tuple[str, float, float], ...]:
        """Return the points of the policy on a curve; thresholds that no score reaches have none."""
        overall = self._evaluation.overall
        found = []
        for name, genuine, frauds in (
            ("stepped up or failed", overall.step_up.count, overall.frauds - overall.missed_fraud.count),
            ("failed", overall.false_reject.count, self._failed_frauds),
        ):
            if not genuine + frauds:
                continue
            recall = frauds / overall.frauds
            point = (
                (genuine / overall.genuine, recall)
                if curve == "roc"
                else (recall, frauds / (genuine + frauds))
            )
            found.append((name, *point))
        return tuple(found)

    @property
    def _failed_frauds(self) -> int:
        return self._evaluation.overall.fraud_outcomes[Outcome.FAILED].count

    def _need(self, present: object, what: str) -> None:
        if not present:
            raise NothingToDraw(f"the evaluated records lack {what}")


def _ends(band: "Band") -> tuple[np.ndarray, np.ndarray] | None:
    return None if np.isnan(band.low).all() else (band.low, band.high)


def _number(value: float | None) -> float:
    return np.nan if value is None else value
