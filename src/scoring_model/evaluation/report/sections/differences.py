"""Differences of all figures between two models."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from scoring_model.evaluation.comparison_result import ComparisonResult
from scoring_model.evaluation.report.comparison_plot import tone_of
from scoring_model.evaluation.report.figures import (
    NEEDS_BOTH,
    NO_RECORDS,
    Figure,
    Table,
    absent,
    drawn,
    range_text,
    thin,
)
from scoring_model.evaluation.report.names import (
    change_writer,
    value_writer,
)
from scoring_model.evaluation.report.plots.comparison import ROW
from scoring_model.evaluation.report.scales import percent
from scoring_model.evaluation.report.sections.section import Section
from scoring_model.figures import ERRORS, FIGURES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scoring_model.evaluation.report.comparison_plot import ComparisonPlots

REPEATED: Final = frozenset({"genuine_failed", "fraud_passed", "fraud_share"})
"""Figures under a second name, and the share of frauds, which no model changes."""

_COLOURS: Final = (
    "Green: the challenger is clearly better; orange: clearly worse; grey and hollow: the interval holds 0. "
    "Each interval is a 95% interval by itself."
)


def differences_section(comparison: ComparisonResult, plots: "ComparisonPlots") -> Section:
    """Describe what is better and worse, with paired intervals."""
    return Section(
        name="differences",
        title="Better and worse",
        figures=(
            _ranking(comparison, plots),
            _roc(comparison, plots),
            _errors(comparison, plots),
            _scores(comparison, plots),
        ),
        tables=(_table(comparison),),
    )


def _errors(comparison: ComparisonResult, plots: "ComparisonPlots") -> Figure:
    return _forest(
        comparison, plots, [*ERRORS], name="errors", title="Errors of the policy", unit="percentage points"
    )


def _ranking(comparison: ComparisonResult, plots: "ComparisonPlots") -> Figure:
    names = [name for name in comparison.differences if FIGURES[name].of_ranking]
    return _forest(comparison, plots, names, name="ranking", title="Finding frauds", unit="hundredths")


def _forest(
    comparison: ComparisonResult,
    plots: "ComparisonPlots",
    names: "Sequence[str]",
    *,
    name: str,
    title: str,
    unit: str,
) -> Figure:
    shown = [one for one in names if comparison.differences[one].value is not None]
    if not shown:
        return absent(name, title, NEEDS_BOTH)
    overall = comparison.champion.overall
    return drawn(
        name,
        title,
        draw=lambda ax: plots.differences(shown, ax=ax),
        alt=f"Differences of {len(shown)} figures, in {unit}. {_clear(comparison, shown)}",
        caption=(
            f"{_clear(comparison, shown)} {_COLOURS} {overall.genuine:,} genuine records and {overall.frauds:,} frauds."
        ),
        table=Table(
            caption=f"{title}: challenger minus champion, with paired 95% intervals",
            heads=("Figure", "Difference", "95% interval", "Rests on"),
            rows=tuple(_difference(comparison, one) for one in shown),
        ),
        height=len(shown) * ROW + 0.9,
    )


def _difference(comparison: ComparisonResult, name: str) -> tuple[str, ...]:
    found, write = comparison.differences[name], change_writer(name)
    value = "–" if found.value is None else write(found.value)
    return FIGURES[name].title, value, range_text(found.low, found.high, write), f"{found.records:,}"


def _clear(comparison: ComparisonResult, names: "Sequence[str]") -> str:
    """Name the figures that are clearly better or worse."""
    tones = {
        name: tone_of(name, comparison.differences[name].low, comparison.differences[name].high)
        for name in names
    }
    texts = [
        f"Clearly {tone}: {', '.join(FIGURES[name].title for name in names if tones[name] == tone)}."
        for tone in ("better", "worse")
        if tone in tones.values()
    ]
    return " ".join(texts) or "No figure is clearly better or worse."


def _roc(comparison: ComparisonResult, plots: "ComparisonPlots") -> Figure:
    name, title = "roc", "Frauds found, by genuine applicants bothered"
    overall = comparison.champion.overall
    if not (overall.genuine and overall.frauds):
        return absent(name, title, NEEDS_BOTH)
    old, new = comparison.champion.curves.roc, comparison.challenger.curves.roc
    rows = tuple(
        (percent(new.x[at]), percent(old.y[at]), percent(new.y[at]), range_text(new.low[at], new.high[at]))
        for at in thin(len(new.x), 16)
    )
    place = int(np.argmin(np.abs(new.x - 0.01)))
    return drawn(
        name,
        title,
        draw=plots.roc,
        alt=(
            f"Two ROC curves with a logarithmic axis of false positives. At 1% false positives the champion finds "
            f"{percent(old.y[place])} of frauds, the challenger {percent(new.y[place])}."
        ),
        caption=(
            "Solid: the challenger, with its 95% band from whole days; dots are the two thresholds of its policy. "
            "Dashed: the champion. Bands of two models on the same records say nothing of their difference, which "
            f"“Finding frauds” shows. {overall.genuine:,} genuine records and {overall.frauds:,} frauds."
        ),
        table=Table(
            caption="Recall by false positive rate",
            heads=("Genuine at or above", "Champion", "Challenger", "95% interval of the challenger"),
            rows=rows,
        ),
    )


def _scores(comparison: ComparisonResult, plots: "ComparisonPlots") -> Figure:
    name, title = "scores", "Scores of the same records"
    old, new = (one.records.decisions.scores for one in (comparison.champion, comparison.challenger))
    frauds = comparison.champion.records.labels == 1
    if not len(old):
        return absent(name, title, NO_RECORDS)
    moved = np.abs(new - old)
    rows = tuple(
        (f"{least} points", *(percent(float(share)) for share in _shares(moved >= least, frauds)))
        for least in (25, 50, 100, 200, 400)
    )
    return drawn(
        name,
        title,
        draw=plots.scores,
        alt=(
            f"Scatter plot of the score under both models. Half of the records move by {np.median(moved):.0f} points "
            f"or more; {percent(float((moved >= 100).mean()))} by 100 or more."
        ),
        caption=(
            "Each dot is a record, at most 3,000 of each class, drawn at random. Dashed: thresholds of each model; "
            "dotted: equal scores."
        ),
        table=Table(
            caption="Records whose score moves by at least so much",
            heads=("Moved by", "Genuine", "Frauds"),
            rows=rows,
        ),
        height=4.6,
    )


def _shares(hits: np.ndarray, frauds: np.ndarray) -> Iterator[float]:
    """Yield the share of hits among genuine records and among frauds; NaN without any."""
    for rows in (~frauds, frauds):
        yield float(hits[rows].mean()) if rows.any() else float("nan")


def _table(comparison: ComparisonResult) -> Table:
    rows = tuple(
        (
            *_difference(comparison, name)[:1],
            value_writer(name)(comparison.champion.figures[name].value),
            value_writer(name)(comparison.challenger.figures[name].value),
            *_difference(comparison, name)[1:],
        )
        for name in comparison.differences
        if name not in REPEATED
    )
    points = "; those of shares in percentage points"
    return Table(
        caption=f"All figures: differences are challenger minus champion{points}, with paired 95% intervals",
        heads=("Figure", "Champion", "Challenger", "Difference", "95% interval", "Rests on"),
        rows=rows,
    )
