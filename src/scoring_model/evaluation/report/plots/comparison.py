"""Two models beside each other: differences, flips, curves and scores."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from scoring_model.estimates import Estimate, NamedEstimates
from scoring_model.evaluation.comparison_result import ComparisonResult
from scoring_model.evaluation.flips import Flip, GroupFlips
from scoring_model.evaluation.report.plots.ranking import draw_roc
from scoring_model.evaluation.report.style import (
    ACCENT,
    DASHED,
    DOTTED,
    FRAUD,
    GENUINE,
    INK,
    LOW_TO_HIGH,
    MUTED,
    SMALL,
    TITLE,
    NothingToDraw,
    row_names,
    with_ends,
)
from scoring_model.evaluation.report.words import (
    flip_name,
    is_decimal,
    shortened,
    tone_of,
)
from scoring_model.figures import FIGURES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKS: Final = 3000
"""Largest number of marks of one class."""

_TONES: Final = {"better": ACCENT, "worse": FRAUD, "": MUTED}


def draw_differences(ax: "Axes", differences: NamedEstimates, figures: Sequence[str]) -> None:
    """Draw differences of figures with their intervals, those of figures without a difference left out.

    Parameters
    ----------
    figures : sequence of str
        Names; by default those of the ranking.
    """
    ranking = [name for name in differences if FIGURES[name].of_ranking]
    chosen = [name for name in figures or ranking if differences[name].value is not None]
    if not chosen:
        raise NothingToDraw("differences: the records lack a class")
    titles = [FIGURES[name].title for name in chosen]
    tones = [tone_of(name, differences[name]) for name in chosen]
    _draw_forest(ax, titles, [differences[name] for name in chosen], tones)
    unit = "hundredths" if any(map(is_decimal, chosen)) else "percentage points"
    ax.set_xlabel(f"Challenger minus champion, {unit}")


def draw_changes(ax: "Axes", groups: Sequence[GroupFlips], rate: str) -> None:
    """Draw the change of one rate in groups, with intervals that hold for all of them at once."""
    changes = [group.changes[rate].together for group in groups]
    known = [one if one.ends else replace(one, value=None) for one in changes]
    _draw_forest(ax, [group.value for group in groups], known, [tone_of(rate, one) for one in known])
    ax.set_xlabel("Challenger minus champion, percentage points")


def _draw_forest(
    ax: "Axes",
    names: Sequence[str],
    differences: Sequence[Estimate],
    tones: Sequence[str],
) -> None:
    """Draw differences in hundredths around 0, one in each row; those that are neither better nor worse are hollow."""
    rows = np.arange(len(names))[::-1]
    values, lows, highs = (100 * part for part in with_ends(differences))
    ax.axvline(0, color=MUTED, lw=1.2)
    for row, value, low, high, tone in zip(rows, values, lows, highs, tones, strict=True):
        if np.isnan(value):
            ax.annotate(
                "not enough data", (0, row), xytext=(6, 0), textcoords="offset points",
                color=MUTED, va="center", fontsize=SMALL,
            )  # fmt: skip
            continue
        colour = _TONES[tone]
        ax.plot([low, high], [row, row], color=colour, lw=3, alpha=0.45 if tone else 0.35)
        ax.plot(value, row, "o", color=colour, ms=6, mfc=colour if tone else "none", mew=1.6)
    row_names(ax, [shortened(name, most=34) for name in names], rows)
    known = np.abs(np.concatenate([values, lows, highs]))
    reach = 1.08 * np.max(known, initial=0.0, where=np.isfinite(known)) or 1.0
    ax.set_xlim(-reach, reach)
    ax.locator_params(axis="x", nbins=5)
    ax.xaxis.set_major_formatter(
        lambda value, _: f"{value:+.3g}".replace("-", "\N{MINUS SIGN}") if value else "0"
    )


def draw_flips(ax: "Axes", flips: Sequence[Flip], *, fraud: bool) -> None:
    """Draw how many records of one class a day flip, one kind in each row."""
    if not flips:
        raise NothingToDraw("flips: no record has another outcome")
    daily = [flip.daily_frauds if fraud else flip.daily_genuine for flip in flips]
    rows = np.arange(len(flips))[::-1]
    values, lows, highs = with_ends(daily)
    ax.barh(rows, values, height=0.6, color=FRAUD if fraud else GENUINE, alpha=0.6)
    ax.hlines(rows, lows, highs, color=MUTED, lw=2.2)
    row_names(ax, [flip_name(flip.champion, flip.challenger) for flip in flips], rows)
    ax.set_xlim(left=0)
    ax.locator_params(axis="x", nbins=4)
    ax.set_title("Frauds" if fraud else "Genuine", fontsize=TITLE)
    ax.set_xlabel("A day")


def draw_both_roc(ax: "Axes", comparison: ComparisonResult) -> None:
    """Draw both ROC curves: the challenger's with its band and thresholds, the champion's dashed."""
    new, old = comparison.challenger, comparison.champion.curves.roc
    draw_roc(ax, new.curves.roc, new.overall)
    ax.lines[0].set_label("challenger")
    ax.plot(old.x, old.y, color=INK, lw=1.5, ls=DASHED, label="champion")
    ax.legend(loc="upper left")


def draw_scores(ax: "Axes", comparison: ComparisonResult) -> None:
    """Draw the scores of single records under both models; rasterised."""
    models = comparison.champion, comparison.challenger
    frauds = models[0].records.labels == 1
    if not len(frauds):
        raise NothingToDraw("scores: there are no records")
    champion, challenger = (model.records.decisions.scores for model in models)
    thresholds = (model.curves.thresholds.chosen for model in models)
    generator = np.random.default_rng(0)
    for label, colour, name in ((False, LOW_TO_HIGH[0], "genuine"), (True, LOW_TO_HIGH[2], "frauds")):
        rows = generator.permutation(np.flatnonzero(frauds == label))[:_MARKS]
        ax.scatter(
            champion[rows], challenger[rows], s=4, color=colour, lw=0, alpha=0.7, rasterized=True, label=name
        )
    ax.plot([0, 1000], [0, 1000], color=MUTED, lw=1, ls=DOTTED)
    for draw, pair in zip((ax.axvline, ax.axhline), thresholds, strict=True):
        for threshold in pair:
            if threshold <= 1000:
                draw(threshold, color=INK, lw=1, ls=DASHED)
    ax.set_xlim(0, 1000)
    ax.set_ylim(0, 1000)
    ax.set_xlabel("Score of the champion")
    ax.set_ylabel("Score of the challenger")
    ax.legend(loc="lower right", markerscale=3, frameon=True, framealpha=0.85, facecolor="none")
