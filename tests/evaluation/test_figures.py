"""Figures and their draws of days, against plain loops, scikit-learn and theory."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student
from sklearn import metrics as oracle

from scoring_model.configuration import CostSettings
from scoring_model.decision.rules import Decisions, Policy
from scoring_model.evaluation import EvaluatedRecords
from scoring_model.evaluation.cost import expected_cost
from scoring_model.evaluation.draws import MIN_BLOCKS, REPEATS, Draws, draw_blocks
from scoring_model.evaluation.figures import Figures, measure_figures
from scoring_model.evaluation.uncertainty import share_of
from scoring_model.records.times import DAY

POLICY = Policy(step_up_from=400, fail_from=700)
COSTS = CostSettings(fraud_loss=100, reject_cost=10, step_up_cost=1, step_up_effectiveness=0.8)


def decided(margins: Any) -> Decisions:
    """Decide by the margins."""
    scores = np.clip(300 + 250 * margins, 0, 1000).astype(np.int64)
    return Decisions(margins, scores, POLICY.outcomes(scores), 1 / (1 + np.exp(-margins)))


def drawn(seed: int, *, records: int = 600, days: int = 30) -> EvaluatedRecords:
    """Decisions with ties on some days, a few of them without records."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(records) < 0.2).astype(np.int8)
    margins = np.round(rng.normal(1.2 * labels, 1.0), 1)
    times = rng.integers(-days // 2, days - days // 2, records) * 2 * DAY + rng.integers(0, DAY, records)
    return EvaluatedRecords(decisions=decided(margins), labels=labels, event_times=times)


def taken(records: EvaluatedRecords, rows: Any) -> EvaluatedRecords:
    """Some rows, perhaps repeated."""
    return EvaluatedRecords(
        decisions=records.decisions.take(rows),
        labels=records.labels[rows],
        event_times=records.event_times[rows],
    )


def measured(records: EvaluatedRecords, *, repeats: int = REPEATS) -> Figures:
    """Measure with costs."""
    return measure_figures(records, Draws.of(records.event_times, repeats=repeats), costs=COSTS)


def test_draws_are_those_of_repeating_the_records_of_each_day() -> None:
    """Each draw gives the figures of a file that holds the records of a day as often as the day was drawn."""
    records = drawn(1)
    found = measured(records, repeats=20).draws
    days = [
        np.flatnonzero(records.event_times // DAY == day) for day in np.unique(records.event_times // DAY)
    ]
    for number, draw in enumerate(draw_blocks(len(days), repeats=20)):
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


def test_estimates_have_students_ends_on_a_scale_without_ends() -> None:
    """Every figure that is no rate has the deviation of its draws, and rests on the records and days that it names."""
    records = drawn(2)
    found = measured(records)
    frauds, held = int(records.labels.sum()), records.event_times // DAY
    of_frauds, days = len(np.unique(held[records.labels == 1])), len(np.unique(held))

    def odds(share: Any) -> Any:
        return np.log(share / (1 - share))

    for name, rests, blocks in (
        ("roc_auc", frauds, of_frauds),
        ("recall_at_capacity_10", frauds, of_frauds),
        ("brier", 600, days),
        ("cost", 600, days),
    ):
        figure, draws = found.estimates[name], found.draws[name]
        assert (figure.records, figure.independent, figure.method) == (rests, blocks, "blocks")
        value = figure.value
        assert value is not None
        assert figure.low is not None
        assert figure.high is not None
        degrees, deviation = blocks - 1.0, np.std(draws, ddof=1)
        if name == "roc_auc":
            degrees, deviation = blocks / 2 - 1, np.std(odds(draws), ddof=1)
        elif rests == 600:
            deviation /= value
        else:
            deviation /= value * (1 - value)
        scale = np.log if rests == 600 else odds
        reach = student.ppf(0.975, degrees) * deviation * np.sqrt(blocks / (blocks - 1))
        assert scale(figure.high) - scale(value) == pytest.approx(reach, rel=1e-4)
        assert scale(value) - scale(figure.low) == pytest.approx(reach, rel=1e-4)


def test_draws_of_quiet_days_have_as_many_genuine_records_as_others() -> None:
    """With rings a draw of quiet days is weighted: no day of the week would make a share of frauds uncertain."""
    busy = np.repeat(np.arange(14), np.where(np.arange(14) % 7 < 5, 200, 20))
    labels = np.repeat([0, 1], [len(busy), 30]).astype(np.int8)
    times = np.concatenate([busy, np.arange(30) % 14]) * DAY
    rings = np.concatenate([np.full(len(busy), -1), np.arange(30)])
    draws = Draws.of(times, rings=rings, frauds=labels == 1)
    genuine, frauds = draws.drawn(draws.counts(labels.astype(np.int64), 2)).T
    assert np.ptp(draws.weights[:, :14] @ np.bincount(busy)) > 1000
    assert genuine == pytest.approx(np.full(REPEATS, len(busy)))
    assert (frauds == draws.weights[:, 14:].sum(axis=1)).all()
    records = EvaluatedRecords(
        decisions=decided(np.where(labels, 1.0, -9.0)), labels=labels, event_times=times, rings=rings
    )
    share = measure_figures(records, draws, costs=None).draws["fraud_share"]
    assert np.std(share) == pytest.approx(np.sqrt(30) / len(labels), rel=0.1)


def test_a_maximum_has_no_interval() -> None:
    """Draws move KS upwards, so their deviation says little; the figure says why it has no ends."""
    found = measured(drawn(2)).estimates["ks"]
    assert (found.low, found.high, found.absence) == (None, None, "no interval")
    assert found.value is not None


def test_rings_count_once_and_genuine_days_as_before() -> None:
    """Frauds of a ring are drawn together, whenever they happen; figures of genuine records do not change."""
    records = drawn(2)
    frauds = np.flatnonzero(records.labels == 1)
    rings = np.full(len(records), -1)
    rings[frauds] = np.arange(len(frauds)) // 3
    joined = replace(records, rings=rings)
    found = measure_figures(joined, joined.draws(), costs=COSTS).estimates
    alone = replace(records, rings=np.arange(len(records)))
    apart = measure_figures(alone, alone.draws(), costs=COSTS).estimates
    count = len(np.unique(rings[frauds]))
    assert (found["missed_fraud"].independent, apart["missed_fraud"].independent) == (count, len(frauds))
    assert (
        found["roc_auc"].independent
        == found["brier"].independent
        == found["passed_frauds"].independent
        == count
    )
    genuine_days = len(np.unique(records.event_times[records.labels == 0] // DAY))
    assert found["step_up"].independent == found["failed"].independent == genuine_days
    assert found["step_up"] == apart["step_up"]
    few = replace(records, rings=np.where(records.labels == 1, np.arange(len(records)) % 9, -1))
    none = measure_figures(few, few.draws(), costs=COSTS).estimates
    assert {none[name].absence for name in ("missed_fraud", "roc_auc", "brier", "cost")} == {
        "few independent"
    }
    assert none["missed_fraud"].low is None
    assert none["step_up"].low is not None


def test_rings_that_are_found_together_widen_the_interval() -> None:
    """If all frauds of a ring pass or none, the share is known as badly as of so many frauds as there are rings."""
    records = drawn(2)
    ring = np.repeat(np.arange(40), 10)
    labels = np.concatenate([np.ones(400), np.zeros(600)]).astype(np.int8)
    margins = np.concatenate([np.where(ring % 4 == 0, -4.0, 3.0), np.full(600, -4.0)])
    days = np.concatenate([np.arange(400) % 60, records.event_times[:600] // DAY])
    found = EvaluatedRecords(
        decisions=decided(margins),
        labels=labels,
        event_times=(days * DAY).astype(np.int64),
        rings=np.concatenate([ring, np.full(600, -1)]),
    )
    missed = measure_figures(found, found.draws(), costs=COSTS).estimates["missed_fraud"]
    assert missed.value == 0.25
    assert missed.low is not None
    assert missed.high is not None
    assert missed.high - missed.low == pytest.approx(2 * 1.96 * np.sqrt(0.25 * 0.75 / 40), rel=0.15)


def test_a_recall_of_all_is_not_certain() -> None:
    """Where every ring is found the lower end is that of as many records as there are rings."""
    frauds, genuine = 60, 600
    labels = np.repeat([1, 0], [frauds, genuine]).astype(np.int8)
    found = EvaluatedRecords(
        decisions=decided(np.where(labels == 1, 4.0, -4.0)),
        labels=labels,
        event_times=(np.arange(frauds + genuine) % 60) * DAY,
        rings=np.where(labels == 1, np.arange(frauds + genuine) % 12, -1),
    )
    estimates = measure_figures(found, found.draws(), costs=COSTS).estimates
    for name in ("recall_at_fpr_0.01", "roc_auc"):
        assert estimates[name].value == 1.0
        assert estimates[name].low == pytest.approx(share_of(12, 12).low)
    missed = estimates["missed_fraud"]
    assert missed.value == 0.0
    assert missed.high == pytest.approx(share_of(0, 12).high)
    reject = estimates["false_reject"]
    assert reject.value == 0.0
    assert reject.high == pytest.approx(share_of(0, genuine).high)
    both = estimates["passed_frauds"]  # of all records, of which frauds are a part
    assert both.value == 0.0
    assert both.high == pytest.approx(share_of(0, (frauds + genuine) * 12 // frauds).high)


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
    days = np.unique(records.event_times // DAY)[: 0 if frauds == "none" else MIN_BLOCKS - 1]
    labels = (records.labels == 1) & np.isin(records.event_times // DAY, days)
    found = measured(
        EvaluatedRecords(
            decisions=records.decisions, labels=labels.astype(np.int8), event_times=records.event_times
        )
    ).estimates
    assert found["roc_auc"].low is found["missed_fraud"].high is found["recall_at_capacity_10"].low is None
    assert (found["roc_auc"].value is None) == (frauds == "none")
    assert found["false_reject"].low is not None
