"""Keyed digests find the records of a training in other files, and say nothing without their key."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from scoring_model.evaluation import Evaluation, compare, evaluate
from scoring_model.evaluation.training_digests import DIGESTS_FILE, KEY_FILE, DigestsUnusable, TrainingDigests
from scoring_model.findings import Finding, State
from scoring_model.records import Column, RecordTable
from scoring_model.scorer import Scorer
from scoring_model.training.run import Training

FIELDS = ("firstName", "lastName", "signals.x")


def table(ids: list[str], times: list[int], names: list[str | None], last: list[str | None]) -> RecordTable:
    """Records with two names each."""

    def column(values: list[str | None]) -> Column:
        distinct = tuple(dict.fromkeys(value for value in values if value is not None))
        codes = [-1 if value is None else distinct.index(value) for value in values]
        return Column(distinct, np.array(codes, dtype=np.int32))

    return RecordTable(
        record_ids=tuple(ids),
        event_times=np.array(times),
        columns={"firstName": column(names), "lastName": column(last)},
        labels=np.zeros(len(ids), dtype=np.int8),
        label_times=np.array(times),
        source_rows=np.arange(len(ids)),
    )


TRAINED = table(["a", "b", "2"], [10, 20, 30], ["Ann", "Bo", None], ["Lee", None, "Fox"])


def digests() -> TrainingDigests:
    """Digests of three records, of which the third has no id of its own."""
    return TrainingDigests.of(TRAINED, FIELDS, model_version="use-1")


def test_a_record_is_found_by_its_id_or_by_its_values() -> None:
    """Corrected values leave the id, another export leaves the values; a number of a row is no id."""
    other = table(["a", "x", "2"], [10, 20, 99], ["Anna", "Bo", "Cy"], ["Lee", None, "Fox"])
    found = digests().among(other, FIELDS)
    assert (found.records, found.by_id, found.by_content) == (2, 1, 1)
    alone = digests().among(other, None)
    assert (alone.records, alone.compared) == (1, 2)
    unnamed = TrainingDigests.of(TRAINED.take(np.array([2])), FIELDS, model_version="use-1")
    assert unnamed.among(other, None).compared == 0
    same = digests().among(TRAINED, FIELDS)
    assert (same.records, same.by_id, same.by_content) == (3, 2, 3)


@pytest.mark.parametrize(
    ("time", "first", "last"),
    [(10, "Ann", None), (10, None, "Ann"), (11, "Ann", "Lee"), (10, "AnnLee", None), (10, "Lee", "Ann")],
)
def test_other_values_are_other_records(time: int, first: str | None, last: str | None) -> None:
    """No other time, order or division of the values gives the digest of a record."""
    other = table(["z"], [time], [first], [last])
    assert digests().among(other, FIELDS).records == 0


def test_two_trainings_have_nothing_in_common() -> None:
    """The key is new each time, so that the same records have other digests."""
    one, other = digests(), digests()
    assert one.key != other.key
    assert not {*one.contents, *one.ids} & {*other.contents, *other.ids}


def test_files_are_for_their_owner_and_need_their_key(tmp_path: Path) -> None:
    """Both files have mode 600; a lost, foreign or damaged key is an error that says so."""
    digests().save(tmp_path)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    assert TrainingDigests.find([tmp_path / "absent", tmp_path], "use-1").among(TRAINED, FIELDS).records == 3
    with pytest.raises(DigestsUnusable, match=r"no digests of the training of use-2 .*; .* is of use-1"):
        TrainingDigests.find([tmp_path], "use-2")
    (tmp_path / KEY_FILE).write_text("ab" * 32)
    with pytest.raises(
        DigestsUnusable, match=r"training_records\.key is not the key of training_records\.npz"
    ):
        TrainingDigests.find([tmp_path], "use-1")
    (tmp_path / KEY_FILE).unlink()
    with pytest.raises(DigestsUnusable, match="can't be read"):
        TrainingDigests.find([tmp_path], "use-1")
    (tmp_path / DIGESTS_FILE).write_bytes(b"PK")
    with pytest.raises(DigestsUnusable, match="can't be read"):
        TrainingDigests.find([tmp_path], "use-1")


def overlap(found: Evaluation) -> Finding:
    """The finding about records that the model was trained on."""
    (finding,) = (one for one in found.findings if one.code == "SM008")
    return finding


def test_evaluated_records_of_a_training_are_counted(
    training: Training, sealed: Path, frame: pa.Table, tmp_path: Path
) -> None:
    """The count is that of the training rows in the file, whatever their ids; without digests nothing is claimed."""
    rows = np.concatenate([training.split.train, training.split.validation])
    bundle = tmp_path / "bundle"
    shutil.copytree(sealed, bundle)
    records = frame.slice(12_000, 1_500)
    without = overlap(evaluate(bundle, records))
    assert (without.state, "--training" in without.sentence) == (State.NOT_APPLICABLE, True)
    folder = tmp_path / "bundle.training"
    folder.mkdir()
    fields = training.bundle.contents.schema.fields
    TrainingDigests.of(training.table.take(rows), fields, model_version=training.bundle.model_version).save(
        folder
    )
    ids = {training.table.record_ids[row] for row in rows.tolist()}
    done = evaluate(bundle, records)
    expected = len(ids & set(done.records.record_ids))
    found = overlap(done)
    assert (found.state, found.count, found.records) == (State.FOUND, expected, len(done.records))
    assert found.figures == {"by_id": expected, "by_content": expected}
    place = records.column_names.index("recordId")
    renamed = records.set_column(place, "recordId", pa.array([f"n{i}" for i in range(len(records))]))
    other = overlap(evaluate(Scorer.load(bundle), renamed, training=[folder]))
    assert other.figures == {"by_id": 0, "by_content": expected}
    pair = compare(sealed, bundle, records)
    assert [one.count for one in pair.findings if one.code == "SM008"] == [expected] * 2


def test_a_training_leaves_its_findings_to_evaluations(
    training: Training, scorer: Scorer, frame: pa.Table, tmp_path: Path
) -> None:
    """An evaluation repeats what the training found, and says of an older bundle that it does not know."""
    records = frame.slice(20_000, 500)
    of_training = [one for one in training.evaluation.findings if one.check.of_training]
    assert [one for one in evaluate(scorer, records).findings if one.check.of_training] == of_training
    older = {**training.bundle.described, "evaluation.json": b"{}"}
    replace(training.bundle, described=older).save(tmp_path / "older")
    found = [one for one in evaluate(tmp_path / "older", records).findings if one.check.of_training]
    assert {one.state for one in found} == {State.NOT_APPLICABLE}
    assert len(found) == len(of_training)
