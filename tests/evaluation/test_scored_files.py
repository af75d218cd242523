"""Files that were scored earlier, with labels that came later: the same evaluation as of the labelled records."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from scoring_model.batch import score_file
from scoring_model.batch.dataset import score_dataset
from scoring_model.evaluation import Evaluation, EvaluationError, evaluate
from scoring_model.evaluation.holdout import WITHOUT_RINGS
from scoring_model.evaluation.labels import read_labels
from scoring_model.evaluation.stopped import ASSUMED, Stopped
from scoring_model.monitoring import monitor
from scoring_model.monitoring.reading import files_of
from scoring_model.records import NEVER
from scoring_model.records.layout import MissingColumns
from scoring_model.records.observation import STOPPED
from scoring_model.records.schema import OutcomeSchema
from scoring_model.records.sheet import CONTRACT_MARK
from scoring_model.scorer import Scorer
from scoring_model.training.run import Training

LABELS = ("recordId", "label", "labelKnownAt", "labelReportedAt")


@pytest.fixture(scope="module")
def records(frame: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four thousand labelled records."""
    path = tmp_path_factory.mktemp("records") / "records.parquet"
    pq.write_table(frame.slice(0, 4000), path)
    return path


@pytest.fixture(scope="module")
def labels(records: Path) -> pa.Table:
    """The labels of these records that are there."""
    table = pq.read_table(records).select([name for name in LABELS if name in pq.read_schema(records).names])
    return table.filter(table.column("label").is_valid())


@pytest.fixture(scope="module")
def scored(scorer: Scorer, records: Path) -> Path:
    """The same records, scored."""
    score_file(scorer, records, records.with_name("scored.parquet"))
    return records.with_name("scored.parquet")


@pytest.fixture(scope="module")
def expected(scorer: Scorer, records: Path) -> Evaluation:
    """The evaluation of the labelled records."""
    return evaluate(scorer, records, by=["documentType"])


def values(found: Evaluation) -> dict[str, float | None]:
    """The figures without their ends."""
    return {name: one.value for name, one in found.figures.items()}


def changed(path: Path, change: Callable[[pa.Table], pa.Table], out: Path) -> Path:
    """Write a changed copy of a scored file."""
    pq.write_table(change(pq.read_table(path)), out)
    return out


def set_column(table: pa.Table, name: str, values: Any) -> pa.Table:
    """Replace a column."""
    return table.set_column(table.schema.get_field_index(name), name, pa.array(values))


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_a_scored_file_and_labels_are_the_labelled_records(
    scorer: Scorer, records: Path, labels: pa.Table, expected: Evaluation, ending: str, tmp_path: Path
) -> None:
    """Whatever the format, every figure is that of scoring the labelled records; rings are not known without keys."""
    score_file(scorer, records, tmp_path / f"scored{ending}")
    found = evaluate(scorer, tmp_path / f"scored{ending}", labels=labels)
    assert values(found) == values(expected)
    assert found.figures["step_up"].low is not None
    assert found.provenance is not None
    assert WITHOUT_RINGS in found.provenance.notes
    assert found.coverage == expected.coverage
    assert found.provenance is not None
    assert found.provenance.scored_earlier
    assert found.provenance.files == (f"scored{ending}",)


def test_labels_of_their_own_replace_those_of_records(
    scorer: Scorer, records: Path, labels: pa.Table, expected: Evaluation, tmp_path: Path
) -> None:
    """A file of labels, under the short names of its columns, serves records without labels too."""
    renamed = {"labelKnownAt": "knownAt", "labelReportedAt": "reportedAt"}
    short = labels.rename_columns([renamed.get(name, name) for name in labels.column_names])
    pyarrow.csv.write_csv(short, tmp_path / "labels.csv")
    table = pq.read_table(records)
    bare = table.drop_columns([name for name in LABELS[1:] if name in table.column_names])
    found = evaluate(scorer, bare, labels=tmp_path / "labels.csv", by=["documentType"])
    assert found.figures == expected.figures
    assert found.groups == expected.groups


