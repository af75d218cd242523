"""Results that are made, not trained: in them every verdict, tone, sign and absence occurs.

Each is cheap, and its numbers are chosen: `tests/pages` says what the pages must make of them.
"""

from collections import Counter
from dataclasses import replace
from functools import cache, partial

import numpy as np

from scoring_model.bundle import ScoreCounts
from scoring_model.configuration import (
    CostSettings,
    DifferenceGate,
    DriftGate,
    EarlyGate,
    EstimateGate,
    FigureGate,
    FindingGate,
    FindingSettings,
    FlipGate,
    GateSettings,
    GroupChangeGate,
    GroupGapGate,
    PromiseGate,
    SplitSettings,
)
from scoring_model.configuration.gates import PairGate
from scoring_model.contract.outcome import OUTCOMES, Outcome
from scoring_model.decision.flips import SHAPE
from scoring_model.decision.probability import Platt
from scoring_model.decision.rules import DecisionRules, Policy, Promise
from scoring_model.decision.scale import ScoreScale
from scoring_model.estimates import CHALLENGER, CHAMPION, Key, Slice, Table
from scoring_model.evaluation import (
    ComparedBundle,
    Comparison,
    Coverage,
    Estimate,
    EvaluatedRecords,
    Evaluation,
    GateReport,
    LeftOut,
    check_gates,
    compare_evaluations,
    evaluate_records,
)
from scoring_model.evaluation.flips import DailyChange, GroupCounts, changed
from scoring_model.evaluation.importance import Importance, Weight
from scoring_model.evaluation.late_frauds import LateFrauds, late_frauds_finding
from scoring_model.evaluation.result import Provenance
from scoring_model.evaluation.stability import Stability, Verdict, Window
from scoring_model.evaluation.stopped import NotObserved
from scoring_model.figures import CONTROL_COST
from scoring_model.findings import Code, Finding, State, arranged
from scoring_model.monitoring import Monitoring
from scoring_model.monitoring.categories import CategoryChange
from scoring_model.monitoring.drift import Contributor, Drift, SubjectDrift, WeekdayTraffic
from scoring_model.monitoring.early import EarlyVerdict, Estimates, Knowledge, Period
from scoring_model.monitoring.gates import check_window_gates
from scoring_model.monitoring.result import Maturity, Prevalence, PromiseBasis
from scoring_model.records import Column
from scoring_model.service.past.replay import NotDecidedAgain
from scoring_model.service.past.tried import Hits
from scoring_model.service.past.whatif import GroupTurns, WhatIf
from scoring_model.training.backtest import Backtest
from scoring_model.training.backtest.plan import ImpossibleFold
from scoring_model.training.backtest.result import (
    Ageing,
    CadenceDifference,
    CadenceResult,
    Fold,
    JudgedHistory,
    LearningPoint,
    ModelPeriod,
    PromiseMonth,
    PromiseTally,
)
from scoring_model.training.split import PartSummary

DAY = 86_400_000_000
START = int(np.datetime64("2026-01-01", "us").astype(np.int64))
COUNTRIES = ("DE", "FR", "IT", "AT", "BE", "MT")
RATES = ("passed", "stepped_up", "failed", "false_reject", "step_up", "missed_fraud")

CHANGES: tuple[tuple[float | None, float | None, float | None], ...] = (
    (0.04, 0.01, 0.07),  # clearly more
    (-0.04, -0.07, -0.01),  # clearly less
    (0.01, -0.02, 0.04),  # neither
    (0.02, 0.0, 0.04),  # reaches 0: neither
    (-0.02, -0.04, 0.0),  # reaches 0 from below: neither
    (-0.03, None, None),  # can't know
    (None, None, None),  # nothing at all
)
"""Value and ends of a difference, each kind once."""

MORE_IS_BETTER = (
    "roc_auc", "average_precision", "ks", "genuine_passed",
    "recall_at_fpr_0.001", "recall_at_fpr_0.005", "recall_at_fpr_0.01", "recall_at_fpr_0.05",
    "precision_at_fpr_0.001", "precision_at_fpr_0.005", "precision_at_fpr_0.01", "precision_at_fpr_0.05",
    "recall_at_capacity_10", "recall_at_capacity_50", "recall_at_capacity_100", "recall_at_capacity_500",
)  # fmt: skip
LESS_IS_BETTER = (
    "false_reject", "step_up", "missed_fraud", "log_loss", "brier", "cost", "passed_frauds",
)  # fmt: skip
"""Here only so that each kind of change falls to figures of each direction; the oracle is in the tests."""


def estimate(value: float | None, low: float | None, high: float | None, records: int = 1300) -> Estimate:
    """An estimate of these numbers."""
    return Estimate(value=value, low=low, high=high, records=records)


def share(
    count: int,
    total: int,
    low: float | None = None,
    high: float | None = None,
    independent: int | None = None,
) -> Estimate:
    """A share with these ends."""
    value = count / total if total else None
    return Estimate(value=value, low=low, high=high, records=total, count=count, independent=independent)


def rules(limits: dict[str, float] | None = None) -> DecisionRules:
    """Rules that step up from a margin of 0.5 and fail from 1.6, with promises."""
    promises = tuple(
        Promise(bound=bound, limit=limit, delta=0.05, observed=0.0, records=9, p_value=0.01)
        for bound, limit in (limits or {}).items()
    )
    return DecisionRules(
        scale=ScoreScale(cuts=np.linspace(-4, 4, 1000), extrapolated_from=801),
        calibration=Platt(slope=1.0, intercept=-1.0),
        policy=Policy(step_up_from=563, fail_from=700, promises=promises),
    )


