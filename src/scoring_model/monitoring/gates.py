"""Checks gates on a monitored window: of drift, of promises before labels, of estimates, and of matured records."""

from collections.abc import Iterator
from dataclasses import replace

from scoring_model.configuration import Gate, GateSettings
from scoring_model.evaluation import EvaluationError, GateReport, GateResult, GateVerdict, check_gates
from scoring_model.evaluation.stability import Verdict
from scoring_model.monitoring.result import MonitoringResult

_ALL = "all"


def check_window_gates(settings: GateSettings, found: MonitoringResult) -> GateReport:
    """Check gates on a window.

    Gates about figures, groups and promises are decided on the matured records. Those of two models do not apply.
    `min_days` concerns matured records alone: limits of drift, confidence sequences and estimates know their samples.

    Raises
    ------
    EvaluationError
        If gates name features or figures that do not exist, or columns that were not evaluated.
    """
    if problems := list(_unknown(settings, found)):
        raise EvaluationError("gates: " + "; ".join(problems))
    of_matured = {name: gate for name, gate in settings.gates.items() if not gate.of_window}
    matured = _matured_results(settings, of_matured, found)
    return GateReport(
        results=tuple(
            _of_window(name, gate, found, settings) if gate.of_window else matured[name]
            for name, gate in settings.gates.items()
        ),
        benefits={},
    )


def _unknown(settings: GateSettings, found: MonitoringResult) -> Iterator[str]:
    subjects = {one.name for one in found.drift.subjects}
    for name, gate in settings.gates.items():
        if gate.drift is not None and gate.drift not in {_ALL, *subjects}:
            yield f"{name}: {gate.drift} was not compared: no such feature, or the file was scored earlier"


def _matured_results(
    settings: GateSettings, gates: dict[str, Gate], found: MonitoringResult
) -> dict[str, GateResult]:
    if not gates:
        return {}
    if found.matured is not None:
        own = replace(settings, gates=gates)
        return {one.name: one for one in check_gates(own, found.matured, trained=found.trained).results}
    return {
        name: GateResult(
            name=name,
            gate=gate,
            verdict=GateVerdict.NOT_APPLICABLE if gate.of_pair else GateVerdict.NOT_ENOUGH_DATA,
            detail="needs two models: compare decides it" if gate.of_pair else "no matured labelled records",
            measured=(),
        )
        for name, gate in gates.items()
    }


def _of_window(name: str, gate: Gate, found: MonitoringResult, settings: GateSettings) -> GateResult:
    if found.trained and not settings.allow_trained:
        verdict = GateVerdict.NOT_ENOUGH_DATA
        detail = f"{found.trained:,} records are from the period that the model was trained and validated on"
    elif gate.drift is not None:
        verdict, detail = _drift(gate.drift, found)
    elif gate.early is not None:
        verdict, detail = _early(gate.early, found)
    else:
        verdict, detail = _estimate(gate, found)
    return GateResult(name=name, gate=gate, verdict=verdict, detail=detail, measured=())


def _drift(subject: str, found: MonitoringResult) -> tuple[GateVerdict, str]:
    drift = found.drift
    if drift.limit is None:
        return GateVerdict.NOT_ENOUGH_DATA, "drift has no limit for this bundle"
    names = [name for name in drift.found if subject in (_ALL, name)]
    if names:
        return GateVerdict.FAILED, f"drift in {', '.join(names[:3])}{', ...' if len(names) > 3 else ''}"
    return GateVerdict.PASSED, f"no drift found in {drift.window_records:,} records"


def _early(bound: str, found: MonitoringResult) -> tuple[GateVerdict, str]:
    """An undecided promise passes: before labels, most are. Only a proof that it is broken counts."""
    chosen = [one for one in found.early if bound in (_ALL, one.bound)]
    if not chosen:
        return GateVerdict.NOT_ENOUGH_DATA, "no such promise, or no cap on the share of frauds"
    for one in chosen:
        if one.alarm is not None or one.verdict is Verdict.BROKEN:
            when = "" if one.alarm is None else f", alarm on {one.alarm}"
            return (
                GateVerdict.BROKEN_PROMISE,
                f"{one.bound}: at least {one.genuine_low:.4g} of genuine{when}",
            )
    texts = (f"{one.bound} {one.verdict}" for one in chosen)
    return GateVerdict.PASSED, f"none is proved to be broken: {', '.join(texts)}"


def _estimate(gate: Gate, found: MonitoringResult) -> tuple[GateVerdict, str]:
    if gate.estimate is None or gate.estimate not in found.estimates.overall:
        return GateVerdict.NOT_ENOUGH_DATA, found.estimates.reason
    one = found.estimates.overall[gate.estimate]
    if one.low is None or one.high is None or one.value is None:
        return GateVerdict.NOT_ENOUGH_DATA, f"{gate.estimate} has no interval"
    inside = (gate.above is None or one.low > gate.above) and (gate.below is None or one.high < gate.below)
    detail = f"{gate.estimate} {one.value:.4g} ({one.low:.4g} to {one.high:.4g}), estimated"
    return GateVerdict.PASSED if inside else GateVerdict.FAILED, detail
