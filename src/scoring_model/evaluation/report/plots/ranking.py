"""ROC, precision and recall, and recall at a daily capacity."""

from typing import TYPE_CHECKING

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.evaluation.report.scales import log_shares, percent
from scoring_model.evaluation.report.style import BAND, FRAUD, INK, MUTED, PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Band = tuple[FloatArray, FloatArray]
"""Lower and upper ends, NaN where they are unknown."""


def draw_roc(
    ax: "Axes",
    *,
    false_positive_rates: FloatArray,
    recalls: FloatArray,
    band: Band | None = None,
    operating: tuple[tuple[str, float, float], ...] = (),
    least: float,
) -> None:
    """Draw recall against the false positive rate, which is logarithmic.

    Parameters
    ----------
    false_positive_rates, recalls : ndarray of shape (k,), float64
        Ascending shares.
    band : tuple of ndarray of shape (k,), optional
        95 % interval of each recall.
    operating : tuple of (name, false positive rate, recall)
        Points of the policy.
    least : float
        Lower end of the scale, in (0, 1).
    """
    _curve(ax, false_positive_rates, recalls, band)
    chance = np.geomspace(least, 1, 100)
    ax.plot(chance, chance, color=MUTED, lw=1, ls=(0, (1, 2)))
    ax.text(0.28, 0.2, "chance", color=MUTED, fontsize=9)
    for name, rate, recall in operating:
        ax.plot(max(rate, least), recall, "o", ms=7, mfc=INK, mec=PAPER, mew=1.2, zorder=5)
        ax.annotate(
            name,
            (max(rate, least), recall),
            xytext=(-8, 5),
            textcoords="offset points",
            ha="right",
            fontsize=9.5,
        )
    log_shares(ax, "x", least)
    _shares(ax, "y")
    ax.set_xlabel("Genuine at or above the threshold")
    ax.set_ylabel("Frauds at or above it (recall)")


def draw_precision_recall(
    ax: "Axes",
    *,
    recalls: FloatArray,
    precisions: FloatArray,
    band: Band | None = None,
    operating: tuple[tuple[str, float, float], ...] = (),
    prevalence: float,
) -> None:
    """Draw precision, which is logarithmic, against recall.

    Parameters
    ----------
    recalls, precisions : ndarray of shape (k,), float64
        Shares; recalls ascend.
    band : tuple of ndarray of shape (k,), optional
        95 % interval of each precision.
    operating : tuple of (name, recall, precision)
        Points of the policy.
    prevalence : float
        Share of frauds, in (0, 1): the precision of chance.
    """
    _curve(ax, recalls, precisions, band)
    ax.axhline(prevalence, color=MUTED, lw=1, ls=(0, (1, 2)))
    ax.text(0.02, prevalence * 1.08, f"chance: {percent(prevalence)}", color=MUTED, fontsize=9)
    for name, recall, precision in operating:
        ax.plot(recall, precision, "o", ms=7, mfc=INK, mec=PAPER, mew=1.2, zorder=5)
        ax.annotate(name, (recall, precision), xytext=(8, 5), textcoords="offset points", fontsize=9.5)
    log_shares(ax, "y", prevalence / 2)
    _shares(ax, "x")
    ax.set_xlabel("Frauds at or above the threshold (recall)")
    ax.set_ylabel("Frauds among them (precision)")


def draw_capacity(
    ax: "Axes",
    *,
    reviews: FloatArray,
    recalls: FloatArray,
    band: Band | None = None,
    stepped_up: float | None = None,
) -> None:
    """Draw the share of frauds among the riskiest K records of each day.

    Parameters
    ----------
    reviews : ndarray of shape (k,), float64
        Records reviewed each day, ascending, above 0.
    recalls : ndarray of shape (k,), float64
        Share of all frauds that are among them.
    stepped_up : float, optional
        Records that the policy steps up or fails on the mean day.
    """
    _curve(ax, reviews, recalls, band)
    ax.set_xscale("log")
    ticks = [step * 10**power for power in range(6) for step in (1, 2, 5)]
    ticks = [tick for tick in ticks if reviews[0] <= tick <= reviews[-1]]
    while len(ticks) > 8:
        ticks = ticks[::2]
    ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    ax.set_xticks([], minor=True)
    if stepped_up is not None and reviews[0] <= stepped_up <= reviews[-1]:
        ax.axvline(stepped_up, color=INK, lw=1, ls=(0, (4, 2)))
        ax.annotate(
            f"not passed: {stepped_up:,.3g} a day",
            (stepped_up, 0.02),
            xytext=(-5, 0),
            textcoords="offset points",
            ha="right",
            fontsize=9,
        )
    _shares(ax, "y")
    ax.set_xlabel("Applications reviewed a day, riskiest first")
    ax.set_ylabel("Frauds among them (recall)")


def _curve(ax: "Axes", x: FloatArray, y: FloatArray, band: Band | None) -> None:
    """Draw a curve with its band."""
    if band is not None:
        ax.fill_between(x, *band, color=FRAUD, alpha=BAND, lw=0)
    ax.plot(x, y, color=FRAUD)


def _shares(ax: "Axes", which: str) -> None:
    """Give an axis the shares from 0 to 1."""
    ticks = [0, 0.2, 0.4, 0.6, 0.8, 1.0]
    getattr(ax, f"set_{which}lim")(0, 1)
    getattr(ax, f"set_{which}ticks")(ticks, [f"{tick:.0%}" for tick in ticks])