LIMITS = {"max_step_up": 0.5}


@cache
def _records(extra: float = 0.0) -> EvaluatedRecords:
    """Records of six countries on forty days: FR is stepped up more, IT less, the last three have few records."""
    rng = np.random.default_rng(5)
    size = 700
    labels = (rng.random(size) < 0.2).astype(np.int8)
    countries = rng.choice(7, size, p=(0.42, 0.2, 0.2, 0.04, 0.04, 0.03, 0.07)).astype(np.int32)
    pushed = np.select([countries == 1, countries == 2], [0.9, -0.9], 0.0)
    own = rng.normal(0, 0.3, (2, size))[int(extra > 0)]
    margins = 1.2 * labels - 0.3 + pushed + rng.normal(0, 0.8, size) + own + extra * (labels - 0.1)
    return EvaluatedRecords(
        decisions=rules(LIMITS).decide(margins),
        labels=labels,
        event_times=START + np.sort(rng.integers(0, 40 * DAY, size)),
        record_ids=tuple(f"r{row}" for row in range(size)),
        persons=np.arange(size),
        columns={"country": Column(COUNTRIES, np.where(countries == 6, -1, countries).astype(np.int32))},
    )


@cache
def _observed(extra: float) -> EvaluatedRecords:
    """The same records, but most applicants whom the champion stops were not observed; of some their label is known."""
    whole, passed = _records(extra), _records().decisions.outcomes == 0
    seen = passed | (np.arange(len(whole)) % 12 == 0)
    rows, others = np.flatnonzero(seen), np.flatnonzero(~seen)
    stopped = whole.decisions.take(others)
    missing = NotObserved(
        outcomes=stopped.outcomes.astype(np.int8),
        margins=stopped.margins,
        probabilities=stopped.probabilities,
        labels=np.where(others % 5 == 0, whole.labels[others], -1).astype(np.int8),
        event_times=whole.event_times[others],
        persons=others,
        columns={name: column.take(others) for name, column in whole.columns.items()},
    )
    return EvaluatedRecords(
        decisions=whole.decisions.take(rows),
        labels=whole.labels[rows],
        event_times=whole.event_times[rows],
        persons=rows,
        columns={name: column.take(rows) for name, column in whole.columns.items()},
        not_observed=missing,
    )


def _counts(records: EvaluatedRecords) -> ScoreCounts:
    fraud = records.labels == 1
    genuine, frauds = (
        np.bincount(records.decisions.scores[rows], minlength=1001).astype(np.int64)
        for rows in (~fraud, fraud)
    )
    return ScoreCounts(
        persons=20 * genuine, rings=frauds, genuine=20 * genuine, frauds=frauds,
        limits=LIMITS, confidence=0.95, until=START,
    )  # fmt: skip


FINDINGS = (
    Finding(
        code=Code.TRAINING_PERIOD,
        state=State.FOUND,
        sentence="3 of 1,500 records are early",
        count=3,
        records=1500,
    ),
    Finding(code=Code.TRAINING_RECORDS, state=State.CLEAR, sentence="none of 1,500", records=1500),
    Finding(
        code=Code.SEARCH_EDGE, state=State.FOUND, sentence="num_leaves at 255 | its end", count=1, muted=True
    ),
    Finding(code=Code.SHUFFLED_LABELS, state=State.NOT_APPLICABLE, sentence="too few frauds"),
    Finding(
        code=Code.MIXED_MATURITY,
        state=State.FOUND,
        sentence="40 young records have labels",
        count=40,
        records=90,
    ),
    Finding(code=Code.SINGLE_FEATURES, state=State.FOUND, sentence="AUC 0.999 of sex", count=1, records=22),
)
"""Each state, muted or not, and every severity."""

WORST = Window(since="2026-01-20", until="2026-02-02", share=share(30, 400, 0.05, 0.1))
STABILITY = (
    # The highest end is the limit itself: kept.
    Stability(
        bound="max_false_reject", limit=0.05, share=share(36, 1200, 0.015, 0.05, independent=40),
        days=40, worst=WORST,
    ),
    Stability(
        bound="max_step_up", limit=0.1, share=share(240, 1200, 0.16, 0.25, independent=40), days=40,
        worst=WORST,
    ),
    # The lowest end is the limit itself: not above it, so undecided.
    Stability(
        bound="max_missed_fraud", limit=0.3, share=share(120, 300, 0.3, 0.5, independent=15),
        days=39, worst=None,
    ),
)  # fmt: skip
"""Kept, broken, undecided."""

OTHER_STABILITY = (
    replace(STABILITY[0], limit=None),
    replace(STABILITY[1], share=replace(STABILITY[1].share, low=None, high=None, absence="few independent")),
    replace(STABILITY[2], limit=0.29),
)
"""Nothing promised, undecided for too few independent records, broken."""


def _weight(name: str, family: str, value: float, low: float | None, *, categorical: bool = False) -> Weight:
    return Weight(
        name=name,
        family=family,
        sentence="" if name == family else f"Meaning of {name}.",
        unit="" if name == family else "days",
        categorical=categorical,
        features=2 if name == family else 1,
        weight=estimate(value, low, None if low is None else value + 0.1, 200),
    )


