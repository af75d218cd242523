"""Groups: rates against fairlearn and loops, merging of small values, and the coverage of the intervals."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fairlearn.metrics import MetricFrame, false_negative_rate, false_positive_rate, selection_rate

from scoring_model.contract.outcome import OUTCOMES, Outcome
from scoring_model.decision.rules import Decisions
from scoring_model.evaluation import EvaluatedRecords, EvaluationError, compare, evaluate
from scoring_model.evaluation.draws import REPEATS, Draws
from scoring_model.evaluation.grouping import BANDS, MISSING, OTHER, age_bands
from scoring_model.evaluation.groups import MIN_RECORDS, REST, GroupTable, measure_groups
from scoring_model.evaluation.stopped import NotObserved
from scoring_model.evaluation.uncertainty import share_of
from scoring_model.features import FeatureMatrix
from scoring_model.figures import GROUP_RATES
from scoring_model.monitoring import monitor
from scoring_model.records import Column
from scoring_model.records.times import DAY

PASSED, FAILED = OUTCOMES.index(Outcome.PASSED), OUTCOMES.index(Outcome.FAILED)


def records_of(
    groups: Any, outcomes: Any, labels: Any, days: Any, *, persons: Any = None
) -> EvaluatedRecords:
    """Records with the outcomes that are given, grouped by the texts that are given."""
    values, codes = np.unique(groups, return_inverse=True)
    zeros = np.zeros(len(codes))
    return EvaluatedRecords(
        decisions=Decisions(zeros, zeros.astype(np.int64), np.asarray(outcomes, dtype=np.int8), zeros),
        labels=np.asarray(labels, dtype=np.int8),
        event_times=np.asarray(days, dtype=np.int64) * DAY,
        persons=persons,
        columns={"group": Column(tuple(map(str, values)), codes.astype(np.int32))},
    )


def drawn(seed: int, *, records: int = 6000, days: int = 40) -> EvaluatedRecords:
    """Four groups with different rates."""
    rng = np.random.default_rng(seed)
    groups = rng.choice(["a", "b", "c", "d"], records, p=[0.5, 0.3, 0.15, 0.05])
    chances = {"a": [0.8, 0.15, 0.05], "b": [0.7, 0.2, 0.1], "c": [0.8, 0.15, 0.05], "d": [0.6, 0.3, 0.1]}
    outcomes = [rng.choice(3, p=chances[group]) for group in groups]
    return records_of(groups, outcomes, rng.random(records) < 0.2, rng.integers(0, days, records))


def measured(
    records: EvaluatedRecords, *, reference: str | None = None, repeats: int = REPEATS
) -> GroupTable:
    """Measure the groups of the only column."""
    draws = Draws.of(records.event_times, repeats=repeats)
    return GroupTable.of(*measure_groups(records, draws, "group", reference=reference))


def test_rates_are_those_of_fairlearn() -> None:
    """Rates by group agree with fairlearn's, and gaps and ratios with those of the records outside the group."""
    records = drawn(1)
    groups = np.array(records.columns["group"].values)[records.columns["group"].codes]
    outcomes, labels = records.decisions.outcomes, records.labels
    flagged = outcomes != PASSED
    for name, metric, predicted in (
        ("failed", selection_rate, outcomes == FAILED),
        ("step_up", false_positive_rate, flagged),
        ("false_reject", false_positive_rate, outcomes == FAILED),
        ("missed_fraud", false_negative_rate, flagged),
    ):
        for group in measured(records).groups:
            inside = np.where(groups == group.value, "in", "out")
            frame = MetricFrame(
                metrics=metric, y_true=labels, y_pred=predicted.astype(int), sensitive_features=inside
            ).by_group
            rate = group.rates[name]
            assert rate.estimate.value == pytest.approx(frame["in"])
            assert rate.gap.value == pytest.approx(frame["in"] - frame["out"])
            assert rate.ratio.value == pytest.approx(frame["in"] / frame["out"])


