"""How well the score ranks frauds above genuine records."""

from typing import TYPE_CHECKING, Final

import numpy as np

from scoring_model.evaluation.day_draws import REPEATS
from scoring_model.evaluation.report.figures import (
    NEEDS_BOTH,
    NO_BAND,
    Figure,
    Table,
    absent,
    drawn,
    range_text,
    thin,
)
from scoring_model.evaluation.report.names import value_writer
from scoring_model.evaluation.report.scales import percent
from scoring_model.evaluation.report.sections.section import Section
from scoring_model.evaluation.result import EvaluationResult
from scoring_model.figures import FIGURES

if TYPE_CHECKING:
    from scoring_model.evaluation.curves import Band
    from scoring_model.evaluation.report.plot import Plots

_BANDS: Final = f"The band holds 95% of {REPEATS:,} draws of whole days, point by point."


def ranking_section(evaluation: EvaluationResult, plots: "Plots") -> Section:
    """Describe the ranking with curves and figures."""
    return Section(
        name="ranking",
        title="Finding frauds",
        figures=(_roc(evaluation, plots), _precision_recall(evaluation, plots), _capacity(evaluation, plots)),
        tables=(_figures(evaluation),),
    )


def _roc(evaluation: EvaluationResult, plots: "Plots") -> Figure:
    name, title = "roc", "Frauds found, by genuine applicants bothered"
    overall = evaluation.overall
    if not (overall.genuine and overall.frauds):
        return absent(name, title, NEEDS_BOTH)
    found = evaluation.curves.roc
    return drawn(
        name,
        title,
        draw=plots.roc,
        alt=f"ROC curve with a logarithmic axis of false positives. {_at_rates(evaluation)}",
        caption=f"ROC curve; the dots are the two thresholds of the policy. {_basis(evaluation, found)}",
        table=_curve_table(found, "Genuine at or above", "Recall", caption="Recall by false positive rate"),
    )


def _precision_recall(evaluation: EvaluationResult, plots: "Plots") -> Figure:
    name, title = "precision-recall", "How many of those found are frauds"
    overall = evaluation.overall
    if not (overall.genuine and overall.frauds):
        return absent(name, title, NEEDS_BOTH)
    found = evaluation.curves.precision_recall
    middle = float(np.interp(0.5, found.x, found.y))
    return drawn(
        name,
        title,
        draw=plots.precision_recall,
        alt=(
            f"Precision against recall, precision on a logarithmic axis. Where half of the frauds are found, "
            f"{percent(middle)} of the records at or above the threshold are frauds; chance would give "
            f"{percent(overall.frauds / overall.records)}."
        ),
        caption=f"The dots are the two thresholds of the policy. {_basis(evaluation, found)}",
        table=_curve_table(found, "Recall", "Precision", caption="Precision by recall"),
    )


def _capacity(evaluation: EvaluationResult, plots: "Plots") -> Figure:
    name, title = "capacity", "Frauds found by reviewing K applications a day"
    if not evaluation.overall.frauds:
        return absent(name, title, "It needs frauds, and there are none.")
    found = evaluation.curves.capacity
    some = thin(len(found.x), 4)[1:3]
    points = "; ".join(f"{found.x[place]:,.0f} a day find {percent(found.y[place])}" for place in some)
    return drawn(
        name,
        title,
        draw=plots.capacity,
        alt=f"Recall by the number of applications reviewed a day, riskiest first. {points}.",
        caption=(
            f"The K riskiest applications of each day are reviewed, all of a day with fewer; {evaluation.days:,} "
            f"days. {_basis(evaluation, found)}"
        ),
        table=_curve_table(
            found, "Reviewed a day", "Recall", caption="Recall by daily capacity", write=lambda x: f"{x:,.0f}"
        ),
    )


def _at_rates(evaluation: EvaluationResult) -> str:
    rates = ((rate, evaluation.figures.get(f"recall_at_fpr_{rate:g}")) for rate in (0.001, 0.01, 0.05))
    texts = [
        f"{percent(found.value)} of frauds are found at {percent(rate, digits=1)} false positives"
        for rate, found in rates
        if found is not None
    ]
    return "; ".join(texts) + "."


def _basis(evaluation: EvaluationResult, found: "Band") -> str:
    bands = NO_BAND if np.isnan(found.low).all() else _BANDS
    return f"{bands} {evaluation.overall.genuine:,} genuine records and {evaluation.overall.frauds:,} frauds."


def _curve_table(found: "Band", x: str, y: str, *, caption: str, write: object = None) -> Table:
    text = write if callable(write) else percent
    rows = tuple(
        (text(found.x[place]), percent(found.y[place]), range_text(found.low[place], found.high[place]))
        for place in thin(len(found.x), 16)
    )
    return Table(caption=caption, heads=(x, y, "95% interval"), rows=rows)


def _figures(evaluation: EvaluationResult) -> Table:
    rows = tuple(
        (
            FIGURES[name].title,
            value_writer(name)(found.value),
            range_text(found.low, found.high, value_writer(name)),
            f"{found.records:,}",
        )
        for name, found in evaluation.figures.items()
        if FIGURES[name].of_ranking
    )
    return Table(
        caption="Ranking, with 95% intervals from whole days",
        heads=("Figure", "Value", "95% interval", "Rests on"),
        rows=rows,
    )
