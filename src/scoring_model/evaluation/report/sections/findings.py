"""What the automated checks found."""

from collections.abc import Sequence

from scoring_model.evaluation.report.figures import Table
from scoring_model.evaluation.report.sections.section import Section
from scoring_model.findings import LIMIT, Code, Finding, State


def findings_section(findings: Sequence[Finding]) -> Section:
    """List every check: first what was found, by severity, then what is muted, could not run or found nothing.

    Parameters
    ----------
    findings : sequence of Finding
        Of one evaluation or of a comparison.
    """
    ordered = sorted(findings, key=lambda one: (_order(one), -one.check.severity.rank))
    rows = tuple(
        (
            one.code.value,
            one.check.title,
            one.check.severity.value,
            one.verdict,
            f"{one.records:,}",
            _described(one),
        )
        for one in ordered
    )
    heads = ("Code", "Check", "Severity", "Verdict", "Records", "Result")
    found = sum(one.is_open for one in findings)
    return Section(
        name="findings",
        title="Findings",
        texts=(
            f"{found:,} of {len(findings):,} checks found something that is not muted. What each code means, why it "
            "matters and what to do is in docs/findings.md. Checks of the training are about its records. "
            f"{LIMIT}",
        ),
        tables=(Table(caption="Automated checks", heads=heads, rows=rows),),
    )


def limiting(findings: Sequence[Finding], *codes: Code) -> tuple[str, ...]:
    """Return what some open findings say about the figures of a report, each as a sentence with what to do."""
    return tuple(
        f"{_capital(one.sentence)} {one.check.action}"
        for one in findings
        if one.is_open and one.code in codes
    )


def _order(finding: Finding) -> int:
    if finding.state is State.FOUND:
        return 1 if finding.muted else 0
    return 2 if finding.state is State.NOT_APPLICABLE else 3


def _described(finding: Finding) -> str:
    if not finding.is_open:
        return _capital(finding.sentence)
    return f"{_capital(finding.sentence)} {finding.check.why} {finding.check.action}"


def _capital(text: str) -> str:
    """Write a sentence with its capital letter and its end."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
