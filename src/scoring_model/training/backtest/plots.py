"""The plots of a backtest as matplotlib axes, each alone."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.evaluation import Estimate
from scoring_model.evaluation.report import NothingToDraw
from scoring_model.evaluation.report.plot import COLOURS
from scoring_model.evaluation.report.plots.stability import draw_weeks
from scoring_model.evaluation.report.scales import tick
from scoring_model.evaluation.report.style import (
    ACCENT,
    FRAUD,
    GENUINE,
    INK,
    MUTED,
    given_axes,
    require_libraries,
)
from scoring_model.evaluation.stability import Verdict
from scoring_model.figures import FIGURES
from scoring_model.training.backtest.calendar import day_text
from scoring_model.training.backtest.result import BacktestResult

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
    """

    def __init__(self, backtest: BacktestResult) -> None:
        require_libraries()
        self._backtest = backtest

    def promise(self, cadence: str, bound: str, ax: "Axes | None" = None) -> "Axes":
        """Draw the errors that one promise bounds by period; crosses are broken promises.

        Parameters
        ----------
        cadence : str
            Such as ``1m``.
        bound : {"max_false_reject", "max_step_up", "max_missed_fraud"}
        """
        found = [one for one in self._backtest.promises if (one.cadence, one.bound) == (cadence, bound)]
        if not found:
            raise NothingToDraw(f"there is no promise {bound} of the cadence {cadence}")
        days = np.array([one.period for one in found], dtype="datetime64[D]")
        error = bound.removeprefix("max_")
        shares = _numbers([one.share.share for one in found])
        with given_axes(ax) as drawn:
            draw_weeks(
                drawn,
                weeks=days,
                shares=shares,
                band=(
                    _numbers([one.share.low for one in found]),
                    _numbers([one.share.high for one in found]),
                ),
                colour=COLOURS[error],
                title=FIGURES[error].title,
                overall=None,
                limit=found[0].limit,
            )
            broken = np.array([one.verdict is Verdict.BROKEN for one in found])
            drawn.plot(days[broken], shares[broken], ls="", marker="x", ms=9, mew=2, color=INK)
        return drawn

    def cadences(self, figure: str, ax: "Axes | None" = None) -> "Axes":
        """Draw the difference of one figure between each pair of cadences."""
        pairs = [pair for pair in self._backtest.differences if figure in pair.figures]
        if not pairs:
            raise NothingToDraw(f"the cadences have no figure {figure}")
        values, low, high = _ends([pair.figures[figure] for pair in pairs])
        places = np.arange(len(pairs))[::-1]
        with given_axes(ax) as drawn:
            drawn.axvline(0, color=MUTED, lw=1)
            drawn.hlines(places, low, high, color=ACCENT, lw=3, alpha=0.5)
            drawn.plot(values, places, ls="", marker="o", ms=5, color=ACCENT)
            drawn.set_yticks(places, [f"{pair.cadence} minus {pair.against}" for pair in pairs])
            drawn.set_ylim(-0.6, len(pairs) - 0.4)
            drawn.grid(visible=False, axis="y")
            drawn.locator_params(axis="x", nbins=5)
            if figure not in ("cost", "log_loss", "roc_auc"):
                drawn.xaxis.set_major_formatter(lambda value, _: tick(value))
        return drawn

    def models(self, figure: str = RECALL, ax: "Axes | None" = None) -> "Axes":
        """Draw one figure by period: of the first model, kept, and of models trained just before each period."""
        models = [model for model in self._backtest.models if model.figures[figure] is not None]
        if not models:
            raise NothingToDraw(f"no period has the figure {figure}")
        first = min(model.as_of for model in models)
        with given_axes(ax) as drawn:
            for label, (colour, marker, line), chosen in (
                ("trained just before", _STYLES[0], [model for model in models if model.age == 0]),
                ("the first model, kept", _STYLES[1], [model for model in models if model.as_of == first]),
            ):
                days = np.array([model.period for model in chosen], dtype="datetime64[D]")
                values = _numbers([model.figures[figure] for model in chosen])
                drawn.plot(days, values, color=colour, marker=marker, ls=line, ms=4, label=label)
            drawn.set_ylim(bottom=0)
            drawn.yaxis.set_major_formatter(lambda value, _: tick(value))
            _month_ticks(drawn, sorted({model.period for model in models}))
            drawn.legend()
        return drawn

    def ageing(self, figure: str = RECALL, ax: "Axes | None" = None) -> "Axes":
        """Draw what a figure of a model of each age is above that of a fresh one in the same periods."""
        if not self._backtest.ageing:
            raise NothingToDraw("no period was decided by two models")
        ages = np.array([aged.age for aged in self._backtest.ageing])
        values, low, high = _ends([aged.figures[figure] for aged in self._backtest.ageing])
        with given_axes(ax) as drawn:
            drawn.axhline(0, color=MUTED, lw=1)
            drawn.vlines(ages, low, high, color=ACCENT, lw=3, alpha=0.5)
            drawn.plot(ages, values, color=ACCENT, marker="o", ms=5, lw=1)
            drawn.set_xlabel(f"Age of the model, {self._backtest.unit}s")
            drawn.set_xticks(ages[:: -(-len(ages) // 12)])
            drawn.yaxis.set_major_formatter(lambda value, _: tick(value))
        return drawn

    def learning(self, figure: str = RECALL, ax: "Axes | None" = None) -> "Axes":
        """Draw one figure by the length of the train part, counted back from its end, for some folds."""
        points = [point for point in self._backtest.learning if point.figures[figure] is not None]
        if not points:
            raise NothingToDraw("no model of a shorter history was fitted")
        with given_axes(ax) as drawn:
            for place, as_of in enumerate(sorted({point.as_of for point in points})):
                chosen = [point for point in points if point.as_of == as_of]
                colour, marker, line = _STYLES[place % len(_STYLES)]
                values = _numbers([point.figures[figure] for point in chosen])
                shares = [point.share for point in chosen]
                label = f"as of {day_text(as_of)}"
                drawn.plot(shares, values, color=colour, marker=marker, ls=line, ms=5, label=label)
            drawn.set_xscale("log", base=2)
            ticks = sorted({point.share for point in points})
            drawn.set_xticks(ticks, [tick(share) for share in ticks])
            drawn.set_xlabel("Share of the train part, counted back from its end")
            drawn.set_ylim(bottom=0)
            drawn.yaxis.set_major_formatter(lambda value, _: tick(value))
            drawn.legend()
        return drawn

    def families(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the share of each family of features in the contributions of each model."""
        shares = family_shares(self._backtest)
        if not shares:
            raise NothingToDraw("no record was explained")
        days = [day_text(as_of) for as_of in shares]
        names = list(dict.fromkeys(name for found in shares.values() for name in found))
        with given_axes(ax) as drawn:
            for place, name in enumerate(names):
                colour, marker, line = _STYLES[place % len(_STYLES)]
                values = [found.get(name, 0.0) for found in shares.values()]
                drawn.plot(
                    np.array(days, dtype="datetime64[D]"), values, color=colour, marker=marker, ls=line, ms=4,
                    label=name,
                )  # fmt: skip
            _month_ticks(drawn, days)
            drawn.set_ylim(bottom=0)
            drawn.yaxis.set_major_formatter(lambda value, _: tick(value))
            drawn.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.12))
        return drawn


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


def _numbers(values: Sequence[float | None]) -> FloatArray:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _ends(found: Sequence[Estimate]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return values and ends of intervals."""
    return (
        _numbers([one.value for one in found]),
        _numbers([one.low for one in found]),
        _numbers([one.high for one in found]),
    )