def _importance(words: tuple[str, ...] = (), *, lost: bool = True) -> Importance:
    rng = np.random.default_rng(1)
    values = np.column_stack([rng.normal(0, 1, 200), rng.integers(0, 3, 200), rng.normal(5, 2, 200)])
    values[::7, 0] = np.nan
    return Importance(
        families=(_weight("links", "links", 0.5, 0.4), _weight("device", "device", 0.2, 0.15)),
        features=(
            _weight("link_person_30d_records", "links", 0.6, 0.5),
            replace(_weight("signal_channel", "device", 0.2, 0.1, categorical=True), categories=words),
            _weight("email_age", "device", 0.1, 0.05),
        ),
        records=1500,
        values=values,
        contributions=np.nan_to_num(values) * np.array([0.5, -0.3, 0.1]),
        recall_lost={
            "links": replace(estimate(0.12, 0.05, 0.2, 300), independent=41),
            "device": estimate(-0.01, None, None, 300),
        }
        if lost
        else {},
    )


COVERAGE = Coverage(
    as_of=START + 90 * DAY,
    maturity=60 * DAY,
    matured_only=False,
    genuine=1200,
    frauds=300,
    immature_genuine=20,
    immature_frauds=20,
    left_out={reason: 7 + place for place, reason in enumerate(LeftOut)},
)
PROVENANCE = Provenance(
    name="identity",
    model_version="m1",
    policy_version="p1",
    files=("later.parquet",),
    since=START,
    until=START + 40 * DAY,
    scored_earlier=False,
    notes=("A note on what was assumed.",),
)


@cache
def _evaluated(extra: float) -> Evaluation:
    return evaluate_records(
        _records(extra),
        rules=rules(LIMITS),
        costs=CostSettings(fraud_loss=500, reject_cost=20, step_up_cost=2, step_up_effectiveness=0.8),
        by={"country": None},
        counts=_counts(_records(extra)),
        coverage=COVERAGE,
        provenance=PROVENANCE,
    )


@cache
def measured_evaluation() -> Evaluation:
    """The same evaluation as the records give it, with its own findings and errors over time."""
    return _evaluated(0.0)


@cache
def made_evaluation() -> Evaluation:
    """An evaluation with a promise that is kept, one broken, one undecided; groups that differ, and some too small."""
    found = _evaluated(0.0)
    return replace(
        found, stability=STABILITY, findings=arranged(FINDINGS), explain=_importance,
        table=found.table | {Key(figure=CONTROL_COST): estimate(12.5, 9.0, 16.0)},
    )  # fmt: skip


@cache
def stopped_evaluation(extra: float = 0.0) -> Evaluation:
    """An evaluation of those who were observed, beside applicants whom a champion stopped."""
    found = evaluate_records(
        _observed(extra),
        rules=rules({**LIMITS, "max_missed_fraud": 0.5}),
        by={"country": None},
        provenance=PROVENANCE,
    )
    return replace(found, explain=partial(_importance, ("web", "app"), lost=False))


@cache
def uncertified_evaluation() -> Evaluation:
    """A promise that the counted records are too few to certify for any pair of thresholds."""
    found = made_evaluation()
    policy = replace(found.curves.policy, promises=rules({"max_step_up": 1e-6}).policy.promises)
    return replace(found, curves=replace(found.curves, policy=policy))


@cache
def bare_evaluation() -> Evaluation:
    """Genuine records alone, on five days, from arrays: nearly nothing can be known, and one promise is undecided."""
    rng = np.random.default_rng(2)
    return evaluate_records(
        EvaluatedRecords(
            decisions=rules().decide(rng.normal(-0.3, 0.8, 60)),
            labels=np.zeros(60, dtype=np.int8),
            event_times=START + np.sort(rng.integers(0, 5 * DAY, 60)),
            columns={"country": Column(("DE",), np.zeros(60, dtype=np.int32))},
        ),
        rules=rules({"max_step_up": 0.1}),
    )


@cache
def empty_evaluation() -> Evaluation:
    """No record at all."""
    return evaluate_records(
        EvaluatedRecords(
            decisions=rules().decide(np.empty(0)),
            labels=np.empty(0, np.int8),
            event_times=np.empty(0, np.int64),
        ),
        rules=rules(),
    )


def _differences(found: Comparison) -> dict[str, Estimate]:
    """Give every kind of change to figures of each direction, in turn; all applicants were observed."""
    everyone = {f"applicants_{one}": one for one in ("passed", "stepped_up", "failed")}
    judged = (*MORE_IS_BETTER, *LESS_IS_BETTER, *everyone)
    neither = [name for name in found.differences if name not in judged]
    made = {
        name: estimate(*CHANGES[place % len(CHANGES)])
        for names in (MORE_IS_BETTER, LESS_IS_BETTER, neither)
        for place, name in enumerate(names)
    }
    return made | {name: made[own] for name, own in everyone.items()}


def _change(place: int, records: int) -> Estimate:
    value, low, high = CHANGES[place % len(CHANGES)]
    wider = None if low is None or high is None else (low / 2, high / 2)
    # The interval of the group alone is another one: pages show the simultaneous one.
    return Estimate(
        value=value,
        low=wider and wider[0],
        high=wider and wider[1],
        simultaneous_low=low,
        simultaneous_high=high,
        records=records,
    )


