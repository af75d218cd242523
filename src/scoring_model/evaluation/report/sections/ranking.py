"""How well the score ranks frauds above genuine records."""

from collections.abc import Iterator
from functools import partial
from typing import Final

import numpy as np

from scoring_model.evaluation.curves import Band
from scoring_model.evaluation.draws import REPEATS
from scoring_model.evaluation.report.plot import stopped_a_day
from scoring_model.evaluation.report.plots.ranking import draw_capacity, draw_precision_recall, draw_roc
from scoring_model.evaluation.report.section import NEEDS_BOTH, NO_BAND, Cell, Drawing, Grid, Row, Section
from scoring_model.evaluation.report.words import (
    ABSENT,
    OBSERVED_ONLY,
    POSSIBLE,
    Writer,
    ends_text,
    percent,
    possible_text,
    range_text,
    thin,
    writer_of,
)
from scoring_model.evaluation.result import EvaluationResult
from scoring_model.figures import CAPACITIES, FIGURES, FPR_LIMITS
from scoring_model.records.times import DAY

_BANDS: Final = (
    f"The band is a 95% interval of each point by itself, from {REPEATS:,} draws of days and rings."
)
_APPROXIMATE: Final = 30
"""Independent frauds below which the interval of ROC AUC is approximate (`benchmarks/intervals.py`)."""


def ranking_section(evaluation: EvaluationResult) -> Section:
    """Describe the ranking with curves and figures."""
    return Section(
        name="ranking",
        title="Finding frauds",
        texts=(*(() if evaluation.stopped is None else (OBSERVED_ONLY,)), *_without_queue(evaluation)),
        drawings=tuple(partial(make, evaluation) for make in (_roc, _precision_recall, _capacity)),
        grids=(ranking_grid(evaluation),),
    )


