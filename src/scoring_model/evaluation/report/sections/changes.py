"""Changes by group between two models."""

from typing import TYPE_CHECKING, Final

from scoring_model.evaluation.comparison_result import ComparisonResult
from scoring_model.evaluation.report.comparison_plot import tone_of
from scoring_model.evaluation.report.figures import Table, drawn, range_text
from scoring_model.evaluation.report.plots.comparison import ROW
from scoring_model.evaluation.report.scales import signed
from scoring_model.evaluation.report.sections.groups import TOP, slug
from scoring_model.evaluation.report.sections.section import Section
from scoring_model.figures import ERRORS, FIGURES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scoring_model.evaluation.flips import GroupFlipTable
    from scoring_model.evaluation.groups import Difference
    from scoring_model.evaluation.report.comparison_plot import ComparisonPlots

_TEXT: Final = (
    "Changes of rates are challenger minus champion, in percentage points. Their intervals hold for all groups of the "
    "column at once with 95% confidence. Groups with too few records or days have no interval."
)


def changes_sections(comparison: ComparisonResult, plots: "ComparisonPlots") -> list[Section]:
    """Describe who flips, one part for each column."""
    return [
        Section(
            name=f"by-{slug(found.column)}",
            title=f"Groups by {found.column}",
            texts=(_TEXT,),
            figures=(
                drawn(
                    f"changes-{slug(found.column)}",
                    "Changes of rates by group",
                    draw=lambda *axes, found=found: _draw(plots, found, *axes),
                    alt=(
                        f"Three panels of {min(len(found.groups), TOP)} groups: "
                        f"{', '.join(group.value for group in found.groups[:TOP])}. {_clear(found)}"
                    ),
                    caption=f"{_clear(found)} {_drawn(found)}",
                    table=_table(found),
                    height=3 * (min(len(found.groups), TOP) * ROW + 1.0),
                    rows=3,
                ),
            ),
            tables=(_flips(found),),
        )
        for found in comparison.groups
    ]


def _draw(plots: "ComparisonPlots", found: "GroupFlipTable", *axes: "Axes") -> None:
    for ax, rate in zip(axes, ERRORS, strict=True):
        plots.changes(found.column, rate, ax=ax, top=TOP)
        ax.set_title(FIGURES[rate].title, fontsize=10.5)


def _drawn(found: "GroupFlipTable") -> str:
    colours = "Green: clearly fewer errors; orange: clearly more; grey and hollow: the interval holds 0."
    return (
        colours if len(found.groups) <= TOP else f"{colours} Drawn: the {TOP} largest; the table holds all."
    )


def _clear(found: "GroupFlipTable") -> str:
    """Name the groups with clearly more or fewer errors."""
    texts = [
        f"{group.value}: {FIGURES[rate].title.lower()} {'more' if tone == 'worse' else 'less'} often"
        for group in found.groups
        for rate in ERRORS
        if (
            tone := tone_of(rate, group.changes[rate].simultaneous_low, group.changes[rate].simultaneous_high)
        )
    ]
    return f"Clear changes: {'; '.join(texts)}." if texts else "No group has a clear change."


def _table(found: "GroupFlipTable") -> Table:
    rows = tuple((group.value, *(_change(group.changes[rate]) for rate in ERRORS)) for group in found.groups)
    return Table(
        caption=f"Changes by {found.column}, in percentage points, with simultaneous 95% intervals",
        heads=("Group", *(FIGURES[rate].title for rate in ERRORS)),
        rows=rows,
    )


def _change(change: "Difference") -> str:
    if change.value is None:
        return "no records"
    if change.simultaneous_low is None:
        return f"{signed(100 * change.value)} (not enough data)"
    ends = range_text(change.simultaneous_low, change.simultaneous_high, lambda value: signed(100 * value))
    return f"{signed(100 * change.value)} ({ends})"


def _flips(found: "GroupFlipTable") -> Table:
    rows = tuple(
        (
            group.value,
            f"{group.records:,}",
            f"{group.stricter:,} ({group.stricter_frauds:,} frauds)",
            f"{group.milder:,} ({group.milder_frauds:,} frauds)",
        )
        for group in found.groups
    )
    return Table(
        caption=f"Records with another outcome, by {found.column}",
        heads=("Group", "Records", "Stricter outcome", "Milder outcome"),
        rows=rows,
    )
