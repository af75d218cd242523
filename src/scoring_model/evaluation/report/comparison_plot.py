"""The plots of a comparison as matplotlib axes, each alone."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.contract.outcome import Outcome
from scoring_model.evaluation.comparison_result import ComparisonResult
from scoring_model.evaluation.report.names import is_decimal
from scoring_model.evaluation.report.plot import NothingToDraw, Plots
from scoring_model.evaluation.report.plots.comparison import (
    add_champion,
    draw_differences,
    draw_flips,
    draw_scores,
)
from scoring_model.evaluation.report.style import FRAUD, GENUINE, given_axes, require_libraries
from scoring_model.figures import FIGURES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scoring_model.evaluation.flips import Flip

OUTCOME_WORDS = {Outcome.PASSED: "passed", Outcome.STEPPED_UP: "stepped up", Outcome.FAILED: "failed"}


class ComparisonPlots:
    """The plots of one comparison. Each draws in `ax`, or in new axes, and returns the axes.

    Parameters
    ----------
    comparison : ComparisonResult

    Raises
    ------
    MissingExtra
        Without matplotlib, which the extra ``[train]`` brings.
    """

    def __init__(self, comparison: ComparisonResult) -> None:
        require_libraries()
        self._comparison = comparison

    def differences(self, figures: Sequence[str] = (), ax: "Axes | None" = None) -> "Axes":
        """Draw differences of figures with their intervals, in hundredths: for shares, percentage points.

        Parameters
        ----------
        figures : sequence of str
            Names; by default those of the ranking. Figures without a difference are left out.
        """
        found = self._comparison.differences
        chosen = [
            name
            for name in figures or (name for name in found if FIGURES[name].of_ranking)
            if found[name].value is not None
        ]
        if not chosen:
            raise NothingToDraw("differences: the records lack a class")
        with given_axes(ax) as drawn:
            draw_differences(
                drawn,
                names=[FIGURES[name].title for name in chosen],
                values=_numbers([found[name].value for name in chosen]),
                ends=(
                    _numbers([found[name].low for name in chosen]),
                    _numbers([found[name].high for name in chosen]),
                ),
                tones=[tone_of(name, found[name].low, found[name].high) for name in chosen],
                unit="hundredths" if any(map(is_decimal, chosen)) else "percentage points",
            )
        return drawn

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
        table = next((one for one in self._comparison.groups if one.column == column), None)
        if table is None:
            raise NothingToDraw(f"changes: no column {column!r}; pass it as by=[...] to the comparison")
        groups = table.groups[:top]
        changes = [group.changes[rate] for group in groups]
        enough = [change.simultaneous_low is not None for change in changes]
        with given_axes(ax) as drawn:
            draw_differences(
                drawn,
                names=[group.value for group in groups],
                values=_numbers(
                    [change.value if held else None for change, held in zip(changes, enough, strict=True)]
                ),
                ends=(
                    _numbers([change.simultaneous_low for change in changes]),
                    _numbers([change.simultaneous_high for change in changes]),
                ),
                tones=[
                    tone_of(rate, change.simultaneous_low, change.simultaneous_high) for change in changes
                ],
                unit="percentage points",
            )
        return drawn

    def flips(self, fraud: bool = False, ax: "Axes | None" = None) -> "Axes":
        """Draw how many records of one class get another outcome a day, by kind of flip.

        Parameters
        ----------
        fraud : bool
            Whether to draw frauds instead of genuine records.
        """
        flips = self._comparison.flips
        if not flips:
            raise NothingToDraw("flips: no record has another outcome")
        daily = [flip.daily_frauds if fraud else flip.daily_genuine for flip in flips]
        with given_axes(ax) as drawn:
            draw_flips(
                drawn,
                names=[flip_name(flip) for flip in flips],
                daily=_plain([one.value for one in daily]),
                ends=(_plain([one.low for one in daily]), _plain([one.high for one in daily])),
                colour=FRAUD if fraud else GENUINE,
                title="Frauds" if fraud else "Genuine",
            )
        return drawn

    def roc(self, ax: "Axes | None" = None) -> "Axes":
        """Draw both ROC curves: the challenger's with its band and operating points, the champion's dashed."""
        curve = self._comparison.champion.curves.roc
        with given_axes(ax) as drawn:
            Plots(self._comparison.challenger).roc(drawn)
            add_champion(drawn, curve.x, curve.y)
        return drawn

    def scores(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the scores of single records under both models, at most 3,000 of each class, drawn at random."""
        champion, challenger = self._comparison.champion, self._comparison.challenger
        if not len(champion.records):
            raise NothingToDraw("scores: there are no records")
        with given_axes(ax) as drawn:
            draw_scores(
                drawn,
                champion=champion.records.decisions.scores,
                challenger=challenger.records.decisions.scores,
                frauds=champion.records.labels == 1,
                thresholds=(champion.curves.thresholds.chosen, challenger.curves.thresholds.chosen),
            )
        return drawn


def flip_name(flip: "Flip") -> str:
    """Name a kind of flip."""
    return f"{OUTCOME_WORDS[flip.champion].capitalize()} → {OUTCOME_WORDS[flip.challenger]}"


def tone_of(figure: str, low: float | None, high: float | None) -> str:
    """Say whether an interval of a difference lies on the better or the worse side of 0, or on neither."""
    wanted = FIGURES[figure].better
    if low is None or high is None or low <= 0 <= high or wanted is None:
        return ""
    return "better" if (low > 0) == (wanted == "more") else "worse"


def _numbers(values: Sequence[float | None]) -> FloatArray:
    """Return hundredths; NaN for None."""
    return 100 * _plain(values)


def _plain(values: Sequence[float | None]) -> FloatArray:
    return np.array(values, dtype=np.float64)
