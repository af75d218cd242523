"""Checks gates on an evaluation or a comparison.

Decision record: docs/adr/0023-gates-and-retraining.md.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, Final

from scoring_model.configuration import Gate, GateSettings
from scoring_model.escaping import for_markdown
from scoring_model.evaluation.comparison_result import ComparisonResult
from scoring_model.evaluation.evaluated_records import EvaluationError
from scoring_model.evaluation.groups import Difference
from scoring_model.evaluation.markdown import ABSENT, draw_table
from scoring_model.evaluation.result import EvaluationResult
from scoring_model.evaluation.stability import Verdict
from scoring_model.evaluation.uncertainty import Estimate, Interval
from scoring_model.findings import CHECKS, Code, Finding, Severity, State, not_applicable


class GateVerdict(StrEnum):
    """Whether a gate held. Only `PASSED` is a pass."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_ENOUGH_DATA = "not_enough_data"
    BROKEN_PROMISE = "broken_promise"
    NOT_APPLICABLE = "not_applicable"


_EXIT_CODES: Final = {
    GateVerdict.BROKEN_PROMISE: 12,
    GateVerdict.FAILED: 10,
    GateVerdict.NOT_ENOUGH_DATA: 11,
}
"""The first verdict that occurs gives the exit code."""

_STATES: Final = {
    State.FOUND: GateVerdict.FAILED,
    State.NOT_APPLICABLE: GateVerdict.NOT_ENOUGH_DATA,
    State.CLEAR: GateVerdict.PASSED,
}
"""The first state that occurs decides a gate on findings."""

_SHOWN: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """The numbers behind one gate: of one figure, or of one group.

    Parameters
    ----------
    subject : str
        Name of the figure, of the bound or of the group; code of a finding, whose value is its count.
    value, low, high : float or None
        None where the records do not give it.
    records : int
        Records that it rests on.
    verdict : GateVerdict
    """

    subject: str
    value: float | None
    low: float | None
    high: float | None
    records: int
    verdict: GateVerdict


@dataclass(frozen=True, kw_only=True, slots=True)
class GateResult:
    """One gate with its verdict.

    Parameters
    ----------
    name : str
    gate : Gate
    verdict : GateVerdict
    detail : str
        Why, as a sentence.
    measured : tuple of Measured
    """

    name: str
    gate: Gate
    verdict: GateVerdict
    detail: str
    measured: tuple[Measured, ...]

    def to_json(self) -> dict[str, Any]:
        """Give the result as a JSON document."""
        plain = asdict(self)
        plain["gate"] = {key: value for key, value in plain["gate"].items() if value is not None}
        return plain


@dataclass(frozen=True, kw_only=True, slots=True)
class GateReport:
    """All gates.

    Parameters
    ----------
    results : tuple of GateResult
    benefits : mapping of str to Interval
        For the figures of all `difference` gates, how much better the challenger is: intervals that hold for all of
        them at once. Empty without a comparison.
    """

    results: tuple[GateResult, ...]
    benefits: dict[str, Interval]

    @property
    def exit_code(self) -> int:
        """Return 0 if every applicable gate passed, of which there is at least one; else 10, 11 or 12."""
        found = {result.verdict for result in self.results}
        for verdict, code in _EXIT_CODES.items():
            if verdict in found:
                return code
        return 0 if GateVerdict.PASSED in found else _EXIT_CODES[GateVerdict.NOT_ENOUGH_DATA]

    @property
    def improved(self) -> tuple[str, ...]:
        """Return the figures in which the challenger is significantly better."""
        return tuple(name for name, one in self.benefits.items() if one.low is not None and one.low > 0)

    @property
    def worsened(self) -> tuple[str, ...]:
        """Return the figures in which the challenger is significantly worse."""
        return tuple(name for name, one in self.benefits.items() if one.high is not None and one.high < 0)

    @property
    def promotes(self) -> bool:
        """Whether every gate passed, none was inapplicable, and some figure is significantly better."""
        return self.passes and bool(self.improved)

    @property
    def passes(self) -> bool:
        """Whether every gate passed and none was inapplicable."""
        return all(result.verdict is GateVerdict.PASSED for result in self.results)

    def to_json(self) -> dict[str, Any]:
        """Give all gates as a JSON document."""
        return {
            "exit_code": self.exit_code,
            "promotes": self.promotes,
            "improved": list(self.improved),
            "worsened": list(self.worsened),
            "benefits": {name: one.to_json() for name, one in self.benefits.items()},
            "gates": [result.to_json() for result in self.results],
        }

    def to_markdown(self) -> str:
        """Give all gates as a Markdown table."""
        rows = [(result.name, result.verdict.replace("_", " "), result.detail) for result in self.results]
        better, worse = (for_markdown(", ".join(names)) or ABSENT for names in (self.improved, self.worsened))
        lines = ["### Gates", draw_table(("Gate", "Verdict", "Why"), rows)]
        if self.benefits:
            lines.append(f"Significantly better: {better}. Significantly worse: {worse}.")
        return "\n\n".join(lines) + "\n"


