"""Whether predicted probabilities are right."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from scoring_model.evaluation.decomposition import RESAMPLES
from scoring_model.evaluation.report.plots.reliability import draw_reliability
from scoring_model.evaluation.report.section import NO_BAND, NO_RECORDS, Cell, Drawing, Grid, Row, Section
from scoring_model.evaluation.report.words import (
    ABSENT,
    decimal,
    ends_text,
    estimate_text,
    percent,
    range_text,
    thin,
    titles,
)
from scoring_model.evaluation.result import EvaluationResult

if TYPE_CHECKING:
    from scoring_model.evaluation.decomposition import Reliability

_LOSSES = ("brier", "log_loss")
_PARTS = ("Value", "95% interval", "Miscalibration", "Discrimination", "Uncertainty", "Records")


def probabilities_section(evaluation: EvaluationResult) -> Section:
    """Describe reliability, the decomposition of both losses and the calibration by bins."""
    error = evaluation.overall.calibration_error
    return Section(
        name="probabilities",
        title="Probabilities",
        texts=(
            "Probabilities serve costs and people; outcomes follow from the score alone. A loss is miscalibration "
            "minus discrimination plus uncertainty: what recalibration would save, what the model knows, and what "
            "the constant share of frauds would lose.",
            *(() if error is None else (f"Expected calibration error: {decimal(error)}.",)),
        ),
        drawings=(partial(_reliability, evaluation),),
        grids=(losses_grid(evaluation), _bins(evaluation)),
    )


def losses_grid(evaluation: EvaluationResult) -> Grid:
    """List both losses with their parts."""
    columns = (_loss(evaluation, name) for name in _LOSSES)
    heads = {"part": "Part", **titles(_LOSSES)}
    return Grid.of("losses", "Losses and their parts", heads, zip(_PARTS, *columns, strict=True))


def _loss(evaluation: EvaluationResult, name: str) -> Row:
    """Write the loss, its interval and its parts."""
    parts = evaluation.decompositions.get(name)
    if parts is None:
        return (ABSENT,) * len(_PARTS)
    terms = map(decimal, (parts.miscalibration, parts.discrimination, parts.uncertainty))
    ends = ends_text(evaluation.figures[name], decimal)
    return (decimal(parts.loss), ends, *terms, f"{parts.records:,}")


def _bins(evaluation: EvaluationResult) -> Grid:
    """List mean probability and observed share of frauds by bin."""
    rows = [
        (f"{place}", f"{row.observed.records:,}", f"{row.probability:.3%}", estimate_text(row.observed))
        for place, row in enumerate(evaluation.calibration, start=1)
    ]
    heads = {"bin": "Bin", "records": "Records", "predicted": "Mean probability", "observed": "Frauds"}
    return Grid.of("calibration", "Calibration: bins of nearly equal numbers of records", heads, rows)


def _reliability(evaluation: EvaluationResult) -> Drawing:
    name, title = "reliability", "Predicted and observed shares of frauds"
    if not evaluation.overall.records:
        return Drawing(name=name, title=title, missing=NO_RECORDS)
    fit = evaluation.curves.reliability
    outside = _outside(fit)
    return Drawing(
        name=name,
        title=title,
        draw=lambda ax: draw_reliability(ax, fit),
        alt=f"Reliability curve on square-root axes. {outside}",
        caption=(
            "CORP: isotonic regression of the outcomes on the predicted probabilities, on square-root axes. "
            f"{_band(fit)} At the bottom: genuine records (blue) and frauds (orange) by predicted probability, "
            f"heights logarithmic. {fit.records:,} records. {outside}"
        ),
        grid=_points(fit),
        height=4.2,
    )


def _band(fit: "Reliability") -> str:
    if not len(fit.grid):
        return NO_BAND
    return f"Grey: where 95% of curves lie if the probabilities are right ({RESAMPLES} resamples of days and rings)."


def _outside(fit: "Reliability") -> str:
    """State where the curve leaves its band."""
    if not len(fit.grid):
        return (
            "There are too few days to say whether the curve differs from the diagonal by more than chance."
        )
    curve = np.interp(fit.grid, fit.predicted, fit.recalibrated)
    above, below = curve > fit.high, curve < fit.low
    if not (above | below).any():
        return "The curve stays within the band everywhere."
    texts = [
        f"{text} frauds than predicted in places from {percent(fit.grid[outside][0])} to "
        f"{percent(fit.grid[outside][-1])}"
        for outside, text in ((above, "more"), (below, "fewer"))
        if outside.any()
    ]
    share = (above | below).mean()
    return f"The curve leaves the band at {share:.0%} of the points of its grid: {', '.join(texts)}."


def _points(fit: "Reliability") -> Grid:
    heads = {"predicted": "Predicted", "observed": "Observed (isotonic)", "ends": "Expected if right, 95%"}
    return Grid.of("reliability", "Points of the curve", heads, _point_rows(fit))


def _point_rows(fit: "Reliability") -> Iterator[Row]:
    for place in thin(len(fit.predicted), 16):
        predicted, ends = fit.predicted[place], ABSENT
        if len(fit.grid):
            low, high = (float(np.interp(predicted, fit.grid, side)) for side in (fit.low, fit.high))
            ends = range_text(low, high)
        yield Cell(text=percent(predicted), key=f"{place}"), percent(fit.recalibrated[place]), ends
