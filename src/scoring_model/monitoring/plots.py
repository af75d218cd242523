"""The plots of a monitored window as matplotlib axes, each alone."""

from typing import TYPE_CHECKING, Final

import numpy as np

from scoring_model.evaluation.report.plot import TITLES, NothingToDraw
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

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scoring_model.monitoring.monitoring import Monitoring

_SHIFT: Final = 0.16  # of realised beside estimated, in periods


class MonitoringPlots:
    """The plots of one window. Each draws in `ax`, or in new axes, and returns the axes.

    Parameters
    ----------
    monitoring : Monitoring

    Raises
    ------
    MissingExtra
        Without matplotlib, which the extra ``[train]`` brings.
    """

    def __init__(self, monitoring: "Monitoring") -> None:
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
        with given_axes(ax) as drawn:
            highest = limit or 0.0
            for colour, shift, name in ((MUTED, -_SHIFT, "estimated"), (INK, _SHIFT, "realised")):
                found = [getattr(period, name).get(error) for period in periods]
                values = [getattr(one, "value", getattr(one, "share", None)) for one in found]
                known = [place for place, value in enumerate(values) if value is not None]
                places = np.array(known, dtype=np.float64) + shift
                ends = [(found[place].low or 0.0, found[place].high or 0.0) for place in known]
                drawn.vlines(
                    places,
                    [low for low, _ in ends],
                    [high for _, high in ends],
                    color=colour,
                    lw=4,
                    alpha=2.5 * BAND,
                )
                drawn.plot(places, [values[place] for place in known], "o", color=colour, ms=4, label=name)
                highest = max([highest, *(high for _, high in ends)])
            if limit is not None:
                drawn.axhline(limit, color=ACCENT, lw=1.4)
                drawn.set_title(
                    f"promised: at most {percent(limit)}",
                    loc="right",
                    color=ACCENT,
                    fontsize=9.5,
                    fontweight="normal",
                )
            drawn.set_ylim(0, min(1.08 * highest, 1.03) or 1.0)
            drawn.set_xlim(-0.6, len(periods) - 0.4)
            step = -(-len(periods) // 6)
            drawn.set_xticks(range(0, len(periods), step), [period.since for period in periods[::step]])
            drawn.yaxis.set_major_formatter(lambda value, _: tick(value))
            drawn.locator_params(axis="y", nbins=4)
            drawn.set_title(TITLES[error], loc="left", fontsize=10.5)
            drawn.legend(loc="best", fontsize=8.5, frameon=False)
        return drawn