def check_gates(
    settings: GateSettings, found: EvaluationResult | ComparisonResult, *, trained: int | None = 0
) -> GateReport:
    """Check gates on an evaluation or a comparison.

    Gates about two models do not apply to an evaluation of one. An interval that reaches its limit fails: an
    undecided gate is no pass. Gates on findings do not depend on the number of days.

    Parameters
    ----------
    trained : int or None
        Evaluated records that the model may have been trained on; None: unknown. A comparison counts those of its
        bundles itself.

    Raises
    ------
    EvaluationError
        If gates name figures that do not exist, or columns that were not evaluated.
    """
    comparison = found if isinstance(found, ComparisonResult) else None
    evaluation = found.challenger if isinstance(found, ComparisonResult) else found
    if problems := list(_unknown(settings, evaluation, comparison)):
        raise EvaluationError("gates: " + "; ".join(problems))
    counts = [trained, *(bundle.trained_records for bundle in (comparison.bundles if comparison else ()))]
    findings = evaluation.findings if comparison is None else comparison.findings
    obstacle = _obstacle(settings, evaluation, counts, findings)
    return GateReport(
        results=tuple(
            _check(name, gate, evaluation, comparison, obstacle)
            if gate.findings is None
            else _check_findings(name, gate, gate.findings, findings, settings.findings.mute)
            for name, gate in settings.gates.items()
        ),
        benefits={} if comparison is None or obstacle else _benefits(settings, comparison),
    )


def _unknown(
    settings: GateSettings, evaluation: EvaluationResult, comparison: ComparisonResult | None
) -> Iterator[str]:
    columns = {table.column for table in evaluation.groups}
    for name, gate in settings.gates.items():
        figure = gate.figure or gate.difference
        if figure is not None and figure not in evaluation.figures:
            yield f"{name}: no figure {figure}; known are {', '.join(evaluation.figures)}"
        if gate.column is not None and gate.column not in columns and (comparison or not gate.of_pair):
            yield f"{name}: the evaluation has no groups by {gate.column}"


def _obstacle(
    settings: GateSettings,
    evaluation: EvaluationResult,
    trained: Sequence[int | None],
    findings: Sequence[Finding],
) -> str | None:
    """Return why no gate can be decided, or None."""
    if evaluation.days < settings.min_days:
        return f"{evaluation.days} days with records; {settings.min_days} are needed"
    if settings.allow_trained:
        return None
    if None in trained:
        return "a bundle does not hold its split, so records that it was trained on are not found"
    if most := max(count or 0 for count in trained):
        return f"{most:,} evaluated records are from the period that a model was trained and validated on"
    used = (one for one in findings if one.code is Code.TRAINING_RECORDS and one.state is State.FOUND)
    return next((one.sentence for one in used), None)


def _benefits(settings: GateSettings, comparison: ComparisonResult) -> dict[str, Interval]:
    """Measure the benefit of every figure with a `difference` gate: more is better where it must lie above a limit."""
    signs = {
        gate.difference: 1 if gate.above is not None else -1
        for gate in settings.gates.values()
        if gate.difference is not None and (gate.above is None) != (gate.below is None)
    }
    return comparison.benefits(signs)


def _check(
    name: str,
    gate: Gate,
    evaluation: EvaluationResult,
    comparison: ComparisonResult | None,
    obstacle: str | None,
) -> GateResult:
    if gate.of_pair and comparison is None:
        verdict, detail = GateVerdict.NOT_APPLICABLE, "needs two models: compare decides it"
        return GateResult(name=name, gate=gate, verdict=verdict, detail=detail, measured=())
    if gate.of_window:
        verdict, detail = GateVerdict.NOT_APPLICABLE, "needs a window: monitor decides it"
        return GateResult(name=name, gate=gate, verdict=verdict, detail=detail, measured=())
    measured = tuple(_measure(gate, evaluation, comparison))
    if obstacle is not None:
        verdict, detail = GateVerdict.NOT_ENOUGH_DATA, obstacle
        measured = tuple(replace(one, verdict=verdict) for one in measured)
    else:
        verdict, detail = _verdict(gate, measured)
    return GateResult(name=name, gate=gate, verdict=verdict, detail=detail, measured=measured)


def _check_findings(
    name: str, gate: Gate, subject: str, findings: Sequence[Finding], mute: Sequence[str]
) -> GateResult:
    """Check that some checks found nothing; a check that did not run is no pass."""
    codes = [
        code for code, check in CHECKS.items() if subject == code or _is_as_grave(check.severity, subject)
    ]
    watched = [one for code in codes if code not in mute for one in _made(code, findings)]
    state = next((one for one in _STATES if one in {found.state for found in watched}), State.NOT_APPLICABLE)
    causes = [one for one in watched if one.state is state]
    if state is State.CLEAR:
        detail = f"nothing found by {', '.join(dict.fromkeys(one.code.value for one in causes))}"
    else:
        detail = "; ".join(f"{one.code}: {one.sentence}" for one in causes) or "every check is muted"
    muted = [f"{one.code} ({one.count:,})" for one in findings if one.code in codes and one.code in mute]
    return GateResult(
        name=name,
        gate=gate,
        verdict=_STATES[state],
        detail=f"{detail}; muted: {', '.join(muted)}" if muted else detail,
        measured=tuple(
            Measured(
                subject=one.code.value,
                value=None if one.state is State.NOT_APPLICABLE else float(one.count),
                low=None,
                high=None,
                records=one.records,
                verdict=_STATES[one.state],
            )
            for one in watched
        ),
    )


