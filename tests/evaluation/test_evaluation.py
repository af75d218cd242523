import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scoring_model.contract.outcome import OUTCOMES, Outcome
from scoring_model.decision.control import Control, ControlArm
from scoring_model.decision.probability import Platt
from scoring_model.decision.rules import DecisionRules, Decisions, Policy, Promise
from scoring_model.decision.scale import ScoreScale
from scoring_model.evaluation import EvaluatedRecords, Evaluation, EvaluationError, evaluate_records

DAY = 86_400_000_000
PROMISE = Promise(bound="max_step_up", limit=0.4, delta=0.05, observed=0.3, records=1000, p_value=0.01)
POLICY = Policy(step_up_from=400, fail_from=700, promises=(PROMISE,))
RULES = DecisionRules(
    scale=ScoreScale(cuts=np.linspace(-4, 4, 1000), extrapolated_from=800),
    calibration=Platt(slope=1.0, intercept=0.0),
    policy=POLICY,
)


def _columns(records: int = 400, *, seed: int = 0, fraud_share: float = 0.2) -> dict[str, Any]:
    """Draw decisions over the first months of 2024, frauds scoring higher."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(records) < fraud_share).astype(np.int8)
    margins = rng.normal(2.0 * labels, 1.0)
    scores = np.clip(300 + 250 * margins, 0, 1000).astype(np.int64)
    start = int(np.datetime64("2024-01-15", "us").astype(np.int64))
    return {
        "margins": margins,
        "scores": scores,
        "outcomes": POLICY.outcomes(scores),
        "probabilities": 1 / (1 + np.exp(-margins)),
        "labels": labels,
        "event_times": start + rng.integers(0, 100 * DAY, records),
    }


def evaluated(**columns: Any) -> Evaluation:
    """Evaluate decisions that are given as columns."""
    facts = {name: columns.pop(name) for name in ("labels", "event_times")}
    return evaluate_records(EvaluatedRecords(decisions=Decisions(**columns), **facts), rules=RULES)


def _keys(document: Any) -> Any:
    """Return the names of a document's fields."""
    if isinstance(document, dict):
        return {key: _keys(value) for key, value in document.items()}
    return None


def test_rates_equal_counts_by_loops() -> None:
    """Outcome rates and the bounded errors equal those of a loop over the records."""
    columns = _columns()
    overall = evaluated(**columns).overall
    errors = overall.errors
    pairs = list(zip(columns["labels"], (POLICY.outcome(score) for score in columns["scores"]), strict=True))
    for label, kind in enumerate(("genuine", "fraud")):
        for outcome in OUTCOMES:
            share = overall.figures[f"{kind}_{outcome.lower()}"]
            assert share.count == pairs.count((label, outcome)) > 0
            assert share.records == sum(1 for pair in pairs if pair[0] == label)
    assert errors["false_reject"].count == pairs.count((0, Outcome.FAILED))
    assert errors["step_up"].count == pairs.count((0, Outcome.FAILED)) + pairs.count((0, Outcome.STEPPED_UP))
    assert errors["missed_fraud"].count == pairs.count((1, Outcome.PASSED))
    assert (errors["false_reject"].records, errors["missed_fraud"].records) == (
        overall.genuine,
        overall.frauds,
    )


def test_months_partition_the_records() -> None:
    """Months are calendar months in UTC, ascending, each measured on its own records."""
    columns = _columns()
    evaluation = evaluated(**columns)
    assert list(evaluation.months) == ["2024-01", "2024-02", "2024-03", "2024-04"]
    assert sum(measures.records for measures in evaluation.months.values()) == len(columns["labels"])
    inside = np.array([str(t.astype("datetime64[us]"))[:7] == "2024-02" for t in columns["event_times"]])
    alone = evaluated(**{name: column[inside] for name, column in columns.items()})
    assert alone.overall == evaluation.months["2024-02"].under(alone.figures)


