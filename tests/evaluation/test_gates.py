"""Gates: conditions on ends of intervals, and what they make of too little data."""

import json
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from scoring_model.configuration import (
    DifferenceGate,
    FigureGate,
    FindingGate,
    FindingSettings,
    FlipGate,
    Gate,
    GateSettings,
    GroupChangeGate,
    GroupGapGate,
    PromiseGate,
)
from scoring_model.decision.probability import Platt
from scoring_model.decision.rules import DecisionRules, Policy, Promise
from scoring_model.decision.scale import ScoreScale
from scoring_model.evaluation import (
    ComparedBundle,
    Comparison,
    EvaluatedRecords,
    EvaluationError,
    GateReport,
    check_gates,
    compare_evaluations,
    evaluate_records,
    gates_summary,
)
from scoring_model.findings import Code, Finding, State, arranged
from scoring_model.records import Column
from scoring_model.records.times import DAY

GROUPS = ("large", "small", "tiny")


@cache
def compared(
    *,
    days: int = 40,
    gain: float = 0.5,
    strict: float = 0.0,
    limit: float | None = None,
    noise: float = 0.05,
    kinds: int = 3,
) -> Comparison:
    """A challenger with a gain for frauds that rates genuine records of a small group higher."""
    rng = np.random.default_rng(0)
    size = 6000
    promises: tuple[Promise, ...] = ()
    if limit is not None:
        promises = (
            Promise(bound="max_step_up", limit=limit, delta=0.05, observed=0.1, records=1000, p_value=0.01),
        )
    rules = DecisionRules(
        scale=ScoreScale(cuts=np.linspace(-4, 4, 1000), extrapolated_from=800),
        calibration=Platt(slope=1.0, intercept=0.0),
        policy=Policy(step_up_from=600, fail_from=750, promises=promises),
    )
    labels = (rng.random(size) < 0.2).astype(np.int8)
    groups = rng.choice(3, size, p=(0.8, 0.195, 0.005)).astype(np.int32)
    margins, times = rng.normal(1.5 * labels - 1, 1), rng.integers(0, days * DAY, size)
    more = gain * labels + strict * (1 - labels) * np.where(groups == 1, 1.0, -0.25)
    champion, challenger = (
        evaluate_records(
            EvaluatedRecords(
                decisions=rules.decide(margins + extra + rng.normal(0, noise, size)),
                labels=labels,
                event_times=times,
                columns={"kind": Column(GROUPS[:kinds], np.minimum(groups, kinds - 1))},
            ),
            rules=rules,
            by={"kind": None},
        )
        for extra in (0.0, more)
    )
    return compare_evaluations(champion, challenger)


def report(
    found: Comparison, *, min_days: int = 30, allow_trained: bool = False, **gates: Gate
) -> GateReport:
    """Check gates by name."""
    return check_gates(GateSettings(gates=gates, min_days=min_days, allow_trained=allow_trained), found)


RANKING = DifferenceGate(difference="roc_auc", above=-0.01)
FAIR = GroupChangeGate(group_change="kind", rate="step_up", below=0.02, min_group=100)


def test_a_better_model_is_promoted() -> None:
    """Every gate passes, and the figures in which it is better are named."""
    found = report(
        compared(),
        ranking=RANKING,
        friction=DifferenceGate(difference="step_up", below=0.01),
        level=FigureGate(figure="roc_auc", above=0.8),
        flips=FlipGate(flips="genuine_stricter", below=0.05),
        fair=FAIR,
        gap=GroupGapGate(group_gap="kind", rate="step_up", above=-0.1, below=0.1, min_group=100),
    )
    assert [result.verdict for result in found.results] == ["passed"] * 6
    assert (found.exit_code, found.promotes, found.improved, found.worsened) == (0, True, ("roc_auc",), ())


def test_a_model_that_is_not_better_is_not_promoted() -> None:
    """Gates that hold are not enough: some figure must be better."""
    found = report(compared(gain=0.0, noise=0.0), ranking=RANKING)
    assert (found.exit_code, found.improved, found.promotes) == (0, (), False)


