"""Labelled records against a bundle's decisions: labels as they were known at an instant."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scoring_model.arrays import IntArray
from scoring_model.bundle import read_bundle
from scoring_model.evaluation import (
    Coverage,
    EvaluatedRecords,
    Evaluation,
    EvaluationOptions,
    LeftOut,
    NothingToEvaluate,
    evaluate_records,
    evaluate_table,
    summary,
)
from scoring_model.evaluation.fraud_rings import rings_of_frauds
from scoring_model.evaluation.holdout import group_columns, with_columns
from scoring_model.findings import Finding, State
from scoring_model.history import person_codes
from scoring_model.records import NEVER, RecordSchema, RecordTable, microseconds
from scoring_model.scorer import Scorer
from scoring_model.scorer.frames import score_table
from scoring_model.training.run import Training

DAY = 86_400_000_000
MATURITY = 60 * DAY
AS_OF = microseconds("2024-09-01")


@pytest.fixture(scope="module")
def table(history: RecordTable) -> RecordTable:
    """A third of the records of the first year."""
    return history.take(np.flatnonzero(history.event_times < microseconds("2025-01-01"))[::3])


def evaluated(
    scorer: Scorer,
    table: RecordTable,
    *,
    history: RecordTable | None = None,
    invalid: int = 0,
    **options: Any,
) -> Evaluation:
    """Evaluate a table with these options."""
    return evaluate_table(
        scorer, table, options=EvaluationOptions(**options), history=history, invalid=invalid
    )


def coverage_of(evaluation: Evaluation) -> Coverage:
    """The rows that were evaluated and left out."""
    assert evaluation.coverage is not None
    return evaluation.coverage


def evaluated_rows(
    scorer: Scorer, table: RecordTable, rows: IntArray, labels: IntArray, *, known: IntArray
) -> Evaluation:
    """Evaluate some rows of a table with given labels, with rings as the known rows show them."""
    decisions = score_table(scorer, table, reasons=False).decisions.take(rows)
    part = table.take(known)
    places = np.array([known.tolist().index(row) for row in rows.tolist()])
    keys = scorer.matrix.link_keys
    rings = rings_of_frauds(part, person_codes(part, alone=True), keys, places, labels.astype(np.int8))
    records = EvaluatedRecords(
        decisions=decisions, labels=labels.astype(np.int8), event_times=table.event_times[rows], rings=rings
    )
    return evaluate_records(records, rules=scorer.contents.rules)


def figures_of(evaluation: Evaluation) -> dict[str, object]:
    """The document of an evaluation without findings, what was left out and where the records come from."""
    document = evaluation.to_json()
    other = ("coverage", "findings", "provenance")
    return {key: part for key, part in document.items() if key not in other}


def test_labels_count_as_of_an_instant(scorer: Scorer, table: RecordTable) -> None:
    """Frauds are those known before the instant, genuine the mature others; the young and unknown are left out."""
    rows, labels = [], []
    for row, (time, label, reported) in enumerate(
        zip(table.event_times.tolist(), table.labels.tolist(), table.label_times.tolist(), strict=True)
    ):
        known = label if reported < AS_OF else -1
        if time >= AS_OF or (known < 0 and time >= AS_OF - MATURITY):
            continue
        rows.append(row)
        labels.append(max(known, 0))
    expected = evaluated_rows(scorer, table, np.array(rows), np.array(labels), known=np.arange(len(table)))
    found = evaluated(scorer, table, maturity=MATURITY, as_of=AS_OF)
    assert figures_of(found) == figures_of(expected)
    assert 0 < found.overall.frauds < int((table.labels == 1).sum())
    assert found.overall.records < len(table)


def test_a_label_reported_at_the_instant_is_not_known(scorer: Scorer, table: RecordTable) -> None:
    """A fraud reported at the very instant does not count, one reported a microsecond before does."""
    fraud = int(np.flatnonzero((table.labels == 1) & (table.event_times < AS_OF - MATURITY))[0])

    def frauds(reported: int) -> int:
        times = table.label_times.copy()
        times[fraud] = reported
        found = evaluated(scorer, replace(table, label_times=times), maturity=MATURITY, as_of=AS_OF)
        return found.overall.frauds

    assert frauds(AS_OF - 1) == frauds(AS_OF) + 1


def test_a_bundle_certifies_the_thresholds_of_its_training(
    sealed: Path, training: Training, table: RecordTable
) -> None:
    """The certified pairs are those of the training, with the chosen one."""
    files = read_bundle(sealed)
    scorer = Scorer.of(files)
    some = table.take(np.arange(500))
    certified = evaluated(scorer, some).curves.certified
    assert certified is not None
    pairs = {(row.step_up_from, row.fail_from): row.certified for row in training.alternatives.rows}
    assert scorer.rules.policy.step_up_from in certified[0]
    assert any(pairs.values())
    for (first, last), held in pairs.items():
        assert held == (first in certified[0] and last in certified[1] and first <= last)


def test_the_latest_instant_is_the_default(scorer: Scorer, table: RecordTable) -> None:
    """Without an instant every label counts, the last one reported too."""
    last = int(max(table.event_times.max(), table.label_times[table.label_times != NEVER].max()))
    found = evaluated(scorer, table, maturity=MATURITY)
    assert found.to_json() == evaluated(scorer, table, maturity=MATURITY, as_of=last + 1).to_json()
    assert found.overall.frauds == int((table.labels == 1).sum())


def test_history_is_seen_and_not_evaluated(scorer: Scorer, table: RecordTable) -> None:
    """The later records with the earlier ones as history are decided as in one table, and counted alone."""
    order = np.argsort(table.event_times, kind="stable")
    early, late = np.split(order, [len(order) // 2])
    found = evaluated(
        scorer, table.take(late), history=table.take(early), maturity=0, as_of=microseconds("2027-01-01")
    )
    expected = evaluated_rows(scorer, table, late, table.labels[late] == 1, known=late)
    assert figures_of(found) == figures_of(expected)


def maturity_of(found: Evaluation) -> Finding:
    """The finding about records of different maturity."""
    (finding,) = (one for one in found.findings if one.code == "SM012")
    return finding


def test_every_row_is_evaluated_or_left_out_for_a_reason(scorer: Scorer, table: RecordTable) -> None:
    """The coverage counts what a loop over the records counts, and its numbers sum to the rows of the source."""
    reasons = dict.fromkeys(LeftOut, 0) | {LeftOut.INVALID: 7}
    immature = [0, 0]
    for time, label, known in zip(table.event_times, table.labels, table.label_times, strict=True):
        if time >= AS_OF:
            reasons[LeftOut.AFTER_AS_OF] += 1
        elif time >= AS_OF - MATURITY and known < AS_OF:
            immature[label] += 1
        elif time >= AS_OF - MATURITY:
            reasons[LeftOut.UNLABELLED_IMMATURE] += 1
    found = evaluated(scorer, table, maturity=MATURITY, as_of=AS_OF, invalid=7)
    coverage, overall = coverage_of(found), found.overall
    assert dict(coverage.left_out) == reasons
    assert (coverage.immature_genuine, coverage.immature_frauds) == tuple(immature)
    assert (coverage.genuine, coverage.frauds) == (overall.genuine, overall.frauds)
    assert coverage.rows == len(table) + 7
    assert min(reasons[LeftOut.UNLABELLED_IMMATURE], *immature) > 0


def test_matured_records_count_under_one_rule(scorer: Scorer, table: RecordTable) -> None:
    """Matured only: exactly the records older than the maturity, whether labelled or not; the mix is warned of."""
    old = table.event_times < AS_OF - MATURITY
    found = evaluated(scorer, table, maturity=MATURITY, as_of=AS_OF, matured_only=True)
    frauds = old & (table.labels == 1) & (table.label_times < AS_OF)
    assert (coverage_of(found).evaluated, coverage_of(found).frauds) == (int(old.sum()), int(frauds.sum()))
    assert coverage_of(found).left_out[LeftOut.LABELLED_IMMATURE] > 0
    assert maturity_of(found).state is State.CLEAR
    both = evaluated(scorer, table, maturity=MATURITY, as_of=AS_OF)
    mixed, warning = coverage_of(both), maturity_of(both)
    assert (warning.state, warning.count) == (State.FOUND, mixed.immature_frauds + mixed.immature_genuine)
    assert warning.sentence.startswith(
        f"biased: {mixed.immature_frauds:,} frauds and {mixed.immature_genuine:,} genuine"
    )
    assert mixed.frauds / mixed.evaluated > coverage_of(found).frauds / coverage_of(found).evaluated


def test_records_that_all_count_are_no_mix(scorer: Scorer, table: RecordTable) -> None:
    """Nothing is warned of where all records are mature, nor where each immature one has a label."""
    late = microseconds("2027-01-01")
    assert maturity_of(evaluated(scorer, table, maturity=MATURITY, as_of=late)).state is State.CLEAR
    labelled = table.take(np.flatnonzero(table.label_times < AS_OF))
    found = evaluated(scorer, labelled, maturity=MATURITY, as_of=AS_OF)
    assert coverage_of(found).immature_frauds > 0
    assert maturity_of(found).state is State.CLEAR


def test_text_and_json_say_what_was_left_out(scorer: Scorer, table: RecordTable) -> None:
    """The same counts and the same warning stand in the summary and in the document."""
    found = evaluated(scorer, table, maturity=MATURITY, as_of=AS_OF, invalid=7)
    coverage, document = coverage_of(found), found.to_json()["coverage"]
    text = summary(found)
    left = f"{coverage.rows - coverage.evaluated:,} of {coverage.rows:,} records are left out"
    assert f"{left}, {coverage.evaluated:,} are evaluated; labels count if known by 1 September 2024" in text
    assert "| Breaks the contract of the data | 7 |" in text
    assert f"| Happened at the as-of instant or later | {coverage.left_out[LeftOut.AFTER_AS_OF]:,} |" in text
    warning = maturity_of(found)
    assert f"SM012, warning: {warning.sentence[:1].upper()}{warning.sentence[1:]}" in text
    assert document["left_out"] == {reason.value: count for reason, count in coverage.left_out.items()}
    written = {row["code"]: row["sentence"] for row in found.to_json()["findings"]}
    assert written["SM012"] == warning.sentence
    assert document["rows"] == document["evaluated"] + sum(document["left_out"].values())


def test_nothing_known_is_an_error(scorer: Scorer, table: RecordTable) -> None:
    """No record, or none that is mature or labelled, is an error with the reasons and no empty evaluation."""
    young = table.take(np.flatnonzero(table.labels < 0)[:20])
    for records, instant, reasons in (
        (table.take(np.arange(0)), None, "no rows at all"),
        (
            young,
            int(young.event_times.max()) + 1,
            "20: no label known at the as-of instant, and younger than 400d",
        ),
        (young, int(young.event_times.min()), "20: happened at the as-of instant or later"),
    ):
        with pytest.raises(NothingToEvaluate) as refused:
            evaluated(scorer, records, maturity=400 * DAY, as_of=instant)
        assert str(refused.value) == f"nothing to evaluate: no labelled records ({reasons})"
        assert refused.value.coverage.rows == len(records)


def test_groups_are_of_columns_by_the_names_of_the_users_files(table: RecordTable) -> None:
    """A header that the configuration maps names the same column as its field."""
    schema = RecordSchema(columns={"documentType": "書類"})
    assert schema == with_columns(schema, ["書類", "documentType"])
    by_header, by_field = (group_columns(table, [name], schema)[name] for name in ("書類", "documentType"))
    assert by_header is by_field


def test_a_field_that_no_record_has_makes_one_group(scorer: Scorer, history: RecordTable) -> None:
    """As where a configuration maps no column to it; the gates that ship with the package name such a field."""
    table = history.take(np.arange(len(history) - 2_000, len(history)))
    columns = {name: column for name, column in table.columns.items() if name != "documentType"}
    found = evaluated(scorer, replace(table, columns=columns), by={"documentType": None})
    (groups,) = found.groups
    assert [group.records for group in groups.groups] == [found.overall.records]
