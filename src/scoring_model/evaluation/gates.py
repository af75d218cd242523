"""Checks gates on an evaluation or a comparison.

Decision record: docs/adr/0023-gates-and-retraining.md.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, Final

from scoring_model.configuration.gates import (
    DifferenceGate,
    FigureGate,
    FindingGate,
    Gate,
    GateSettings,
    GroupLimits,
    Limits,
    PairGate,
    PromiseGate,
    WindowGate,
)
from scoring_model.estimates import OVERALL, Estimate, Key, Table
from scoring_model.evaluation.comparison_result import ComparisonResult
from scoring_model.evaluation.evaluated_records import refuse
from scoring_model.evaluation.result import EvaluationResult
from scoring_model.evaluation.stability import Verdict
from scoring_model.evaluation.stopped import over_labels
from scoring_model.figures import FIGURES, bounded
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

NEEDS_PAIR: Final = "needs two models: compare decides it"

_SHOWN: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """The numbers behind one gate: of one figure, or of one group.

    Parameters
    ----------
    subject : str
        Name of the figure, of the bound or of the group; code of a finding, whose value is its count.
    estimate : Estimate
        With the ends that decide: for groups those that hold for all of them at once.
    verdict : GateVerdict
    """

    subject: str
    estimate: Estimate
    verdict: GateVerdict

    def __str__(self) -> str:
        one = self.estimate
        value = "unknown" if one.value is None else f"{one.value:.4g}"
        if one.absence == "stopped applicants":
            return (
                f"{self.subject} has no bound over the labels of the stopped applicants, and no control group"
            )
        if one.ends is None:
            return f"{self.subject} {value}, without an interval, on {one.records:,} records"
        return f"{self.subject} {value} ({one.low:.4g} to {one.high:.4g}) on {one.records:,} records"


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
    measured : tuple of Evidence
    """

    name: str
    gate: Gate
    verdict: GateVerdict
    detail: str
    measured: tuple[Evidence, ...]

    def to_json(self) -> dict[str, Any]:
        """Give the result as a JSON document."""
        measured = (
            {"subject": one.subject, **one.estimate.to_json(), "verdict": one.verdict}
            for one in self.measured
        )
        gate = {key: value for key, value in asdict(self.gate).items() if value is not None}
        return asdict(self) | {"gate": gate, "measured": list(measured)}


@dataclass(frozen=True, kw_only=True, slots=True)
class GateReport:
    """All gates.

    Parameters
    ----------
    results : tuple of GateResult
    benefits : mapping of str to Estimate
        For the figures of all `difference` gates, how much better the challenger is: intervals that hold for all of
        them at once. Empty without a comparison.
    """

    results: tuple[GateResult, ...]
    benefits: dict[str, Estimate]

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
        return tuple(name for name, one in self.benefits.items() if (one.simultaneous_low or 0.0) > 0)

    @property
    def worsened(self) -> tuple[str, ...]:
        """Return the figures in which the challenger is significantly worse."""
        return tuple(name for name, one in self.benefits.items() if (one.simultaneous_high or 0.0) < 0)

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
    judge = GateJudge(settings, found, trained)
    return GateReport(
        results=tuple(judge.decide(name, gate) for name, gate in settings.gates.items()),
        benefits=judge.benefits(),
    )


