"""Records that stand for others: the weighted evaluation is that of a file that repeats them."""

import re
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

from scoring_model.configuration import CostSettings
from scoring_model.contract.outcome import OUTCOMES
from scoring_model.decision.probability import Platt
from scoring_model.decision.rules import DecisionRules, Decisions, Policy
from scoring_model.decision.scale import ScoreScale
from scoring_model.evaluation import EvaluatedRecords, EvaluationError, compare_evaluations, evaluate_records
from scoring_model.evaluation.coverage import LeftOut, select
from scoring_model.evaluation.draws import Draws
from scoring_model.evaluation.figures import Figures, measure_figures
from scoring_model.evaluation.measures import measure
from scoring_model.evaluation.report import NothingToDraw, comparison_report, evaluation_report, markdown
from scoring_model.evaluation.report.first_screen import promise_cards
from scoring_model.evaluation.stopped import NotObserved
from scoring_model.evaluation.uncertainty import share_of, weighted_share
from scoring_model.records import NEVER, RecordTable
from scoring_model.records.times import DAY

POLICY = Policy(step_up_from=400, fail_from=700)
RULES = DecisionRules(
    scale=ScoreScale(cuts=np.linspace(-4, 4, 1000), extrapolated_from=800),
    calibration=Platt(slope=1.0, intercept=0.0),
    policy=POLICY,
)
COSTS = CostSettings(fraud_loss=100, reject_cost=10, step_up_cost=1, step_up_effectiveness=0.8)


