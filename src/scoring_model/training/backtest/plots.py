"""The plots of a backtest as matplotlib axes, each alone."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.evaluation.report.plots.stability import draw_periods
from scoring_model.evaluation.report.style import (
    ACCENT,
    FRAUD,
    GENUINE,
    INK,
    MUTED,
    NothingToDraw,
    drawn,
    numbers,
    require_libraries,
    row_names,
    share_ticks,
    with_ends,
)
from scoring_model.evaluation.report.words import is_decimal, tick
from scoring_model.evaluation.stability import Verdict
from scoring_model.figures import bounded
from scoring_model.training.backtest.calendar import day_text
from scoring_model.training.backtest.result import (
    Ageing,
    BacktestResult,
    CadenceDifference,
    LearningPoint,
    ModelPeriod,
    PromiseMonth,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RECALL: Final = "recall_at_fpr_0.01"
_STYLES: Final = (
    (ACCENT, "o", "-"),
    (FRAUD, "s", "--"),
    (GENUINE, "^", "-"),
    (INK, "D", ":"),
    (MUTED, "v", "-."),
    (FRAUD, "x", ":"),
    (GENUINE, "P", "--"),
)


class BacktestPlots:
    """The plots of one backtest. Each draws in `ax`, or in new axes, and returns the axes.

    Raises
    ------
    MissingExtra
        Without matplotlib, which the extra ``[train]`` brings.
    NothingToDraw
        From a plot whose numbers the backtest lacks.
    """

    def __init__(self, backtest: BacktestResult) -> None:
        require_libraries()
        self._of = backtest

    def promise(self, cadence: str, bound: str, ax: "Axes | None" = None) -> "Axes":
        """Draw the errors that one promise bounds by period; crosses are broken promises.

        Parameters
        ----------
        cadence : str
            Such as ``1m``.
        bound : {"max_false_reject", "max_step_up", "max_missed_fraud"}
        """
        periods = [one for one in self._of.promises if (one.cadence, one.bound) == (cadence, bound)]
        if not periods:
            raise NothingToDraw(f"there is no promise {bound} of the cadence {cadence}")
        return drawn(ax, draw_promise, periods)

    def cadences(self, figure: str, ax: "Axes | None" = None) -> "Axes":
        """Draw the difference of one figure between each pair of cadences."""
        return drawn(ax, draw_cadences, self._of.differences, figure)

    def models(self, figure: str = RECALL, ax: "Axes | None" = None) -> "Axes":
        """Draw one figure by period: of the first model, kept, and of models trained just before each period."""
        return drawn(ax, draw_models, self._of.models, figure)

    def ageing(self, figure: str = RECALL, ax: "Axes | None" = None) -> "Axes":
        """Draw what a figure of a model of each age is above that of a fresh one in the same periods."""
        return drawn(ax, draw_ageing, self._of.ageing, figure, self._of.unit)

    def learning(self, figure: str = RECALL, ax: "Axes | None" = None) -> "Axes":
        """Draw one figure by the length of the train part, counted back from its end, for some folds."""
        return drawn(ax, draw_learning, self._of.learning, figure)

    def families(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the share of each family of features in the contributions of each model."""
        return drawn(ax, draw_families, self._of)


def draw_promise(ax: "Axes", periods: Sequence[PromiseMonth]) -> None:
    """Draw the errors that one promise bounds by period; crosses are broken promises."""
    draw_periods(
        ax,
        bounded(periods[0].bound).key,
        {one.period: one.share for one in periods},
        limit=periods[0].limit,
    )
    broken = [one for one in periods if one.verdict is Verdict.BROKEN]
    days = np.array([one.period for one in broken], dtype="datetime64[D]")
    ax.plot(days, numbers([one.share.value for one in broken]), ls="", marker="x", ms=9, mew=2, color=INK)


def draw_cadences(ax: "Axes", differences: Sequence[CadenceDifference], figure: str) -> None:
    """Draw the difference of one figure between each pair of cadences."""
    pairs = [pair for pair in differences if figure in pair.figures]
    if not pairs:
        raise NothingToDraw(f"the cadences have no figure {figure}")
    values, low, high = with_ends(pair.figures[figure] for pair in pairs)
    places = np.arange(len(pairs))[::-1]
    ax.axvline(0, color=MUTED, lw=1)
    ax.hlines(places, low, high, color=ACCENT, lw=3, alpha=0.5)
    ax.plot(values, places, ls="", marker="o", ms=5, color=ACCENT)
    row_names(ax, [f"{pair.cadence} minus {pair.against}" for pair in pairs], places)
    ax.locator_params(axis="x", nbins=5)
    if not is_decimal(figure):
        share_ticks(ax, "x")