def test_a_figure_without_a_direction_is_no_benefit() -> None:
    """More who are stepped up are no benefit; fewer frauds that pass are one, under either name."""
    assert (compared().differences["stepped_up"].low or 0) > 0
    found = report(compared(), share=DifferenceGate(difference="stepped_up", above=-0.5))
    assert (found.passes, found.improved) == (True, ())
    first, second = (DifferenceGate(difference=name, below=0.5) for name in ("missed_fraud", "fraud_passed"))
    assert report(compared(), first=first, second=second).improved == ("missed_fraud", "fraud_passed")


def test_an_unfair_model_is_refused_by_the_gate_of_its_group() -> None:
    """Overall the errors stay; one group is stepped up more often, and the gate names it."""
    found = report(
        compared(strict=0.5),
        ranking=RANKING,
        friction=DifferenceGate(difference="step_up", below=0.02),
        fair=FAIR,
    )
    verdicts = {result.name: result.verdict for result in found.results}
    assert verdicts == {"ranking": "passed", "friction": "passed", "fair": "failed"}
    assert found.results[2].detail.startswith("small 0.")
    assert (found.exit_code, found.promotes) == (10, False)
    text = next(line for line in gates_summary(found).splitlines() if "fair" in line)
    assert text.startswith("- **Failed: fair.** Genuine stepped up or failed, in each group by ")
    assert "Why: small 0." in text


@pytest.mark.parametrize(
    ("above", "below", "verdict"),
    [
        (0.0, None, "passed"),
        (0.5, None, "failed"),
        (None, 0.5, "passed"),
        (None, 0.0, "failed"),
        (0.0, 0.5, "passed"),
    ],
)
def test_limits_are_of_the_ends(above: float | None, below: float | None, verdict: str) -> None:
    """A planted gain lies above 0 and below one half, with its interval."""
    (result,) = report(
        compared(), gate=DifferenceGate(difference="roc_auc", above=above, below=below)
    ).results
    assert result.verdict == verdict


def test_an_interval_that_reaches_its_limit_fails() -> None:
    """The value lies on the right side, one end does not."""
    found = compared()
    estimate = found.differences["roc_auc"]
    assert estimate.value is not None
    assert estimate.low is not None
    middle = (estimate.low + estimate.value) / 2
    (result,) = report(found, gate=DifferenceGate(difference="roc_auc", above=middle)).results
    assert result.verdict == "failed"
    assert result.measured[0].estimate.value == estimate.value > middle


def test_few_days_are_not_enough() -> None:
    """With 29 days no gate is decided and nothing is better, whatever the numbers."""
    found = report(compared(days=29), ranking=RANKING, level=FigureGate(figure="roc_auc", above=0.1))
    assert [result.verdict for result in found.results] == ["not_enough_data"] * 2
    assert found.results[0].detail == "29 days with records; 30 are needed"
    assert found.results[0].measured[0].estimate.value is not None
    assert (found.exit_code, found.improved, found.promotes) == (11, (), False)
    assert report(compared(days=29), min_days=20, ranking=RANKING).exit_code == 0


def test_small_groups_are_not_enough_unless_left_out() -> None:
    """A group without an interval decides nothing; with `min_group` the others decide."""
    gate = replace(FAIR, min_group=0)
    found = report(compared(), fair=gate)
    assert (found.results[0].verdict, found.exit_code) == ("not_enough_data", 11)
    assert found.results[0].detail.startswith("tiny ")
    assert "without an interval" in found.results[0].detail
    assert [one.subject for one in report(compared(), fair=FAIR).results[0].measured] == ["large", "small"]
    none = report(compared(), fair=replace(FAIR, min_group=10_000))
    assert (none.exit_code, none.results[0].detail) == (11, "no group is large enough")


@pytest.mark.parametrize("kinds", [0, 1])
def test_where_all_records_are_of_one_group_none_is_worse_off(kinds: int) -> None:
    """As where the records have no document type at all: a shipped gate on it would wait for ever."""
    found = report(compared(kinds=kinds), fair=FAIR, ranking=RANKING)
    assert [result.verdict for result in found.results] == ["passed", "passed"]
    assert found.results[0].detail == "no record differs from the others by kind"
    assert found.promotes


