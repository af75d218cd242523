"""Rates by group."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from scoring_model.evaluation.grouping import OTHER
from scoring_model.evaluation.groups import MIN_RECORDS, REST
from scoring_model.evaluation.report.plots.groups import draw_groups
from scoring_model.evaluation.report.section import Drawing, Grid, Section
from scoring_model.evaluation.report.style import ROW
from scoring_model.evaluation.report.words import (
    ABSENT,
    CAN_NOT_KNOW,
    estimate_text,
    points,
    slug,
    titles,
)
from scoring_model.evaluation.result import EvaluationResult
from scoring_model.evaluation.stopped import WIDEST
from scoring_model.figures import ERRORS, FIGURES

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

    from scoring_model.estimates import Estimate
    from scoring_model.evaluation.groups import Group, GroupRate, GroupTable

TOP: Final = 20
"""Groups that are drawn."""

_NOT_ENOUGH: Final = "not enough data"

OVER_LABELS: Final = (
    "Numbers are about the applicants who were observed. Their intervals also hold for every label that the stopped "
    "applicants of the group could have; “can’t know” stands where such an interval is wider than half of what is "
    "possible."
)


def groups_sections(evaluation: EvaluationResult) -> list[Section]:
    """Describe rates by group, one part for each column; or say that none were asked for."""
    if not evaluation.groups:
        text = "No groups were asked for: name columns with --by, or by=[...] in Python."
        return [Section(name="groups", title="Groups", texts=(text,))]
    text = (
        f"A group with fewer than {MIN_RECORDS} records of the class, or on fewer than ten days or in fewer than ten "
        "rings, has not enough data for an interval, and neither has its gap to a reference of so few. Gaps and ratios "
        "compare each group with the reference; their intervals are simultaneous: they hold for all groups of the "
        "column at once, for each rate by itself, with 95% confidence."
    )
    texts = (text,) if evaluation.stopped is None else (text, OVER_LABELS)
    return [
        Section(
            name=f"by-{slug(table.column)}",
            title=f"Groups by {table.column}",
            texts=texts,
            drawings=(_drawing(evaluation, table),),
            grids=(
                _compared(table, "gaps", "Gaps, in percentage points,", _gap),
                _compared(table, "ratios", "Ratios", _ratio),
            ),
        )
        for table in evaluation.groups
    ]


def _drawing(evaluation: EvaluationResult, table: "GroupTable") -> Drawing:
    shown = table.groups[:TOP]

    def draw(*axes: "Axes") -> None:
        for ax, rate in zip(axes, ERRORS, strict=True):
            draw_groups(ax, rate, shown, evaluation.figures[rate].value)

    names = ", ".join(group.value for group in shown)
    clear = _clear(table)
    others = "" if len(shown) == len(table.groups) else f" Drawn: the {TOP} largest; the table holds all."
    return Drawing(
        name=f"groups-{slug(table.column)}",
        title="Rates by group",
        draw=draw,
        alt=f"Three panels of {len(shown)} groups by {table.column}: {names}. {clear}",
        caption=f"{clear} {_merged(table)} Bars: 95% intervals. Dotted: all records.{others}",
        grid=_rates(table),
        height=3 * (len(shown) * ROW + 0.75),
        rows=3,
    )


def _merged(table: "GroupTable") -> str:
    persons = "" if table.persons_known else " Persons are not known, so each record counts as one."
    if not table.merged_values:
        return persons.strip()
    return f"{table.merged_values:,} values are merged: {OTHER}.{persons}"


def _clear(table: "GroupTable") -> str:
    """Name the groups whose simultaneous interval of the gap leaves out 0."""
    clear = [
        f"{group.value}: {FIGURES[rate].title.lower()} {side} often"
        for group in table.groups
        for rate in ERRORS
        if (side := _side(group.rates[rate]))
    ]
    if clear:
        return f"Clear differences (simultaneous intervals leave out 0): {'; '.join(clear)}."
    text = "No group differs clearly from its reference: every simultaneous interval that exists holds 0."
    return f"{text} {_visible(table)}".rstrip()


def _visible(table: "GroupTable") -> str:
    """Say which gap would have been seen: one as far from 0 as the ends are from the value is in half of the cases.

    Where applicants were stopped it is a gap of those who were observed: the ends also hold for every label of these.
    """
    gaps = {rate: [group.rates[rate].gap.together for group in _others(table)] for rate in ERRORS}
    parts = [
        f"{FIGURES[rate].title.lower()} {_reaches([one for one in found if one.ends is not None])}"
        for rate, found in gaps.items()
        if any(one.ends is not None for one in found)
    ]
    if not parts:
        return ""
    if all(one.method != "labellings" for found in gaps.values() for one in found):
        return f"Gaps that would be seen in half of the cases, by group: {'; '.join(parts)}."
    return (
        "Gaps of those who were observed that would be seen in half of the cases, whatever the stopped ones were, by "
        f"group: {'; '.join(parts)}. A control group would narrow the intervals."
    )


def _reaches(gaps: "list[Estimate]") -> str:
    """Write how far the ends of gaps are from the values, from the nearest to the farthest, if they say anything."""
    known = [one for one in gaps if told(one, "", span=2) != CAN_NOT_KNOW]
    if not known:
        return CAN_NOT_KNOW
    reaches = [100 * max(abs((one.value or 0.0) - end) for end in one.ends or ()) for one in known]
    return f"{min(reaches):.2g} to {max(reaches):.2g} points"


def _side(rate: "GroupRate") -> str:
    low, high = rate.gap.together.ends or (0.0, 0.0)
    return "more" if low > 0 else "less" if high < 0 else ""


def _rates(table: "GroupTable") -> Grid:
    rows = [
        (
            group.value,
            f"{group.genuine:,}",
            f"{group.frauds:,}",
            *(_rate(group.rates[rate]) for rate in ERRORS),
        )
        for group in table.groups
    ]
    heads = {"group": "Group", "genuine": "Genuine", "frauds": "Frauds", **titles(ERRORS)}
    return Grid.of(f"rates-{slug(table.column)}", f"Rates by {table.column}, with 95% intervals", heads, rows)


def _rate(rate: "GroupRate") -> str:
    share = rate.estimate
    if share.value is not None and not rate.enough:
        return f"{_NOT_ENOUGH} ({share.count:,} of {share.records:,})"
    return told(share, estimate_text(share, unknown="no records"), span=1)


def told(one: "Estimate", text: str, *, span: float) -> str:
    """Return the text of a number of a group, or that its ends over all labels of the stopped ones say nothing."""
    if one.method != "labellings" or one.ends is None:
        return text
    low, high = one.ends
    return CAN_NOT_KNOW if high - low > WIDEST * span else text


def _compared(table: "GroupTable", name: str, what: str, write: "Callable[[GroupRate], str]") -> Grid:
    """List what each group has beside the reference."""
    caption = f"{what} to {_reference(table)}, with simultaneous 95% intervals"
    rows = ((group.value, *(write(group.rates[rate]) for rate in ERRORS)) for group in _others(table))
    return Grid.of(f"{name}-{slug(table.column)}", caption, {"group": "Group", **titles(ERRORS)}, rows)


def _gap(rate: "GroupRate") -> str:
    if rate.gap.absence:
        return _NOT_ENOUGH
    gap = rate.gap.together
    return told(gap, estimate_text(gap, points, endless="no interval"), span=2)


def _ratio(rate: "GroupRate") -> str:
    """Write a ratio; one to a rate of nearly 0 may have no upper end."""
    ratio = rate.ratio.together
    if ratio.absence:
        return _NOT_ENOUGH
    if _gap(rate) == CAN_NOT_KNOW:
        return CAN_NOT_KNOW
    if ratio.value is None:
        return ABSENT
    high = "∞" if ratio.high is None else f"{ratio.high:.2f}"
    ends = "no interval" if ratio.low is None else f"{ratio.low:.2f} to {high}"
    return f"{ratio.value:.2f} ({ends})"


def _reference(table: "GroupTable") -> str:
    return "all other records" if table.reference == REST else table.reference


def _others(table: "GroupTable") -> "Iterator[Group]":
    return (group for group in table.groups if group.value != table.reference)
