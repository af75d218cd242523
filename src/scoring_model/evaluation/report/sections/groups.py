"""Rates by group."""

from typing import TYPE_CHECKING, Final

from scoring_model.evaluation.grouping import OTHER
from scoring_model.evaluation.groups import MIN_RECORDS, REST
from scoring_model.evaluation.report.figures import Figure, Table, drawn, range_text
from scoring_model.evaluation.report.plots.groups import ROW
from scoring_model.evaluation.report.scales import percent, signed
from scoring_model.evaluation.report.sections.section import Section
from scoring_model.evaluation.result import EvaluationResult
from scoring_model.figures import ERRORS, FIGURES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scoring_model.evaluation.groups import Difference, GroupRate, GroupTable
    from scoring_model.evaluation.report.plot import Plots

TOP: Final = 20
"""Groups that are drawn."""

_NOT_ENOUGH: Final = "not enough data"


def groups_sections(evaluation: EvaluationResult, plots: "Plots") -> list[Section]:
    """Describe rates by group, one part for each column; or say that none were asked for."""
    if not evaluation.groups:
        text = "No groups were asked for: name columns with --by, or by=[...] in Python."
        return [Section(name="groups", title="Groups", texts=(text,))]
    text = (
        f"A group with fewer than {MIN_RECORDS} records of the class, or on fewer than ten days, has not enough data "
        "for an interval. Gaps and ratios compare each group with the reference; their intervals are simultaneous: "
        "they hold for all groups at once with 95% confidence."
    )
    return [
        Section(
            name=f"by-{slug(table.column)}",
            title=f"Groups by {table.column}",
            texts=(text,),
            figures=(_figure(evaluation, plots, table),),
            tables=(_comparison(table, "gap"), _comparison(table, "ratio")),
        )
        for table in evaluation.groups
    ]


def _figure(evaluation: EvaluationResult, plots: "Plots", table: "GroupTable") -> Figure:
    def draw(*axes: "Axes") -> None:
        for ax, rate in zip(axes, ERRORS, strict=True):
            plots.groups(table.column, rate, ax=ax, top=TOP)

    shown = min(len(table.groups), TOP)
    names = ", ".join(group.value for group in table.groups[:TOP])
    others = "" if shown == len(table.groups) else f" Drawn: the {shown} largest; the table holds all."
    return drawn(
        f"groups-{slug(table.column)}",
        "Rates by group",
        draw=draw,
        alt=f"Three panels of {shown} groups by {table.column}: {names}. {_clear(table)}",
        caption=f"{_clear(table)} {_merged(table)} Bars: 95% intervals from whole days. Dotted: all records.{others}",
        table=_rates(table),
        height=3 * (shown * ROW + 0.75),
        rows=3,
    )


def slug(column: str) -> str:
    """Return the part of an identifier that names a column."""
    return "".join(letter if letter.isalnum() else "-" for letter in column)


def _merged(table: "GroupTable") -> str:
    persons = "" if table.persons_known else " Persons are not known, so each record counts as one."
    if not table.merged_values:
        return persons.strip()
    return f"{table.merged_values:,} values are merged: {OTHER}.{persons}"


def _clear(table: "GroupTable") -> str:
    """Name the groups whose simultaneous interval of the gap leaves out 0."""
    found = []
    for group in table.groups:
        for rate in ERRORS:
            gap = group.rates[rate].gap
            if gap.simultaneous_low is not None and gap.simultaneous_low > 0:
                found.append(f"{group.value}: {FIGURES[rate].title.lower()} more often")
            elif gap.simultaneous_high is not None and gap.simultaneous_high < 0:
                found.append(f"{group.value}: {FIGURES[rate].title.lower()} less often")
    if found:
        return f"Clear differences (simultaneous intervals leave out 0): {'; '.join(found)}."
    return "No group differs clearly from its reference: every simultaneous interval that exists holds 0."


def _rates(table: "GroupTable") -> Table:
    rows = tuple(
        (
            group.value,
            f"{group.genuine:,}",
            f"{group.frauds:,}",
            *(_rate(group.rates[rate]) for rate in ERRORS),
        )
        for group in table.groups
    )
    heads = ("Group", "Genuine", "Frauds", *(FIGURES[rate].title for rate in ERRORS))
    return Table(caption=f"Rates by {table.column}, with 95% intervals", heads=heads, rows=rows)


def _rate(found: "GroupRate") -> str:
    value = found.estimate
    if value.value is None:
        return "no records"
    counted = f"{found.count:,} of {value.records:,}"
    if not found.enough:
        return f"{_NOT_ENOUGH} ({counted})"
    return f"{percent(value.value)} ({range_text(value.low, value.high)})"


def _comparison(table: "GroupTable", kind: str) -> Table:
    """List the gaps or ratios of all groups to the reference."""
    reference = "all other records" if table.reference == REST else table.reference
    title = "Gaps, in percentage points, to" if kind == "gap" else "Ratios to"
    rows = tuple(
        (group.value, *(_difference(group.rates[rate], kind) for rate in ERRORS))
        for group in table.groups
        if group.value != table.reference
    )
    heads = ("Group", *(FIGURES[rate].title for rate in ERRORS))
    return Table(caption=f"{title} {reference}, with simultaneous 95% intervals", heads=heads, rows=rows)


def _difference(rate: "GroupRate", kind: str) -> str:
    found: Difference = rate.gap if kind == "gap" else rate.ratio
    if not rate.enough:
        return _NOT_ENOUGH
    if found.value is None:
        return "–"

    def write(value: float) -> str:
        return signed(100 * value) if kind == "gap" else f"{value:.2f}"

    low, high = found.simultaneous_low, found.simultaneous_high
    ends = "no interval" if low is None else f"{write(low)} to {'∞' if high is None else write(high)}"
    return f"{write(found.value)} ({ends})"
