"""A file of records into a file of decisions."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scoring_model import synthetic
from scoring_model.batch import score_file
from scoring_model.records.quarantine import TooManyBadRows
from scoring_model.scorer import Scorer


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Two hundred records of one month."""
    return pa.Table.from_batches(synthetic.generate(records=200, seed=3, months=1))


def written(table: pa.Table, path: Path, *, bad: int = 0) -> Path:
    """Write the table, the birthdays of its first rows spoiled."""
    births = pa.array(["canary"] * bad + table.column("dob").to_pylist()[bad:], pa.string())
    pq.write_table(table.set_column(table.schema.get_field_index("dob"), "dob", births), path)
    return path


def test_a_scored_file_is_the_scored_frame(scorer: Scorer, table: pa.Table, tmp_path: Path) -> None:
    """The file has the decisions of the frame, in the order of the source, with the versions that decided."""
    found = score_file(
        scorer, written(table, tmp_path / "in.parquet"), tmp_path / "out.parquet", reasons=True
    )
    result = pq.read_table(tmp_path / "out.parquet")
    expected = scorer.score(table)
    for name in expected.column_names[:-1]:
        assert result.column(name).to_pylist() == expected.column(name).to_pylist(), name
    assert set(result.column("modelVersion").to_pylist()) == {scorer.manifest.model_version}
    assert set(result.column("policyVersion").to_pylist()) == {scorer.manifest.policy_version}
    outcomes = expected.column("scoringOutcome").to_pylist()
    assert found.outcomes == {name: outcomes.count(name) for name in ("PASSED", "STEPPED_UP", "FAILED")}
    assert (found.records, found.refused, found.quarantine) == (200, 0, None)


def test_reasons_are_told_when_asked_for(scorer: Scorer, table: pa.Table, tmp_path: Path) -> None:
    """Without `reasons` the column is there and empty."""
    score_file(scorer, written(table, tmp_path / "in.parquet"), tmp_path / "out.parquet")
    assert set(map(tuple, pq.read_table(tmp_path / "out.parquet").column("reasonCodes").to_pylist())) == {()}


def test_few_bad_rows_are_put_aside(scorer: Scorer, table: pa.Table, tmp_path: Path) -> None:
    """Two of 200 may be bad: they are in the quarantine, without their values, and the others are scored."""
    found = score_file(scorer, written(table, tmp_path / "in.parquet", bad=2), tmp_path / "out.csv")
    assert (found.records, found.refused) == (198, 2)
    assert found.quarantine == tmp_path / "out.quarantine.csv"
    lines = found.quarantine.read_text().splitlines()
    assert [line.split(",")[:3] for line in lines[1:]] == [
        ["0", "dob", "not_a_date"],
        ["1", "dob", "not_a_date"],
    ]
    assert "canary" not in "".join(lines)


def test_many_bad_rows_stop_the_job(scorer: Scorer, table: pa.Table, tmp_path: Path) -> None:
    """Three of 200 are too many: the quarantine lists them, and there is no output unless more are accepted."""
    source, out = written(table, tmp_path / "in.parquet", bad=3), tmp_path / "out.parquet"
    with pytest.raises(TooManyBadRows, match=r"1\.50% of the rows"):
        score_file(scorer, source, out)
    assert not out.exists()
    assert len((tmp_path / "out.quarantine.csv").read_text().splitlines()) == 4
    assert score_file(scorer, source, out, max_bad_share=0.015).records == 197


def test_an_old_quarantine_does_not_stay(scorer: Scorer, table: pa.Table, tmp_path: Path) -> None:
    """Scored again without bad rows, the file of the last time is gone."""
    out = tmp_path / "out.parquet"
    score_file(scorer, written(table, tmp_path / "in.parquet", bad=1), out)
    assert (tmp_path / "out.quarantine.csv").exists()
    score_file(scorer, written(table, tmp_path / "in.parquet"), out)
    assert not (tmp_path / "out.quarantine.csv").exists()


def test_an_empty_file_is_scored_to_an_empty_one(scorer: Scorer, table: pa.Table, tmp_path: Path) -> None:
    """No records in, no records out, with all columns."""
    found = score_file(scorer, written(table.slice(0, 0), tmp_path / "in.parquet"), tmp_path / "out.parquet")
    assert found.records == 0
    assert "modelVersion" in pq.read_table(tmp_path / "out.parquet").column_names


def test_an_ending_is_refused_before_reading(scorer: Scorer, tmp_path: Path) -> None:
    """A path that names no format is refused though the source is not even there."""
    with pytest.raises(ValueError, match=r"out\.txt: must end in"):
        score_file(scorer, tmp_path / "absent.parquet", tmp_path / "out.txt")