def _turned(found: Comparison) -> tuple[GroupCounts, ...]:
    """Seven groups."""
    return tuple(
        GroupCounts(
            value=one.value,
            records=500 - 10 * place,
            stricter=20 + place,
            milder=10 + place,
            stricter_frauds=5,
            milder_frauds=2,
        )
        for place, one in enumerate(found.turned["country"])
    )


def _group_changes(groups: tuple[GroupCounts, ...]) -> Table:
    """Each rate of seven groups meets each kind of change."""
    table = Table()
    for place, one in enumerate(groups):
        changes = {name: _change(place + turn, 400 - 60 * place) for turn, name in enumerate(RATES)}
        table |= changed(changes, Slice(kind="group", column="country", value=one.value))
    return table


def _flips(rates: dict[str, Estimate]) -> Table:
    return Table.of(rates, decided_by=CHALLENGER, against=CHAMPION)


def _daily() -> tuple[DailyChange, ...]:
    """Fewer passes; step-ups of which one class has more and the other fewer; more failures, nearly all frauds."""
    numbers = (
        (Outcome.PASSED, (-12.5, -15.0, -9.0), (-1.5, -2.5, -0.5)),
        (Outcome.STEPPED_UP, (2.5, -1.0, 4.5), (-0.6, -1.0, 0.3)),
        (Outcome.FAILED, (1234.4, 1000.0, 1500.0), (1200.0, 1100.0, 1300.0)),
    )
    return tuple(
        DailyChange(outcome=outcome, everyone=estimate(*everyone), frauds=estimate(*frauds))
        for outcome, everyone, frauds in numbers
    )


def _bundle(version: str, until: int | None, trained: int | None, *, more: int) -> ComparedBundle:
    return ComparedBundle(
        name="identity", model_version=version, policy_version=f"p-{version}", bytes=1_500_000 + more, trees=30 + more,
        features=50 + more, decision_milliseconds=0.25 + more, records_per_second=12_345 + more, trained_until=until,
        trained_records=trained,
    )  # fmt: skip


@cache
def measured_comparison() -> Comparison:
    """The same two models with the differences that the records give."""
    return compare_evaluations(
        replace(_evaluated(0.0), stability=OTHER_STABILITY, findings=arranged(FINDINGS[:2])),
        replace(_evaluated(0.4), stability=STABILITY, findings=arranged(FINDINGS[2:])),
        explain=lambda row, stricter: ("A", "B", "C", "D", "E", "F")[: 2 + row % 5] if stricter else ("C",),
        bundles=(_bundle("champion", START, 0, more=0), _bundle("challenger", None, None, more=1)),
        sentences={"A": "The address is new.", "B": "The device is new."},
        notes=("the costs of the two policies differ",),
    )


FLIP_RATES = (
    estimate(0.12, 0.1, 0.15), estimate(0.05, 0.02, 0.1), estimate(0.03, 0.02, 0.04), estimate(0.2, None, None),
    estimate(0.01, 0.0, 0.02),
)  # fmt: skip


@cache
def made_comparison() -> Comparison:
    """A comparison in which figures of each direction change in every way, and so do rates of groups."""
    found = measured_comparison()
    groups, flips = _turned(found), dict(zip(found.flip_rates, FLIP_RATES, strict=True))
    return replace(
        found,
        table=changed(_differences(found)) | _flips(flips) | _group_changes(groups),
        turned={"country": groups},
        daily=_daily(),
    )


@cache
def stopped_comparison() -> Comparison:
    """Two models of which one decided who was observed."""
    return compare_evaluations(stopped_evaluation(), stopped_evaluation(0.6))


@cache
def bare_comparison() -> Comparison:
    """Two equal models on genuine records of five days, without bundles: nothing flips, nothing can be known."""
    return compare_evaluations(bare_evaluation(), bare_evaluation())


@cache
def small_comparison() -> Comparison:
    """Less than one changed record a day, so that sentences take 10,000 applicants."""
    found, bare = made_comparison(), bare_comparison()
    small = tuple(
        replace(one, everyone=one.everyone.times(1e-4), frauds=one.frauds.times(1e-4)) for one in found.daily
    )
    outcomes = ("passed", "stepped_up", "failed")
    names = [name for one in outcomes for name in (one, f"applicants_{one}", f"{one}_frauds")]
    return replace(
        bare,
        daily=small,
        flips=found.flips[:1],
        table=bare.table
        | _flips(dict(found.flip_rates))
        | changed({name: found.differences[name] for name in names}),
    )


