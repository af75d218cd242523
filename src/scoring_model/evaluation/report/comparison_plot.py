"""The plots of a comparison as matplotlib axes, each alone."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scoring_model.evaluation.comparison_result import ComparisonResult
from scoring_model.evaluation.report.plots.comparison import (
    draw_both_roc,
    draw_changes,
    draw_differences,
    draw_flips,
    draw_scores,
)
from scoring_model.evaluation.report.style import NothingToDraw, drawn, require_libraries

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ComparisonPlots:
    """The plots of one comparison. Each draws in `ax`, or in new axes, and returns the axes.

    Parameters
    ----------
    comparison : ComparisonResult

    Raises
    ------
    MissingExtra
        Without matplotlib, which the extra ``[train]`` brings.
    NothingToDraw
        From a plot whose numbers the comparison lacks.
    """

    def __init__(self, comparison: ComparisonResult) -> None:
        require_libraries()
        self._of = comparison

    def differences(self, figures: Sequence[str] = (), ax: "Axes | None" = None) -> "Axes":
        """Draw differences of figures with their intervals, in hundredths: for shares, percentage points.

        Parameters
        ----------
        figures : sequence of str
            Names; by default those of the ranking. Figures without a difference are left out.
        """
        return drawn(ax, draw_differences, self._of.judged, figures)

    def changes(self, column: str, rate: str, ax: "Axes | None" = None, *, top: int = 20) -> "Axes":
        """Draw the change of one rate in the groups of one column, with intervals that hold for all groups at once.

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
            raise NothingToDraw(f"changes: no column {column!r}; pass it as by=[...] to the comparison")
        return drawn(ax, draw_changes, table.groups[:top], rate)

    def flips(self, fraud: bool = False, ax: "Axes | None" = None) -> "Axes":
        """Draw how many records of one class get another outcome a day, by kind of flip.

        Parameters
        ----------
        fraud : bool
            Whether to draw frauds instead of genuine records.
        """
        return drawn(ax, draw_flips, self._of.flips, fraud=fraud)

    def roc(self, ax: "Axes | None" = None) -> "Axes":
        """Draw both ROC curves: the challenger's with its band and operating points, the champion's dashed."""
        return drawn(ax, draw_both_roc, self._of)

    def scores(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the scores of single records under both models, at most 3,000 of each class, drawn at random."""
        return drawn(ax, draw_scores, self._of)
