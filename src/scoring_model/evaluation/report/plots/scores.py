"""The distribution of the score in both classes."""

from typing import TYPE_CHECKING, Final

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.evaluation.curves import ScoreHistogram
from scoring_model.evaluation.report.style import (
    BAND,
    DASHED,
    FRAUD,
    GENUINE,
    INK,
    SMALL,
    NothingToDraw,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PER: Final = 100_000

MANY: Final = 5_000
"""Frauds from which the distribution is drawn in finer steps."""


def draw_score_distribution(ax: "Axes", scores: ScoreHistogram, thresholds: tuple[int, int]) -> None:
    """Draw the numbers of both classes by score, on a logarithmic scale, per 100,000 records of both.

    Parameters
    ----------
    thresholds : tuple of int
        First score that is stepped up, and first score that fails.
    """
    if not scores.records:
        raise NothingToDraw("the evaluated records lack records")
    total = scores.records
    kept = coarse(scores.edges, frauds=int(scores.frauds.sum()))
    edges, genuine, frauds = (
        scores.edges[kept],
        *(np.add.reduceat(counts, kept[:-1]) for counts in (scores.genuine, scores.frauds)),
    )
    floor = 0.5 * PER / total
    ax.set_yscale("log")
    for counts, colour, name in ((genuine, GENUINE, "genuine"), (frauds, FRAUD, "frauds")):
        heights = counts * PER / total
        tops = np.where(counts > 0, heights, floor)
        ax.stairs(tops, edges, baseline=floor, fill=True, color=colour, alpha=BAND)
        ax.stairs(tops, edges, baseline=None, color=colour, lw=1.6)
        if counts.any():
            _name(ax, name, colour, edges, tops)
    top = ax.get_ylim()[1]
    ax.set_ylim(floor, top * 6)
    for threshold, name in zip(thresholds, ("stepped up", "failed"), strict=True):
        if threshold <= 1000:
            ax.axvline(threshold, color=INK, lw=1, ls=DASHED)
            ax.text(threshold + 8, top * 4.6, f"{name}\nfrom {threshold}", va="top", fontsize=SMALL)
    ax.set_xlim(0, 1000)
    ax.set_xlabel("Score")
    ax.set_ylabel("Per 100,000 applicants")
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}")
    ax.grid(visible=False, axis="x")


def coarse(edges: IntArray, *, frauds: int) -> IntArray:
    """Return the places of the edges to keep, so that few frauds do not make a jagged line."""
    step = 2 if frauds >= MANY else 5
    return np.append(np.arange(0, len(edges) - 2, step), len(edges) - 1)


def _name(ax: "Axes", name: str, colour: str, edges: IntArray, heights: FloatArray) -> None:
    """Name genuine records above their highest bin, and frauds at the right end, where they are most."""
    if colour == FRAUD:
        place, align, move = (edges[-1], heights[-1]), "right", -2
    else:
        highest = int(np.argmax(heights))
        place, align, move = (edges[highest], heights[highest]), "left", 6
    ax.annotate(
        name,
        place,
        xytext=(move, 6),
        textcoords="offset points",
        color=colour,
        ha=align,
        fontweight="bold",
    )