class GateJudge:
    """Decides gates on one evaluation, or on the challenger of a comparison; see `check_gates`.

    Raises
    ------
    EvaluationError
        If gates name figures that do not exist, or columns that were not evaluated.
    """

    def __init__(
        self, settings: GateSettings, found: EvaluationResult | ComparisonResult, trained: int | None
    ) -> None:
        self._comparison = found if isinstance(found, ComparisonResult) else None
        self._evaluation = found.challenger if isinstance(found, ComparisonResult) else found
        refuse("gates", self._unknown(settings))
        self._settings, self._findings = settings, found.findings
        bundles = () if self._comparison is None else self._comparison.bundles
        counts = [trained, *(bundle.trained_records for bundle in bundles)]
        self._obstacle = _obstacle(settings, self._evaluation, counts, found.findings)

    def _unknown(self, settings: GateSettings) -> Iterator[str]:
        columns = {one.column for one in self._evaluation.columns}
        for name, gate in settings.gates.items():
            if isinstance(gate, GroupLimits) and gate.column not in columns and self._applies(gate):
                yield f"{name}: the evaluation has no groups by {gate.column}"
            elif (
                isinstance(gate, FigureGate | DifferenceGate) and gate.limited not in self._evaluation.figures
            ):
                yield f"{name}: no figure {gate.limited}; known are {', '.join(self._evaluation.figures)}"

    def _applies(self, gate: Gate) -> bool:
        return self._comparison is not None or not isinstance(gate, PairGate)

    def decide(self, name: str, gate: Gate) -> GateResult:
        """Decide a gate."""
        verdict, detail, measured = self._decide(gate)
        return GateResult(name=name, gate=gate, verdict=verdict, detail=detail, measured=measured)

    def _decide(self, gate: Gate) -> tuple[GateVerdict, str, tuple[Evidence, ...]]:
        if isinstance(gate, FindingGate):
            return _check_findings(gate.findings, self._findings, self._settings.findings.mute)
        if isinstance(gate, WindowGate):
            return GateVerdict.NOT_APPLICABLE, "needs a window: monitor decides it", ()
        if not self._applies(gate):
            return GateVerdict.NOT_APPLICABLE, NEEDS_PAIR, ()
        measured = tuple(self._measure(gate))
        if isinstance(gate, GroupLimits) and self._is_one_group(gate.column):
            return GateVerdict.PASSED, f"no record differs from the others by {gate.column}", ()
        if self._obstacle is None:
            return *_verdict(gate, measured), measured
        open_ = GateVerdict.NOT_ENOUGH_DATA
        return open_, self._obstacle, tuple(replace(one, verdict=open_) for one in measured)

    def _is_one_group(self, column: str) -> bool:
        """Return whether a column has one value alone, or none, so that no group can be worse off than another."""
        return any(len(table.groups) < 2 for table in self._evaluation.groups if table.column == column)

    def _measure(self, gate: Gate) -> Iterator[Evidence]:
        if isinstance(gate, PromiseGate):
            yield from _promises(gate.promise, self._evaluation)
        elif isinstance(gate, Limits):
            pair = self._comparison if isinstance(gate, PairGate) else None
            yield from limited(gate, self._possible(self._evaluation.table if pair is None else pair.table))

    def _possible(self, table: Table) -> Table:
        """Replace what labels of stopped applicants could change by its ends over all of these labels, if it has any.

        Where a control group stands for the stopped ones, or nobody was stopped, nothing is replaced.
        """
        stopped = self._evaluation.stopped
        if stopped is None:
            return table
        released = None if self._comparison is None else self._comparison.released
        bounded_ones = {} if released is None else {name: one.ends for name, one in released.possible.items()}
        own = {name: one.ends for name, one in stopped.possible.items()}
        own |= {bounded(one.bound).key: one.widest for one in self._evaluation.stability}

        def possible(key: Key, one: Estimate) -> Estimate:
            named = own if key.form == "value" and key.against is None else bounded_ones
            if key.part.kind == "group":  # their ends hold for all labels already
                return one
            return over_labels(one, named.get(key.figure.key) if key.part == OVERALL else None)

        return Table(
            {key: possible(key, one) if key.figure.needs_labels else one for key, one in table.items()}
        )

    def benefits(self) -> dict[str, Estimate]:
        """Measure the benefit of every figure with a `difference` gate of one limit.

        Figures without a direction, such as shares of outcomes, are neither better nor worse: their gates only limit
        them.
        """
        if self._comparison is None or self._obstacle:
            return {}
        signs = {
            gate.difference: 1 if better == "more" else -1
            for gate in self._settings.gates.values()
            if isinstance(gate, DifferenceGate)
            and None in (gate.above, gate.below)
            and (better := FIGURES[gate.difference].better) is not None
        }
        return self._comparison.benefits(signs)


def _obstacle(
    settings: GateSettings,
    evaluation: EvaluationResult,
    trained: Sequence[int | None],
    findings: Sequence[Finding],
) -> str | None:
    """Return why no gate can be decided, or None."""
    by_code = {one.code: one.sentence for one in findings if one.state is State.FOUND}
    if Code.UNSEEN_KINDS in by_code:
        return by_code[Code.UNSEEN_KINDS]
    if evaluation.days < settings.min_days:
        return f"{evaluation.days} days with records; {settings.min_days} are needed"
    if settings.allow_trained:
        return None
    if None in trained:
        return "a bundle does not hold its split, so records that it was trained on are not found"
    if most := max(count or 0 for count in trained):
        return f"{most:,} evaluated records are from the period that a model was trained and validated on"
    return by_code.get(Code.TRAINING_RECORDS)


