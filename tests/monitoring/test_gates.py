"""Gates on a monitored window: drift, promises before labels, estimates, and matured records."""

from dataclasses import replace

import pytest

from scoring_model.configuration import (
    DriftGate,
    EarlyGate,
    EstimateGate,
    FigureGate,
    FindingGate,
    FlipGate,
    Gate,
    GateSettings,
    PromiseGate,
)
from scoring_model.configuration.findings import FindingSettings
from scoring_model.evaluation import EvaluationError, GateVerdict, check_gates
from scoring_model.findings import Code, State
from scoring_model.monitoring import Monitoring, check_window_gates


def verdicts(found: Monitoring, **gates: Gate) -> tuple[int, list[str]]:
    """Exit code and verdicts."""
    report = check_window_gates(GateSettings(gates=gates, min_days=10, allow_trained=True), found)
    assert [result.name for result in report.results] == list(gates)
    assert all(result.detail for result in report.results)
    return report.exit_code, [result.verdict for result in report.results]


def test_a_quiet_window_passes(watched: Monitoring) -> None:
    """No drift in the score, nothing proved broken, an estimate below its limit, a figure of matured records."""
    assert verdicts(
        watched,
        drift=DriftGate(drift="score"),
        early=EarlyGate(early="all"),
        estimate=EstimateGate(estimate="step_up", below=0.9),
        matured=FigureGate(figure="step_up", below=0.9),
        pair=FlipGate(flips="all", below=0.1),
    ) == (0, ["passed", "passed", "passed", "passed", "not_applicable"])


def test_a_gate_says_of_what_it_speaks(watched: Monitoring) -> None:
    """Of the score alone, though others may have drifted; and why nothing is estimated, in one sentence."""
    unknown = replace(
        watched,
        estimates=replace(watched.estimates, reason="Too few frauds.", overall={}, periods=()),
    )
    gates: dict[str, Gate] = {
        "score": DriftGate(drift="score"),
        "all": DriftGate(drift="all"),
        "missed": EstimateGate(estimate="missed_fraud", below=0.5),
    }
    found = check_window_gates(GateSettings(gates=gates, allow_trained=True), unknown)
    score, every, missed = (result.detail for result in found.results)
    records = f"{watched.drift.window_records:,} records"
    assert (score, every) == (f"no drift of score found in {records}", f"no drift found in {records}")
    assert missed == "Too few frauds"


def test_an_evaluation_has_no_window(watched: Monitoring) -> None:
    """Gates of a window do not apply to an evaluation."""
    assert watched.matured is not None
    settings = GateSettings(gates={"drift": DriftGate(drift="all")}, allow_trained=True)
    (result,) = check_gates(settings, watched.matured).results
    assert (result.verdict, "monitor" in result.detail) == ("not_applicable", True)


def test_drift_fails_and_a_broken_promise_goes_before(watched: Monitoring) -> None:
    """Exit codes 10 and 12."""
    first = replace(watched.drift.subjects[0], found=True)
    drift = replace(watched.drift, subjects=(first, *watched.drift.subjects[1:]))
    moved = replace(watched, drift=drift)
    gates: dict[str, Gate] = {
        "all": DriftGate(drift="all"),
        "own": DriftGate(drift=first.name),
        "early": EarlyGate(early="max_step_up"),
    }
    assert verdicts(moved, **gates)[0] == 10
    early = tuple(replace(one, alarm="2025-11-01", since="2025-10-01") for one in watched.early)
    code, found = verdicts(replace(moved, early=early), **gates)
    assert (code, found) == (12, ["failed", "failed", "broken_promise"])


def test_what_is_not_known_is_no_pass(watched: Monitoring) -> None:
    """Exit code 11 without a limit, a cap, matured labels or an estimate, and for records of the training."""
    blind = replace(
        watched,
        drift=replace(watched.drift, limits={}),
        early=(),
        matured=None,
        estimates=replace(watched.estimates, overall={}),
    )
    gates: dict[str, Gate] = {
        "drift": DriftGate(drift="all"),
        "early": EarlyGate(early="all"),
        "estimate": EstimateGate(estimate="missed_fraud", below=0.5),
        "figure": PromiseGate(promise="all"),
    }
    assert verdicts(blind, **gates) == (11, [GateVerdict.NOT_ENOUGH_DATA] * 4)
    trained = check_window_gates(
        GateSettings(gates={"drift": DriftGate(drift="score")}), replace(watched, trained=3)
    )
    assert trained.results[0].detail.startswith("3 records are from the period")
    with pytest.raises(EvaluationError, match="nothing was not compared"):
        verdicts(watched, odd=DriftGate(drift="nothing"))


def test_what_a_file_of_gates_mutes_is_muted_in_a_window_too(watched: Monitoring) -> None:
    """Findings of the matured records that the file mutes fail no gate on a severity."""
    assert watched.matured is not None
    found = tuple(
        replace(one, state=State.FOUND if one.code is Code.EXTRAPOLATED_SCORES else State.CLEAR, muted=False)
        for one in watched.matured.findings
    )
    window = replace(watched, matured=replace(watched.matured, findings=found))
    for muted, verdict in (((), "failed"), (("SM010",), "passed")):
        settings = GateSettings(
            gates={"clear": FindingGate(findings="info")},
            min_days=10,
            allow_trained=True,
            findings=FindingSettings(mute=muted),
        )
        assert [result.verdict for result in check_window_gates(settings, window).results] == [verdict]
