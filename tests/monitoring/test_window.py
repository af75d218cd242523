"""A window of a real bundle: new or scored earlier, with labels or without, with drift that was planted."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import scoring_model
from scoring_model.batch import score_file
from scoring_model.configuration import Configuration
from scoring_model.evaluation import EvaluationError, evaluate
from scoring_model.evaluation.stopped import ASSUMED
from scoring_model.evaluation.trained_records import trained_until
from scoring_model.features.local_time import Offsets
from scoring_model.findings import Code, State
from scoring_model.monitoring import Monitoring, NothingToMonitor, monitor, monitoring_summary
from scoring_model.records import RecordTable
from scoring_model.records.times import DAY
from scoring_model.scorer import Scorer
from scoring_model.training.run import run_training

KEYS = {
    *(
        "drift",
        "early",
        "estimates",
        "findings",
        "late",
        "matured",
        "maturity",
        "notes",
        "prevalence",
        "promises",
        "provenance",
        "records",
        "refused",
    ),
    *("trained", "version"),
}
"""Of version 1 of the document."""

LABELS = ("recordId", "label", "labelKnownAt", "labelReportedAt")


def without_labels(table: pa.Table) -> pa.Table:
    """The same records before any label is known."""
    return table.drop_columns([name for name in LABELS[1:] if name in table.column_names])


@pytest.fixture(scope="module")
def alone(sealed: Path, window: pa.Table) -> Monitoring:
    """The window without a history."""
    return monitor(sealed, window)


def test_an_ordinary_window(watched: Monitoring, window: pa.Table) -> None:
    """Every part is there, sums are those of the window, and the document is plain JSON of a stated version."""
    drift = watched.drift
    assert (watched.records, drift.window_records) == (len(window), len(window))
    assert (drift.limit or 0) > 3
    assert {"score", "outcome", "name_entropy"} <= {one.name for one in drift.subjects}
    strengths = [one.statistic / (one.limit or 1) for one in drift.subjects]
    assert strengths == sorted(strengths, reverse=True)
    assert drift.limits.keys() == {"decisions", "categories", "numbers"}
    assert "event_weekday" not in {one.name for one in drift.subjects}
    assert any("cannot drift" in note and "event_weekday" in note for note in drift.notes)
    assert [one.weekday for one in drift.traffic][::6] == ["Monday", "Sunday"]
    assert sum(one.window or 0 for one in drift.traffic) == pytest.approx(7 * len(window) / 65, rel=0.1)
    assert [one.bound for one in watched.early] == ["max_false_reject", "max_step_up"]
    document = json.loads(json.dumps(watched.to_json(), allow_nan=False))
    assert document["version"] == 1
    assert set(document) == KEYS
    frame = watched.to_frame()
    assert set(frame["part"]) >= {"drift", "early", "matured"}
    assert scoring_model.monitor is monitor
    assert monitoring_summary(watched).split("\n", 1)[0].endswith(f"rows refused. {ASSUMED}.")


def test_shares_are_those_of_the_features(
    watched: Monitoring, scorer: Scorer, window: pa.Table, ordered: pa.Table
) -> None:
    """Counted from the exported features: records above the border, and records without a value."""
    features = scorer.features(window, history=ordered.slice(0, len(ordered) - len(window)))
    checked = 0
    for one in watched.drift.subjects:
        kind, _, border = one.share_of.partition(" ")
        if one.name in features.column_names and kind == "above":
            values = features.column(one.name).to_numpy(zero_copy_only=False)
            assert np.mean(values > float(border)) == pytest.approx(one.window, abs=0.003), one.name
            assert np.mean(np.isnan(values)) == pytest.approx(one.window_missing), one.name
            checked += 1
    assert checked > 20


def test_contributions_explain_the_shift_of_the_mean_margin(
    sealed: Path, watched: Monitoring, window: pa.Table, scorer: Scorer
) -> None:
    """Over all features they sum to it, but for the error of 2,000 records drawn from each sample."""
    margins = pc.mean(scorer.score(window).column("margin")).as_py()
    reference = np.load(sealed / "reference_days.npz")
    before = float(reference["contributions"].sum()) + scorer.base
    moved = sum(one.shift for one in watched.drift.contributors)
    assert moved == pytest.approx(margins - before, abs=0.15)
    assert watched.drift.explained == (2000, 2000)


def test_matured_records_are_evaluated_alone(
    sealed: Path, watched: Monitoring, window: pa.Table, ordered: pa.Table
) -> None:
    """The metrics are those of `evaluate --matured-only`; the immature share is counted."""
    history = ordered.slice(0, len(ordered) - len(window))
    middle = str(window.column("eventTime")[1500].as_py())[:10]
    found = monitor(sealed, window, history=history, as_of=middle)
    expected = evaluate(sealed, window, history=history, as_of=middle, matured_only=True)
    assert found.matured is not None
    assert found.matured.figures == expected.figures
    assert found.maturity.matured == expected.overall.records
    assert found.maturity.matured + found.maturity.immature == len(window)
    assert 0 < found.maturity.immature_share < 1
    assert f"{found.maturity.immature_share:.1%}" in found.maturity.describe()
    assert watched.maturity.describe().startswith(f"All {len(window):,} records are at least ")


def test_matured_labels_of_the_history_test_the_estimates(
    sealed: Path, watched: Monitoring, window: pa.Table, ordered: pa.Table, scorer: Scorer
) -> None:
    """Those from after the validation period count as in a longer window; those of the training do not."""
    end, first = pa.scalar(trained_until(scorer) or 0, pa.timestamp("us", "UTC")), len(ordered) - len(window)
    since = pc.sum(pc.less(ordered.column("eventTime"), end)).as_py()
    later = ordered.slice(since, first - since)
    found = watched.estimates
    assert found.history_records == len(later) > 1000
    assert found.history_frauds == later.column("label").to_pylist().count("fraud") > 0
    assert f"the {found.history_frauds:,} of {len(later):,} matured records of the history" in found.reason
    whole = monitor(sealed, ordered.slice(since), history=ordered.slice(0, since)).estimates
    assert whole.history_records == 0
    assert whole.matured_frauds == found.matured_frauds + found.history_frauds
    assert whole.contradiction == found.contradiction


def test_late_frauds_are_a_finding(watched: Monitoring, window: pa.Table, sealed: Path) -> None:
    """It says the share that is known at maturity and how old the oldest frauds are, those of the history too."""
    (finding,) = watched.findings
    assert finding.code is Code.LATE_FRAUDS
    assert finding.state is not State.NOT_APPLICABLE
    assert watched.late is not None
    assert watched.late.known.value == finding.figures["known_at_maturity"]
    assert watched.late.oldest > 2 * watched.late.maturity
    alone = monitor(sealed, window.slice(0, 60)).findings[0]
    assert (alone.state, "can't be seen" in alone.sentence) == (State.NOT_APPLICABLE, True)


def test_two_days_have_no_verdict(sealed: Path, window: pa.Table) -> None:
    """Shares are counted, nothing is judged, and the note says why."""
    drift = monitor(sealed, window.slice(0, 60)).drift
    assert drift.limits == {}
    assert {one.found for one in drift.subjects} == {None}
    assert drift.window_records == 60
    assert any("without a verdict" in note for note in drift.notes)
    moved = [abs(one.window - one.reference) for one in drift.subjects]
    assert moved[0] > 0
    assert moved == sorted(moved, reverse=True)  # shown is what moved most


def test_planted_drift_is_named_first(sealed: Path, window: pa.Table, ordered: pa.Table) -> None:
    """A signal that rises in half the rows, and a new category of another: both are named, before all else."""
    rng, history = np.random.default_rng(0), ordered.slice(0, len(ordered) - len(window))
    changed = without_labels(window)
    times = changed.column("signals.formSeconds").to_numpy(zero_copy_only=False)
    more = np.where(rng.random(len(window)) < 0.5, 1.2 * np.nanstd(times), 0.0)
    channels = np.where(rng.random(len(window)) < 0.2, "kiosk", changed.column("signals.channel").to_pylist())
    for name, values in (("signals.formSeconds", times + more), ("signals.channel", channels.tolist())):
        changed = changed.set_column(changed.schema.get_field_index(name), name, pa.array(values))
    drift = monitor(sealed, changed, history=history).drift
    assert set(drift.found[:2]) == {"signal_form_seconds", "signal_channel"}
    subject = next(one for one in drift.subjects if one.name == "signal_form_seconds")
    assert subject.share_of.startswith("above ")
    assert subject.smallest_share is not None
    assert abs(subject.window - subject.reference) > subject.smallest_share
    (change,) = (one for one in drift.categories if one.field == "signals.channel")
    assert (change.value, change.change) == ("kiosk", "new")
    assert change.records == int((channels == "kiosk").sum())


def test_without_labels_nothing_is_matured(sealed: Path, window: pa.Table, ordered: pa.Table) -> None:
    """Old records without any label are not taken for genuine, of the history neither."""
    history = without_labels(ordered.slice(len(ordered) - len(window) - 500, 500))
    found = monitor(sealed, without_labels(window), history=history, by=["documentType"])
    assert found.matured is None
    assert (found.estimates.matured_frauds, found.estimates.history_records) == (0, 0)
    assert all(not period.realised for period in found.estimates.periods)
    assert any("No record of the window has a label" in note for note in found.notes)


def test_a_directory_of_scored_files(
    scorer: Scorer, sealed: Path, window: pa.Table, alone: Monitoring, tmp_path: Path
) -> None:
    """Score and outcomes are those of the records; labels may come later; features are not compared."""
    records = tmp_path / "records.parquet"
    pq.write_table(window, records)
    folder = tmp_path / "scored"
    folder.mkdir()
    score_file(scorer, records, folder / "all.parquet")
    for beside in ("README.txt", "quarantine.csv", "may.quarantine.csv"):
        (folder / beside).write_text("no record")
    found = monitor(sealed, folder)
    assert {one.name for one in found.drift.subjects} == {"score", "outcome"}
    shares = {one.name: (one.reference, one.window) for one in alone.drift.subjects}
    assert shares["outcome"] == next(
        (one.reference, one.window) for one in found.drift.subjects if one.name == "outcome"
    )
    assert (found.drift.contributors, found.matured) == ((), None)
    assert any("no features" in note for note in found.drift.notes)
    labels = window.select([name for name in LABELS if name in window.column_names])
    labelled = monitor(sealed, folder, labels=labels.filter(pc.is_valid(labels.column("label"))))
    assert labelled.matured is not None
    assert alone.matured is not None
    assert {name: one.value for name, one in labelled.matured.figures.items()} == {
        name: one.value for name, one in alone.matured.figures.items()
    }
    with pytest.raises(EvaluationError, match="history"):
        monitor(sealed, folder, history=window)


def test_nothing_to_monitor(sealed: Path, window: pa.Table) -> None:
    """An empty window and a cap that is no share are refused."""
    with pytest.raises(NothingToMonitor, match="no records"):
        monitor(sealed, window.slice(0, 0))
    with pytest.raises(EvaluationError, match="prevalence_cap"):
        monitor(sealed, window, prevalence_cap=1.0)


def test_weekdays_are_those_of_the_time_zone(
    small_table: RecordTable, small: Path, small_use: Configuration, tmp_path: Path
) -> None:
    """A company in Tokyo that is closed on Sundays has none, though its Monday mornings are Sunday in UTC."""
    zone = "Asia/Tokyo"
    use = replace(small_use, features=replace(small_use.features, time_zone=zone))
    weekday = (Offsets.of(zone).local_of(small_table.event_times) // DAY + 3) % 7
    training = run_training(small_table.take(np.flatnonzero(weekday != 6)), use, threads=1)
    training.bundle.save(tmp_path / "bundle")
    records = pq.read_table(small).filter(pa.array(weekday != 6)).sort_by("eventTime").slice(4_000)
    drift = monitor(tmp_path / "bundle", records).drift
    open_days = [one.weekday for one in drift.traffic if one.window and one.reference]
    assert open_days == ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    assert {(one.window, one.reference) for one in drift.traffic[6:]} == {(None, None)}
    assert "event_weekday" in {one.name for one in drift.subjects}
    (note,) = (note for note in drift.notes if "cannot drift" in note)
    assert "local_weekday" in note
    assert "event_weekday" not in note
