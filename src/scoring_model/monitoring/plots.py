"""The plots of a monitored window as matplotlib axes, each alone."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from scoring_model.evaluation.report.plot import NothingToDraw
from scoring_model.evaluation.report.scales import percent, shortened, tick
from scoring_model.evaluation.report.style import (
    ACCENT,
    BAND,
    FRAUD,
    GENUINE,
    INK,
    MUTED,
    given_axes,
    require_libraries,
)
from scoring_model.figures import FIGURES
from scoring_model.monitoring.result import MonitoringResult

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
    """

    def __init__(self, monitoring: MonitoringResult) -> None:
        require_libraries()
        self._monitoring = monitoring

    def drift(self, ax: "Axes | None" = None, *, top: int = 15) -> "Axes":
        """Draw the statistics of the subjects that moved most, and their limit."""
        drift = self._monitoring.drift
        if drift.limit is None:
            raise NothingToDraw("drift: differences have no limit, since the bundle holds no counts by day")
        shown = drift.subjects[:top][::-1]
        with given_axes(ax) as drawn:
            drawn.barh(
                range(len(shown)),
                [one.statistic for one in shown],
                color=[FRAUD if one.found else MUTED for one in shown],
                height=0.6,
            )
            drawn.set_yticks(range(len(shown)), [shortened(one.name) for one in shown])
            drawn.axvline(drift.limit, color=ACCENT, lw=1.4)
            drawn.set_xlim(0, 1.08 * max(drift.limit, shown[-1].statistic))
            drawn.set_xlabel("Largest difference of a share, in standard errors")
            drawn.set_title(
                f"limit {drift.limit:.1f}", loc="right", color=ACCENT, fontsize=9.5, fontweight="normal"
            )
        return drawn

    def contributors(self, ax: "Axes | None" = None, *, top: int = 10) -> "Axes":
        """Draw the features that move the mean margin most."""
        found = self._monitoring.drift.contributors[:top][::-1]
        if not found:
            raise NothingToDraw("contributors: the window or the bundle holds no contributions of features")
        with given_axes(ax) as drawn:
            drawn.barh(
                range(len(found)),
                [one.shift for one in found],
                color=[FRAUD if one.shift > 0 else GENUINE for one in found],
                height=0.6,
            )
            drawn.set_yticks(range(len(found)), [shortened(one.name) for one in found])
            drawn.axvline(0.0, color=INK, lw=0.8)
            drawn.locator_params(axis="x", nbins=5)
            drawn.set_xlabel("Shift of the mean margin, in log-odds")
        return drawn

    def estimated(self, error: str, ax: "Axes | None" = None) -> "Axes":
        """Draw one error of the policy, estimated and realised, period by period.

        Parameters
        ----------
        error : {"false_reject", "step_up", "missed_fraud"}
        """
        periods = self._monitoring.estimates.periods
        if not periods:
            raise NothingToDraw(f"estimated: {self._monitoring.estimates.reason}")
        limit = {one.bound: one.limit for one in self._monitoring.promises}.get(f"max_{error}")
        estimated = [
            (one.value, one.low, one.high) for one in (period.estimated[error] for period in periods)
        ]
        realised = [
            (one.share, one.low, one.high) if (one := period.realised.get(error)) else (None, None, None)
            for period in periods
        ]
        with given_axes(ax) as drawn:
            _draw_series(drawn, estimated, colour=MUTED, shift=-_SHIFT, label="estimated")
            _draw_series(drawn, realised, colour=INK, shift=_SHIFT, label="realised")
            highs = [high for _, _, high in (*estimated, *realised) if high is not None]
            drawn.set_ylim(0, min(1.08 * max([limit or 0.0, *highs]), 1.03) or 1.0)
            _draw_limit(drawn, limit)
            drawn.set_xlim(-0.6, len(periods) - 0.4)
            step = -(-len(periods) // 6)
            drawn.set_xticks(range(0, len(periods), step), [period.since for period in periods[::step]])
            drawn.yaxis.set_major_formatter(lambda value, _: tick(value))
            drawn.locator_params(axis="y", nbins=4)
            drawn.set_title(FIGURES[error].title, loc="left", fontsize=10.5)
            drawn.legend(loc="best", fontsize=8.5, frameon=False)
        return drawn


def _draw_series(
    ax: "Axes",
    values: Sequence[tuple[float | None, float | None, float | None]],
    *,
    colour: str,
    shift: float,
    label: str,
) -> None:
    """Draw value, low and high of each period; a period without a value is left out."""
    known = [(place + shift, *one) for place, one in enumerate(values) if one[0] is not None]
    table = np.array(known, dtype=np.float64).reshape(-1, 4)
    ax.vlines(table[:, 0], table[:, 2], table[:, 3], color=colour, lw=4, alpha=2.5 * BAND)
    ax.plot(table[:, 0], table[:, 1], "o", color=colour, ms=4, label=label)


def _draw_limit(ax: "Axes", limit: float | None) -> None:
    """Draw what the policy promises."""
    if limit is not None:
        ax.axhline(limit, color=ACCENT, lw=1.4)
        text = f"promised: at most {percent(limit)}"
        ax.set_title(text, loc="right", color=ACCENT, fontsize=9.5, fontweight="normal")
