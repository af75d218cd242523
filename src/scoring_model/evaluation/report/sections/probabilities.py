"""Whether predicted probabilities are right."""

from typing import TYPE_CHECKING

import numpy as np

from scoring_model.evaluation.decomposition import RESAMPLES
from scoring_model.evaluation.report.figures import (
    NO_BAND,
    NO_RECORDS,
    Figure,
    Table,
    absent,
    drawn,
    range_text,
    thin,
)
from scoring_model.evaluation.report.scales import percent
from scoring_model.evaluation.report.sections.section import Section
from scoring_model.evaluation.result import EvaluationResult

if TYPE_CHECKING:
    from scoring_model.evaluation.decomposition import Reliability
    from scoring_model.evaluation.report.plot import Plots


def probabilities_section(evaluation: EvaluationResult, plots: "Plots") -> Section:
    """Describe reliability and the decomposition of both losses."""
    return Section(
        name="probabilities",
        title="Probabilities",
        texts=(
            "Probabilities serve costs and people; outcomes follow from the score alone. A loss is miscalibration "
            "minus discrimination plus uncertainty: what recalibration would save, what the model knows, and what "
            "the constant share of frauds would lose.",
        ),
        figures=(_reliability(evaluation, plots),),
        tables=(_losses(evaluation),),
    )


def _reliability(evaluation: EvaluationResult, plots: "Plots") -> Figure:
    name, title = "reliability", "Predicted and observed shares of frauds"
    if not evaluation.overall.records:
        return absent(name, title, NO_RECORDS)
    found = evaluation.curves.reliability
    return drawn(
        name,
        title,
        draw=plots.reliability,
        alt=f"Reliability curve on square-root axes. {_outside(found)}",
        caption=(
            "CORP: isotonic regression of the outcomes on the predicted probabilities, on square-root axes. "
            f"{_band(found)} At the bottom: genuine records (blue) and frauds (orange) by predicted probability, "
            f"heights logarithmic. {found.records:,} records. {_outside(found)}"
        ),
        table=_table(found),
        height=4.2,
    )


def _band(found: "Reliability") -> str:
    if not len(found.grid):
        return NO_BAND
    return (
        f"Grey: where 95% of curves lie if the probabilities are right ({RESAMPLES} resamples of whole days)."
    )


def _outside(found: "Reliability") -> str:
    """State where the curve leaves its band."""
    if not len(found.grid):
        return (
            "There are too few days to say whether the curve differs from the diagonal by more than chance."
        )
    fit = np.interp(found.grid, found.predicted, found.recalibrated)
    wrong = (fit < found.low) | (fit > found.high)
    if not wrong.any():
        return "The curve stays within the band everywhere."
    texts = []
    for outside, text in ((fit > found.high, "more"), (fit < found.low, "fewer")):
        if outside.any():
            places = found.grid[outside]
            texts.append(
                f"{text} frauds than predicted in places from {percent(places[0])} to {percent(places[-1])}"
            )
    share = wrong.mean()
    return f"The curve leaves the band at {share:.0%} of the points of its grid: {', '.join(texts)}."


def _table(found: "Reliability") -> Table:
    rows = []
    for place in thin(len(found.predicted), 16):
        predicted = found.predicted[place]
        ends = (
            range_text(
                float(np.interp(predicted, found.grid, found.low)),
                float(np.interp(predicted, found.grid, found.high)),
            )
            if len(found.grid)
            else "–"
        )
        rows.append((percent(predicted), percent(found.recalibrated[place]), ends))
    return Table(
        caption="Points of the curve",
        heads=("Predicted", "Observed (isotonic)", "Expected if right, 95%"),
        rows=tuple(rows),
    )


def _losses(evaluation: EvaluationResult) -> Table:
    columns = [_loss(evaluation, name) for name in ("brier", "log_loss")]
    names = ("Value", "95% interval", "Miscalibration", "Discrimination", "Uncertainty", "Records")
    return Table(
        caption="Losses and their parts",
        heads=("Part", "Brier score", "Log loss"),
        rows=tuple(zip(names, *columns, strict=True)),
    )


def _loss(evaluation: EvaluationResult, name: str) -> tuple[str, ...]:
    """Write the loss, its interval and its parts."""
    parts, estimate = evaluation.decompositions.get(name), evaluation.figures[name]
    if parts is None:
        return ("–",) * 6
    ends = range_text(estimate.low, estimate.high, _term)
    terms = (parts.miscalibration, parts.discrimination, parts.uncertainty)
    return (_term(parts.loss), ends, *map(_term, terms), f"{parts.records:,}")


def _term(value: float) -> str:
    return f"{round(value, 4) + 0.0:.4f}"  # without a minus for rounding below 0
