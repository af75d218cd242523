"""What the automated checks found."""

from collections.abc import Sequence

from scoring_model.evaluation.report.figures import Table
from scoring_model.evaluation.report.sections.section import Section
from scoring_model.findings import LIMIT, Code, Finding


def findings_section(findings: Sequence[Finding]) -> Section:
    """Describe what was found, gravest first, and list every check with its state.

    Parameters
    ----------
    findings : sequence of Finding
        Of one evaluation or of a comparison.
    """
    found = sorted((one for one in findings if one.is_open), key=lambda one: -one.check.severity.rank)
    rows = tuple(
        (
            one.code.value,
            one.check.title,
            one.check.severity.value,
            f"{one.state}, muted" if one.muted else one.state.value,
            f"{one.count:,}",
            f"{one.records:,}" if one.records else "–",
            "above" if one.is_open else _capital(one.sentence),
        )
        for one in findings
    )
    heads = ("Code", "Check", "Severity", "State", "Count", "Records", "Result")
    return Section(
        name="findings",
        title="Findings",
        texts=(
            f"{len(found):,} of {len(findings):,} checks found something that is not muted. docs/findings.md says what "
            f"each code means. {LIMIT}",
            *(f"{one.code}, {one.check.severity}: {_described(one)}" for one in found),
        ),
        tables=(Table(caption="All checks", heads=heads, rows=rows),),
    )


def limiting(findings: Sequence[Finding], *codes: Code) -> tuple[str, ...]:
    """Return what some open findings say about the figures of a report, each as a sentence with what to do."""
    return tuple(
        f"{_capital(one.sentence)} {_plain(one.check.action)}"
        for one in findings
        if one.is_open and one.code in codes
    )


def _described(finding: Finding) -> str:
    return " ".join((_capital(finding.sentence), finding.check.why, _plain(finding.check.action)))


def _plain(text: str) -> str:
    """Remove the marks of Markdown."""
    return text.replace("`", "")


def _capital(text: str) -> str:
    """Write a sentence with its capital letter and its end."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
