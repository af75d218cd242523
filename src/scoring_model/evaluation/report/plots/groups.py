"""One rate of several groups."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from scoring_model.evaluation.groups import Group
from scoring_model.evaluation.report.style import (
    BAND,
    COLOURS,
    DOTTED,
    MUTED,
    SMALL,
    TITLE,
    row_names,
    share_ticks,
)
from scoring_model.evaluation.report.words import shortened
from scoring_model.figures import FIGURES

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_groups(ax: "Axes", rate: str, groups: Sequence[Group], overall: float | None) -> None:
    """Draw one rate of each group with its interval; groups without enough data say so.

    Parameters
    ----------
    overall : float or None
        The rate of all records.
    """
    places, colour = np.arange(len(groups))[::-1], COLOURS[rate]
    highest = overall or 0.0
    for place, group in zip(places, groups, strict=True):
        share = group.rates[rate].estimate
        if share.value is None or not group.rates[rate].enough:
            ax.text(0, place, " not enough data", color=MUTED, va="center", fontsize=SMALL)
            highest = max(highest, share.high or 0.0)
            continue
        if share.low is not None and share.high is not None:
            ax.plot([share.low, share.high], [place, place], color=colour, lw=4, alpha=2 * BAND)
        ax.plot(share.value, place, "o", color=colour, ms=6)
        highest = max(highest, share.high or share.value)
    if overall is not None:
        ax.axvline(overall, color=MUTED, lw=1.2, ls=DOTTED)
    row_names(ax, [shortened(group.value) for group in groups], places)
    ax.set_xlim(0, (highest or 1.0) * 1.06)
    ax.locator_params(axis="x", nbins=5)
    share_ticks(ax, "x")
    ax.set_title(FIGURES[rate].title, fontsize=TITLE)
