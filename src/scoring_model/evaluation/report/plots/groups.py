"""One rate of several groups."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from scoring_model.evaluation.report.scales import tick
from scoring_model.evaluation.report.style import BAND, MUTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW: Final = 0.27
"""Height of one group in inches."""


def draw_groups(
    ax: "Axes",
    *,
    names: Sequence[str],
    shares: Sequence[float | None],
    ends: Sequence[tuple[float | None, float | None]],
    colour: str,
    title: str,
    overall: float | None,
) -> None:
    """Draw the rate of each group with its interval; groups without enough data say so.

    Parameters
    ----------
    shares : sequence of float or None
        None: not enough data.
    ends : sequence of (low, high)
    overall : float or None
        The rate of all records.
    """
    places = np.arange(len(names))[::-1]
    highest = max(
        [overall or 0.0, *(high or share or 0.0 for share, (_, high) in zip(shares, ends, strict=True))]
    )
    for place, share, (low, high) in zip(places, shares, ends, strict=True):
        if share is None:
            ax.text(0, place, " not enough data", color=MUTED, va="center", fontsize=9)
            continue
        if low is not None and high is not None:
            ax.plot([low, high], [place, place], color=colour, lw=4, alpha=2 * BAND)
        ax.plot(share, place, "o", color=colour, ms=6)
    if overall is not None:
        ax.axvline(overall, color=MUTED, lw=1.2, ls=(0, (1, 2)))
    ax.set_yticks(places, list(names))
    ax.set_ylim(-0.6, len(names) - 0.4)
    ax.set_xlim(0, (highest or 1.0) * 1.06)
    ax.locator_params(axis="x", nbins=5)
    ax.xaxis.set_major_formatter(lambda value, _: tick(value))
    ax.grid(visible=False, axis="y")
    ax.set_title(title, fontsize=10.5)
