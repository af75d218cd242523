"""ROC, precision and recall, and recall at a daily capacity."""

from typing import TYPE_CHECKING

import numpy as np

from scoring_model.contract.outcome import Outcome
from scoring_model.evaluation.curves import Band
from scoring_model.evaluation.measures import Measures
from scoring_model.evaluation.report.style import (
    BAND,
    DASHED,
    DOTTED,
    FRAUD,
    INK,
    MUTED,
    NOTE,
    PAPER,
    SMALL,
    NothingToDraw,
    log_shares,
)
from scoring_model.evaluation.report.words import percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes

_STOPPED = (
    ("stepped up or failed", "step_up", (Outcome.STEPPED_UP, Outcome.FAILED)),
    ("failed", "false_reject", (Outcome.FAILED,)),
)
"""Name of each threshold, the error that counts genuine records from it on, and outcomes from it on."""


def draw_roc(ax: "Axes", curve: Band, overall: Measures) -> None:
    """Draw recall against the false positive rate, which is logarithmic, with the thresholds of the policy."""
    _need_both(overall)
    least = float(10.0 ** max(np.floor(np.log10(1 / overall.genuine)), -4.0))
    _curve(ax, curve)
    chance = np.geomspace(least, 1, 100)
    ax.plot(chance, chance, color=MUTED, lw=1, ls=DOTTED)
    ax.text(0.28, 0.2, "chance", color=MUTED, fontsize=SMALL)
    for name, genuine, frauds in _operating(overall):
        point = max(genuine / overall.genuine, least), frauds / overall.frauds
        _mark(ax, name, point, xytext=(-8, 5), ha="right")
    log_shares(ax, "x", least)
    _shares(ax, "y")
    ax.set_xlabel("Genuine at or above the threshold")
    ax.set_ylabel("Frauds at or above it (recall)")


def draw_precision_recall(ax: "Axes", curve: Band, overall: Measures) -> None:
    """Draw precision, which is logarithmic, against recall, with the thresholds of the policy."""
    _need_both(overall)
    prevalence = overall.frauds / overall.records
    _curve(ax, curve)
    ax.axhline(prevalence, color=MUTED, lw=1, ls=DOTTED)
    ax.text(0.02, prevalence * 1.08, f"chance: {percent(prevalence)}", color=MUTED, fontsize=SMALL)
    for name, genuine, frauds in _operating(overall):
        _mark(ax, name, (frauds / overall.frauds, frauds / (genuine + frauds)), xytext=(8, 5))
    log_shares(ax, "y", prevalence / 2)
    _shares(ax, "x")
    ax.set_xlabel("Frauds at or above the threshold (recall)")
    ax.set_ylabel("Frauds among them (precision)")


def draw_capacity(ax: "Axes", curve: Band, stopped: float) -> None:
    """Draw the share of frauds among the riskiest K records of each day.

    Parameters
    ----------
    stopped : float
        Records that the policy steps up or fails on the mean day.
    """
    if not curve.frauds:
        raise NothingToDraw("the evaluated records lack frauds")
    if np.isnan(curve.y).all():
        raise NothingToDraw("records stand for others, so the queues of the days are not known")
    _curve(ax, curve)
    ax.set_xscale("log")
    ticks = [step * 10**power for power in range(6) for step in (1, 2, 5)]
    ticks = [tick for tick in ticks if curve.x[0] <= tick <= curve.x[-1]]
    while len(ticks) > 8:
        ticks = ticks[::2]
    ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    ax.set_xticks([], minor=True)
    if curve.x[0] <= stopped <= curve.x[-1]:
        ax.axvline(stopped, color=INK, lw=1, ls=DASHED)
        ax.annotate(
            f"not passed: {stopped:,.3g} a day",
            (stopped, 0.02),
            xytext=(-5, 0),
            textcoords="offset points",
            ha="right",
            fontsize=SMALL,
        )
    _shares(ax, "y")
    ax.set_xlabel("Applications reviewed a day, riskiest first")
    ax.set_ylabel("Frauds among them (recall)")


def _need_both(overall: Measures) -> None:
    if not (overall.genuine and overall.frauds):
        raise NothingToDraw("the evaluated records lack both classes")


def _operating(overall: Measures) -> "Iterator[tuple[str, int, int]]":
    """Yield name, genuine records and frauds at or above each threshold; those that no score reaches have none."""
    for name, error, outcomes in _STOPPED:
        genuine = overall.figures[error].count or 0
        frauds = sum(overall.figures[f"fraud_{outcome.lower()}"].count or 0 for outcome in outcomes)
        if genuine + frauds:
            yield name, genuine, frauds


def _mark(
    ax: "Axes", name: str, point: tuple[float, float], *, xytext: tuple[float, float], ha: str = "left"
) -> None:
    """Draw a threshold of the policy with its name."""
    ax.plot(*point, "o", ms=7, mfc=INK, mec=PAPER, mew=1.2, zorder=5)
    ax.annotate(name, point, xytext=xytext, textcoords="offset points", ha=ha, fontsize=NOTE)


def _curve(ax: "Axes", curve: Band) -> None:
    """Draw a curve with its band."""
    if not np.isnan(curve.low).all():
        ax.fill_between(curve.x, curve.low, curve.high, color=FRAUD, alpha=BAND, lw=0)
    ax.plot(curve.x, curve.y, color=FRAUD)


def _shares(ax: "Axes", which: str) -> None:
    """Give an axis the shares from 0 to 1."""
    ticks = [0, 0.2, 0.4, 0.6, 0.8, 1.0]
    getattr(ax, f"set_{which}lim")(0, 1)
    getattr(ax, f"set_{which}ticks")(ticks, [f"{tick:.0%}" for tick in ticks])
