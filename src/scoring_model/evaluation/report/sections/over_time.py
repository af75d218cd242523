"""Errors of the policy by week and month."""

from functools import partial
from typing import TYPE_CHECKING

from scoring_model.evaluation.report.plot import draw_weeks
from scoring_model.evaluation.report.section import NO_RECORDS, Cell, Drawing, Grid, Row, Section
from scoring_model.evaluation.report.words import (
    ABSENT,
    VERDICT_TONES,
    estimate_text,
    percent,
    titles,
    unbroken,
)
from scoring_model.evaluation.result import EvaluationResult
from scoring_model.evaluation.stability import RECENT_DAYS, WINDOW_DAYS, Stability
from scoring_model.figures import ERRORS, FIGURES, bounded

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scoring_model.evaluation.measures import Measures

_COUNTS = {"genuine": "Genuine", "frauds": "Frauds"}


def time_section(evaluation: EvaluationResult) -> Section:
    """Describe how the errors move over time."""
    return Section(
        name="time",
        title="Over time",
        texts=(
            "What is promised holds for independent records of a population that stays as it was. Intervals draw days "
            "of genuine records, and rings of frauds that link keys join; so many of them are independent.",
        ),
        drawings=(partial(_weeks, evaluation),),
        grids=(errors_grid(evaluation), _months(evaluation)),
    )


def errors_grid(evaluation: EvaluationResult) -> Grid:
    """List the errors with their promises, intervals and worst windows."""
    heads = {
        "error": "Error",
        "limit": "Promised at most",
        "observed": "Observed",
        "independent": "Independent",
        "days": "Days",
        "worst": "Share of the worst window",
        "window": "Days of the worst window",
    }
    caption = (
        f"Errors of the policy, and the worst recent window of {WINDOW_DAYS} days, of the last {RECENT_DAYS}: "
        "the worst of many lies above the average even where nothing moves"
    )
    return Grid.of("errors", caption, heads, map(_error, evaluation.stability))


def _error(error: Stability) -> Row:
    figure, worst = bounded(error.bound), error.worst
    return (
        Cell(text=figure.title, key=figure.key),
        percent(error.limit),
        Cell(text=estimate_text(error.share), tone=VERDICT_TONES[error.verdict]),
        ABSENT if error.share.independent is None else f"{error.share.independent:,}",
        f"{error.days:,}",
        ABSENT if worst is None else estimate_text(worst.share),
        ABSENT if worst is None else unbroken(f"{worst.since} to {worst.until}"),
    )


def _weeks(evaluation: EvaluationResult) -> Drawing:
    name, title = "weeks", "Errors by week"
    weeks = evaluation.curves.weeks
    if not weeks:
        return Drawing(name=name, title=title, missing=NO_RECORDS)

    def draw(*axes: "Axes") -> None:
        for ax, error in zip(axes, ERRORS, strict=True):
            draw_weeks(ax, evaluation, error)
            ax.label_outer()

    first, *_, last = (*weeks, list(weeks)[-1])
    return Drawing(
        name=name,
        title=title,
        draw=draw,
        alt=f"Three panels by week from {first} to {last}: {'; '.join(_span(evaluation, error) for error in ERRORS)}.",
        caption=(
            "Weeks begin on Monday, in UTC. Bars: 95% intervals of each week by itself, for independent records. "
            "Dotted: the whole period. Bars that reach the upper edge go on. The first and the last week may be "
            "incomplete."
        ),
        grid=Grid.of(
            name,
            "Errors by week, with intervals",
            {"period": "Week of", **_COUNTS, **titles(ERRORS)},
            (_period(week, measures) for week, measures in weeks.items()),
        ),
        height=6.0,
        rows=3,
    )


def _span(evaluation: EvaluationResult, error: str) -> str:
    """Write the lowest and highest weekly share."""
    shares = [week.figures[error].value for week in evaluation.curves.weeks.values()]
    known = [share for share in shares if share is not None]
    if not known:
        return f"{FIGURES[error].title.lower()}: no records"
    return f"{FIGURES[error].title.lower()}, between {percent(min(known))} and {percent(max(known))}"


def _months(evaluation: EvaluationResult) -> Grid:
    rows = [
        (*_period(month, measures), _area(measures.figures["roc_auc"].value))
        for month, measures in evaluation.months.items()
    ]
    heads = {"period": "Month", **_COUNTS, **titles((*ERRORS, "roc_auc"))}
    return Grid.of("months", "By calendar month in UTC, with intervals for independent records", heads, rows)


def _period(name: str, measures: "Measures") -> Row:
    return (
        Cell(text=unbroken(name), key=name),
        f"{measures.genuine:,}",
        f"{measures.frauds:,}",
        *(estimate_text(share) for share in measures.errors.values()),
    )


def _area(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.3f}"