def test_a_named_reference_takes_the_place_of_the_rest() -> None:
    """Gaps to a group are differences of rates, and the group itself is not compared."""
    table = measured(drawn(2), reference="a")
    rates = {group.value: group.rates["step_up"] for group in table.groups}
    base = rates["a"].estimate.value
    assert base is not None
    assert table.reference == "a"
    assert measured(drawn(2)).reference == REST
    for value in ("b", "c", "d"):
        assert rates[value].estimate.value == pytest.approx(base + (rates[value].gap.value or 0))
        assert rates[value].gap.low is not None
    assert (rates["a"].gap.absence, rates["a"].gap.value, rates["a"].gap.low) == (
        "not enough data",
        0.0,
        None,
    )
    with pytest.raises(EvaluationError, match="has no group 'z' to compare with; it has a, b, c, d"):
        measured(drawn(2), reference="z")


def test_a_rate_needs_no_reference() -> None:
    """A group with enough data has its own rate where the others are few, or where it is the reference itself."""
    few = measured(records_of(["a"] * 400 + ["b"] * 20, [0] * 420, [0] * 420, np.arange(420) % 20))
    assert {group.value: group.rates["step_up"].enough for group in few.groups} == {"a": True, "b": False}
    assert {group.rates["step_up"].gap.absence for group in few.groups} == {"not enough data"}
    named = measured(drawn(2), reference="a")
    assert all(group.rates["step_up"].enough for group in named.groups)
    short = measured(records_of(["a"] * 90 + ["b"] * 90, [0] * 180, [0] * 180, np.arange(180) % 9))
    assert not any(group.rates["step_up"].enough for group in short.groups)


def test_intervals_of_all_groups_are_wider_than_those_of_one() -> None:
    """Every interval holds its value, and the simultaneous one holds the other; ratios stay above 0."""
    for group in measured(drawn(3)).groups:
        for name in GROUP_RATES:
            for found in (group.rates[name].gap, group.rates[name].ratio):
                ends = found.simultaneous_low, found.low, found.value, found.high, found.simultaneous_high
                known = [end for end in ends if end is not None]
                assert len(known) == 5
                assert known == sorted(known)


def test_values_of_few_persons_are_merged() -> None:
    """Values of fewer than five persons are one group, however many records they have; unknown values are another."""
    groups = ["big"] * 60 + ["small"] * 40 + ["tiny"] * 3 + ["five"] * 5
    persons = [*range(60), *[100, 101] * 20, *[200, 201, 202], *range(300, 305)]
    records = records_of(groups, [0] * 108, [0] * 108, np.arange(108) % 20, persons=np.array(persons))
    table = measured(records)
    assert [(group.value, group.records) for group in table.groups] == [("big", 60), ("five", 5), (OTHER, 43)]
    assert (table.merged_values, table.persons_known) == (2, True)
    unknown = EvaluatedRecords(
        decisions=records.decisions,
        labels=records.labels,
        event_times=records.event_times,
        columns={"group": Column(("x",), np.where(np.arange(108) < 50, 0, -1).astype(np.int32))},
    )
    table = measured(unknown)
    assert [(group.value, group.records) for group in table.groups] == [("x", 50), (MISSING, 58)]
    assert not table.persons_known


def test_rates_of_a_group_reach_over_all_labels_of_its_stopped_applicants() -> None:
    """40 whom the model would pass and whose label nobody knows: all frauds, or all genuine, which lowers the rate."""
    groups, outcomes = ["a"] * 200 + ["b"] * 200, ([FAILED] * 10 + [PASSED] * 190) * 2
    records = records_of(groups, outcomes, [0] * 400, np.arange(400) % 20)
    nobody_knows = NotObserved(
        outcomes=np.full(40, PASSED, dtype=np.int8),
        margins=np.zeros(40),
        probabilities=np.zeros(40),
        labels=np.full(40, -1, dtype=np.int8),
        event_times=np.arange(40) % 20 * DAY,
        columns={"group": Column(("a", "b"), np.zeros(40, dtype=np.int32))},
    )
    rates = {
        group.value: group.rates["false_reject"].estimate
        for group in measured(replace(records, not_observed=nobody_knows)).groups
    }
    least, own = share_of(10, 240).low, share_of(10, 200)
    assert (rates["a"].low, rates["a"].high) == (least, rates["b"].high)
    assert (rates["b"].low, rates["b"].high) == (own.low, own.high)


