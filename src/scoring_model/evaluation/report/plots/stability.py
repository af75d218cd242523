"""Errors of the policy by week."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray
from scoring_model.evaluation.report.scales import percent, tick
from scoring_model.evaluation.report.style import ACCENT, BAND

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_weeks(
    ax: "Axes",
    *,
    weeks: NDArray[np.datetime64],
    shares: FloatArray,
    band: tuple[FloatArray, FloatArray],
    colour: str,
    title: str,
    overall: float | None = None,
    limit: float | None = None,
) -> None:
    """Draw the share of errors in each week.

    Parameters
    ----------
    weeks : ndarray of shape (k,), datetime64[D]
        First days, ascending.
    shares : ndarray of shape (k,), float64
        NaN where a week has no records of the class.
    band : tuple of ndarray of shape (k,)
        95 % interval of each share.
    overall : float, optional
        The share of the whole period.
    limit : float, optional
        What the policy promises.
    """
    days = weeks.astype("datetime64[D]")
    ax.vlines(days, *band, color=colour, lw=3.2, alpha=2 * BAND)
    ax.plot(days, shares, color=colour, lw=1, marker="o", ms=3.5)
    known = np.append(shares[np.isfinite(shares)], limit or 0.0)
    highs = band[1][np.isfinite(band[1])]
    top = max(1.2 * known.max(), float(np.median(highs)) * 1.2 if len(highs) else 0.0)
    ax.set_ylim(0, min(top, 1.03) or 1.0)
    if overall is not None:
        ax.axhline(overall, color=colour, lw=1, ls=(0, (1, 2)))
    if limit is not None:
        ax.axhline(limit, color=ACCENT, lw=1.4)
        ax.set_title(
            f"promised: at most {percent(limit)}",
            loc="right",
            color=ACCENT,
            fontsize=9.5,
            fontweight="normal",
        )
    ax.yaxis.set_major_formatter(lambda value, _: tick(value))
    ax.locator_params(axis="y", nbins=4)
    ax.set_title(title, fontsize=10.5)
    ax.set_xlim(days[0] - np.timedelta64(4, "D"), days[-1] + np.timedelta64(4, "D"))  # type: ignore[arg-type]
    _date_ticks(ax, days)


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