def test_groups_are_of_any_column(
    scorer: Scorer, records: Path, scored: Path, labels: pa.Table, tmp_path: Path
) -> None:
    """Fields, signals by either name, age bands and other columns make groups; a scored file has those it holds."""
    table = pq.read_table(records)
    branches = np.where(np.arange(4000) % 3 == 0, "north", "south")
    with_branch = table.append_column("branch", pa.array(branches))
    found = evaluate(
        scorer, with_branch, by={"branch": "south", "ageBand": None, "vpn": None, "citizenship": None}
    )
    branch, *others = found.groups
    assert (branch.column, branch.reference) == ("branch", "south")
    assert sum(group.records for group in branch.groups) == found.overall.records
    assert [group.value for group in branch.groups] == ["south", "north"]
    assert [group.column for group in others] == ["ageBand", "vpn", "citizenship"]
    assert {"18-24", "25-34"} <= {group.value for group in others[0].groups}
    assert all(group.persons_known for group in found.groups)
    gap = branch.groups[1].rates["step_up"].gap
    frame = found.to_frame().query("part == 'branch' and value == 'north' and figure == 'step_up_gap'")
    assert frame["estimate"].tolist() == [gap.value]
    assert frame["low"].tolist() == [gap.simultaneous_low]
    joined = changed(
        scored, lambda one: one.append_column("branch", pa.array(branches)), tmp_path / "joined.parquet"
    )
    again = evaluate(scorer, joined, labels=labels, by={"branch": "south"}).groups[0]
    assert not again.persons_known
    assert [one.rates["step_up"].estimate.count for one in again.groups] == [
        one.rates["step_up"].estimate.count for one in branch.groups
    ]
    for source, given in ((records, None), (scored, labels)):
        with pytest.raises(EvaluationError, match="column"):
            evaluate(scorer, source, labels=given, by=["absent"])


def test_a_file_without_margins_ranks_by_score(
    scorer: Scorer, scored: Path, labels: pa.Table, expected: Evaluation, tmp_path: Path
) -> None:
    """Outcomes are the same and the ranking nearly, which a note says."""
    bare = changed(scored, lambda table: table.drop_columns(["margin"]), tmp_path / "bare.parquet")
    found = evaluate(scorer, bare, labels=labels)
    assert found.figures["missed_fraud"].value == expected.figures["missed_fraud"].value
    assert found.figures["roc_auc"].value == pytest.approx(expected.figures["roc_auc"].value, abs=0.01)
    assert found.provenance is not None
    assert "rank by their scores" in found.provenance.notes[0]
    assert ". The scored file has no margins: records rank by their scores" in repr(found)


def test_event_times_may_come_with_the_labels(
    scorer: Scorer, records: Path, scored: Path, labels: pa.Table, expected: Evaluation, tmp_path: Path
) -> None:
    """A file that was scored before it held event times takes them from the labels, or is refused."""
    old = changed(scored, lambda table: table.drop_columns(["eventTime"]), tmp_path / "old.parquet")
    with pytest.raises(EvaluationError, match="eventTime: 4,000 rows have none"):
        evaluate(scorer, old, labels=labels)
    everyone = pq.read_table(records).select(["eventTime", *labels.column_names])
    assert values(evaluate(scorer, old, labels=everyone)) == values(expected)