def _without_queue(evaluation: EvaluationResult) -> Iterator[str]:
    """Say from how many reviews a day on everyone is reviewed, so that recall says nothing about the model."""
    records = evaluation.records
    fullest = int(np.unique(records.event_times // DAY, return_counts=True)[1].max(initial=0))
    idle = [capacity for capacity in CAPACITIES if capacity >= fullest]
    if records.weights is None and evaluation.overall.frauds and idle:
        yield (
            f"No day has more than {fullest:,} records: {idle[0]:,} reviews a day or more are of everyone, and find "
            "every fraud with any model."
        )


def ranking_grid(evaluation: EvaluationResult) -> Grid:
    """List the figures of the ranking."""
    return figures_grid(
        evaluation,
        [name for name in evaluation.figures if FIGURES[name].of_ranking],
        name="ranking",
        caption="Ranking, with 95% intervals" + _approximate(evaluation),
    )


def _approximate(evaluation: EvaluationResult) -> str:
    """Say that the interval of ROC AUC is approximate, where few frauds are independent."""
    independent = evaluation.figures["roc_auc"].independent or 0
    return "; that of ROC AUC is approximate" if 0 < independent < _APPROXIMATE else ""


def figures_grid(evaluation: EvaluationResult, names: list[str], *, name: str, caption: str) -> Grid:
    """List figures with their intervals, and what they rest on."""
    rows: list[Row] = [
        (
            Cell(text=FIGURES[figure].title, key=figure),
            writer_of(figure)(evaluation.figures[figure].value),
            ends_text(evaluation.figures[figure], writer_of(figure)),
            *_possible(evaluation, figure),
            f"{evaluation.figures[figure].records:,}",
            ABSENT if (one := evaluation.figures[figure].independent) is None else f"{one:,}",
        )
        for figure in names
    ]
    heads = {
        "figure": "Figure",
        "value": "Value",
        "ends": "95% interval",
        **({} if evaluation.stopped is None else {"possible": POSSIBLE}),
        "records": "Rests on",
        "independent": "Independent",
    }
    return Grid.of(name, caption, heads, rows)


def _possible(evaluation: EvaluationResult, figure: str) -> Iterator[str]:
    """Write what a figure could be with the labels of the stopped applicants, where there are any."""
    if evaluation.stopped is not None:
        yield possible_text(evaluation.stopped.possible.get(figure), writer_of(figure), FIGURES[figure].span)


def _roc(evaluation: EvaluationResult) -> Drawing:
    name, title = "roc", "Frauds found, by genuine applicants bothered"
    overall = evaluation.overall
    if not (overall.genuine and overall.frauds):
        return Drawing(name=name, title=title, missing=NEEDS_BOTH)
    curve = evaluation.curves.roc
    return Drawing(
        name=name,
        title=title,
        draw=lambda ax: draw_roc(ax, curve, overall),
        alt=f"ROC curve with a logarithmic axis of false positives. {_at_rates(evaluation)}",
        caption=f"ROC curve; the dots are the two thresholds of the policy. {_basis(evaluation, curve)}",
        grid=_curve_grid(name, curve, ("Genuine at or above", "Recall"), "Recall by false positive rate"),
    )


def _precision_recall(evaluation: EvaluationResult) -> Drawing:
    name, title = "precision-recall", "How many of those found are frauds"
    overall = evaluation.overall
    if not (overall.genuine and overall.frauds):
        return Drawing(name=name, title=title, missing=NEEDS_BOTH)
    curve = evaluation.curves.precision_recall
    return Drawing(
        name=name,
        title=title,
        draw=lambda ax: draw_precision_recall(ax, curve, overall),
        alt=(
            f"Precision against recall, precision on a logarithmic axis. Where half of the frauds are found, "
            f"{percent(float(np.interp(0.5, curve.x, curve.y)))} of the records at or above the threshold are frauds; "
            f"chance would give {percent(overall.frauds / overall.records)}."
        ),
        caption=f"The dots are the two thresholds of the policy. {_basis(evaluation, curve)}",
        grid=_curve_grid(name, curve, ("Recall", "Precision"), "Precision by recall"),
    )


def _capacity(evaluation: EvaluationResult) -> Drawing:
    name, title = "capacity", "Frauds found by reviewing K applications a day"
    if not evaluation.overall.frauds:
        return Drawing(name=name, title=title, missing="It needs frauds, and there are none.")
    curve = evaluation.curves.capacity
    if np.isnan(curve.y).all():
        missing = "Records of the control group stand for others, so the queue of a day is not known."
        return Drawing(name=name, title=title, missing=missing)
    some = "; ".join(
        f"{_whole(curve.x[place])} a day find {percent(curve.y[place])}"
        for place in thin(len(curve.x), 4)[1:3]
    )
    return Drawing(
        name=name,
        title=title,
        draw=lambda ax: draw_capacity(ax, curve, stopped_a_day(evaluation)),
        alt=f"Recall by the number of applications reviewed a day, riskiest first. {some}.",
        caption=(
            f"The K riskiest applications of each day are reviewed, all of a day with fewer; {evaluation.days:,} "
            f"days. {_basis(evaluation, curve)}"
        ),
        grid=_curve_grid(name, curve, ("Reviewed a day", "Recall"), "Recall by daily capacity", write=_whole),
    )


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _at_rates(evaluation: EvaluationResult) -> str:
    recalls = ((rate, evaluation.figures[f"recall_at_fpr_{rate:g}"]) for rate in FPR_LIMITS if rate != 0.005)
    return (
        "; ".join(
            f"{percent(recall.value)} of frauds are found at {percent(rate, digits=1)} false positives"
            for rate, recall in recalls
        )
        + "."
    )


def _basis(evaluation: EvaluationResult, curve: Band) -> str:
    bands = NO_BAND if np.isnan(curve.low).all() else _BANDS
    return f"{bands} {evaluation.overall.genuine:,} genuine records and {evaluation.overall.frauds:,} frauds."


def _curve_grid(
    name: str, curve: Band, heads: tuple[str, str], caption: str, *, write: Writer = percent
) -> Grid:
    rows = [
        (write(curve.x[place]), percent(curve.y[place]), range_text(curve.low[place], curve.high[place]))
        for place in thin(len(curve.x), 16)
    ]
    return Grid.of(name, caption, {"x": heads[0], "y": heads[1], "ends": "95% interval"}, rows)