GATES = GateSettings(
    gates={
        "auc passes": DifferenceGate(difference="roc_auc", above=0.0),
        "ap fails": DifferenceGate(difference="average_precision", above=-0.05),
        "frauds at the limit": DifferenceGate(difference="missed_fraud", below=0.04),
        "ks between": DifferenceGate(difference="ks", above=-0.0201, below=0.0401),
        "friction passes": DifferenceGate(difference="step_up", below=0.0),
        "brier reaches its limit": DifferenceGate(difference="brier", below=0.0),
        "genuine at the limit": DifferenceGate(difference="genuine_passed", above=0.0),
        "rejects fail": DifferenceGate(difference="false_reject", below=0.0),
        "capacity unknown": DifferenceGate(difference="recall_at_fpr_0.005", above=-0.5),
        "auc of the model": FigureGate(figure="roc_auc", above=0.5, below=1.0),
        "stricter": FlipGate(flips="all", below=0.15),
        "milder": FlipGate(flips="genuine_milder", below=0.05),
        "unknown flips": FlipGate(flips="fraud_stricter", below=0.9),
        "more frauds": FlipGate(flips="fraud_milder", above=-0.1, below=0.5),
        "stricter for genuine": FlipGate(flips="genuine_stricter", below=0.05),
        "groups": GroupChangeGate(group_change="country", rate="step_up", min_group=100, below=0.05),
        "large groups": GroupChangeGate(
            group_change="country", rate="missed_fraud", min_group=400, below=0.1
        ),
        "no group": GroupChangeGate(group_change="country", rate="passed", min_group=10_000, above=-1.0),
        "gaps": GroupGapGate(group_gap="country", rate="step_up", min_group=50, below=0.2),
        "promise kept": PromiseGate(promise="max_false_reject"),
        "promise broken": PromiseGate(promise="max_step_up"),
        "all promises": PromiseGate(promise="all"),
        "promise undecided": PromiseGate(promise="max_missed_fraud"),
        "window": DriftGate(drift="all"),
        "nothing found": FindingGate(findings="SM008"),
        "no error": FindingGate(findings="error"),
        "one check": FindingGate(findings="SM002"),
        "not made": FindingGate(findings="SM004"),
    },
    allow_trained=True,
    findings=FindingSettings(mute=("SM010",)),
)
"""Every kind of gate, and every verdict."""

PASSING = GateSettings(
    gates={"auc": GATES.gates["auc passes"], "brier": DifferenceGate(difference="brier", below=0.01)},
    allow_trained=True,
)
UNPROVED = GateSettings(gates={"worse": DifferenceGate(difference="brier", below=1.0)}, allow_trained=True)
"""Gates that pass though a figure is worse."""


@cache
def measured_gates() -> GateReport:
    """All gates on the differences that the records give."""
    return check_gates(GATES, measured_comparison())


@cache
def passing_gates() -> GateReport:
    """Gates that all pass, with figures that are better: a promotion."""
    return check_gates(PASSING, made_comparison())


@cache
def stopped_gates() -> GateReport:
    """A gate that the labels of stopped applicants leave open, two that no label breaks, and one that needs none."""
    gates = GateSettings(
        gates={
            "precision": DifferenceGate(difference="precision_at_fpr_0.01", above=-0.5),
            "auc": DifferenceGate(difference="roc_auc", above=-0.5),
            "brier": DifferenceGate(difference="brier", below=0.5),
            "flips": FlipGate(flips="all", below=0.9),
        },
        allow_trained=True,
    )
    return check_gates(gates, stopped_comparison())


@cache
def unproved_gates() -> GateReport:
    """Gates that pass where the models are exchanged, so that one figure is worse and none better: no promotion."""
    found = made_comparison()
    turned = {
        name: replace(one.times(-1), low=one.times(-1).high, high=one.times(-1).low)
        for name, one in found.differences.items()
    }
    turned_round = replace(
        found, champion=found.challenger, challenger=found.champion, table=found.table | changed(turned)
    )
    return check_gates(UNPROVED, turned_round)


@cache
def evaluation_gates() -> GateReport:
    """The same gates on one model: those about two do not apply, and too few days decide nothing."""
    kinds = FigureGate | PromiseGate | PairGate
    gates = {name: gate for name, gate in GATES.gates.items() if isinstance(gate, kinds)}
    return check_gates(GateSettings(gates=gates, min_days=41), made_evaluation(), trained=0)


@cache
def comparison_gates() -> GateReport:
    """All gates on the comparison."""
    return check_gates(GATES, made_comparison())


def _subject(
    name: str,
    statistic: float,
    found: bool | None,
    *,
    missing: tuple[float | None, float | None] = (None, None),
) -> SubjectDrift:
    return SubjectDrift(
        name=name, share_of="above 3", statistic=statistic, family="numbers" if name not in ("score", "outcome")
        else "decisions", limit=None if found is None else 4.2, found=found, suspect=name == "outcome",
        reference=0.1, window=0.1234, smallest_share=None if found is None else 0.02,
        smallest_shift=None if name == "outcome" else 0.1 * statistic,
        reference_missing=missing[0], window_missing=missing[1],
    )  # fmt: skip


DRIFT = Drift(
    subjects=(
        _subject("email_age", 9.5, True, missing=(0.1, 0.3)),
        _subject("score", 5.0, True),
        _subject("outcome", 4.0, False),
        _subject("form_seconds", 1.5, False, missing=(0.2, 0.1)),
    ),
    limits={"decisions": 4.2, "numbers": 4.2},
    traffic=(
        WeekdayTraffic(weekday="Monday", reference=600.0, window=250.0),
        WeekdayTraffic(weekday="Sunday", reference=None, window=None),
    ),
    reference_records=12_000,
    window_records=1_500,
    reference_blocks=20,
    window_blocks=6,
    block_days=7,
    categories=(
        CategoryChange(field="channel", value="kiosk", change="new", records=1234),
        CategoryChange(field="channel", value="web", change="vanished", records=12),
    ),
    contributors=(Contributor(name="email_age", shift=0.25), Contributor(name="form_seconds", shift=-0.125)),
    explained=(2_000, 1_000),
    notes=("One feature could not be compared.",),
)