def test_what_does_not_fit_is_refused_by_name(
    scorer: Scorer, scored: Path, labels: pa.Table, tmp_path: Path
) -> None:
    """Another model, changed scores, repeated ids, broken cells and missing columns are errors, all at once."""
    out = tmp_path / "changed.parquet"
    changes: list[tuple[Callable[[pa.Table], pa.Table], str]] = [
        (lambda table: set_column(table, "modelVersion", ["other"] * 4000), "was scored by the model other"),
        (lambda table: set_column(table, "scoringScore", [500] * 4000), "scoringScore: [0-9,]+ rows differ"),
        (
            lambda table: set_column(table, "recordId", ["one"] * 4000),
            "recordId: must be distinct, 3,999 rows",
        ),
        (lambda table: table.drop_columns(["modelVersion"]), "must have the columns modelVersion"),
        (
            lambda table: set_column(
                set_column(table, "margin", ["x"] + [None] * 3999), "eventTime", ["y"] + [None] * 3999
            ),
            "margin: must be a number.*1 rows: 0.*margin: must be there.*3,999 rows.*eventTime: ",
        ),
    ]
    for change, message in changes:
        with pytest.raises(EvaluationError, match=message):
            evaluate(scorer, changed(scored, change, out), labels=labels)
    for table, message in (
        (set_column(labels, "label", ["perhaps"] * len(labels)), "label: must be one of fraud, genuine"),
        (labels.drop_columns(["label"]), "must have the columns label"),
        (pa.concat_tables([labels, labels]), "recordId: must be distinct"),
        (labels.drop_columns(["labelKnownAt"]), "labelKnownAt: must be there for a label"),
    ):
        with pytest.raises(EvaluationError, match=message):
            evaluate(scorer, scored, labels=table)


def test_another_policy_is_said(scorer: Scorer, scored: Path, labels: pa.Table, tmp_path: Path) -> None:
    """A file that was scored under another policy of the model is decided by the bundle's, which a note says."""
    other = changed(
        scored, lambda table: set_column(table, "policyVersion", ["older"] * 4000), tmp_path / "other.parquet"
    )
    found = evaluate(scorer, other, labels=labels)
    assert found.provenance is not None
    assert found.provenance.notes[0].startswith("the file was scored under the policy older")


def test_labels_of_other_records_are_counted(
    scorer: Scorer, scored: Path, labels: pa.Table, tmp_path: Path
) -> None:
    """Labels without a record change nothing but a note; a scored file takes no history."""
    half = changed(scored, lambda table: table.slice(0, 2000), tmp_path / "half.parquet")
    found = evaluate(scorer, half, labels=labels)
    assert found.provenance is not None
    ids = set(pq.read_table(half).column("recordId").to_pylist())
    unknown = sum(1 for record_id in labels.column("recordId").to_pylist() if record_id not in ids)
    notes = found.provenance.notes
    strange = f"{unknown:,} labels are of records that the scored file does not hold"
    assert notes == (strange, WITHOUT_RINGS, ASSUMED)
    with pytest.raises(EvaluationError, match="history"):
        evaluate(scorer, half, labels=labels, history=half)


def _ranges(stopped: Stopped) -> dict[str, tuple[float, float]]:
    return {key: (one.lowest, one.highest) for key, one in stopped.possible.items()}


def test_labels_may_say_who_was_stopped(scorer: Scorer, records: Path, scored: Path) -> None:
    """An export as file of labels: stopped applicants are not evaluated, scored now or earlier."""
    table = pq.read_table(records)
    outcomes = np.where(np.arange(len(table)) % 10 == 0, "FAILED", "PASSED")
    marked = table.append_column("scoringOutcome", pa.array(outcomes)).replace_schema_metadata(CONTRACT_MARK)
    found = [evaluate(scorer, file, labels=marked) for file in (scored, records)]
    expected = evaluate(scorer, marked)
    assert expected.stopped is not None
    assert expected.stopped.records > 100
    for one in found:
        assert one.stopped is not None
        assert replace(one.stopped, possible={}) == replace(expected.stopped, possible={})
        # Sampling error apart: a file that was scored earlier has no link keys to draw rings by.
        assert _ranges(one.stopped) == _ranges(expected.stopped)
        assert values(one) == values(expected)
        assert one.coverage == expected.coverage
        assert one.provenance is not None
        assert not any(note == ASSUMED for note in one.provenance.notes)


