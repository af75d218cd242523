import numpy as np
import pytest

from page_text import Grid, markdown_grids
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


@pytest.mark.parametrize("labels", [[0, 0, 1, 0, 1, 1], [0, 0, 0], [1, 1], []])
def test_every_table_is_rectangular(labels: list[int]) -> None:
    """Every row has as many cells as the header, and no cell is empty, None or NaN."""
    grids = markdown_grids(summary(_evaluation(labels)))
    assert len(grids) >= 6
    for grid in grids:
        assert {len(row) for row in grid.rows} <= {len(grid.heads)}
        assert not {"", "None", "nan"} & {cell for row in grid.rows for cell in row}


def _grid(evaluation: Evaluation, caption: str) -> Grid:
    (grid,) = (one for one in markdown_grids(summary(evaluation)) if one.caption.startswith(caption))
    return grid


def test_numbers_are_those_of_the_evaluation() -> None:
    """The tables have outcome shares, the area under the curve and each month's counts."""
    evaluation = _evaluation([0, 0, 1, 0, 1, 1])
    outcomes = _grid(evaluation, "Outcomes of each class")
    assert [row[0] for row in outcomes.rows] == ["Passed", "Stepped up", "Failed"]
    assert outcomes.rows[0][1] == "67% (–)"
    assert outcomes.rows[0][2] == "0% (–)"  # six days: no interval, under whatever name
    errors = _grid(evaluation, "Errors of the policy")
    assert [row[:2] for row in errors.rows] == [
        ("Genuine who fail", "0.20%"),
        ("Genuine stepped up or failed", "–"),
        ("Frauds that pass", "–"),
    ]
    assert errors.rows[1][2] == outcomes.rows[1][1]
    assert errors.rows[1][6].replace("\N{NON-BREAKING HYPHEN}", "-") == "2024-01-30 to 2024-02-02"
    ranking = _grid(evaluation, "Ranking").rows[0]
    assert ranking[:3] == ("ROC AUC", f"{evaluation.overall.figures['roc_auc'].value:.4f}", "–")
    scores = _grid(evaluation, "Meaning of the score").rows
    assert scores[-1][:2] == ("1000", "0.010%")
    assert [row[3] for row in scores] == ["no"] * 8 + ["yes"] * 2
    assert sum(int(row[1]) for row in _grid(evaluation, "Calibration").rows) == 6
    months = [
        (row[0].replace("\N{NON-BREAKING HYPHEN}", "-"), *row[1:3])
        for row in _grid(evaluation, "By calendar").rows
    ]
    assert months == [("2024-01", "2", "0"), ("2024-02", "1", "3")]


def test_missing_numbers_are_dashes() -> None:
    """Without frauds their shares and the metrics that need them are dashes."""
    evaluation = _evaluation([0, 0, 0])
    assert [row[2] for row in _grid(evaluation, "Outcomes of each class").rows] == ["–"] * 3
    assert _grid(evaluation, "Errors of the policy").rows[-1] == (
        "Frauds that pass",
        "–",
        "–",
        "0",
        "0",
        "–",
        "–",
    )
    assert _grid(evaluation, "Ranking").rows[0] == ("ROC AUC", "–", "–", "0", "0")


def test_metrics_have_their_intervals() -> None:
    """With enough days every figure of the ranking has an interval; recalls are percentages."""
    evaluation = _evaluation([0, 0, 1, 0, 1, 1] * 4)
    grid = _grid(evaluation, "Ranking")
    area, recall = evaluation.figures["roc_auc"], evaluation.figures["recall_at_fpr_0.05"]
    assert grid.cell("ROC AUC", "95% interval") == f"{area.low:.4f} to {area.high:.4f}"
    assert recall.low is not None
    assert grid.cell("Recall at 5% false positives", "95% interval").endswith("%")
    assert [row[0] for row in grid.rows if row[2] == "–"] == ["Kolmogorov-Smirnov distance"]
