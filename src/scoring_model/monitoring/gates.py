"""Checks gates on a monitored window: of drift, of promises before labels, of estimates, and of matured records."""

from scoring_model.configuration.gates import (
    DriftGate,
    EarlyGate,
    EstimateGate,
    Gate,
    GateSettings,
    PairGate,
    WindowGate,
)
from scoring_model.evaluation.evaluated_records import refuse
from scoring_model.evaluation.gates import (
    NEEDS_PAIR,
    GateJudge,
    GateReport,
    GateResult,
    GateVerdict,
    limited,
)
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
    subjects = {_ALL, *(one.name for one in found.drift.subjects)}
    refuse(
        "gates",
        (
            f"{name}: {gate.drift} was not compared: no such feature, or the file was scored earlier"
            for name, gate in settings.gates.items()
            if isinstance(gate, DriftGate) and gate.drift not in subjects
        ),
    )
    judge = None if found.matured is None else GateJudge(settings, found.matured, found.trained)

    def decide(name: str, gate: Gate) -> GateResult:
        if judge is not None and not isinstance(gate, WindowGate):
            return judge.decide(name, gate)
        verdict, detail = _decide(gate, found, allow_trained=settings.allow_trained)
        return GateResult(name=name, gate=gate, verdict=verdict, detail=detail, measured=())

    return GateReport(results=tuple(decide(name, gate) for name, gate in settings.gates.items()), benefits={})


def _decide(gate: Gate, found: MonitoringResult, *, allow_trained: bool) -> tuple[GateVerdict, str]:
    """Decide a gate without matured records."""
    if isinstance(gate, PairGate):
        return GateVerdict.NOT_APPLICABLE, NEEDS_PAIR
    if not isinstance(gate, WindowGate):
        return GateVerdict.NOT_ENOUGH_DATA, "no matured labelled records"
    if found.trained and not allow_trained:
        detail = f"{found.trained:,} records are from the period that the model was trained and validated on"
        return GateVerdict.NOT_ENOUGH_DATA, detail
    match gate:
        case DriftGate():
            return _drift(gate.drift, found)
        case EarlyGate():
            return _early(gate.early, found)
        case EstimateGate():
            return _estimate(gate, found)


def _drift(subject: str, found: MonitoringResult) -> tuple[GateVerdict, str]:
    drift = found.drift
    if not drift.limits:
        return GateVerdict.NOT_ENOUGH_DATA, "drift has no limit here"
    names = [name for name in drift.found if subject in (_ALL, name)]
    if names:
        return GateVerdict.FAILED, f"drift in {', '.join(names[:3])}{', ...' if len(names) > 3 else ''}"
    of = "" if subject == _ALL else f" of {subject}"
    return GateVerdict.PASSED, f"no drift{of} found in {drift.window_records:,} records"


def _early(bound: str, found: MonitoringResult) -> tuple[GateVerdict, str]:
    """An undecided promise passes: before labels, most are. Only a proof that it is broken counts."""
    chosen = [one for one in found.early if bound in (_ALL, one.bound)]
    if not chosen:
        return GateVerdict.NOT_ENOUGH_DATA, "no such promise, or no cap on the share of frauds"
    if found.prevalence.refuted:
        return GateVerdict.NOT_ENOUGH_DATA, "matured labels refute the assumed share of frauds"
    for one in chosen:
        if one.alarm is not None or one.verdict is Verdict.BROKEN:
            when = "" if one.alarm is None else f", alarm on {one.alarm}"
            return (
                GateVerdict.BROKEN_PROMISE,
                f"{one.bound}: at least {one.genuine.low:.4g} of genuine{when}",
            )
    texts = (f"{one.bound} {one.verdict}" for one in chosen)
    return GateVerdict.PASSED, f"none is proved to be broken: {', '.join(texts)}"


def _estimate(gate: EstimateGate, found: MonitoringResult) -> tuple[GateVerdict, str]:
    evidence = next(limited(gate, found.table), None)
    if evidence is None:
        return GateVerdict.NOT_ENOUGH_DATA, found.estimates.reason.removesuffix(".")
    one = evidence.estimate
    if one.ends is None or one.value is None:
        return GateVerdict.NOT_ENOUGH_DATA, f"{gate.estimate} has no interval"
    detail = f"{gate.estimate} {one.value:.4g} ({one.low:.4g} to {one.high:.4g}), estimated"
    return evidence.verdict, detail
