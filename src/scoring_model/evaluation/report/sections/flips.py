"""Records that get another outcome: how many a day, why, and examples."""

from typing import TYPE_CHECKING, Final

from scoring_model.evaluation.comparison_result import ComparisonResult
from scoring_model.evaluation.flips import MOST_EXPLAINED
from scoring_model.evaluation.report.comparison_plot import flip_name
from scoring_model.evaluation.report.figures import Figure, Table, absent, drawn, range_text
from scoring_model.evaluation.report.first_screen import count_text
from scoring_model.evaluation.report.plots.comparison import ROW
from scoring_model.evaluation.report.sections.section import Section

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scoring_model.evaluation.report.comparison_plot import ComparisonPlots
    from scoring_model.evaluation.uncertainty import Estimate

REASONS: Final = 5
"""Reasons of each kind of flip that are listed."""


def flips_section(comparison: ComparisonResult, plots: "ComparisonPlots") -> Section:
    """Describe the records that get another outcome."""
    return Section(
        name="flips",
        title="Who gets another outcome, and why",
        figures=(_flips(comparison, plots),),
        tables=(_examples(comparison), _reasons(comparison)) if comparison.flips else (),
    )


def _flips(comparison: ComparisonResult, plots: "ComparisonPlots") -> Figure:
    name, title = "flips-a-day", "Other outcomes a day"
    if not comparison.flips:
        return absent(name, title, "No record has another outcome.")

    def draw(*axes: "Axes") -> None:
        for fraud, ax in enumerate(axes):
            plots.flips(bool(fraud), ax=ax)
            ax.label_outer()
            ax.set_xlabel("A day")

    texts = "; ".join(
        f"{flip_name(flip)}: {count_text(flip.daily_genuine.value or 0)} genuine and "
        f"{count_text(flip.daily_frauds.value or 0)} frauds a day"
        for flip in comparison.flips
    )
    return drawn(
        name,
        title,
        draw=draw,
        alt=f"Bars by kind of flip. {texts}.",
        caption=(
            f"A mean day of the {comparison.days:,} with records. Lines: 95% intervals. The two panels have scales of "
            "their own."
        ),
        table=Table(
            caption="Records with another outcome, with 95% intervals",
            heads=("Champion → challenger", "Genuine a day", "Frauds a day", "Genuine", "Frauds"),
            rows=tuple(
                (
                    flip_name(flip),
                    _daily(flip.daily_genuine),
                    _daily(flip.daily_frauds),
                    f"{flip.genuine:,}",
                    f"{flip.frauds:,}",
                )
                for flip in comparison.flips
            ),
        ),
        height=len(comparison.flips) * ROW + 1.0,
        columns=2,
    )


def _daily(found: "Estimate") -> str:
    value = _small(found.value or 0.0)
    return value if found.low is None else f"{value} ({range_text(found.low, found.high, _small)})"


def _small(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _reasons(comparison: ComparisonResult) -> Table:
    """List the most frequent reasons of the stricter model, by kind of flip."""
    rows = tuple(
        (
            flip_name(flip),
            comparison.sentences.get(code, code),
            f"{count:,} of {flip.explained:,}",
        )
        for flip in comparison.flips
        for code, count in list(flip.reasons.items())[:REASONS]
    )
    return Table(
        caption=(
            f"Reasons that the stricter model gives, the {REASONS} most frequent of each kind; counted on at most "
            f"{MOST_EXPLAINED} records of a kind, spread over the period, with up to five reasons each"
        ),
        heads=("Champion → challenger", "Reason", "Records"),
        rows=rows,
    )


def _examples(comparison: ComparisonResult) -> Table:
    """List ids of the records whose scores differ most."""
    rows = tuple(
        (flip_name(flip), ", ".join(flip.examples) or "the records have no ids") for flip in comparison.flips
    )
    return Table(
        caption="Examples: the records whose scores differ most",
        heads=("Champion → challenger", "recordId"),
        rows=rows,
    )