def _check_findings(
    subject: str, findings: Sequence[Finding], mute: Sequence[str]
) -> tuple[GateVerdict, str, tuple[Evidence, ...]]:
    """Check that some checks found nothing; a check that did not run is no pass."""
    codes = [
        code
        for code, check in CHECKS.items()
        if subject == code or (_is_as_grave(check.severity, subject) and not check.of_service)
    ]
    watched = [one for code in codes if code not in mute for one in _made(code, findings)]
    state = next((one for one in _STATES if one in {found.state for found in watched}), State.NOT_APPLICABLE)
    causes = [one for one in watched if one.state is state]
    if state is State.CLEAR:
        detail = f"nothing found by {', '.join(dict.fromkeys(one.code.value for one in causes))}"
    else:
        detail = "; ".join(f"{one.code}: {one.sentence}" for one in causes) or "every check is muted"
    muted = [f"{one.code} ({one.count:,})" for one in findings if one.code in codes and one.code in mute]
    measured = tuple(
        Evidence(
            subject=one.code.value,
            estimate=Estimate(
                value=None if one.state is State.NOT_APPLICABLE else float(one.count), records=one.records
            ),
            verdict=_STATES[one.state],
        )
        for one in watched
    )
    return _STATES[state], f"{detail}; muted: {', '.join(muted)}" if muted else detail, measured


def _made(code: Code, findings: Sequence[Finding]) -> Sequence[Finding]:
    return [one for one in findings if one.code is code] or [not_applicable(code, "was not checked")]


def _is_as_grave(severity: Severity, least: str) -> bool:
    return least in list(Severity) and severity.rank >= Severity(least).rank


def _verdict(gate: Gate, measured: Sequence[Evidence]) -> tuple[GateVerdict, str]:
    """Return the gravest verdict with a sentence that names who causes it."""
    if not measured:
        if isinstance(gate, PromiseGate):
            return GateVerdict.FAILED, "the policy makes no such promise"
        return GateVerdict.NOT_ENOUGH_DATA, "no group is large enough"
    for verdict in (*_EXIT_CODES, GateVerdict.PASSED):
        causes = [one for one in measured if one.verdict is verdict]
        if causes:
            return verdict, "; ".join(map(str, causes[:_SHOWN])) + (", ..." if len(causes) > _SHOWN else "")
    raise AssertionError("every measured gate has a verdict")


def _promises(promise: str, evaluation: EvaluationResult) -> Iterator[Evidence]:
    verdicts = {
        Verdict.KEPT: GateVerdict.PASSED,
        Verdict.BROKEN: GateVerdict.BROKEN_PROMISE,
        Verdict.UNDECIDED: GateVerdict.NOT_ENOUGH_DATA,
    }
    for one in evaluation.stability:
        if one.verdict is not None and promise in ("all", one.bound):
            yield Evidence(subject=one.bound, estimate=one.widest, verdict=verdicts[one.verdict])


def limited(gate: Limits, table: Table) -> Iterator[Evidence]:
    """Compare the numbers of a table that a gate limits, those of groups by the ends that hold for all groups at once.

    Small groups, and the group that others are compared with, are left out.
    """
    wanted = gate.limited, gate.form, gate.column
    least = gate.min_group if isinstance(gate, GroupLimits) else 0
    for key, one in table.where(lambda key: key.part.kind in ("overall", "group")).items():
        if (key.figure.key, key.form, key.part.column) != wanted or key.against == key.part:
            continue
        one = one.together if gate.column else one
        if one.records >= least:
            subject = key.part.value or gate.subject
            yield Evidence(subject=subject, estimate=one, verdict=_compared(gate, one))


def _compared(limits: Limits, one: Estimate) -> GateVerdict:
    """Compare the ends of an interval with the limits."""
    if one.ends is None:
        return GateVerdict.NOT_ENOUGH_DATA
    low, high = one.ends
    above = limits.above is None or low > limits.above
    below = limits.below is None or high < limits.below
    return GateVerdict.PASSED if above and below else GateVerdict.FAILED