def drawn(seed: int, *, records: int = 500, days: int = 20) -> EvaluatedRecords:
    """Decisions of which those that are stopped stand for five each."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(records) < 0.2).astype(np.int8)
    margins = np.round(rng.normal(1.2 * labels, 1.0), 1)
    scores = np.clip(300 + 250 * margins, 0, 1000).astype(np.int64)
    outcomes = POLICY.outcomes(scores)
    return EvaluatedRecords(
        decisions=Decisions(margins, scores, outcomes, 1 / (1 + np.exp(-margins))),
        labels=labels,
        event_times=rng.integers(0, days, records) * DAY,
        weights=np.where(outcomes > 0, 5.0, 1.0),
    )


def repeated(records: EvaluatedRecords) -> EvaluatedRecords:
    """The same records, each as often as it stands for."""
    rows = np.repeat(np.arange(len(records)), records.weight_of_each.astype(np.int64))
    return EvaluatedRecords(
        decisions=records.decisions.take(rows),
        labels=records.labels[rows],
        event_times=records.event_times[rows],
    )


def measured(records: EvaluatedRecords) -> Figures:
    """All figures."""
    return measure_figures(records, Draws.of(records.event_times, repeats=30), costs=COSTS)


def test_a_promise_says_that_its_counts_are_not_weighted() -> None:
    """A weighted share is not that of the counts beside it: "3.0% observed, 64 of 3,338 failed" reads as an error."""
    for records, said in ((drawn(0), "Unweighted, "), (repeated(drawn(0)), "")):
        cards = promise_cards(evaluate_records(records, rules=RULES).stability)
        assert all(re.match(rf"{said}\d+ of \d+ ", card.detail or "") for card in cards)


@pytest.mark.parametrize("seed", range(3))
def test_figures_and_draws_are_those_of_repeated_records(seed: int) -> None:
    """Every value, in every draw of days; but an interval rests on the records that are there."""
    records = drawn(seed)
    found, expected = measured(records), measured(repeated(records))
    for name, figure in expected.estimates.items():
        if name.startswith("recall_at_capacity"):
            assert found.estimates[name].value is None
            continue
        assert found.estimates[name].value == pytest.approx(figure.value, rel=1e-12), name
        assert found.draws[name] == pytest.approx(expected.draws[name], rel=1e-12, nan_ok=True), name
    missed, plain = (one.estimates["missed_fraud"] for one in (found, expected))
    assert missed.records == int((records.labels == 1).sum()) < plain.records


def test_changes_of_a_comparison_are_those_of_repeated_records() -> None:
    """Shares that get another outcome, and changes a day: one of a control group is as many as it stands for."""
    champion = drawn(3)
    before = champion.decisions
    outcomes = np.where(np.arange(len(champion)) % 7 == 0, 0, before.outcomes)
    decisions = Decisions(before.margins, before.scores, outcomes, before.probabilities)
    challenger = replace(champion, decisions=decisions)
    found, expected = (
        compare_evaluations(evaluate_records(one, rules=RULES), evaluate_records(other, rules=RULES))
        for one, other in ((champion, challenger), (repeated(champion), repeated(challenger)))
    )
    assert found.flips
    for name, share in expected.flip_rates.items():
        assert found.flip_rates[name].value == pytest.approx(share.value, rel=1e-12), name
    for one, other in zip(found.daily, expected.daily, strict=True):
        assert one.everyone.value == pytest.approx(other.everyone.value, rel=1e-12)
        assert one.frauds.value == pytest.approx(other.frauds.value, rel=1e-12)
    for flip, whole in zip(found.flips, expected.flips, strict=True):
        assert (flip.champion, flip.challenger) == (whole.champion, whole.challenger)
        assert flip.daily_genuine.value == pytest.approx(whole.daily_genuine.value, rel=1e-12)
        assert flip.daily_frauds.value == pytest.approx(whole.daily_frauds.value, rel=1e-12)
        assert flip.genuine + flip.frauds < whole.genuine + whole.frauds


def test_what_was_decided_about_all_is_counted() -> None:
    """Outcomes of those for whom a control group stands are known: shares of all applicants are no estimates."""
    rng, pair = np.random.default_rng(8), []
    times = np.sort(rng.integers(0, 20, 700)) * DAY
    for seed in (1, 2):
        others = replace(drawn(seed, records=700), event_times=times, weights=None)
        stood_for = NotObserved.of(others.decisions, np.full(700, -1, dtype=np.int8), times, None, {})
        first = drawn(3)
        decisions = replace(first, decisions=drawn(seed).decisions) if seed == 2 else first
        pair.append(replace(decisions, stood_for=stood_for))
    champion, challenger = (evaluate_records(one, rules=RULES) for one in pair)
    old, new = (one.everyone()[0] for one in pair)
    for code, outcome in enumerate(OUTCOMES):
        name = f"applicants_{outcome.lower()}"
        share, known = champion.figures[name], share_of(int(np.count_nonzero(old == code)), 1200)
        assert (share.value, share.records) == (known.value, 1200)
        assert (share.low or 0) <= (known.low or 0) < (known.high or 0) <= (share.high or 0)
    found = compare_evaluations(champion, challenger)
    assert found.flip_rates["all"].value == np.mean(old != new)
    for code, day in enumerate(found.daily):
        more = int(np.count_nonzero(new == code)) - int(np.count_nonzero(old == code))
        assert day.everyone.value == pytest.approx(more / 20)
        # The change of all is counted and that of frauds estimated: their difference is no change of genuine ones.
        assert str(day).endswith(" estimated frauds among them")
    before = pair[0].decisions
    outcomes = np.where(np.arange(len(before.outcomes)) < 15, 0, before.outcomes)
    few = Decisions(before.margins, before.scores, outcomes, before.probabilities)
    little = compare_evaluations(champion, evaluate_records(replace(pair[0], decisions=few), rules=RULES))
    said = markdown(comparison_report(little))
    assert "out of 10,000 applicants" in said
    assert "estimated frauds among them" in said
    assert "of frauds, " not in said
    text = markdown(evaluation_report(champion))
    assert "Applicants by outcome are counted: with the 700 for whom these stand" in text


def test_queues_of_records_that_stand_for_others_are_not_known() -> None:
    """Neither drawn nor written: others, who were not observed, queued on the same days."""
    found = evaluate_records(drawn(3), rules=RULES)
    with pytest.raises(NothingToDraw, match="stand for others"):
        found.plot.capacity(ax=Figure().subplots())
    text = markdown(evaluation_report(found, brief=True))
    assert (
        "Not drawn. Records of the control group stand for others, so the queue of a day is not known."
        in text
    )


def test_measures_are_those_of_repeated_records() -> None:
    """Shares, ranking and losses; counts are those of the records."""
    records = drawn(7)
    whole = repeated(records)
    found = measure(records.decisions, records.labels, records.weights)
    expected = measure(whole.decisions, whole.labels)
    for name in ("roc_auc", "average_precision", "ks", "brier", "log_loss"):
        assert found.figures[name].value == pytest.approx(expected.figures[name].value, rel=1e-12), name
    for name in ("false_reject", "step_up", "missed_fraud"):
        assert found.errors[name].value == pytest.approx(expected.errors[name].value, rel=1e-12), name
    assert found.records == len(records)


def test_equal_weights_change_no_interval() -> None:
    """The effective number of equal records is their number, and the ends are Wilson's."""
    errors = np.arange(50) < 9
    found = weighted_share(errors, np.full(50, 3.0), heaviest=3.0)
    expected = share_of(9, 50)
    assert (found.value, found.low, found.high) == pytest.approx(
        (expected.value, expected.low, expected.high), rel=1e-12
    )


