"""Cards of the first screen: verdicts on promises and gates in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scoring_model.evaluation.report.figures import range_text
from scoring_model.evaluation.report.scales import percent
from scoring_model.evaluation.result import EvaluationResult
from scoring_model.evaluation.stability import Stability, Verdict
from scoring_model.figures import FIGURES, bounded

if TYPE_CHECKING:
    from scoring_model.configuration import Gate
    from scoring_model.evaluation.gates import GateReport, GateResult

_HAPPENED: Final = {
    "max_false_reject": "genuine records failed",
    "max_step_up": "genuine records were stepped up or failed",
    "max_missed_fraud": "frauds passed",
}
"""By bound, what happened to the records that are counted."""

_PROMISES: Final = {
    Verdict.KEPT: ("good", "Kept"),
    Verdict.BROKEN: ("bad", "Broken"),
    Verdict.UNDECIDED: ("open", "Undecided"),
    None: ("none", "No promise"),
}
_GATES: Final = {
    "passed": ("good", "Passed"),
    "failed": ("bad", "Failed"),
    "broken_promise": ("bad", "Promise broken"),
    "not_enough_data": ("open", "Not enough data"),
    "not_applicable": ("none", "Not applicable"),
}
_FLIPS: Final = {
    "all": "Applicants with another outcome",
    "genuine_stricter": "Genuine with a stricter outcome",
    "genuine_milder": "Genuine with a milder outcome",
    "fraud_stricter": "Frauds with a stricter outcome",
    "fraud_milder": "Frauds with a milder outcome",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Card:
    """A verdict in words.

    Parameters
    ----------
    tone : {"good", "bad", "open", "none"}
        Chooses colour and mark; the head says the same in words.
    """

    tone: str
    head: str
    title: str
    sentence: str
    detail: str


def promise_cards(stability: Sequence[Stability]) -> tuple[Card, ...]:
    """Describe each error that a policy may bound."""
    return tuple(_promise(error) for error in stability)


def _promise(error: Stability) -> Card:
    title, happened = bounded(error.bound).title, _HAPPENED[error.bound]
    tone, head = _PROMISES[error.verdict]
    share = error.share
    promised = "Nothing is promised." if error.limit is None else f"At most {percent(error.limit)} promised."
    if share.share is None:
        observed, detail = "Nothing observed.", "No evaluated record belongs to this class."
    else:
        observed = f"{percent(share.share)} observed (95% interval {range_text(*_widest(error))})."
        counted = f"{share.count:,} of {share.total:,} {happened}, on {error.days:,} days."
        detail = f"{counted} {_reason(error)}".strip()
    return Card(tone=tone, head=head, title=title, sentence=f"{promised} {observed}", detail=detail)


def _reason(error: Stability) -> str:
    """Say why the verdict is what it is."""
    if error.verdict is None:
        return ""
    if error.verdict is Verdict.UNDECIDED:
        return "The interval contains the limit." if error.low is not None else "Too few days for a verdict."
    side = "at or below" if error.verdict is Verdict.KEPT else "above"
    return f"The whole interval lies {side} the limit."


def _widest(error: Stability) -> tuple[float | None, float | None]:
    """Return the interval that the verdict rests on: it covers that of independent records and that of days."""
    lows = [low for low in (error.share.low, error.low) if low is not None]
    highs = [high for high in (error.share.high, error.high) if high is not None]
    return min(lows, default=None), max(highs, default=None)


def promises_note(evaluation: EvaluationResult) -> str:
    """Say what the verdicts compare."""
    if all(error.limit is None for error in evaluation.stability):
        return "The policy promises nothing; the errors are shown with their intervals."
    return (
        "Verdicts compare each promise with the evaluated records: the wider of the interval from drawing whole days "
        "and Wilson’s for independent records. The promise itself is about one record of each person, and of each "
        "ring of frauds, in the population that the thresholds were chosen on."
    )


def gate_cards(gates: "GateReport") -> tuple[Card, ...]:
    """Describe each gate with its verdict."""
    return tuple(_gate(result) for result in gates.results)


def _gate(result: "GateResult") -> Card:
    tone, head = _GATES[result.verdict]
    return Card(
        tone=tone,
        head=head,
        title=result.name,
        sentence=f"{_subject(result.gate)}{_limits(result.gate)}.",
        detail=f"Why: {result.detail}.",
    )


def _subject(gate: "Gate") -> str:
    """Name what a gate is about."""
    if gate.promise is not None:
        which = "every promise" if gate.promise == "all" else f"“{bounded(gate.promise).title}”"
        return f"Promises: the records must show that the policy keeps {which}"
    if gate.findings is not None:
        return f"Findings: no check of {gate.findings} may find anything"
    if gate.difference is not None:
        return f"{FIGURES[gate.difference].title}, challenger minus champion"
    if gate.figure is not None:
        return f"{FIGURES[gate.figure].title}, of the model that is judged"
    if gate.flips is not None:
        return _FLIPS[gate.flips]
    if gate.of_window:
        return "About a monitored window"
    against = "against the others" if gate.group_gap is not None else "challenger minus champion"
    return f"{FIGURES[gate.rate or 'passed'].title}, in each group by {gate.column}, {against}"


def _limits(gate: "Gate") -> str:
    ends = (("lower", "above", gate.above), ("upper", "below", gate.below))
    texts = [
        f"the {end} end must be {side} {_limit(limit)}" for end, side, limit in ends if limit is not None
    ]
    return f": {' and '.join(texts)}" if texts else ""


def _limit(value: float) -> str:
    return f"{value:g}".replace("-", "\N{MINUS SIGN}")
