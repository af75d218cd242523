"""Gates with their verdicts, limits and numbers, in words."""

from collections.abc import Iterator
from typing import Final

from scoring_model.configuration.gates import (
    DifferenceGate,
    FigureGate,
    FindingGate,
    FlipGate,
    Gate,
    GroupChangeGate,
    GroupGapGate,
    Limits,
    PromiseGate,
)
from scoring_model.evaluation.gates import GateReport, GateResult, GateVerdict
from scoring_model.evaluation.report.markdown import section_markdown
from scoring_model.evaluation.report.section import Card, Section, Text, Tone
from scoring_model.figures import FIGURES, FLIP_RATES, bounded

_VERDICTS: Final[dict[GateVerdict, tuple[Tone, str]]] = {
    GateVerdict.PASSED: ("good", "Passed"),
    GateVerdict.FAILED: ("bad", "Failed"),
    GateVerdict.BROKEN_PROMISE: ("bad", "Promise broken"),
    GateVerdict.NOT_ENOUGH_DATA: ("open", "Not enough data"),
    GateVerdict.NOT_APPLICABLE: ("none", "Not applicable"),
}


def gates_summary(gates: GateReport) -> str:
    """Describe gates in Markdown: what each limits, its verdict, and why."""
    return section_markdown(_section(gates, " ".join(_counted(gates)))) + "\n"


def gates_section(gates: GateReport | None) -> Section:
    """Say what the gates decide about a challenger, and what each of them says; or that none were checked."""
    if gates is None:
        text = "No gates were checked: name a file with --gate, or pass gates=check_gates(...) in Python."
        return Section(name="gates", title="Gates", texts=(Text(text=text, kind="missing"),))
    return _section(gates, " ".join(_decision(gates)))


def _section(gates: GateReport, text: str) -> Section:
    return Section(name="gates", title="Gates", texts=(text,), cards=tuple(map(_card, gates.results)))


def _counted(gates: GateReport) -> Iterator[str]:
    passed = sum(result.verdict is GateVerdict.PASSED for result in gates.results)
    yield f"{passed} of {len(gates.results)} gates passed."
    for word, names in (("better", gates.improved), ("worse", gates.worsened)):
        if names:
            yield f"Significantly {word}: {', '.join(FIGURES[name].title for name in names)}."


def _decision(gates: GateReport) -> Iterator[str]:
    yield from _counted(gates)
    if not gates.benefits:
        yield "Better and worse were not judged."
    elif not gates.improved:
        yield "No figure is significantly better."
    yield (
        "The challenger may be promoted."
        if gates.promotes
        else "The challenger is not promoted on these records."
    )


def _card(result: GateResult) -> Card:
    tone, head = _VERDICTS[result.verdict]
    return Card(
        tone=tone,
        head=head,
        title=result.name,
        sentence=f"{_subject(result.gate)}{_limits(result.gate)}.",
        detail=f"Why: {result.detail}.",
    )


def _subject(gate: Gate) -> str:
    """Name what a gate is about."""
    match gate:
        case PromiseGate():
            which = "every promise" if gate.promise == "all" else f"“{bounded(gate.promise).title}”"
            return f"Promises: the records must show that the policy keeps {which}"
        case FindingGate():
            return f"Findings: no check of {gate.findings} may find anything"
        case DifferenceGate():
            return f"{FIGURES[gate.difference].title}, challenger minus champion"
        case FigureGate():
            return f"{FIGURES[gate.figure].title}, of the model that is judged"
        case FlipGate():
            return FLIP_RATES[gate.flips]
        case GroupGapGate():
            return f"{FIGURES[gate.rate].title}, in each group by {gate.column}, against the others"
        case GroupChangeGate():
            return f"{FIGURES[gate.rate].title}, in each group by {gate.column}, challenger minus champion"
        case _:
            return "About a monitored window"


def _limits(gate: Gate) -> str:
    if not isinstance(gate, Limits):
        return ""
    ends = (("lower", "above", gate.above), ("upper", "below", gate.below))
    texts = (
        f"the {end} end must be {side} {_limit(limit)}" for end, side, limit in ends if limit is not None
    )
    return f": {' and '.join(texts)}"


def _limit(value: float) -> str:
    return f"{value:g}".replace("-", "\N{MINUS SIGN}")