def draw_models(ax: "Axes", models: Sequence[ModelPeriod], figure: str) -> None:
    """Draw one figure by period: of the first model, kept, and of models trained just before each period."""
    known = [model for model in models if model.figures[figure] is not None]
    if not known:
        raise NothingToDraw(f"no period has the figure {figure}")
    first = min(model.as_of for model in known)
    for label, style, chosen in (
        ("trained just before", _STYLES[0], [model for model in known if model.age == 0]),
        ("the first model, kept", _STYLES[1], [model for model in known if model.as_of == first]),
    ):
        values = numbers([model.figures[figure] for model in chosen])
        _draw_line(ax, [model.period for model in chosen], values, style, label)
    ax.set_ylim(bottom=0)
    share_ticks(ax, "y")
    _month_ticks(ax, sorted({model.period for model in known}))
    ax.legend()


def _draw_line(
    ax: "Axes", days: Sequence[str], values: FloatArray, style: tuple[str, str, str], label: str
) -> None:
    colour, marker, line = style
    ax.plot(
        np.array(days, dtype="datetime64[D]"), values, color=colour, marker=marker, ls=line, ms=4, label=label
    )


def draw_ageing(ax: "Axes", ageing: Sequence[Ageing], figure: str, unit: str) -> None:
    """Draw what a figure of a model of each age is above that of a fresh one in the same periods."""
    if not ageing:
        raise NothingToDraw("no period was decided by two models")
    ages = np.array([aged.age for aged in ageing])
    values, low, high = with_ends(aged.figures[figure] for aged in ageing)
    ax.axhline(0, color=MUTED, lw=1)
    ax.vlines(ages, low, high, color=ACCENT, lw=3, alpha=0.5)
    ax.plot(ages, values, color=ACCENT, marker="o", ms=5, lw=1)
    ax.set_xlabel(f"Age of the model, {unit}s")
    ax.set_xticks(ages[:: -(-len(ages) // 12)])
    share_ticks(ax, "y")


def draw_learning(ax: "Axes", learning: Sequence[LearningPoint], figure: str) -> None:
    """Draw one figure by the length of the train part, counted back from its end, for some folds."""
    points = [point for point in learning if point.figures[figure] is not None]
    if not points:
        raise NothingToDraw("no model of a shorter history was fitted")
    for place, as_of in enumerate(sorted({point.as_of for point in points})):
        chosen = [point for point in points if point.as_of == as_of]
        colour, marker, line = _STYLES[place % len(_STYLES)]
        values = numbers([point.figures[figure] for point in chosen])
        shares = [point.share for point in chosen]
        label = f"as of {day_text(as_of)}"
        ax.plot(shares, values, color=colour, marker=marker, ls=line, ms=5, label=label)
    ax.set_xscale("log", base=2)
    ticks = sorted({point.share for point in points})
    ax.set_xticks(ticks, [tick(share) for share in ticks])
    ax.set_xlabel("Share of the train part, counted back from its end")
    ax.set_ylim(bottom=0)
    share_ticks(ax, "y")
    ax.legend()


def draw_families(ax: "Axes", backtest: BacktestResult) -> None:
    """Draw the share of each family of features in the contributions of each model."""
    shares = family_shares(backtest)
    if not shares:
        raise NothingToDraw("no record was explained")
    days = [day_text(as_of) for as_of in shares]
    for place, name in enumerate(dict.fromkeys(name for folds in shares.values() for name in folds)):
        values = numbers([folds.get(name, 0.0) for folds in shares.values()])
        _draw_line(ax, days, values, _STYLES[place % len(_STYLES)], name)
    _month_ticks(ax, days)
    ax.set_ylim(bottom=0)
    share_ticks(ax, "y")
    ax.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.12))


def family_shares(backtest: BacktestResult) -> dict[int, dict[str, float]]:
    """Return the share of each family in the mean absolute contributions, by instant of the training."""
    found = {}
    for fold in backtest.folds:
        weights = {name: weight.value or 0.0 for name, weight in fold.families.items()}
        if total := sum(weights.values()):
            found[fold.as_of] = {name: weight / total for name, weight in weights.items()}
    return found


def _month_ticks(ax: "Axes", days: Sequence[str]) -> None:
    """Label at most six periods."""
    ticks = list(days)[:: -(-len(days) // 6)]
    ax.set_xticks(np.array(ticks, dtype="datetime64[D]"), [day[:7] for day in ticks])
