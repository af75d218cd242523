"""Two models beside each other: differences, flips, curves and scores."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.evaluation.report.scales import shortened
from scoring_model.evaluation.report.style import ACCENT, FRAUD, INK, LOW_TO_HIGH, MUTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW: Final = 0.27
"""Height of one row in inches."""

_MARKS: Final = 3000
"""Largest number of marks of one class."""

_TONES: Final = {"better": ACCENT, "worse": FRAUD, "": MUTED}


def draw_differences(
    ax: "Axes",
    *,
    names: Sequence[str],
    values: FloatArray,
    ends: tuple[FloatArray, FloatArray],
    tones: Sequence[str],
    unit: str,
) -> None:
    """Draw differences with their intervals around 0, one in each row.

    Parameters
    ----------
    values : ndarray of shape (k,), float64
        NaN: not enough data.
    ends : tuple of ndarray of shape (k,)
        NaN where there is no interval.
    tones : sequence of {"better", "worse", ""}
        Clearly better, clearly worse, or neither: drawn hollow.
    """
    rows = np.arange(len(names))[::-1]
    ax.axvline(0, color=MUTED, lw=1.2)
    for row, value, low, high, tone in zip(rows, values, *ends, tones, strict=True):
        colour = _TONES[tone]
        if np.isnan(value):
            ax.annotate(
                "not enough data", (0, row), xytext=(6, 0), textcoords="offset points",
                color=MUTED, va="center", fontsize=9,
            )  # fmt: skip
            continue
        ax.plot([low, high], [row, row], color=colour, lw=3, alpha=0.45 if tone else 0.35)
        ax.plot(value, row, "o", color=colour, ms=6, mfc=colour if tone else "none", mew=1.6)
    ax.set_yticks(rows, [shortened(name, most=34) for name in names], parse_math=False)
    ax.set_ylim(-0.6, len(names) - 0.4)
    known = np.abs(np.concatenate([values, *ends]))
    reach = 1.08 * np.max(known, initial=0.0, where=np.isfinite(known)) or 1.0
    ax.set_xlim(-reach, reach)
    ax.locator_params(axis="x", nbins=5)
    ax.xaxis.set_major_formatter(
        lambda value, _: f"{value:+.3g}".replace("-", "\N{MINUS SIGN}") if value else "0"
    )
    ax.grid(visible=False, axis="y")
    ax.set_xlabel(f"Challenger minus champion, {unit}")


def draw_flips(
    ax: "Axes",
    *,
    names: Sequence[str],
    daily: FloatArray,
    ends: tuple[FloatArray, FloatArray],
    colour: str,
    title: str,
) -> None:
    """Draw how many records of one class a day flip, one kind in each row.

    Parameters
    ----------
    daily : ndarray of shape (k,), float64
    ends : tuple of ndarray of shape (k,)
        NaN where there is no interval.
    """
    rows = np.arange(len(names))[::-1]
    ax.barh(rows, daily, height=0.6, color=colour, alpha=0.6)
    ax.hlines(rows, *ends, color=MUTED, lw=2.2)
    ax.set_yticks(rows, list(names))
    ax.set_ylim(-0.6, len(names) - 0.4)
    ax.set_xlim(left=0)
    ax.locator_params(axis="x", nbins=4)
    ax.grid(visible=False, axis="y")
    ax.set_title(title, fontsize=10.5)
    ax.set_xlabel("A day")


def add_champion(ax: "Axes", x: FloatArray, y: FloatArray) -> None:
    """Add the champion's curve to that of the challenger, which the axes hold, and name both."""
    ax.lines[0].set_label("challenger")
    ax.plot(x, y, color=INK, lw=1.5, ls=(0, (4, 2)), label="champion")
    ax.legend(loc="upper left")


def draw_scores(
    ax: "Axes",
    *,
    champion: IntArray,
    challenger: IntArray,
    frauds: BoolArray,
    thresholds: tuple[tuple[int, int], tuple[int, int]],
) -> None:
    """Draw the scores of single records under both models; rasterised.

    Parameters
    ----------
    champion, challenger : ndarray of shape (n,), int64
    frauds : ndarray of shape (n,), bool
    thresholds : tuple
        First score that is stepped up, and first score that fails: of the champion, and of the challenger.
    """
    generator = np.random.default_rng(0)
    for label, colour, name in ((False, LOW_TO_HIGH[0], "genuine"), (True, LOW_TO_HIGH[2], "frauds")):
        rows = generator.permutation(np.flatnonzero(frauds == label))[:_MARKS]
        ax.scatter(
            champion[rows], challenger[rows], s=4, color=colour, lw=0, alpha=0.7, rasterized=True, label=name
        )
    ax.plot([0, 1000], [0, 1000], color=MUTED, lw=1, ls=(0, (1, 2)))
    for draw, pair in zip((ax.axvline, ax.axhline), thresholds, strict=True):
        for threshold in pair:
            if threshold <= 1000:
                draw(threshold, color=INK, lw=1, ls=(0, (4, 2)))
    ax.set_xlim(0, 1000)
    ax.set_ylim(0, 1000)
    ax.set_xlabel("Score of the champion")
    ax.set_ylabel("Score of the challenger")
    ax.legend(loc="lower right", markerscale=3, frameon=True, framealpha=0.85, facecolor="none")
