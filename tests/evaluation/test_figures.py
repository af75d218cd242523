"""Figures and their draws of days, against plain loops, scikit-learn and theory."""

from typing import Any

import numpy as np
import pytest
from sklearn import metrics as oracle

from scoring_model.configuration import CostSettings
from scoring_model.decision.rules import Decisions, Policy
from scoring_model.evaluation import EvaluatedRecords
from scoring_model.evaluation.cost import expected_cost
from scoring_model.evaluation.day_draws import MIN_DAYS, REPEATS, DayDraws, draw_days
from scoring_model.evaluation.figures import Figures, measure_figures
from scoring_model.evaluation.uncertainty import interval_of
from scoring_model.records.times import DAY

POLICY = Policy(step_up_from=400, fail_from=700)
COSTS = CostSettings(fraud_loss=100, reject_cost=10, step_up_cost=1, step_up_effectiveness=0.8)


def drawn(seed: int, *, records: int = 600, days: int = 30) -> EvaluatedRecords:
    """Decisions with ties on some days, a few of them without records."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(records) < 0.2).astype(np.int8)
    margins = np.round(rng.normal(1.2 * labels, 1.0), 1)
    scores = np.clip(300 + 250 * margins, 0, 1000).astype(np.int64)
    times = rng.integers(-days // 2, days - days // 2, records) * 2 * DAY + rng.integers(0, DAY, records)
    decisions = Decisions(margins, scores, POLICY.outcomes(scores), 1 / (1 + np.exp(-margins)))
    return EvaluatedRecords(decisions=decisions, labels=labels, event_times=times)


def taken(records: EvaluatedRecords, rows: Any) -> EvaluatedRecords:
    """Some rows, perhaps repeated."""
    return EvaluatedRecords(
        decisions=records.decisions.take(rows),
        labels=records.labels[rows],
        event_times=records.event_times[rows],
    )


def measured(records: EvaluatedRecords, *, repeats: int = REPEATS) -> Figures:
    """Measure with costs."""
    return measure_figures(records, DayDraws.of(records.event_times, repeats=repeats), costs=COSTS)


def test_draws_are_those_of_repeating_the_records_of_each_day() -> None:
    """Each draw gives the figures of a file that holds the records of a day as often as the day was drawn."""
    records = drawn(1)
    found = measured(records, repeats=20).draws
    days = [
        np.flatnonzero(records.event_times // DAY == day) for day in np.unique(records.event_times // DAY)
    ]
    for number, draw in enumerate(draw_days(len(days), repeats=20)):
        rows = np.concatenate([np.tile(day, often) for day, often in zip(days, draw, strict=True)])
        repeated = taken(records, rows)
        truth, margins = repeated.labels, repeated.decisions.margins
        probabilities = repeated.decisions.probabilities
        expected = {
            "roc_auc": oracle.roc_auc_score(truth, margins),
            "average_precision": oracle.average_precision_score(truth, margins),
            "brier": oracle.brier_score_loss(truth, probabilities),
            "log_loss": oracle.log_loss(truth, probabilities),
        }
        false_positives, recalls, _ = oracle.roc_curve(truth, margins, drop_intermediate=False)
        expected["recall_at_fpr_0.05"] = recalls[false_positives <= 0.05].max()
        once = {name: figure.value for name, figure in measured(repeated, repeats=0).estimates.items()}
        assert {name: found[name][number] for name in expected} == pytest.approx(expected, abs=1e-12)
        # At a capacity the queue of a day that was drawn twice is two queues.
        same = [name for name in once if once[name] is not None and "capacity" not in name]
        assert {name: found[name][number] for name in same} == pytest.approx(
            {name: once[name] for name in same}, abs=1e-12
        )


def test_estimates_are_percentiles_of_the_draws() -> None:
    """Every figure that is no rate has the ends of its draws, and rests on the records that it names."""
    records = drawn(2)
    found = measured(records)
    frauds = int(records.labels.sum())
    for name, rests in (
        ("roc_auc", frauds),
        ("brier", 600),
        ("cost", 600),
        ("recall_at_capacity_10", frauds),
    ):
        figure = found.estimates[name]
        assert (figure.low, figure.high, figure.records) == (*interval_of(found.draws[name]), rests)


@pytest.mark.parametrize("capacity", [10, 50])
def test_recall_at_a_capacity_is_the_mean_over_orders_of_ties(capacity: int) -> None:
    """Each day's queue, shuffled where margins are tied, catches this share of the frauds on average."""
    records = drawn(3, records=900, days=12)
    rng = np.random.default_rng(0)
    caught, day_of = [], records.event_times // DAY
    for _ in range(300):
        found = 0
        for day in np.unique(day_of):
            rows = rng.permutation(np.flatnonzero(day_of == day))
            queue = rows[np.argsort(-records.decisions.margins[rows], kind="stable")][:capacity]
            found += int(records.labels[queue].sum())
        caught.append(found / records.labels.sum())
    value = measured(records).estimates[f"recall_at_capacity_{capacity}"].value
    assert value == pytest.approx(np.mean(caught), abs=4 * np.std(caught) / np.sqrt(300) + 1e-12)


def test_cost_is_that_by_which_thresholds_are_chosen() -> None:
    """The cost of the decisions is the expected cost of the policy on the same scores."""
    records = drawn(4)
    genuine, frauds = (records.decisions.scores[records.labels == label] for label in (0, 1))
    expected = expected_cost(genuine, frauds, COSTS).at(POLICY.step_up_from, POLICY.fail_from)
    assert measured(records).estimates["cost"].value == pytest.approx(expected, rel=1e-12)


def test_order_of_records_changes_no_bit() -> None:
    """Shuffled records have the same figures and ends."""
    records = drawn(5)
    order = np.random.default_rng(3).permutation(len(records))
    assert measured(taken(records, order)).estimates == measured(records).estimates


def test_an_interval_for_independent_records_is_as_wide_as_theory_says() -> None:
    """Of a rate that is the same on all days the ends are those of a binomial share."""
    records = drawn(6, records=20_000, days=100)
    share = measured(records).estimates["missed_fraud"]
    assert share.value is not None
    assert share.low is not None
    assert share.high is not None
    width = 2 * 1.96 * np.sqrt(share.value * (1 - share.value) / share.records)
    assert share.high - share.low == pytest.approx(width, rel=0.15)


@pytest.mark.parametrize("frauds", ["none", "few days"])
def test_nothing_is_said_of_few_days(frauds: str) -> None:
    """A figure has ends only if ten days hold records that it rests on."""
    records = drawn(7)
    days = np.unique(records.event_times // DAY)[: 0 if frauds == "none" else MIN_DAYS - 1]
    labels = (records.labels == 1) & np.isin(records.event_times // DAY, days)
    found = measured(
        EvaluatedRecords(
            decisions=records.decisions, labels=labels.astype(np.int8), event_times=records.event_times
        )
    ).estimates
    assert found["roc_auc"].low is found["missed_fraud"].high is found["recall_at_capacity_10"].low is None
    assert (found["roc_auc"].value is None) == (frauds == "none")
    assert found["false_reject"].low is not None
