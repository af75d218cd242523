"""The page of a comparison: two models on the same records."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scoring_model.contract.outcome import OUTCOMES
from scoring_model.evaluation.comparison_result import ComparisonResult
from scoring_model.evaluation.day_draws import MIN_DAYS
from scoring_model.evaluation.flips import daily_changes
from scoring_model.evaluation.report.cards import gate_cards, promise_cards
from scoring_model.evaluation.report.comparison_plot import ComparisonPlots
from scoring_model.evaluation.report.figures import Table, range_text
from scoring_model.evaluation.report.first_screen import OUTCOME_TITLES, count_text, left_out_texts
from scoring_model.evaluation.report.page import render_page, write_page
from scoring_model.evaluation.report.scales import day
from scoring_model.evaluation.report.sections.changes import changes_sections
from scoring_model.evaluation.report.sections.differences import differences_section
from scoring_model.evaluation.report.sections.findings import findings_section, limiting
from scoring_model.evaluation.report.sections.flips import flips_section
from scoring_model.evaluation.report.sections.models import models_section
from scoring_model.figures import FIGURES
from scoring_model.findings import Code

if TYPE_CHECKING:
    from scoring_model.evaluation.gates import GateReport
    from scoring_model.evaluation.uncertainty import Estimate

_APPLICANTS: Final = 10_000
_UNKNOWN: Final = (
    "The labels arose under the decisions of whichever model, or none, was deciding then. How applicants would act "
    "whom only the challenger steps up or fails, and which frauds it would deter, is not known."
)


def write_comparison(
    comparison: ComparisonResult, path: str | Path, *, gates: "GateReport | None" = None
) -> None:
    """Write the report of a comparison as one HTML file, whole or not at all.

    Raises
    ------
    MissingExtra
        Without matplotlib or Jinja2, which the extra ``[train]`` brings.
    """
    write_page(render_comparison(comparison, gates=gates), path)


def render_comparison(comparison: ComparisonResult, *, gates: "GateReport | None" = None) -> str:
    """Return the report of a comparison as HTML; equal comparisons give equal text."""
    plots = ComparisonPlots(comparison)
    name = "Two models" if not comparison.bundles else comparison.bundles[0].name
    return render_page(
        "comparison.html.j2",
        kicker="Comparison of two models",
        title=f"{name}: comparison",
        name=f"{name}: champion and challenger",
        basis=_basis(comparison),
        leads=_leads(comparison),
        changes=(_daily(comparison), _applicants(comparison)),
        matrix=_matrix(comparison),
        note=_note(comparison),
        gates=None if gates is None else gate_cards(gates),
        verdict="" if gates is None else _verdict(gates),
        promises=promise_cards(comparison.challenger.stability),
        unknown=_unknown(comparison),
        left_out=left_out_texts(
            comparison.challenger.coverage,
            warnings=limiting(comparison.findings, Code.MIXED_MATURITY),
        ),
        sections=[
            differences_section(comparison, plots),
            flips_section(comparison, plots),
            *changes_sections(comparison, plots),
            findings_section(comparison.findings),
            models_section(comparison),
        ],
    )


def _basis(comparison: ComparisonResult) -> str:
    """Say which records the figures rest on."""
    overall, provenance = comparison.champion.overall, comparison.champion.provenance
    counted = (
        f"{overall.records:,} records, {overall.genuine:,} genuine and {overall.frauds:,} frauds, "
        f"on {comparison.days:,} days"
    )
    if provenance is None:
        return f"{counted}."
    files = f" Files: {', '.join(provenance.files)}." if provenance.files else ""
    return f"{counted}, from {day(provenance.since)} to {day(provenance.until)}.{files}"


def _leads(comparison: ComparisonResult) -> tuple[str, ...]:
    """Say in natural numbers what changes."""
    if not len(comparison.champion.records):
        return ("There are no evaluated records.",)
    if not comparison.flips:
        return ("No record gets another outcome from the challenger.",)
    flipped = comparison.flip_rates["all"].times(_APPLICANTS)
    share = f"Out of 10,000 applicants {_ends(flipped, count_text)} get another outcome from the challenger."
    return (*_natural(comparison), share)


def _natural(comparison: ComparisonResult) -> Iterator[str]:
    """Describe changes a day, or of 10,000 applicants where a day has less than one."""
    changes, span = comparison.daily, "a day"
    if max(abs(change.everyone.value or 0.0) for change in changes) < 1:
        changes = daily_changes(comparison.differences, records=_APPLICANTS, days=1)
        span = "out of 10,000 applicants"
    for change in changes[1:]:
        yield f"{change.describe(span)}{_interval(change.everyone)}."


def _interval(found: "Estimate") -> str:
    return "" if found.low is None else f" (95% interval {range_text(found.low, found.high, _signed)})"


def _ends(found: "Estimate", write: Callable[[float], str]) -> str:
    """Write a number of applicants with its interval."""
    number = "–" if found.value is None else write(found.value)
    return number if found.low is None else f"{number} ({range_text(found.low, found.high, write)})"


def _signed(value: float) -> str:
    text = count_text(abs(value))
    if text == "0":
        return text
    return f"+{text}" if value > 0 else f"\N{MINUS SIGN}{text}"


def _daily(comparison: ComparisonResult) -> Table:
    rows = tuple(
        (OUTCOME_TITLES[change.outcome], _ends(change.everyone, _signed), _ends(change.frauds, _signed))
        for change in comparison.daily
    )
    return Table(
        caption="Changes a day: challenger minus champion, with 95% intervals",
        heads=("Outcome", "Applicants", "Frauds among them"),
        rows=rows,
    )


def _applicants(comparison: ComparisonResult) -> Table:
    """List the outcomes of 10,000 applicants, and of the frauds among them, under both models."""
    rows = tuple(
        (
            title,
            *(
                count_text(_APPLICANTS * (one.figures[name].value or 0.0))
                for one in (comparison.champion, comparison.challenger)
            ),
            _ends(comparison.differences[name].times(_APPLICANTS), _signed),
        )
        for title, name in (
            *((OUTCOME_TITLES[outcome], outcome.lower()) for outcome in OUTCOMES),
            *(
                (f"Frauds {OUTCOME_TITLES[outcome].lower()}", f"{outcome.lower()}_frauds")
                for outcome in OUTCOMES
            ),
        )
    )
    return Table(
        caption="Out of 10,000 applicants, with 95% intervals of the change",
        heads=("Outcome", "Champion", "Challenger", "Change"),
        rows=rows,
    )


def _matrix(comparison: ComparisonResult) -> Table:
    """Count records by both outcomes."""
    old, new = (one.records.decisions.outcomes for one in (comparison.champion, comparison.challenger))
    fraud = comparison.champion.records.labels == 1
    rows = []
    for code, outcome in enumerate(OUTCOMES):
        cells = [(old == code) & (new == other) for other in range(len(OUTCOMES))]
        texts = (f"{int(cell.sum()):,} ({int((cell & fraud).sum()):,} frauds)" for cell in cells)
        rows.append((OUTCOME_TITLES[outcome], *texts))
    heads = ("Champion", *(f"Challenger {OUTCOME_TITLES[outcome].lower()}" for outcome in OUTCOMES))
    return Table(
        caption="Flip matrix: records by the outcome from the champion and from the challenger",
        heads=heads,
        rows=tuple(rows),
    )


def _note(comparison: ComparisonResult) -> str:
    overall = comparison.champion.overall
    text = (
        f"Shares of the {overall.records:,} evaluated records, scaled to 10,000 applicants; a day is a mean day of "
        f"the {comparison.days:,} with records."
    )
    if comparison.differences["passed"].low is None:
        return f"{text} There are too few days for intervals."
    return f"{text} Intervals are paired: both models are measured on the same draws of whole days."


def _verdict(gates: "GateReport") -> str:
    """Say what the gates decide."""
    passed = sum(result.verdict == "passed" for result in gates.results)
    counted = f"{passed} of {len(gates.results)} gates passed."
    parts = [
        f"Significantly {word}: {', '.join(FIGURES[name].title for name in names)}."
        for word, names in (("better", gates.improved), ("worse", gates.worsened))
        if names
    ]
    if not gates.benefits:
        parts.append("Better and worse were not judged.")
    elif not gates.improved:
        parts.append("No figure is significantly better.")
    end = (
        "The challenger may be promoted."
        if gates.promotes
        else "The challenger is not promoted on these records."
    )
    return " ".join((counted, *parts, end))


def _unknown(comparison: ComparisonResult) -> tuple[str, ...]:
    """List what limits the figures."""
    notes = tuple(f"{note[:1].upper()}{note[1:]}." for note in comparison.notes)
    days = (
        (f"The records lie on {comparison.days:,} days, too few for intervals.",)
        if comparison.days < MIN_DAYS
        else ()
    )
    groups = () if comparison.groups else ("No groups were asked for: name columns with --by.",)
    bundles = (
        () if comparison.bundles else ("Size and latency are not known: the models came without bundles.",)
    )
    trained = limiting(comparison.findings, Code.TRAINING_PERIOD, Code.TRAINING_RECORDS)
    return (*trained, *notes, *days, *groups, *bundles, _UNKNOWN)