def test_small_groups_are_not_enough_data() -> None:
    """One record too few in a denominator, here or in the reference, leaves gap and ratio without ends."""
    size = MIN_RECORDS
    groups = ["a"] * 400 + ["b"] * size + ["c"] * (size - 1)
    total = len(groups)
    days = np.concatenate([np.arange(400), np.arange(size), np.arange(size - 1)]) % 20
    rates = {
        group.value: group.rates
        for group in measured(
            records_of(groups, [0, 1] * (total // 2) + [0] * (total % 2), [0] * total, days)
        ).groups
    }
    assert [rates[value]["step_up"].gap.absence for value in "abc"] == ["", "", "not enough data"]
    assert rates["b"]["step_up"].gap.low is not None
    assert rates["c"]["step_up"].gap.simultaneous_low is rates["c"]["step_up"].ratio.high is None
    assert rates["a"]["missed_fraud"].ratio.absence == "not enough data"
    assert rates["c"]["step_up"].estimate.count == sum([0, 1] * (total // 2) + [0] * (total % 2)) - sum(
        [0, 1] * ((400 + size) // 2)
    )
    assert all(
        group.rates["step_up"].gap.absence
        for group in measured(records_of(groups, [0] * total, [0] * total, [0] * total)).groups
    )


def test_too_many_groups_are_refused() -> None:
    """A column of identifiers is no column of groups."""
    groups = np.repeat(np.arange(201), 5)
    size = len(groups)
    with pytest.raises(EvaluationError, match="group has 201 values of 5 or more persons; at most 200"):
        measured(records_of(groups, [0] * size, [0] * size, np.zeros(size)))


@pytest.mark.parametrize(
    "judge",
    [
        lambda bundle, records: evaluate(bundle, records, by=["branch"]),
        lambda bundle, records: compare(bundle, bundle, records, by=["branch"]),
        lambda bundle, records: monitor(bundle, records, by=["branch"]),
    ],
    ids=["evaluate", "compare", "monitor"],
)
def test_too_many_groups_are_refused_before_scoring(
    judge: Callable[[Path, pa.Table], object],
    sealed: Path,
    frame: pa.Table,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No feature is computed for records whose groups are not compared."""
    monkeypatch.setattr(FeatureMatrix, "rows", lambda *_: pytest.fail("scored before groups were counted"))
    records = frame.slice(20_000)
    branches = pa.array([f"b{row % 250}" for row in range(len(records))])
    with pytest.raises(EvaluationError, match="branch has 250 values of 5 or more persons; at most 200"):
        judge(sealed, records.append_column("branch", branches))


def test_simultaneous_intervals_cover_all_groups_at_once() -> None:
    """Of 120 samples with day effects and equal rates, about 95 % have every gap and ratio inside its interval."""
    gaps, ratios = [], []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        size = 3000
        groups = rng.choice(list("abcdef"), size, p=[0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
        days = rng.integers(0, 40, size)
        chance = rng.beta(2, 38, 40)[days]  # 5 % on average, which differs by day
        outcomes = np.where(rng.random(size) < chance, FAILED, PASSED)
        found = [
            group.rates["failed"]
            for group in measured(records_of(groups, outcomes, np.zeros(size), days), repeats=200).groups
        ]
        gaps.append(all((r.gap.simultaneous_low or 0) <= 0 <= (r.gap.simultaneous_high or 0) for r in found))
        ratios.append(
            all((r.ratio.simultaneous_low or 0) <= 1 <= (r.ratio.simultaneous_high or 9) for r in found)
        )
    # 95 % less 2.5 standard deviations of a share of 120.
    assert np.mean(gaps) >= 0.9
    assert np.mean(ratios) >= 0.9


@pytest.mark.parametrize(
    ("born", "day", "band"),
    [
        ("2000-02-29", "2018-02-28", "under 18"),
        ("2000-02-29", "2018-03-01", "18-24"),
        ("1999-12-31", "2024-12-30", "18-24"),
        ("1999-12-31", "2024-12-31", "25-34"),
        ("1901-01-01", "2024-01-01", "65 and over"),
        ("1980-05-05", "1969-01-01", "under 18"),
    ],
)
def test_the_age_is_that_on_the_day(born: str, day: str, band: str) -> None:
    """A person is a year older from the birthday on."""
    time = np.array([day], dtype="datetime64[us]").astype(np.int64)
    found = age_bands(Column((born,), np.zeros(1, dtype=np.int32)), time)
    assert BANDS[found.codes[0]] == band
    assert age_bands(Column((), np.array([-1], dtype=np.int32)), time).codes.tolist() == [-1]