def _made(code: Code, findings: Sequence[Finding]) -> Sequence[Finding]:
    return [one for one in findings if one.code is code] or [not_applicable(code, "was not checked")]


def _is_as_grave(severity: Severity, least: str) -> bool:
    return least in list(Severity) and severity.rank >= Severity(least).rank


def _verdict(gate: Gate, measured: Sequence[Measured]) -> tuple[GateVerdict, str]:
    """Return the gravest verdict with a sentence that names who causes it."""
    if not measured:
        what = "the policy makes no such promise" if gate.promise else "no group is large enough"
        return GateVerdict.FAILED if gate.promise else GateVerdict.NOT_ENOUGH_DATA, what
    for verdict in (*_EXIT_CODES, GateVerdict.PASSED):
        causes = [one for one in measured if one.verdict is verdict]
        if causes:
            return verdict, "; ".join(map(_describe, causes[:_SHOWN])) + (
                ", ..." if len(causes) > _SHOWN else ""
            )
    raise AssertionError("every measured gate has a verdict")


def _describe(one: Measured) -> str:
    value = "unknown" if one.value is None else f"{one.value:.4g}"
    if one.low is None or one.high is None:
        return f"{one.subject} {value}, without an interval, on {one.records:,} records"
    return f"{one.subject} {value} ({one.low:.4g} to {one.high:.4g}) on {one.records:,} records"


def _measure(
    gate: Gate, evaluation: EvaluationResult, comparison: ComparisonResult | None
) -> Iterator[Measured]:
    if gate.promise is not None:
        yield from _promises(gate.promise, evaluation)
    elif gate.group_gap is not None and gate.rate is not None:
        (table,) = (one for one in evaluation.groups if one.column == gate.group_gap)
        for group in table.groups:
            rate = group.rates[gate.rate]
            if group.value != table.reference and rate.estimate.records >= gate.min_group:
                yield _of_group(gate, group.value, rate.gap, rate.estimate.records)
    elif gate.figure is not None:
        yield _of_figure(gate, gate.figure, evaluation.figures[gate.figure])
    elif comparison is not None:
        yield from _measure_pair(gate, comparison)


def _measure_pair(gate: Gate, comparison: ComparisonResult) -> Iterator[Measured]:
    if gate.difference is not None:
        yield _of_figure(gate, gate.difference, comparison.differences[gate.difference])
    elif gate.flips is not None:
        yield _of_figure(gate, gate.flips, comparison.flip_rates[gate.flips])
    elif gate.rate is not None:
        (table,) = (one for one in comparison.groups if one.column == gate.group_change)
        for group in table.groups:
            if group.totals[gate.rate] >= gate.min_group:
                yield _of_group(gate, group.value, group.changes[gate.rate], group.totals[gate.rate])


def _promises(promise: str, evaluation: EvaluationResult) -> Iterator[Measured]:
    verdicts = {
        Verdict.KEPT: GateVerdict.PASSED,
        Verdict.BROKEN: GateVerdict.BROKEN_PROMISE,
        Verdict.UNDECIDED: GateVerdict.NOT_ENOUGH_DATA,
    }
    for one in evaluation.stability:
        if one.verdict is not None and promise in ("all", one.bound):
            lows, highs = (one.share.low, one.low), (one.share.high, one.high)
            yield Measured(
                subject=one.bound,
                value=one.share.share,
                low=min((end for end in lows if end is not None), default=None),
                high=max((end for end in highs if end is not None), default=None),
                records=one.share.total,
                verdict=verdicts[one.verdict],
            )


def _of_figure(gate: Gate, subject: str, estimate: Estimate) -> Measured:
    ends = Interval(low=estimate.low, high=estimate.high)
    return Measured(
        subject=subject,
        value=estimate.value,
        low=ends.low,
        high=ends.high,
        records=estimate.records,
        verdict=_beyond(gate, ends),
    )


def _of_group(gate: Gate, subject: str, difference: Difference, records: int) -> Measured:
    ends = Interval(low=difference.simultaneous_low, high=difference.simultaneous_high)
    return Measured(
        subject=subject,
        value=difference.value,
        low=ends.low,
        high=ends.high,
        records=records,
        verdict=_beyond(gate, ends),
    )


def _beyond(gate: Gate, ends: Interval) -> GateVerdict:
    """Compare the ends of an interval with the limits."""
    if ends.low is None or ends.high is None:
        return GateVerdict.NOT_ENOUGH_DATA
    above = gate.above is None or ends.low > gate.above
    below = gate.below is None or ends.high < gate.below
    return GateVerdict.PASSED if above and below else GateVerdict.FAILED
