"""Labelled records against a bundle's decisions: labels as they were known at an instant."""

from dataclasses import replace

import numpy as np
import pytest

from scoring_model.evaluation import EvaluationError, evaluate, evaluate_table
from scoring_model.records import NEVER, RecordTable, microseconds
from scoring_model.scorer import Scorer
from scoring_model.scorer.frames import score_table

DAY = 86_400_000_000
MATURITY = 60 * DAY
AS_OF = microseconds("2024-09-01")


@pytest.fixture(scope="module")
def table(history: RecordTable) -> RecordTable:
    """The records of the first year."""
    return history.take(np.flatnonzero(history.event_times < microseconds("2025-01-01")))


def test_labels_count_as_of_an_instant(scorer: Scorer, table: RecordTable) -> None:
    """Frauds are those known before the instant, genuine the mature others; the young and unknown are left out."""
    decisions = score_table(scorer, table, reasons=False).decisions
    rows, labels = [], []
    for row, (time, label, told) in enumerate(
        zip(table.event_times.tolist(), table.labels.tolist(), table.label_times.tolist(), strict=True)
    ):
        known = label if told < AS_OF else -1
        if time >= AS_OF or (known < 0 and time >= AS_OF - MATURITY):
            continue
        rows.append(row)
        labels.append(max(known, 0))
    chosen = np.array(rows)
    expected = evaluate(
        decisions.take(chosen),
        labels=np.array(labels),
        event_times=table.event_times[chosen],
        rules=scorer.contents.rules,
    )
    found = evaluate_table(scorer, table, maturity=MATURITY, as_of=AS_OF)
    assert found.to_json() == expected.to_json()
    assert 0 < found.overall.frauds < int((table.labels == 1).sum())
    assert found.overall.records < len(table)


def test_a_label_told_at_the_instant_is_not_known(scorer: Scorer, table: RecordTable) -> None:
    """A fraud told at the very instant does not count, one told a microsecond before does."""
    fraud = int(np.flatnonzero((table.labels == 1) & (table.event_times < AS_OF - MATURITY))[0])

    def frauds(told: int) -> int:
        times = table.label_times.copy()
        times[fraud] = told
        found = evaluate_table(scorer, replace(table, label_times=times), maturity=MATURITY, as_of=AS_OF)
        return found.overall.frauds

    assert frauds(AS_OF - 1) == frauds(AS_OF) + 1


def test_the_latest_instant_is_the_default(scorer: Scorer, table: RecordTable) -> None:
    """Without an instant every label counts, the last one told too."""
    last = int(max(table.event_times.max(), table.label_times[table.label_times != NEVER].max()))
    found = evaluate_table(scorer, table, maturity=MATURITY)
    assert found.to_json() == evaluate_table(scorer, table, maturity=MATURITY, as_of=last + 1).to_json()
    assert found.overall.frauds == int((table.labels == 1).sum())


def test_history_is_seen_and_not_evaluated(scorer: Scorer, table: RecordTable) -> None:
    """The later records with the earlier ones as history are decided as in one table, and counted alone."""
    order = np.argsort(table.event_times, kind="stable")
    early, late = np.split(order, [len(order) // 2])
    found = evaluate_table(
        scorer, table.take(late), history=table.take(early), maturity=0, as_of=microseconds("2027-01-01")
    )
    decisions = score_table(scorer, table, reasons=False).decisions.take(late)
    labels = (table.labels[late] == 1).astype(np.int8)
    expected = evaluate(
        decisions, labels=labels, event_times=table.event_times[late], rules=scorer.contents.rules
    )
    assert found.to_json() == expected.to_json()


def test_nothing_known_is_an_error(scorer: Scorer, table: RecordTable) -> None:
    """No record, or none that is mature or labelled, is an error and no empty evaluation."""
    young = table.take(np.flatnonzero(table.labels < 0)[:20])
    for records, instant in ((table.take(np.arange(0)), None), (young, int(young.event_times.max()) + 1)):
        with pytest.raises(EvaluationError, match="of no record it is known"):
            evaluate_table(scorer, records, maturity=400 * DAY, as_of=instant)
