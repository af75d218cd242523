"""Curves for plots: identities with the figures, and with decisions under other thresholds."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from scoring_model.bundle import ScoreCounts
from scoring_model.configuration import CostSettings
from scoring_model.decision.probability import Platt
from scoring_model.decision.rules import DecisionRules, Decisions, Policy, Promise
from scoring_model.decision.scale import ScoreScale
from scoring_model.evaluation import EvaluatedRecords, Evaluation, evaluate_records
from scoring_model.evaluation.figures import Figures, measure_figures
from scoring_model.records.times import DAY

COSTS = CostSettings(fraud_loss=100, reject_cost=10, step_up_cost=1, step_up_effectiveness=0.8)
PROMISE = Promise(bound="max_step_up", limit=0.4, delta=0.05, observed=0.3, records=1000, p_value=0.01)
RULES = DecisionRules(
    scale=ScoreScale(cuts=np.linspace(-4, 4, 1000), extrapolated_from=800),
    calibration=Platt(slope=1.0, intercept=0.0),
    policy=Policy(step_up_from=563, fail_from=700, promises=(PROMISE,)),
)


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    """An evaluation of 3,000 records over 50 days."""
    rng = np.random.default_rng(0)
    labels = (rng.random(3000) < 0.2).astype(np.int8)
    records = EvaluatedRecords(
        decisions=RULES.decide(rng.normal(1.5 * labels, 1.0)),
        labels=labels,
        event_times=rng.integers(0, 50 * DAY, 3000),
    )
    return evaluate_records(records, rules=RULES, costs=COSTS)


def test_bands_agree_with_the_figures(evaluation: Evaluation) -> None:
    """At a false positive rate of 1 % curve and figure are the same numbers, ends too."""
    roc, figure = evaluation.curves.roc, evaluation.figures["recall_at_fpr_0.01"]
    place = int(np.argmin(np.abs(roc.x - 0.01)))
    assert roc.x[place] == pytest.approx(0.01)
    assert (roc.y[place], roc.low[place], roc.high[place]) == pytest.approx(
        (figure.value, figure.low, figure.high), abs=1e-3
    )
    assert (roc.records, roc.frauds) == (3000, evaluation.overall.frauds)
    assert np.all(np.diff(roc.y) >= 0)
    assert np.all(roc.low <= roc.high)
    recall = evaluation.curves.precision_recall
    assert recall.y[-1] >= evaluation.overall.frauds / 3000
    capacity = evaluation.curves.capacity
    assert (capacity.x[0], capacity.y[-1]) == (1, 1)
    ten = evaluation.figures["recall_at_capacity_10"].value
    assert np.interp(10, capacity.x, capacity.y) == pytest.approx(ten, abs=0.03)


def test_the_histogram_counts_every_record(evaluation: Evaluation) -> None:
    """Bins of ten points hold all records of both classes, the score of 1000 in its own bin."""
    scores = evaluation.curves.scores
    assert scores.records == 3000
    assert (int(scores.frauds.sum()), len(scores.edges)) == (evaluation.overall.frauds, 102)
    expected = np.count_nonzero(evaluation.records.decisions.scores == 1000)
    assert scores.genuine[-1] + scores.frauds[-1] == expected


def under(evaluation: Evaluation, step_up_from: int, fail_from: int) -> Figures:
    """The figures that another pair of thresholds would have had."""
    records, given = evaluation.records, evaluation.records.decisions
    outcomes = Policy(step_up_from=step_up_from, fail_from=fail_from).outcomes(given.scores)
    changed = EvaluatedRecords(
        decisions=Decisions(given.margins, given.scores, outcomes, given.probabilities),
        labels=records.labels,
        event_times=records.event_times,
    )
    return measure_figures(changed, evaluation.curves.draws, costs=COSTS)


@pytest.mark.parametrize("pair", [(563, 700), (1, 1001), (300, 300), (1001, 1001)])
def test_the_threshold_map_is_that_of_deciding_again(evaluation: Evaluation, pair: tuple[int, int]) -> None:
    """Each pair of the map has the rates and the cost of decisions under it; disordered pairs have none."""
    found, map_ = under(evaluation, *pair).estimates, evaluation.curves.thresholds
    row, column = (map_.thresholds.tolist().index(threshold) for threshold in pair)
    assert map_.cost is not None
    assert map_.step_up[row] == pytest.approx(found["step_up"].value)
    assert map_.missed_fraud[row] == pytest.approx(found["missed_fraud"].value)
    assert map_.false_reject[column] == pytest.approx(found["false_reject"].value)
    assert map_.stepped_up[row, column] == pytest.approx(found["stepped_up"].value)
    assert map_.cost[row, column] == pytest.approx(found["cost"].value)
    assert np.isnan(map_.cost[5, 3])
    assert (map_.chosen, map_.limits) == ((563, 700), {"max_step_up": 0.4})


def test_certified_thresholds_are_those_of_binomial_tests() -> None:
    """The region holds the thresholds whose p-values, from the safest one on, pass; without counts it is unknown."""
    rng = np.random.default_rng(1)
    persons, rings = rng.integers(0, 700, 4000), rng.integers(300, 1001, 200)
    counts = ScoreCounts.of_scores(
        persons=persons, rings=rings, genuine=persons, frauds=rings, limits={}, confidence=0.95, until=0
    )
    limits = {"max_step_up": 0.4, "max_missed_fraud": 0.5, "max_false_reject": 0.05}
    promises = tuple(replace(PROMISE, bound=bound, limit=limit) for bound, limit in limits.items())
    policy = replace(RULES.policy, promises=promises)
    size = EvaluatedRecords(
        decisions=RULES.decide(np.zeros(1)), labels=np.zeros(1, np.int8), event_times=np.zeros(1, np.int64)
    )
    rules = replace(RULES, policy=policy)
    certified = evaluate_records(size, rules=rules, counts=counts).curves.certified
    assert certified is not None
    errors = {
        "max_step_up": [np.count_nonzero(persons >= at) for at in range(1, 1002)],
        "max_missed_fraud": [np.count_nonzero(rings < at) for at in range(1, 1002)],
        "max_false_reject": [np.count_nonzero(persons >= at) for at in range(1, 1002)],
    }
    passed = {
        name: {at + 1 for at, wrong in enumerate(found) if binom.cdf(wrong, total, limits[name]) <= 0.05}
        for (name, found), total in zip(errors.items(), (4000, 200, 4000), strict=True)
    }
    assert set(certified[0]) == passed["max_step_up"] & passed["max_missed_fraud"]
    assert set(certified[1]) == passed["max_false_reject"]
    assert evaluate_records(size, rules=rules).curves.certified is None


def test_weeks_begin_on_mondays(evaluation: Evaluation) -> None:
    """Weeks share out the records; 1970-01-01 was a Thursday, so the first week began in 1969."""
    weeks = evaluation.curves.weeks
    assert list(weeks)[:2] == ["1969-12-29", "1970-01-05"]
    assert sum(week.records for week in weeks.values()) == 3000


@pytest.mark.parametrize(("size", "label"), [(0, 0), (1, 0), (1, 1), (40, 0), (40, 1)])
def test_curves_are_there_whatever_is_absent(size: int, label: int) -> None:
    """Without records or a class every curve has its grid, and says nothing instead of something wrong."""
    records = EvaluatedRecords(
        decisions=RULES.decide(np.linspace(-3, 3, size)),
        labels=np.full(size, label, dtype=np.int8),
        event_times=np.arange(size) * DAY,
    )
    curves = evaluate_records(records, rules=RULES, costs=COSTS).curves
    assert np.isnan(curves.roc.y).all()
    assert curves.roc.records == curves.scores.records == curves.reliability.records == size
    assert np.isnan(curves.precision_recall.y).all() == (label == 0)
    assert np.isnan(curves.capacity.y).all() == (label == 0)
    assert (curves.thresholds.cost is None) == (size == 0)
    assert np.isnan(curves.thresholds.missed_fraud).all() == (label == 0)
    assert sum(week.records for week in curves.weeks.values()) == size


def test_a_frame_has_every_figure(evaluation: Evaluation) -> None:
    """The table holds the figures and the months under their names."""
    frame = evaluation.to_frame()
    overall = frame[frame["part"] == "overall"].set_index("figure")
    assert overall["estimate"].to_dict() == {name: one.value for name, one in evaluation.figures.items()}
    assert set(frame["part"]) == {"overall", "month"}


def test_ten_thousand_applicants_are_shared_out(evaluation: Evaluation) -> None:
    """Outcomes of 10,000 applicants sum to 10,000, their frauds to the share of frauds."""
    applicants = evaluation.applicants.values()
    share = evaluation.figures["fraud_share"].value
    assert share is not None
    assert sum(one.everyone.value or 0 for one in applicants) == pytest.approx(10_000)
    assert sum(one.frauds.value or 0 for one in applicants) == pytest.approx(10_000 * share)