def _early(bound: str, verdict: Verdict, *, alarm: str | None = None, rate: float = 0.1) -> EarlyVerdict:
    return EarlyVerdict(
        bound=bound, limit=0.08, cap=0.03, rate=share(int(1500 * rate), 1500, 0.085, 0.115),
        genuine=estimate(None, 0.0567, 0.1186), verdict=verdict, undecidable_from=0.0776, undecidable_to=0.1076,
        alarm=alarm, since=None if alarm is None else "2026-01-12", evidence=25.0,
    )  # fmt: skip


def _period(since: str, *, realised: bool) -> Period:
    return Period(
        since=since, until=since, records=500,
        estimated={
            "false_reject": estimate(0.03, 0.02, 0.04, 400),
            "step_up": estimate(0.2, None, None, 400),
            "missed_fraud": estimate(None, None, None, 0),
        },
        realised={
            "false_reject": share(14, 400, 0.03, 0.05), "step_up": share(0, 0), "missed_fraud": share(40, 100, 0.3, 0.5)
        } if realised else {},
    )  # fmt: skip


MATURITY = Maturity(
    as_of=START + 90 * DAY,
    maturity=60 * DAY,
    matured=1200,
    immature=300,
    immature_frauds=12,
    immature_genuine=8,
)


LATE = LateFrauds(
    maturity=60 * DAY,
    oldest=240 * DAY,
    known=estimate(0.8, 0.72, 0.86, 400),
    newest=replace(estimate(125.0, 104.0, 150.0, 100), count=100),
    corrected={"fraud_share": estimate(0.104, 0.09, 0.12, 1200)},
    dependence=0.4,
)


@cache
def made_monitoring() -> Monitoring:
    """A window with drift, promises that rest on like data, on other data and on unknown ones, and every verdict."""
    return Monitoring(
        records=1500,
        refused=2,
        trained=0,
        drift=DRIFT,
        maturity=MATURITY,
        late=LATE,
        findings=(late_frauds_finding(LATE, maturity=60 * DAY, records=1500),),
        early=(
            _early("max_step_up", Verdict.BROKEN, alarm="2026-02-01"),
            _early("max_false_reject", Verdict.KEPT, rate=0.07),
            _early("max_step_up", Verdict.UNDECIDED),
            _early("max_false_reject", Verdict.BROKEN, rate=0.12),
            _early("max_false_reject", Verdict.UNDECIDED, alarm="2026-02-03"),
        ),
        estimates=Estimates(
            knowledge=Knowledge.ESTIMATED,
            reason="The probabilities fit the matured labels.",
            overall={
                "false_reject": estimate(0.03, 0.02, 0.04, 1200),
                "step_up": estimate(0.2, None, None, 1200),
                "missed_fraud": estimate(None, None, None, 0),
            },
            periods=(_period("2026-01-01", realised=True), _period("2026-02-01", realised=False)),
            matured_frauds=100,
            history_records=0,
            history_frauds=0,
            contradiction=0.5,
        ),
        prevalence=Prevalence(
            matured=estimate(0.055, 0.04, 0.07, 1200), reference=share(50, 1000), cap=0.13, contradicted=False
        ),
        matured=replace(made_evaluation(), stability=(*STABILITY[:2], replace(STABILITY[2], limit=None))),
        promises=(
            PromiseBasis(bound="max_false_reject", limit=0.05, rests=True, reason="Like data."),
            PromiseBasis(bound="max_step_up", limit=0.1, rests=False, reason="Drift was found in score."),
            PromiseBasis(
                bound="max_missed_fraud", limit=0.5, rests=None, reason="Features were not compared."
            ),
        ),
        provenance=PROVENANCE,
        notes=("A note on the window.",),
    )


@cache
def bare_monitoring() -> Monitoring:
    """A window of which nothing can be known."""
    drift = replace(
        DRIFT,
        limits={},
        contributors=(),
        categories=(),
        notes=(),
        subjects=(_subject("score", 0.0, None),),
        block_days=1,
    )
    estimates = replace(
        made_monitoring().estimates,
        overall={},
        periods=(),
        reason="Too few frauds.",
        knowledge=Knowledge.CANNOT_KNOW,
        contradiction=None,
    )
    return replace(
        made_monitoring(), drift=drift, late=None, findings=(), early=(), promises=(), estimates=estimates,
        prevalence=replace(made_monitoring().prevalence, matured=None), matured=None, notes=(), trained=5,
        maturity=replace(MATURITY, matured=0, immature=10, immature_frauds=0, immature_genuine=0),
    )  # fmt: skip


WINDOW_GATES = GateSettings(
    gates={
        "no drift": DriftGate(drift="all"),
        "outcomes stay": DriftGate(drift="outcome"),
        "friction early": EarlyGate(early="max_step_up"),
        "rejects early": EarlyGate(early="max_false_reject"),
        "rejects estimated": EstimateGate(estimate="false_reject", below=0.05),
        "rejects at the limit": EstimateGate(estimate="false_reject", below=0.04),
        "rejects above": EstimateGate(estimate="false_reject", above=0.01, below=0.05),
        "rejects not above": EstimateGate(estimate="false_reject", above=0.02),
        "friction estimated": EstimateGate(estimate="step_up", below=0.5),
        "auc": FigureGate(figure="roc_auc", above=0.5),
        "promise": PromiseGate(promise="max_step_up"),
        "pair": DifferenceGate(difference="roc_auc", above=0.0),
    },
    min_days=30,
)


