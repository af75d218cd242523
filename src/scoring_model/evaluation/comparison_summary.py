"""A comparison as Markdown, for people."""

from collections.abc import Iterator
from typing import Final

from scoring_model.contract.outcome import OUTCOMES
from scoring_model.escaping import for_markdown
from scoring_model.evaluation.comparison_result import ComparisonResult
from scoring_model.evaluation.findings_text import findings_markdown
from scoring_model.evaluation.flips import describe_changes
from scoring_model.evaluation.groups import Difference
from scoring_model.evaluation.markdown import ABSENT, draw_table
from scoring_model.figures import ERRORS, FIGURES

_SHOWN_REASONS: Final = 3


def comparison_summary(comparison: ComparisonResult) -> str:
    """Describe a comparison in Markdown: changes per day, flips, differences of all figures, groups, bundles."""
    records = comparison.champion.records
    frauds = int(records.labels.sum())
    sections = [
        f"{len(records):,} records of {comparison.days} days, {frauds:,} frauds. Differences are challenger minus "
        "champion on the same records, with 95 % intervals from the same draws of whole days.",
        *(f"**Note: {for_markdown(note)}.**" for note in comparison.notes),
        findings_markdown(comparison.findings),
        "### Changes per day\n\n" + "\n".join(f"- {text}" for text in describe_changes(comparison.daily)),
        "### Flips\n\n" + _matrix(comparison) + "\n\n" + _kinds(comparison),
        "### Figures\n\n" + _figures(comparison),
        *(_groups(comparison)),
    ]
    if comparison.bundles:
        sections.append("### Bundles\n\n" + _bundles(comparison))
    return "\n\n".join(sections) + "\n"


def _matrix(comparison: ComparisonResult) -> str:
    """Count records by both outcomes."""
    old, new = (one.records.decisions.outcomes for one in (comparison.champion, comparison.challenger))
    frauds = comparison.champion.records.labels == 1
    rows = []
    for code, outcome in enumerate(OUTCOMES):
        cells = [(old == code) & (new == other) for other in range(len(OUTCOMES))]
        rows.append(
            (outcome.value, *(f"{cell.sum():,} ({(cell & frauds).sum():,} frauds)" for cell in cells))
        )
    return draw_table(("Champion", *(f"Challenger {outcome}" for outcome in OUTCOMES)), rows)


def _kinds(comparison: ComparisonResult) -> str:
    rows = [
        (
            f"{flip.champion} to {flip.challenger}",
            f"{flip.genuine:,}",
            f"{flip.frauds:,}",
            ", ".join(f"{code} ({count:,})" for code, count in list(flip.reasons.items())[:_SHOWN_REASONS])
            or ABSENT,
            f"{flip.explained:,}",
            ", ".join(flip.examples) or ABSENT,
        )
        for flip in comparison.flips
    ]
    heads = ("Flip", "Genuine", "Frauds", "Reasons of the stricter model", "Of records", "Examples")
    return draw_table(heads, rows) if rows else "No record has another outcome."


def _figures(comparison: ComparisonResult) -> str:
    rows = [
        (
            name,
            _number(comparison.champion.figures[name].value),
            _number(comparison.challenger.figures[name].value),
            ABSENT if found.value is None else f"{found.value:+.4f}",
            ABSENT if found.low is None else f"{found.low:+.4f} to {found.high:+.4f}",
        )
        for name, found in comparison.differences.items()
    ]
    return draw_table(("Figure", "Champion", "Challenger", "Difference", "95 %"), rows)


def _groups(comparison: ComparisonResult) -> Iterator[str]:
    for found in comparison.groups:
        rows = [
            (
                group.value,
                f"{group.records:,}",
                f"{group.stricter:,} ({group.stricter_frauds:,} frauds)",
                f"{group.milder:,} ({group.milder_frauds:,} frauds)",
                *(_change(group.changes[name]) for name in ERRORS),
            )
            for group in found.groups
        ]
        heads = ("Group", "Records", "Stricter", "Milder", *(FIGURES[name].title for name in ERRORS))
        text = (
            "Changes of rates in percentage points, with intervals that hold for all groups at once (95 %)."
        )
        yield f"### By {for_markdown(found.column)}\n\n{text}\n\n{draw_table(heads, rows)}"


def _change(change: Difference) -> str:
    if change.value is None:
        return ABSENT
    if change.simultaneous_low is None or change.simultaneous_high is None:
        return f"{100 * change.value:+.2f} (not enough data)"
    ends = f"{100 * change.simultaneous_low:+.2f} to {100 * change.simultaneous_high:+.2f}"
    return f"{100 * change.value:+.2f} ({ends})"


def _bundles(comparison: ComparisonResult) -> str:
    rows = [
        (
            role,
            bundle.model_version,
            bundle.policy_version,
            f"{bundle.bytes / 1e6:.2f} MB",
            f"{bundle.trees:,}",
            f"{bundle.features:,}",
            f"{bundle.decision_milliseconds:.2f} ms",
            f"{bundle.records_per_second:,.0f}",
        )
        for role, bundle in zip(("Champion", "Challenger"), comparison.bundles, strict=True)
    ]
    heads = ("", "Model", "Policy", "Size", "Trees", "Features", "One decision", "Records per second")
    return f"Times are of this machine.\n\n{draw_table(heads, rows)}"


def _number(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.4f}"