@pytest.mark.parametrize(
    ("limit", "verdict", "code"),
    [(0.5, "passed", 0), (0.01, "broken_promise", 12), (None, "failed", 10)],
)
def test_promises(limit: float | None, verdict: str, code: int) -> None:
    """A kept promise passes, a broken one has its own code, and one that is not made fails."""
    found = report(compared(limit=limit), promise=PromiseGate(promise="max_step_up"))
    assert (found.results[0].verdict, found.exit_code) == (verdict, code)


def test_an_undecided_promise_is_not_enough_data() -> None:
    """A limit inside the interval is neither kept nor broken."""
    limit = compared(limit=0.5).challenger.stability[1].share.value
    found = report(compared(limit=limit), promise=PromiseGate(promise="all"))
    assert (found.results[0].verdict, found.exit_code) == ("not_enough_data", 11)


def test_a_broken_promise_comes_first() -> None:
    """Of several codes the gravest is given."""
    found = report(
        compared(limit=0.01),
        ranking=DifferenceGate(difference="roc_auc", above=0.9),
        all=PromiseGate(promise="all"),
    )
    assert {result.verdict for result in found.results} == {"failed", "broken_promise"}
    assert found.exit_code == 12


def test_records_of_the_training_decide_nothing() -> None:
    """Records from before the end of a validation period leave every gate open, unless they are allowed."""
    bundle: dict[str, Any] = {
        "name": "u",
        "model_version": "m",
        "policy_version": "p",
        "bytes": 1,
        "trees": 1,
    }
    bundle |= {"features": 1, "decision_milliseconds": 1.0, "records_per_second": 1.0, "trained_until": 0}
    found = replace_bundles(compared(), ComparedBundle(trained_records=7, **bundle))
    refused = report(found, ranking=RANKING)
    assert (refused.exit_code, refused.results[0].detail[:19]) == (11, "7 evaluated records")
    assert refused.results[0].measured[0].verdict == "not_enough_data"
    assert report(found, allow_trained=True, ranking=RANKING).exit_code == 0
    unknown = report(replace_bundles(found, ComparedBundle(trained_records=None, **bundle)), ranking=RANKING)
    assert (unknown.exit_code, unknown.results[0].detail[:33]) == (11, "a bundle does not hold its split,")


def replace_bundles(found: Comparison, *bundles: ComparedBundle) -> Comparison:
    """The same comparison of these bundles."""
    return compare_evaluations(found.champion, found.challenger, bundles=bundles)


def test_one_model_has_no_gates_of_two() -> None:
    """For one model the gates of two do not apply; where no other is left, nothing passed."""
    one = compared().challenger
    both = GateSettings(gates={"ranking": RANKING, "level": FigureGate(figure="roc_auc", above=0.5)})
    found = check_gates(both, one)
    assert [result.verdict for result in found.results] == ["not_applicable", "passed"]
    assert (found.exit_code, found.promotes) == (0, False)
    assert check_gates(GateSettings(gates={"ranking": RANKING}), one).exit_code == 11


def test_unknown_figures_and_columns_are_named_together() -> None:
    """One error names every gate that can't be checked."""
    level, gap = (
        FigureGate(figure="accuracy", above=0.5),
        GroupGapGate(group_gap="sex", rate="failed", below=0.1),
    )
    with pytest.raises(
        EvaluationError, match=r"a: no figure accuracy.*b: the evaluation has no groups by sex"
    ):
        report(compared(), a=level, b=gap)


def test_the_document_names_each_gate_with_its_numbers() -> None:
    """JSON has the gate, its verdict and the ends that decided."""
    comparison = compared()
    document = json.loads(json.dumps(report(comparison, ranking=RANKING).to_json(), allow_nan=False))
    (gate,) = document["gates"]
    difference = comparison.differences["roc_auc"]
    assert gate["gate"] == {"difference": "roc_auc", "above": -0.01}
    assert gate["measured"] == [{"subject": "roc_auc", "verdict": "passed"} | difference.to_json()]