@cache
def window_gates() -> GateReport:
    """Gates on the window."""
    return check_window_gates(WINDOW_GATES, made_monitoring())


@cache
def bare_window_gates() -> GateReport:
    """The same gates on the window of which nothing can be known."""
    gates = {name: gate for name, gate in WINDOW_GATES.gates.items() if name != "outcomes stay"}
    return check_window_gates(GateSettings(gates=gates, allow_trained=True), bare_monitoring())


FIRST, SECOND = START, START + 31 * DAY


def _fold(as_of: int, failure: str | None) -> Fold:
    parts = tuple(
        PartSummary(
            part=part, start=f"2025-0{place}-01T00:00:00Z", end=f"2025-0{place + 3}-01T00:00:00Z", records=1000 * place,
            genuine=900 * place, frauds=50 * place, left_out={},
        )
        for place, part in enumerate(("burn-in", "train", "validation", "test"), start=1)
    )  # fmt: skip
    held = {} if failure else {"links": estimate(0.6, 0.5, 0.7, 50), "device": estimate(0.2, 0.1, 0.3, 50)}
    return Fold(
        as_of=as_of, settings=SplitSettings(), parts=parts, failure=failure, step_up_from=None if failure else 563,
        fail_from=None if failure else 1001, features=40, families=held,
    )  # fmt: skip


def _month(cadence: str, period: str, bound: str, verdict: Verdict, count: int) -> PromiseMonth:
    return PromiseMonth(
        cadence=cadence, period=period, as_of=FIRST, bound=bound, limit=0.05, delta=0.025,
        share=share(count, 400, count / 500, count / 300), verdict=verdict,
    )  # fmt: skip


BACKTEST_FIGURES = (
    "missed_fraud", "step_up", "false_reject", "recall_at_fpr_0.01", "roc_auc", "log_loss", "cost",
)  # fmt: skip


def _figures(turn: int) -> dict[str, Estimate]:
    return {
        name: estimate(*CHANGES[(place + turn) % len(CHANGES)]) for place, name in enumerate(BACKTEST_FIGURES)
    }


@cache
def made_backtest() -> Backtest:
    """Promises kept, broken and undecided by month; a fold without a model; differences of every kind."""
    model_figures = {
        "recall_at_fpr_0.01": 0.4,
        "roc_auc": 0.81,
        "missed_fraud": 0.3,
        "step_up": 0.1,
        "false_reject": None,
    }
    unknown = estimate(None, None, None)
    return Backtest(
        name="identity", files=("a.parquet",),
        data=JudgedHistory(
            sha256="0" * 64, records=9000, first="2025-01-01", last="2026-04-01", as_of="2026-04-02"
        ),
        window="rolling", unit="month", confidence=0.95, has_costs=True,
        periods={"2026-01-01": (900, 40), "2026-02-01": (800, 30)},
        left_out={"after the last whole month": 12},
        folds=(_fold(FIRST, None), _fold(SECOND, "too few frauds (2 of 20)")),
        impossible=(ImpossibleFold(as_of=FIRST - 31 * DAY, reason="train: 3 frauds (20 are needed)"),),
        findings=arranged(FINDINGS),
        promises=(
            _month("1m", "2026-01-01", "max_step_up", Verdict.KEPT, 10),
            _month("1m", "2026-02-01", "max_step_up", Verdict.BROKEN, 40),
            _month("1m", "2026-01-01", "max_missed_fraud", Verdict.UNDECIDED, 20),
            _month("1m", "2026-02-01", "max_missed_fraud", Verdict.KEPT, 5),
            _month("never", "2026-01-01", "max_step_up", Verdict.BROKEN, 44),
        ),
        tallies=(
            PromiseTally(cadence="1m", bound="max_step_up", judged=2, kept=1, broken=1, undecided=0, chance=0.05,
                         explained=1, p_value=0.0975),
            PromiseTally(cadence="1m", bound="max_missed_fraud", judged=2, kept=1, broken=0, undecided=1, chance=0.05,
                         explained=1, p_value=1.0),
            PromiseTally(cadence="never", bound="max_step_up", judged=12, kept=3, broken=7, undecided=2, chance=0.05,
                         explained=2, p_value=1.2e-7),
        ),
        cadences=(
            CadenceResult(cadence="1m", models=2, figures={
                name: estimate(0.4 + 0.01 * place, 0.3, 0.5) for place, name in enumerate(BACKTEST_FIGURES)
            }),
            CadenceResult(cadence="never", models=1, figures={
                **{name: estimate(0.3 + 0.01 * place, None, None) for place, name in enumerate(BACKTEST_FIGURES)},
                "cost": estimate(None, None, None),
            }),
        ),
        differences=(
            CadenceDifference(cadence="1m", against="3m", figures=_figures(1)),
            CadenceDifference(cadence="1m", against="never", figures=_figures(0)),
            CadenceDifference(cadence="3m", against="never", figures=_figures(5)),
        ),
        models=(
            ModelPeriod(as_of=FIRST, period="2026-01-01", age=0, genuine=900, frauds=40, figures=model_figures),
            ModelPeriod(as_of=FIRST, period="2026-02-01", age=1, genuine=800, frauds=30,
                        figures=model_figures | {"recall_at_fpr_0.01": 0.25}),
            ModelPeriod(as_of=SECOND, period="2026-02-01", age=0, genuine=800, frauds=30, figures=model_figures),
        ),
        ageing=(
            Ageing(age=1, periods=2, figures={
                "recall_at_fpr_0.01": estimate(-0.15, -0.2, -0.1), "roc_auc": estimate(0.01, -0.02, 0.04)}),
            Ageing(age=2, periods=1, figures={
                "recall_at_fpr_0.01": estimate(0.05, None, None), "roc_auc": unknown}),
        ),
        learning=(
            LearningPoint(as_of=FIRST, share=0.125, since=FIRST - 20 * DAY, records=100, frauds=9,
                          figures={"recall_at_fpr_0.01": 0.2, "roc_auc": None},
                          differences={"recall_at_fpr_0.01": estimate(-0.2, -0.3, -0.1), "roc_auc": unknown}),
            LearningPoint(as_of=FIRST, share=1.0, since=FIRST - 160 * DAY, records=1800, frauds=90,
                          figures={"recall_at_fpr_0.01": 0.4, "roc_auc": 0.8},
                          differences=dict.fromkeys(("recall_at_fpr_0.01", "roc_auc"), estimate(0.0, 0.0, 0.0))),
        ),
        record_ids=(), scores={},
    )  # fmt: skip


