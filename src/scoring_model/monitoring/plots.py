"""The plots of a monitored window as matplotlib axes, each alone."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from scoring_model.estimates import Estimate
from scoring_model.evaluation.report.plots.stability import draw_limit
from scoring_model.evaluation.report.style import (
    ACCENT,
    BAND,
    FRAUD,
    GENUINE,
    INK,
    LIMIT,
    MUTED,
    SMALL,
    TITLE,
    NothingToDraw,
    drawn,
    require_libraries,
    row_names,
    share_ticks,
    with_ends,
)
from scoring_model.evaluation.report.words import on_two_lines
from scoring_model.figures import FIGURES
from scoring_model.monitoring.drift import Drift
from scoring_model.monitoring.early import Estimates
from scoring_model.monitoring.result import MonitoringResult, PromiseBasis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHIFT: Final = 0.16  # of realised beside estimated, in periods


class MonitoringPlots:
    """The plots of one window. Each draws in `ax`, or in new axes, and returns the axes.

    Parameters
    ----------
    monitoring : MonitoringResult

    Raises
    ------
    MissingExtra
        Without matplotlib, which the extra ``[train]`` brings.
    NothingToDraw
        From a plot whose numbers the window lacks.
    """

    def __init__(self, monitoring: MonitoringResult) -> None:
        require_libraries()
        self._of = monitoring

    def drift(self, ax: "Axes | None" = None, *, top: int = 15) -> "Axes":
        """Draw the statistics of the subjects that moved most, and their limit."""
        return drawn(ax, draw_drift, self._of.drift, top)

    def contributors(self, ax: "Axes | None" = None, *, top: int = 10) -> "Axes":
        """Draw the features that move the mean margin most."""
        return drawn(ax, draw_contributors, self._of.drift, top)

    def estimated(self, error: str, ax: "Axes | None" = None) -> "Axes":
        """Draw one error of the policy, estimated and realised, period by period.

        Parameters
        ----------
        error : {"false_reject", "step_up", "missed_fraud"}
        """
        return drawn(ax, draw_estimated, error, self._of.estimates, self._of.promises)


def draw_drift(ax: "Axes", drift: Drift, top: int) -> None:
    """Draw the statistics of the subjects that moved most, each over its limit."""
    if not drift.limits:
        raise NothingToDraw("drift: differences have no limit")
    shown = drift.subjects[:top]
    ratios = [one.statistic / (one.limit or 1.0) for one in shown]
    _draw_bars(ax, [one.name for one in shown], ratios, [FRAUD if one.found else MUTED for one in shown])
    ax.axvline(1, color=ACCENT, lw=1.4)
    ax.set_xlim(0, 1.08 * max(1.0, ratios[0]))
    ax.set_xlabel("Largest difference of a share, over its limit")
    ax.set_title("limit", **LIMIT)


def draw_contributors(ax: "Axes", drift: Drift, top: int) -> None:
    """Draw the features that move the mean margin most."""
    shown = drift.contributors[:top]
    if not shown:
        raise NothingToDraw("contributors: the window or the bundle holds no contributions of features")
    colours = [FRAUD if one.shift > 0 else GENUINE for one in shown]
    _draw_bars(ax, [one.name for one in shown], [one.shift for one in shown], colours)
    ax.axvline(0.0, color=INK, lw=0.8)
    ax.locator_params(axis="x", nbins=5)
    ax.set_xlabel("Shift of the mean margin, in log-odds")


def _draw_bars(ax: "Axes", names: Sequence[str], values: Sequence[float], colours: Sequence[str]) -> None:
    """Draw bars, the first at the top."""
    places = range(len(names))
    ax.barh(places, values[::-1], color=colours[::-1], height=0.6)
    row_names(ax, [on_two_lines(name) for name in names[::-1]], places)


def draw_estimated(ax: "Axes", error: str, estimates: Estimates, promises: Sequence[PromiseBasis]) -> None:
    """Draw one error of the policy, estimated and realised, period by period."""
    periods = estimates.periods
    if not periods:
        raise NothingToDraw(f"estimated: {estimates.reason}")
    limit = {one.bound: one.limit for one in promises}.get(str(FIGURES[error].bound))
    series = (
        ("estimated", MUTED, -_SHIFT, [period.estimated[error] for period in periods]),
        ("realised", INK, _SHIFT, [period.realised.get(error) for period in periods]),
    )
    for label, colour, shift, values in series:
        _draw_series(ax, values, colour=colour, shift=shift, label=label)
    highs = [one.high or 0.0 for *_, values in series for one in values if one is not None]
    ax.set_ylim(0, min(1.08 * max([limit or 0.0, *highs]), 1.03) or 1.0)
    draw_limit(ax, limit)
    ax.set_xlim(-0.6, len(periods) - 0.4)
    step = -(-len(periods) // 6)
    ax.set_xticks(range(0, len(periods), step), [period.since for period in periods[::step]])
    share_ticks(ax, "y")
    ax.locator_params(axis="y", nbins=4)
    ax.set_title(FIGURES[error].title, loc="left", fontsize=TITLE)
    ax.legend(loc="best", fontsize=SMALL, frameon=False)


def _draw_series(
    ax: "Axes", values: Sequence[Estimate | None], *, colour: str, shift: float, label: str
) -> None:
    """Draw value, low and high of each period; a period without a value is left out."""
    known = {
        place + shift: one for place, one in enumerate(values) if one is not None and one.value is not None
    }
    shares, lows, highs = with_ends(known.values())
    ax.vlines(list(known), lows, highs, color=colour, lw=4, alpha=2.5 * BAND)
    ax.plot(list(known), shares, "o", color=colour, ms=4, label=label)