@pytest.mark.parametrize("mark", [CONTRACT_MARK, None])
def test_an_export_is_a_scored_file_that_says_what_was_decided(
    scorer: Scorer,
    sealed: Path,
    records: Path,
    scored: Path,
    labels: pa.Table,
    mark: Mapping[bytes, bytes] | None,
) -> None:
    """Its own labels and decisions count where its scores do; who was stopped stays so beside later labels."""
    table, decisions = pq.read_table(records), pq.read_table(scored)
    row = np.arange(len(table))
    final = np.where(row % 10 == 0, "FAILED", np.where(row % 10 == 5, "STEPPED_UP", "PASSED"))
    reviewed = row % 10 == 5
    cells = {
        "scoringOutcome": pa.array(final),
        "decidedBy": pa.array(np.where(row % 20 == 0, "list", "score")),
        "resolution": pa.array(np.full(len(row), "APPROVED"), mask=~reviewed),
        "resolutionMethod": pa.array(np.full(len(row), "documentCheck"), mask=~reviewed),
        "label": table.column("label"),
        "labelKnownAt": table.column("labelKnownAt"),
    }
    export = decisions.drop_columns("scoringOutcome")
    for name, column in cells.items():
        export = export.append_column(name, column)
    records_of = table.append_column("scoringOutcome", cells["scoringOutcome"])
    records_of = records_of.append_column("resolution", cells["resolution"])
    export = export.replace_schema_metadata(mark)
    later = evaluate(scorer, export, labels=labels)
    assert later.stopped is not None
    assert later.coverage == evaluate(scorer, records_of.replace_schema_metadata(CONTRACT_MARK)).coverage
    assert later.provenance is not None
    stopped, step_ups = (
        note for note in later.provenance.notes if note.startswith(("Applicants", "Step-ups"))
    )
    assert stopped == "Applicants stopped by lists: 200, by rules: 0; nobody stands for them"
    assert step_ups.startswith("Step-ups: 400, of them 400 approved (documentCheck 400), 0 declined")
    anew = records_of.append_column("decidedBy", cells["decidedBy"]).replace_schema_metadata(mark)
    assert evaluate(scorer, anew).coverage == later.coverage
    watched = monitor(sealed, export)
    assert "400 of 4,000 applicants were stopped" in watched.population
    assert watched.maturity.matured > 0
    assert {stopped, step_ups} <= {*watched.notes}