@pytest.mark.parametrize(
    ("instant", "month"), [(0, "1970-01"), (-1, "1969-12"), (31 * DAY - 1, "1970-01"), (31 * DAY, "1970-02")]
)
def test_month_ends_at_midnight_in_utc(instant: int, month: str) -> None:
    """The last microsecond of a month belongs to it and the next one to the next month, before 1970 too."""
    columns = _columns(1) | {"event_times": np.array([instant])}
    assert list(evaluated(**columns).months) == [month]


def test_score_shares_count_genuine_records_at_or_above() -> None:
    """At each multiple of 100 the share counts genuine records with that score or more."""
    columns = _columns()
    genuine = columns["scores"][columns["labels"] == 0]
    shares = evaluated(**columns).score_shares
    assert {score: share.count for score, share in shares.items()} == {
        score: sum(1 for value in genuine if value >= score) for score in range(100, 1001, 100)
    }


@pytest.mark.parametrize(("records", "fraud_share"), [(0, 0.0), (1, 0.0), (50, 0.0), (50, 1.0)])
def test_document_has_the_same_keys_and_no_nan_whatever_is_absent(records: int, fraud_share: float) -> None:
    """Without records or without a class the document has the same keys, with null for unknown values."""
    document = evaluated(**_columns(records, fraud_share=fraud_share)).to_json()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    full = evaluated(**_columns()).to_json()
    assert _keys(document["overall"]) == _keys(full["overall"])
    assert list(document) == list(full)
    assert document["overall"]["figures"]["roc_auc"]["value"] is None
    assert document["overall"]["figures"]["recall_at_fpr_0.05"]["value"] is None


def test_order_of_records_does_not_matter() -> None:
    """Shuffled records give the same bytes."""
    columns = _columns()
    order = np.random.default_rng(1).permutation(len(columns["labels"]))

    def text(evaluation: Evaluation) -> str:
        return json.dumps(evaluation.to_json())

    assert text(evaluated(**{name: column[order] for name, column in columns.items()})) == text(
        evaluated(**columns)
    )


def test_all_broken_rules_are_named_at_once() -> None:
    """Wrong lengths and values out of range are refused in one error, each by its name."""
    broken = _columns(3) | {
        "margins": np.array([0.0, np.nan, 1.0]),
        "scores": np.array([0, 1001, 5]),
        "outcomes": np.array([0, 3, 1], dtype=np.int8),
        "probabilities": np.array([0.5, 1.5, np.nan]),
        "event_times": np.zeros(2, dtype=np.int64),
    }
    with pytest.raises(EvaluationError) as refused:
        evaluated(**broken)
    for name in (
        "margins: must be finite, 1",
        "scores: ",
        "outcomes: ",
        "probabilities: must be in [0, 1], 2",
    ):
        assert name in str(refused.value)
    assert "event_times: must have the shape (3,), got (2,)" in str(refused.value)
    with pytest.raises(EvaluationError, match="labels: must be 0 or 1, 1 are not"):
        evaluated(**_columns(3) | {"labels": np.array([0, 1, -1])})


def test_the_ends_of_scores_and_probabilities_are_allowed() -> None:
    """A score of 0 and of 1000, and probabilities of 0 and 1."""
    ends = _columns(4) | {
        "scores": np.array([0, 1000, 5, 5]),
        "outcomes": np.array([0, 2, 0, 0], dtype=np.int8),
        "probabilities": np.array([0.0, 1.0, 0.5, 0.5]),
    }
    assert evaluated(**ends).overall.records == 4


def test_the_cost_of_a_control_group_is_that_of_all_days_of_the_records() -> None:
    """From the day of the first record to that of the last, both included."""
    arm = ControlArm(share=0.2, most_per_day=100)
    control = Control(failed=arm, stepped_up=arm, fraud_loss=50.0)
    columns = _columns()
    records = EvaluatedRecords(
        labels=columns.pop("labels"), event_times=columns.pop("event_times"), decisions=Decisions(**columns)
    )
    rules = replace(RULES, policy=replace(POLICY, control=control))
    stopped = records.decisions.outcomes > 0
    expected = 50 * 0.2 * records.decisions.probabilities[stopped].sum()
    cost = evaluate_records(records, rules=rules).control_cost
    assert cost is not None
    assert cost.value == pytest.approx(expected)