@cache
def bare_backtest() -> Backtest:
    """Without promises, costs, ageing, shorter histories and contributions."""
    found = made_backtest()
    return replace(
        found, unit="week", promises=(), tallies=(), ageing=(), learning=(), has_costs=False, left_out={}, files=(),
        impossible=(), folds=(replace(found.folds[0], families={}, parts=found.folds[0].parts[:3]),),
        models=tuple(replace(one, figures=dict.fromkeys(one.figures)) for one in found.models),
        differences=tuple(
            replace(one, figures={name: value for name, value in one.figures.items() if name != "cost"})
            for one in found.differences
        ),
    )  # fmt: skip


SENTENCES = {"NEW_DEVICE": "The device is new.", "OLD_MAIL": "The address of e-mail is old."}
BEFORE = START + 60 * DAY


def _matrix(counts: dict[tuple[Outcome, Outcome], tuple[int, int, int]]) -> np.ndarray:
    """Verifications by both outcomes: genuine ones, frauds, and those without a label."""
    matrix = np.zeros(SHAPE, dtype=np.int64)
    for (then, new), labels in counts.items():
        matrix[:, OUTCOMES.index(then), OUTCOMES.index(new)] = labels
    return matrix


@cache
def made_whatif() -> WhatIf:
    """Stricter and milder flips, with and without labels; groups; verifications left out."""
    passed, stepped_up, failed = Outcome
    return WhatIf(
        model_version="m2", policy_version="p2", verifications=1300, first=START, last=START + 20 * DAY, days=20,
        differ=77,
        matrix=_matrix({
            (passed, passed): (0, 0, 1000), (passed, stepped_up): (11, 9, 20), (stepped_up, passed): (15, 0, 0),
            (stepped_up, stepped_up): (0, 0, 100), (stepped_up, failed): (0, 0, 5), (failed, failed): (0, 0, 50),
        }),
        reasons={
            (passed, stepped_up): Counter({"NEW_DEVICE": 30, "OLD_MAIL": 12, "C": 3, "B": 3, "D": 2, "E": 1}),
            (stepped_up, passed): Counter({"OLD_MAIL": 15}),
            (stepped_up, failed): Counter(),
        },
        groups={
            "clientId": {"shop": GroupTurns(verifications=1200, stricter=44, milder=15)},
            "address.country": {
                "DE": GroupTurns(verifications=800, stricter=30, milder=0),
                "FR": GroupTurns(verifications=410, stricter=0, milder=15),
            },
        },
        own=300, own_differ=1, left_out={NotDecidedAgain.TOO_OLD: 80, NotDecidedAgain.REFUSED: 10},
    )  # fmt: skip


@cache
def bare_whatif() -> WhatIf:
    """Nothing could be decided again but what stays the same."""
    return WhatIf(
        model_version="m2", policy_version="p2", verifications=7, first=START, last=START, days=1, differ=0,
        matrix=_matrix({(Outcome.PASSED, Outcome.PASSED): (0, 0, 7)}), reasons={},
        groups={"clientId": {"shop": GroupTurns(verifications=7, stricter=0, milder=0)}}, own=0, own_differ=0,
        left_out={},
    )  # fmt: skip


@cache
def tried_whatif() -> WhatIf:
    """A rule that decides, and a list behind it that never does."""
    rule = Hits(
        kind="rule", name="VPN", then="STEPPED_UP", hits=7, frauds=1, genuine=3, observed=2, not_observed=1,
        decided=7, changed=4,
    )  # fmt: skip
    return replace(
        bare_whatif(),
        hits=(rule, replace(rule, kind="list", name="friends", then="PASSED", decided=0, changed=0)),
    )


@cache
def empty_whatif() -> WhatIf:
    """Nothing at all."""
    return replace(
        bare_whatif(), verifications=9, first=None, last=None, days=0, matrix=_matrix({}), groups={"clientId": {}},
        left_out={NotDecidedAgain.TOO_OLD: 9},
    )  # fmt: skip