def test_a_class_without_heavy_records_is_uncertain() -> None:
    """Of 5,000 frauds that passed and none of a control group of 2 %, 150 may have been stopped: 3 times 50."""
    found = weighted_share(np.ones(5_000, dtype=np.bool_), np.ones(5_000), heaviest=50.0)
    assert found.value == found.high == 1.0
    assert found.low == pytest.approx(share_of(100, 100).low)


def test_weights_cover_where_counts_do_not() -> None:
    """In 300 samples the interval has the share of all applicants in 92 % at least, that of those who passed never."""
    rng = np.random.default_rng(0)
    covered = plain = 0
    for _ in range(300):
        missed, stopped = rng.poisson(400), rng.binomial(rng.poisson(1600), 0.05)
        errors = np.arange(missed + stopped) < missed
        found = weighted_share(errors, np.where(errors, 1.0, 20.0), heaviest=20.0)
        counted = share_of(int(missed), int(missed + stopped))
        covered += (found.low or 0) <= 0.2 <= (found.high or 0)
        plain += (counted.low or 0) <= 0.2 <= (counted.high or 0)
    assert covered >= 276
    assert plain == 0


def test_weights_below_one_are_refused() -> None:
    """A record stands for itself at least."""
    records = drawn(1)
    bad = EvaluatedRecords(
        decisions=records.decisions,
        labels=records.labels,
        event_times=records.event_times,
        weights=np.full(len(records), 0.5),
    )
    with pytest.raises(EvaluationError, match="weights: must be at least 1, 500 are not"):
        evaluate_records(bad, rules=RULES)


def test_records_without_propensity_are_left_out_and_counted() -> None:
    """Also those with a label, and those that are old enough to be called genuine."""
    size = 6
    table = RecordTable(
        record_ids=tuple(map(str, range(size))),
        event_times=np.arange(size, dtype=np.int64),
        columns={},
        labels=np.array([1, 0, -1, 1, 0, -1], dtype=np.int8),
        label_times=np.array([9, 9, NEVER, 9, 9, NEVER]),
        source_rows=np.arange(size),
        propensities=np.array([1.0, 0.25, 0.5, np.nan, np.nan, np.nan]),
    )
    found = select(table, as_of=100, maturity=10)
    assert found.rows.tolist() == [0, 1, 2]
    assert found.weights is not None
    assert found.weights.tolist() == [1.0, 4.0, 2.0]
    assert found.coverage.left_out[LeftOut.NOT_OBSERVED] == 3
    assert found.coverage.rows == size