def with_findings(found: Comparison, *findings: Finding) -> Comparison:
    """The same comparison whose challenger has further findings, and whose champion has none."""
    mine = {one.code for one in findings}
    rest = [one for one in found.challenger.findings if one.code not in mine]
    return replace(
        found,
        champion=replace(found.champion, findings=()),
        challenger=replace(found.challenger, findings=arranged([*rest, *findings])),
    )


def one_of(code: Code, state: State) -> Finding:
    """A finding with a count of 3 where something was found."""
    return Finding(code=code, state=state, sentence=f"is {state}", count=3 * (state is State.FOUND))


@pytest.mark.parametrize(
    ("state", "verdict", "code"),
    [
        (State.CLEAR, "passed", 0),
        (State.FOUND, "failed", 10),
        (State.NOT_APPLICABLE, "not_enough_data", 11),
    ],
)
def test_a_gate_on_a_finding(state: State, verdict: str, code: int) -> None:
    """What was found fails, what could not be checked is no pass, and few days do not matter."""
    found = with_findings(compared(days=20), one_of(Code.FUTURE, state))
    checked = report(found, gate=FindingGate(findings="SM003"))
    assert (checked.results[0].verdict, checked.exit_code) == (verdict, code)
    assert "SM003" in checked.results[0].detail
    (evidence,) = checked.results[0].measured
    counted = {State.CLEAR: 0, State.FOUND: 3, State.NOT_APPLICABLE: None}
    assert evidence.estimate.value == counted[state]
    unknown = report(compared(), gate=FindingGate(findings="SM003"))
    assert (unknown.exit_code, unknown.results[0].detail) == (11, "SM003: was not checked")


def test_a_gate_on_a_severity() -> None:
    """It watches this and graver severities; what its file mutes is left out and named, what a bundle mutes is not."""
    clear = [one_of(code, State.CLEAR) for code in Code]
    bad = replace(one_of(Code.BLIND_WINDOWS, State.FOUND), muted=True)
    found = with_findings(compared(), *(one for one in clear if one.code != bad.code), bad)
    verdicts = {
        severity: report(found, gate=FindingGate(findings=severity)).results[0].verdict
        for severity in ("info", "warning", "error")
    }
    assert verdicts == {"info": "failed", "warning": "failed", "error": "passed"}
    mute = FindingSettings(mute=("SM006",))
    (result,) = check_gates(
        GateSettings(gates={"a": FindingGate(findings="warning")}, findings=mute), found
    ).results
    assert (result.verdict, result.detail.endswith("; muted: SM006 (3)")) == ("passed", True)
    every = FindingSettings(mute=tuple(Code))
    (result,) = check_gates(
        GateSettings(gates={"a": FindingGate(findings="info")}, findings=every), found
    ).results
    assert result.verdict == "not_enough_data"


def test_records_that_a_model_was_trained_on_decide_nothing() -> None:
    """Records found by their digests leave gates on figures open, whatever their time."""
    found = with_findings(compared(), one_of(Code.TRAINING_RECORDS, State.FOUND))
    assert (report(found, ranking=RANKING).exit_code, report(compared(), ranking=RANKING).exit_code) == (
        11,
        0,
    )
    assert report(found, allow_trained=True, ranking=RANKING).exit_code == 0


def test_a_champion_counts_for_records_of_the_training_alone() -> None:
    """A leak of the champion is no fault of the challenger, an overlap with its training is."""
    clear = with_findings(
        compared(), one_of(Code.FUTURE, State.CLEAR), one_of(Code.TRAINING_RECORDS, State.CLEAR)
    )
    champion = [one_of(code, State.FOUND) for code in (Code.FUTURE, Code.TRAINING_RECORDS)]
    found = replace(clear, champion=replace(clear.champion, findings=arranged(champion)))
    verdicts = [
        one.verdict
        for one in report(found, a=FindingGate(findings="SM003"), b=FindingGate(findings="SM008")).results
    ]
    assert verdicts == ["passed", "failed"]
