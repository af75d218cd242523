"""Errors of the policy by week and month."""

from typing import TYPE_CHECKING

from scoring_model.evaluation.report.figures import (
    NO_RECORDS,
    Figure,
    Table,
    absent,
    drawn,
    share_text,
)
from scoring_model.evaluation.report.scales import percent, unbroken
from scoring_model.evaluation.report.sections.section import Section
from scoring_model.evaluation.result import EvaluationResult
from scoring_model.evaluation.stability import RECENT_DAYS, WINDOW_DAYS
from scoring_model.figures import ERRORS, FIGURES, bounded

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scoring_model.evaluation.report.plot import Plots


def time_section(evaluation: EvaluationResult, plots: "Plots") -> Section:
    """Describe how the errors move over time."""
    return Section(
        name="time",
        title="Over time",
        figures=(_weeks(evaluation, plots),),
        tables=(_worst(evaluation), _months(evaluation)),
    )


def _weeks(evaluation: EvaluationResult, plots: "Plots") -> Figure:
    name, title = "weeks", "Errors by week"
    weeks = evaluation.curves.weeks
    if not weeks:
        return absent(name, title, NO_RECORDS)

    def draw(*axes: "Axes") -> None:
        for ax, error in zip(axes, ERRORS, strict=True):
            plots.weeks(error, ax=ax)
            ax.label_outer()

    first, last = next(iter(weeks)), list(weeks)[-1]
    return drawn(
        name,
        title,
        draw=draw,
        alt=f"Three panels by week from {first} to {last}: {'; '.join(_span(evaluation, error) for error in ERRORS)}.",
        caption=(
            "Weeks begin on Monday, in UTC. Bars: 95% intervals of each week by itself, for independent records. "
            "Dotted: the whole period. Bars that reach the upper edge go on. The first and the last week may be "
            "incomplete."
        ),
        table=_weeks_table(evaluation),
        height=6.0,
        rows=3,
    )


def _span(evaluation: EvaluationResult, error: str) -> str:
    """Write the lowest and highest weekly share."""
    shares = [getattr(week, error).share for week in evaluation.curves.weeks.values()]
    known = [share for share in shares if share is not None]
    if not known:
        return f"{FIGURES[error].title.lower()}: no records"
    return f"{FIGURES[error].title.lower()}, between {percent(min(known))} and {percent(max(known))}"


def _weeks_table(evaluation: EvaluationResult) -> Table:
    rows = tuple(
        (
            unbroken(week),
            f"{found.genuine:,}",
            f"{found.frauds:,}",
            *(share_text(getattr(found, error)) for error in ERRORS),
        )
        for week, found in evaluation.curves.weeks.items()
    )
    heads = ("Week of", "Genuine", "Frauds", *(FIGURES[error].title for error in ERRORS))
    return Table(caption="Errors by week, with intervals", heads=heads, rows=rows)


def _worst(evaluation: EvaluationResult) -> Table:
    rows = []
    for error in evaluation.stability:
        worst = error.worst
        if worst is not None:
            days = unbroken(f"{worst.since} to {worst.until}")
            rows.append((bounded(error.bound).title, share_text(worst.share), days))
    return Table(
        caption=(
            f"Worst recent window of {WINDOW_DAYS} days, of the last {RECENT_DAYS}: "
            "the worst of many lies above the average even where nothing moves"
        ),
        heads=("Error", "Share", "Days"),
        rows=tuple(rows),
    )


def _months(evaluation: EvaluationResult) -> Table:
    rows = tuple(
        (
            unbroken(month),
            f"{found.genuine:,}",
            f"{found.frauds:,}",
            *(share_text(getattr(found, error)) for error in ERRORS),
            "–" if found.roc_auc is None else f"{found.roc_auc:.3f}",
        )
        for month, found in evaluation.months.items()
    )
    heads = (
        "Month",
        "Genuine",
        "Frauds",
        *(FIGURES[error].title for error in ERRORS),
        FIGURES["roc_auc"].title,
    )
    return Table(caption="By calendar month, with intervals for independent records", heads=heads, rows=rows)
