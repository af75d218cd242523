"""Errors of the policy by week."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from scoring_model.estimates import NamedEstimates
from scoring_model.evaluation.report.style import (
    ACCENT,
    BAND,
    COLOURS,
    DOTTED,
    LIMIT,
    TITLE,
    NothingToDraw,
    share_ticks,
    with_ends,
)
from scoring_model.evaluation.report.words import percent
from scoring_model.figures import FIGURES

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_periods(
    ax: "Axes",
    error: str,
    periods: NamedEstimates,
    *,
    overall: float | None = None,
    limit: float | None = None,
) -> None:
    """Draw the share of one error in each period.

    Parameters
    ----------
    periods : mapping of str to Estimate
        By first day, `YYYY-MM-DD`, ascending.
    overall : float, optional
        The share of the whole time.
    limit : float, optional
        What the policy promises.
    """
    if not periods:
        raise NothingToDraw("the evaluated records lack records")
    days, colour = np.array(list(periods), dtype="datetime64[D]"), COLOURS[error]
    shares, lows, highs = with_ends(periods.values())
    ax.vlines(days, lows, highs, color=colour, lw=3.2, alpha=2 * BAND)
    ax.plot(days, shares, color=colour, lw=1, marker="o", ms=3.5)
    known, ends = np.append(shares[np.isfinite(shares)], limit or 0.0), highs[np.isfinite(highs)]
    top = max(1.2 * known.max(), float(np.median(ends)) * 1.2 if len(ends) else 0.0)
    ax.set_ylim(0, min(top, 1.03) or 1.0)
    if overall is not None:
        ax.axhline(overall, color=colour, lw=1, ls=DOTTED)
    draw_limit(ax, limit)
    share_ticks(ax, "y")
    ax.locator_params(axis="y", nbins=4)
    ax.set_title(FIGURES[error].title, fontsize=TITLE)
    ax.set_xlim(days[0] - np.timedelta64(4, "D"), days[-1] + np.timedelta64(4, "D"))
    _date_ticks(ax, days)


def draw_limit(ax: "Axes", limit: float | None) -> None:
    """Draw what the policy promises, if anything."""
    if limit is not None:
        ax.axhline(limit, color=ACCENT, lw=1.4)
        ax.set_title(f"promised: at most {percent(limit)}", **LIMIT)


def _date_ticks(ax: "Axes", days: NDArray[np.datetime64]) -> None:
    """Label at most six months, or days where the period is short."""
    months = np.unique(days.astype("datetime64[M]"))
    texts: Sequence[str]
    if len(months) > 2:
        ticks = months[1:] if len(months) > 3 else months
        ticks = ticks[:: -(-len(ticks) // 6)].astype("datetime64[D]")
        texts = [tick.strftime("%b %Y") for tick in ticks.tolist()]
    else:
        ticks = days[:: -(-len(days) // 5)]
        texts = [f"{tick.day} {tick.strftime('%b %Y')}" for tick in ticks.tolist()]
    ax.set_xticks(ticks, texts)
