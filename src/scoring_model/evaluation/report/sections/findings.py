"""What the automated checks found."""

from collections.abc import Sequence
from typing import Final

from scoring_model.evaluation.report.section import Cell, Grid, Section
from scoring_model.evaluation.report.words import ABSENT, sentence
from scoring_model.findings import LIMIT, Code, Finding

_HEADS: Final = {
    "code": "Code",
    "check": "Check",
    "maker": "Made by",
    "severity": "Severity",
    "state": "State",
    "count": "Count",
    "records": "Records",
    "result": "Result",
}


def findings_section(findings: Sequence[Finding]) -> Section:
    """Describe what was found, gravest first, and list every check with its state.

    Parameters
    ----------
    findings : sequence of Finding
        Of one evaluation or of a comparison.
    """
    shown = sorted((one for one in findings if one.is_open), key=lambda one: -one.check.severity.rank)
    return Section(
        name="findings",
        title="Findings",
        texts=(
            f"{len(shown):,} of {len(findings):,} checks found something that is not muted. docs/findings.md says what "
            f"each code means. {LIMIT}",
            *(f"{one.code}, {one.check.severity}: {_described(one)}" for one in shown),
        ),
        grids=(findings_grid(findings),),
    )


def findings_grid(findings: Sequence[Finding]) -> Grid:
    """List every check with its state."""
    rows = [
        (
            Cell(text=one.code.value, key=f"{one.code}-{place}"),
            one.check.title,
            "training" if one.check.of_training else "evaluation",
            one.check.severity.value,
            f"{one.state}, muted" if one.muted else one.state.value,
            f"{one.count:,}",
            f"{one.records:,}" if one.records else ABSENT,
            sentence(one.sentence) if one.sentence else ABSENT,
        )
        for place, one in enumerate(findings)
    ]
    return Grid.of("findings", "All checks", _HEADS, rows)


def limiting(findings: Sequence[Finding], *codes: Code) -> tuple[str, ...]:
    """Return what some open findings say about the figures of a report, each as a sentence with what to do."""
    return tuple(
        f"{sentence(one.sentence)} {_plain(one.check.action)}"
        for one in findings
        if one.is_open and one.code in codes
    )


def _described(finding: Finding) -> str:
    return " ".join((sentence(finding.sentence), finding.check.why, _plain(finding.check.action)))


def _plain(text: str) -> str:
    """Remove the marks of Markdown."""
    return text.replace("`", "")
