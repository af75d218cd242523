import numpy as np
import pytest

from scoring_model.contract.outcome import OUTCOMES
from scoring_model.decision.probability import Platt
from scoring_model.decision.rules import DecisionRules, Decisions, Policy, Promise
from scoring_model.decision.scale import ScoreScale
from scoring_model.evaluation import EvaluatedRecords, Evaluation, evaluate_records, summary

RULES = DecisionRules(
    scale=ScoreScale(cuts=np.linspace(-4, 4, 1000), extrapolated_from=801),
    calibration=Platt(slope=1.0, intercept=0.0),
    policy=Policy(
        step_up_from=400,
        fail_from=700,
        promises=(
            Promise(bound="max_false_reject", limit=0.002, delta=0.05, observed=0.0, records=9, p_value=0.01),
        ),
    ),
)


def _evaluation(labels: list[int]) -> Evaluation:
    """Evaluate records of January and February 2024 whose scores rise from 0 to 1000."""
    records = len(labels)
    start = int(np.datetime64("2024-01-30", "us").astype(np.int64))
    decisions = Decisions(
        margins=np.linspace(-3, 3, records),
        scores=np.linspace(0, 1000, records).astype(np.int64),
        outcomes=(np.arange(records) * 3 // max(records, 1)).astype(np.int8),
        probabilities=np.linspace(0, 1, records),
    )
    given = EvaluatedRecords(
        decisions=decisions,
        labels=np.array(labels, dtype=np.int8),
        event_times=start + np.arange(records) * 86_400_000_000,
    )
    return evaluate_records(given, rules=RULES)


def _tables(text: str) -> list[list[list[str]]]:
    """Parse the Markdown tables into cells."""
    blocks = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    return [[[cell.strip() for cell in line.strip("|").split("|")] for line in lines] for lines in blocks]


@pytest.mark.parametrize("labels", [[0, 0, 1, 0, 1, 1], [0, 0, 0], [1, 1], []])
def test_every_table_is_rectangular(labels: list[int]) -> None:
    """Every row has as many cells as the header, and no cell is empty, None or NaN."""
    evaluation = _evaluation(labels)
    tables = _tables(summary(evaluation))
    assert len(tables) == 6 + any(finding.is_open for finding in evaluation.findings)
    for rows in tables:
        assert {len(row) for row in rows} == {len(rows[0])}
        assert not {"", "None", "nan"} & {cell for row in rows for cell in row}


def test_numbers_are_those_of_the_evaluation() -> None:
    """The tables have outcome shares, the area under the curve and each month's counts."""
    evaluation = _evaluation([0, 0, 1, 0, 1, 1])
    outcomes, stability, ranking, scores, calibration, months = _tables(summary(evaluation))[1:]
    assert [row[0] for row in outcomes[2:]] == [outcome.value for outcome in OUTCOMES]
    assert outcomes[2][1].startswith("66.67% (")
    assert outcomes[2][2].startswith("0.00% (0.00% to ")
    assert [row[:2] for row in stability[2:]] == [
        ["Genuine who fail", "0.20%"],
        ["Genuine stepped up or failed", "–"],
        ["Frauds that pass", "–"],
    ]
    assert stability[3][2:5] == [outcomes[3][1], "–", outcomes[3][1]]
    assert stability[3][5] == "2024-01-30 to 2024-02-02"
    assert ranking[2] == ["ROC AUC", f"{evaluation.overall.roc_auc:.4f}", "–"]
    assert scores[-1][:2] == ["1000", "0.010%"]
    assert [row[3] for row in scores[2:]] == ["no"] * 8 + ["yes"] * 2
    assert sum(int(row[0]) for row in calibration[2:]) == 6
    assert [row[:3] for row in months[2:]] == [["2024-01", "2", "0"], ["2024-02", "1", "3"]]


def test_missing_numbers_are_dashes() -> None:
    """Without frauds their shares and the metrics that need them are dashes."""
    _, outcomes, stability, ranking, *_ = _tables(summary(_evaluation([0, 0, 0])))
    assert [row[2] for row in outcomes[2:]] == ["–", "–", "–"]
    assert stability[-1] == ["Frauds that pass", "–", "–", "–", "–", "–"]
    assert ranking[2] == ["ROC AUC", "–", "–"]


def test_metrics_have_their_intervals() -> None:
    """With enough days every metric but the calibration error has an interval; recalls are percentages."""
    evaluation = _evaluation([0, 0, 1, 0, 1, 1] * 4)
    rows = {row[0]: row for row in _tables(summary(evaluation))[3][2:]}
    area, recall = evaluation.figures["roc_auc"], evaluation.figures["recall_at_fpr_0.05"]
    assert rows["ROC AUC"][2] == f"{area.low:.4f} to {area.high:.4f}"
    assert rows["Recall at 5% false positives"][2] == f"{recall.low:.1%} to {recall.high:.1%}"
    assert {name for name, row in rows.items() if row[2] == "–"} == {"Expected calibration error"}
