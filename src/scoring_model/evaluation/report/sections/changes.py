"""Changes by group between two models."""

from typing import TYPE_CHECKING, Final

from scoring_model.evaluation.comparison_result import ComparisonResult
from scoring_model.evaluation.report.plots.comparison import draw_changes
from scoring_model.evaluation.report.section import Cell, Drawing, Grid, Row, Section
from scoring_model.evaluation.report.sections.groups import OVER_LABELS, TOP, told
from scoring_model.evaluation.report.style import ROW, TITLE
from scoring_model.evaluation.report.words import estimate_text, points, slug, titles, tone_of
from scoring_model.figures import ERRORS, FIGURES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scoring_model.estimates import Estimate
    from scoring_model.evaluation.flips import GroupFlipTable

_TEXT: Final = (
    "Changes of rates are challenger minus champion, in percentage points. Their intervals hold for all groups of the "
    "column at once, for each rate by itself, with 95% confidence. Groups with too few records or days have no "
    "interval."
)
_COLOURS: Final = "Green: clearly fewer errors; orange: clearly more; grey and hollow: the interval holds 0."


def changes_sections(comparison: ComparisonResult) -> list[Section]:
    """Describe who flips, one part for each column."""
    return [
        Section(
            name=f"by-{slug(table.column)}",
            title=f"Groups by {table.column}",
            texts=(_TEXT,) if comparison.released is None else (_TEXT, OVER_LABELS),
            drawings=(_drawing(table),),
            grids=(_flips(table),),
        )
        for table in comparison.groups
    ]


def _drawing(table: "GroupFlipTable") -> Drawing:
    shown, clear = table.groups[:TOP], _clear(table)

    def draw(*axes: "Axes") -> None:
        for ax, rate in zip(axes, ERRORS, strict=True):
            draw_changes(ax, shown, rate)
            ax.set_title(FIGURES[rate].title, fontsize=TITLE)

    others = "" if len(shown) == len(table.groups) else f" Drawn: the {TOP} largest; the table holds all."
    rows: list[Row] = [
        (group.value, *(_change(rate, group.changes[rate].together) for rate in ERRORS))
        for group in table.groups
    ]
    return Drawing(
        name=f"changes-{slug(table.column)}",
        title="Changes of rates by group",
        draw=draw,
        alt=f"Three panels of {len(shown)} groups: {', '.join(group.value for group in shown)}. {clear}",
        caption=f"{clear} {_COLOURS}{others}",
        grid=Grid.of(
            f"changes-{slug(table.column)}",
            f"Changes by {table.column}, in percentage points, with simultaneous 95% intervals",
            {"group": "Group", **titles(ERRORS)},
            rows,
        ),
        height=3 * (len(shown) * ROW + 1.0),
        rows=3,
    )


def _clear(table: "GroupFlipTable") -> str:
    """Name the groups with clearly more or fewer errors."""
    clear = [
        f"{group.value}: {FIGURES[rate].title.lower()} {'more' if tone == 'worse' else 'less'} often"
        for group in table.groups
        for rate in ERRORS
        if (tone := tone_of(rate, group.changes[rate].together))
    ]
    return f"Clear changes: {'; '.join(clear)}." if clear else "No group has a clear change."


def _change(rate: str, change: "Estimate") -> Cell:
    text = estimate_text(change, points, unknown="no records", endless="not enough data")
    return Cell(text=told(change, text, span=2), tone=tone_of(rate, change))


def _flips(table: "GroupFlipTable") -> Grid:
    rows = [
        (
            group.value,
            f"{group.records:,}",
            f"{group.stricter:,} ({group.stricter_frauds:,} frauds)",
            f"{group.milder:,} ({group.milder_frauds:,} frauds)",
        )
        for group in table.groups
    ]
    heads = {
        "group": "Group",
        "records": "Records",
        "stricter": "Stricter outcome",
        "milder": "Milder outcome",
    }
    caption = f"Records with another outcome, by {table.column}"
    return Grid.of(f"flips-{slug(table.column)}", caption, heads, rows)
