"""The threshold map: what each pair of thresholds does."""

from typing import TYPE_CHECKING, Final

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.decision.rules import NEVER_REACHED
from scoring_model.evaluation.curves import ThresholdMap
from scoring_model.evaluation.report.style import (
    ACCENT,
    FRAUD,
    GENUINE,
    INK,
    LONG,
    NOTE,
    PAPER,
    RULE,
    SMALL,
    NothingToDraw,
)
from scoring_model.evaluation.report.words import threshold_text, tick

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.contour import QuadContourSet

STEP_UP_RATES: Final = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005)
MISSED_RATES: Final = (0.2, 0.4, 0.6, 0.8, 0.9)
COST_RISES: Final = (0.05, 0.1, 0.25, 0.5, 1.0)
"""Costs above the lowest one at which iso-lines are drawn, as shares of it."""


def draw_threshold_map(ax: "Axes", pairs: ThresholdMap, certified: tuple[range, range] | None) -> None:
    """Draw both thresholds with iso-lines of the step-up rate, the missed frauds and the cost.

    Parameters
    ----------
    certified : tuple of range or None
        Certified values of both thresholds: a pair is certified if both values are and it is ordered.
    """
    if not (pairs.genuine and pairs.frauds):
        raise NothingToDraw("the evaluated records lack both classes")
    ax.set_xlim(0, NEVER_REACHED)
    ax.set_ylim(0, NEVER_REACHED)
    ax.grid(visible=False)
    ax.set_xlabel("Stepped up from this score")
    ax.set_ylabel("Failed from this score")
    ax.fill_between([0, NEVER_REACHED], [0, NEVER_REACHED], color=RULE, alpha=0.4)
    if certified is not None and has_pair(*certified):
        _shade_certified(ax, *certified)
    if pairs.cost is not None:
        _draw_costs(ax, pairs.thresholds, pairs.cost)
    _draw_step_up(ax, pairs.thresholds, pairs.step_up)
    _draw_missed(ax, pairs.thresholds, pairs.missed_fraud)
    _mark_chosen(ax, pairs.chosen)


def has_pair(step_up: range, fail: range) -> bool:
    """Whether an ordered pair of certified thresholds exists."""
    return bool(step_up and fail) and step_up[0] <= fail[-1]


def _shade_certified(ax: "Axes", step_up: range, fail: range) -> None:
    """Shade the certified pairs above the diagonal."""
    first = np.linspace(step_up.start, step_up.stop - 1, 50)
    low = np.maximum(first, fail.start)
    high = np.full_like(first, fail.stop - 1)
    ax.fill_between(first, low, high, where=(high >= low).tolist(), color=ACCENT, alpha=0.3, lw=1.2)
    ax.annotate(
        "certified",
        (first[-1], high[-1] - 25),
        xytext=(4, 0),
        textcoords="offset points",
        color=ACCENT,
        fontsize=SMALL,
        va="top",
    ).set_bbox({"facecolor": PAPER, "alpha": 0.75, "pad": 1, "linewidth": 0})


def _draw_costs(ax: "Axes", thresholds: IntArray, cost: FloatArray) -> None:
    """Draw iso-lines of the cost above its lowest value."""
    lowest = np.nanmin(cost)
    if not lowest > 0:
        return
    levels = [lowest * (1 + rise) for rise in COST_RISES]
    lines = ax.contour(
        thresholds, thresholds, cost.T, levels=levels, colors=INK, linewidths=0.9, linestyles="solid"
    )
    texts = {level: f"+{rise:.0%}" for level, rise in zip(levels, COST_RISES, strict=True)}
    places = list(_lowest_points(lines))
    for text in ax.clabel(lines, fmt=texts, fontsize=SMALL, inline=False, colors=INK, manual=places):
        text.set_rotation(0)
        text.set_bbox({"facecolor": PAPER, "alpha": 0.85, "pad": 0.6, "linewidth": 0})


def _lowest_points(lines: "QuadContourSet") -> "Iterator[tuple[float, float]]":
    """Yield the lowest point of each line, where it is level and its label is easy to read."""
    for path in lines.get_paths():
        points = np.asarray(path.vertices)
        if len(points):
            x, y = points[np.argmin(points[:, 1])]
            yield float(x), float(y)


def _draw_step_up(ax: "Axes", thresholds: IntArray, step_up: FloatArray) -> None:
    """Draw the first thresholds at which the step-up rate falls to round values."""
    last = -np.inf
    for rate in STEP_UP_RATES:
        at = _first(thresholds, step_up <= rate)
        if at is not None and at - last > 68:
            ax.plot([at, at], [at, NEVER_REACHED], color=GENUINE, lw=1, ls=LONG)
            text = tick(rate)
            ax.text(at, NEVER_REACHED + 10, text, color=GENUINE, ha="center", va="bottom", fontsize=NOTE)
            last = at
    ax.text(0, 1.09, "Genuine stepped up or failed:", color=GENUINE, transform=ax.transAxes, fontsize=NOTE)


def _draw_missed(ax: "Axes", thresholds: IntArray, missed: FloatArray) -> None:
    """Draw the first thresholds at which the missed frauds rise to round values."""
    for rate in MISSED_RATES:
        at = _first(thresholds, missed >= rate)
        if at is not None:
            ax.plot([at, at], [at, NEVER_REACHED], color=FRAUD, lw=1.6, ls=(0, (1, 1.6)))
            ax.text(at + 10, at - 6, f"{rate:.0%}", color=FRAUD, va="top", fontsize=NOTE)
    text = "Frauds that pass,\nat the dotted lines"
    ax.text(0.98, 0.04, text, color=FRAUD, transform=ax.transAxes, fontsize=NOTE, ha="right")


def _first(thresholds: IntArray, reached: BoolArray) -> int | None:
    """Return the first threshold that is reached, except the ends of the scale."""
    found = thresholds[reached]
    return int(found[0]) if len(found) and 1 < found[0] < NEVER_REACHED else None


def _mark_chosen(ax: "Axes", chosen: tuple[int, int]) -> None:
    names = [threshold_text(value) for value in chosen]
    ax.plot(*chosen, "o", ms=9, mfc=ACCENT, mec=PAPER, mew=1.6, zorder=6, clip_on=False)
    left, low = chosen[0] > 0.55 * NEVER_REACHED, chosen[1] > 0.93 * NEVER_REACHED
    text = ax.annotate(
        f"chosen: {names[0]} and {names[1]}",
        chosen,
        xytext=(-9 if left else 9, -14 if low else 7),
        textcoords="offset points",
        ha="right" if left else "left",
        fontweight="bold",
        color=INK,
        zorder=7,
    )
    text.set_bbox({"facecolor": PAPER, "alpha": 0.75, "pad": 1.2, "linewidth": 0})