@pytest.fixture(scope="module")
def german(training: Training, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same bundle, of a configuration that names columns of what was decided."""
    words = {"passed": ("ja",), "failed": ("nein",), "approved": ("gut",), "declined": ("schlecht",)}
    names = {
        "outcome": "Entscheidung",
        "resolution": "Prüfung",
        "closedAt": "Ende",
        "propensity": "Ziehung",
    }
    schema = replace(training.bundle.contents.schema, columns=names, outcomes=OutcomeSchema(**words))
    path = tmp_path_factory.mktemp("german") / "bundle"
    replace(training.bundle, contents=replace(training.bundle.contents, schema=schema)).save(path)
    return path


@pytest.fixture(scope="module")
def decided(records: Path) -> pa.Table:
    """The records with what was decided: a tenth was refused, and of another tenth the accounts were closed."""
    table = pq.read_table(records)
    row = np.arange(len(table))
    ends = [f"{day}T23:59:00Z" if place % 10 == 5 else None for place, day in enumerate(_days(table))]
    for name, cells in (("Entscheidung", np.where(row % 10 == 0, "nein", "ja")), ("Ende", ends)):
        table = table.append_column(name, pa.array(cells))
    return table


def _days(table: pa.Table) -> list[str]:
    return [str(time)[:10] for time in table.column("eventTime").to_pylist()]


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_a_scored_file_keeps_who_was_stopped(
    german: Path, decided: pa.Table, labels: pa.Table, ending: str, tmp_path: Path
) -> None:
    """What the records say of decisions is in the scored file, so that later labels alone make the same figures."""
    pq.write_table(decided, tmp_path / "records.parquet")
    expected = evaluate(german, decided, labels=labels)
    assert expected.stopped is not None
    assert expected.stopped.records > 500
    score_file(Scorer.load(german), tmp_path / "records.parquet", tmp_path / f"scored{ending}")
    found = evaluate(german, tmp_path / f"scored{ending}", labels=labels)
    assert values(found) == values(expected)
    assert found.coverage == expected.coverage
    watched = monitor(german, tmp_path / f"scored{ending}", labels=labels)
    assert watched.population == monitor(german, decided, labels=labels).population
    assert "applicants were stopped" in watched.population


@pytest.mark.parametrize("out", ["scored.csv", "scored.parquet", "scored"])
def test_a_scored_file_keeps_the_control_group(
    german: Path, decided: pa.Table, labels: pa.Table, out: str, tmp_path: Path
) -> None:
    """Of those who would be refused every fourth passed: later labels weigh them as those of the records do."""
    row = np.arange(len(decided))
    passes = set_column(decided, "Entscheidung", np.where((row % 10 == 0) & (row % 40 != 0), "nein", "ja"))
    drawn = np.where(row % 40 == 0, 0.25, np.where(row % 10 == 0, np.nan, 1.0))
    sampled = passes.append_column("Ziehung", pa.array(drawn, mask=np.isnan(drawn)))
    for number, part in enumerate(
        (sampled.slice(0, 1), sampled.slice(1))
    ):  # nobody was drawn in one of the files
        pq.write_table(part, tmp_path / f"records-{number}.parquet")
    files = sorted(tmp_path.glob("records-*.parquet"))
    if out == "scored":
        score_dataset(german, list(map(str, files)), str(tmp_path / out), processes=1)
    else:
        score_file(Scorer.load(german), files, tmp_path / out)
    expected = evaluate(german, sampled, labels=labels)
    assert expected.records.weights is not None
    found = evaluate(german, files_of(tmp_path / out), labels=labels)
    assert values(found) == values(expected)
    assert values(found) != values(evaluate(german, decided, labels=labels))
    assert found.coverage == expected.coverage
    by_labels = sampled.select(["recordId", "label", "labelKnownAt", "Entscheidung", "Ende", "Ziehung"])
    bare = sampled.drop_columns(["Entscheidung", "Ende", "Ziehung"])
    assert values(evaluate(german, bare, labels=by_labels)) == values(expected)  # decided after the scoring
    assert values(evaluate(german, files_of(tmp_path / out), labels=by_labels)) == values(expected)
    watched = monitor(german, tmp_path / out, labels=labels)
    assert watched.population == monitor(german, sampled, labels=labels).population
    assert "1 / propensity" in watched.population


def test_files_of_which_some_say_what_was_decided_are_refused(
    german: Path, decided: pa.Table, labels: pa.Table, tmp_path: Path
) -> None:
    """Whoever was stopped in the others would count as genuine, unless the labels say what was decided."""
    scorer, folder = Scorer.load(german), tmp_path / "scored"
    folder.mkdir()
    bare = decided.drop_columns(["Entscheidung", "Ende"])
    for number, part in enumerate((bare.slice(0, 1000), decided.slice(1000))):
        pq.write_table(part, tmp_path / f"records-{number}.parquet")
        score_file(scorer, tmp_path / f"records-{number}.parquet", folder / f"scored-{number}.parquet")
    files, scored = sorted(tmp_path.glob("*.parquet")), sorted(folder.glob("*.parquet"))
    for source, message in (
        (files, "the column 'Entscheidung' is not in 'records-0.parquet'.*; the column 'Ende' is not in"),
        (
            scored,
            "the column 'observedUntil' is not in 'scored-0.parquet', but in .* add the column, empty for",
        ),
    ):
        for use in (evaluate, monitor):
            with pytest.raises(ValueError, match=message):
                use(german, source, labels=labels)
    with pytest.raises(MissingColumns, match="the column 'Entscheidung' is not in"):
        score_file(scorer, files, tmp_path / "all.csv")
    outcomes = np.where(np.arange(3000) % 10 == 0, "FAILED", "PASSED")
    export = decided.slice(1000).append_column("scoringOutcome", pa.array(outcomes))
    pq.write_table(export.replace_schema_metadata(CONTRACT_MARK), tmp_path / "records-2.parquet")
    beside = evaluate(german, [tmp_path / "records-0.parquet", tmp_path / "records-2.parquet"], labels=labels)
    assert beside.stopped is not None  # a history before the service has no decisions
    by_labels = decided.select(["recordId", "label", "labelKnownAt", "Entscheidung", "Ende"])
    expected = evaluate(german, decided, labels=by_labels)
    assert expected.stopped is not None
    assert expected.stopped.records > 100
    for source in (files, scored):
        assert evaluate(german, source, labels=by_labels).coverage == expected.coverage


def test_labels_change_what_was_decided_where_they_say_so(
    german: Path, decided: pa.Table, labels: pa.Table, tmp_path: Path
) -> None:
    """A review that ended later counts; labels of others, or of closed accounts alone, release nobody."""
    pq.write_table(decided, tmp_path / "records.parquet")
    score_file(Scorer.load(german), tmp_path / "records.parquet", tmp_path / "scored.parquet")
    reviewed = pa.table(
        {
            "recordId": decided.column("recordId"),
            "label": pa.nulls(len(decided), pa.string()),
            "labelKnownAt": decided.column("eventTime"),
            "Prüfung": pa.array(["gut" if place % 20 == 0 else None for place in range(len(decided))]),
        }
    )
    unread, empty, part = reviewed.drop_columns("Prüfung"), reviewed.slice(0, 0), reviewed.slice(0, 2000)
    counts = []
    for file in (tmp_path / "scored.parquet", decided):
        for own in (empty, unread, reviewed, part):
            found = monitor(german, file, labels=own)
            counts.append(int(found.population.split(" of ")[0].replace(",", "")))
            notes = " ".join(found.provenance.notes)
            assert ("have no row in the labels" in notes) == (own is part)
            assert ("the labels have no outcome and no resolution" in notes) == (own is empty)
    assert counts[:4] == counts[4:]
    assert counts[:2] == [800, 800]
    assert counts[2:4] == [600, 700]


def test_an_outcome_in_the_labels_opens_no_account_again(german: Path) -> None:
    """It releases whom the records call stopped; an account that they call closed stays closed."""
    given = pa.table(
        {"recordId": ["a", "b"], "label": pa.nulls(2, pa.string()), "Entscheidung": ["ja", "ja"]}
    )
    found = read_labels(given, Scorer.load(german).contents.schema)
    until = found.observed(found.rows_of(("a", "b")), np.array([5, STOPPED]))
    assert until is not None
    assert until.tolist() == [5, NEVER]


def test_decisions_that_are_nowhere_are_asked_for(
    german: Path, records: Path, labels: pa.Table, tmp_path: Path
) -> None:
    """Where a configuration names columns of decisions and no file has them, the first line says how to mend it."""
    score_file(Scorer.load(german), records, tmp_path / "scored.parquet")
    for found in (
        evaluate(german, tmp_path / "scored.parquet", labels=labels),
        evaluate(german, records, labels=labels),
    ):
        assert found.provenance is not None
        (note,) = [note for note in found.provenance.notes if note.startswith(ASSUMED)]
        assert "names Entscheidung, Prüfung, Ende for what was decided" in note
    watched = monitor(german, tmp_path / "scored.parquet", labels=labels)
    assert "Entscheidung, Prüfung, Ende" in watched.population
