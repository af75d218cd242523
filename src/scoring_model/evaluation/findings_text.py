"""Findings as Markdown, for people."""

from collections.abc import Sequence

from scoring_model.escaping import for_markdown
from scoring_model.evaluation.markdown import Markup, draw_table
from scoring_model.findings import Finding, State


def findings_markdown(findings: Sequence[Finding]) -> str:
    """List what was found, and name the checks that are muted, could not run or found nothing."""
    found = [finding for finding in findings if finding.is_open]
    rows = [
        (
            one.code.value,
            one.check.severity.value,
            "training" if one.check.of_training else "evaluation",
            f"{one.count:,}",
            one.sentence,
            Markup(one.check.action),
        )
        for one in found
    ]
    heads = ("Code", "Severity", "Made by", "Count", "Found", "What to do")
    texts = [
        "### Findings",
        draw_table(heads, rows) if rows else "No check found anything that is not muted.",
    ]
    muted = [f"{one.code} ({one.count:,})" for one in findings if one.state is State.FOUND and one.muted]
    clear = dict.fromkeys(one.code.value for one in findings if one.state is State.CLEAR)
    if muted:
        texts.append(f"Muted, with their count: {', '.join(muted)}.")
    if clear:
        texts.append(f"Nothing found: {', '.join(clear)}.")
    not_run = [one for one in findings if one.state is State.NOT_APPLICABLE]
    if not_run:
        lines = (f"- {one.code}: {for_markdown(one.sentence)}." for one in not_run)
        texts.append("Not applicable:\n\n" + "\n".join(lines))
    return "\n\n".join([*texts, "docs/findings.md says what each code means."])
