"""A file of records into a file of decisions."""

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq
import pytest

from scoring_model import synthetic
from scoring_model.batch import FORMATS, check_format, export_features, score_file, write_table
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
    instants = [f"{instant:%Y-%m-%dT%H:%M:%S.%f}Z" for instant in table.column("eventTime").to_pylist()]
    assert result.column("eventTime").to_pylist() == instants
    outcomes = expected.column("scoringOutcome").to_pylist()
    assert found.outcomes == {name: outcomes.count(name) for name in ("PASSED", "STEPPED_UP", "FAILED")}
    assert (found.records, found.refused, found.quarantine) == (200, 0, None)


def test_reasons_are_written_when_asked_for(scorer: Scorer, table: pa.Table, tmp_path: Path) -> None:
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
    """A path without a known format is refused before the source is opened."""
    with pytest.raises(ValueError, match=r"out\.txt: must end in"):
        score_file(scorer, tmp_path / "absent.parquet", tmp_path / "out.txt")


def test_a_file_that_is_read_is_never_written(scorer: Scorer, table: pa.Table, tmp_path: Path) -> None:
    """Neither the source nor a history, by whatever name: the records would be lost."""
    source, link = tmp_path / "records.parquet", tmp_path / "link.parquet"
    pq.write_table(table, source)
    link.symlink_to(source)
    with pytest.raises(ValueError, match=r"link\.parquet: its records are read"):
        score_file(scorer, [source], link)
    with pytest.raises(ValueError, match=r"records\.parquet: its records are read"):
        export_features(scorer, tmp_path / "absent.parquet", source, histories=[[link]])
    assert pq.read_table(source).equals(table)


TABLE = pa.table(
    {
        "recordId": ["a", 'b "quoted", line\nbreak', "c"],
        "score": pa.array([0, 1000, 7], pa.int16()),
        "outcome": pa.array(["PASSED", "FAILED", "PASSED"]).dictionary_encode(),
        "margin": [0.1, -1e-300, 2.0**-40],
        "reasonCodes": pa.array([[], ["X", "Y"], []], pa.list_(pa.string())),
    }
)


def test_parquet_reads_back(tmp_path: Path) -> None:
    """Parquet keeps types, lists and every bit."""
    write_table(TABLE, tmp_path / "t.parquet")
    assert pq.read_table(tmp_path / "t.parquet").equals(TABLE)


def test_json_lines_read_back(tmp_path: Path) -> None:
    """JSON Lines keep lists and every bit of a number."""
    write_table(TABLE, tmp_path / "t.jsonl")
    assert pyarrow.json.read_json(tmp_path / "t.jsonl").to_pylist() == TABLE.to_pylist()


def test_csv_reads_back(tmp_path: Path) -> None:
    """CSV keeps quotes, line breaks and every bit of a number; a list is its items between blanks."""
    write_table(TABLE, tmp_path / "t.csv")
    options = pyarrow.csv.ParseOptions(newlines_in_values=True)
    found = pyarrow.csv.read_csv(tmp_path / "t.csv", parse_options=options).to_pylist()
    expected = [{**row, "reasonCodes": " ".join(row["reasonCodes"])} for row in TABLE.to_pylist()]
    assert found == expected


@pytest.mark.parametrize("name", ["t.txt", "t", "t.csv.gz"])
def test_other_endings_are_refused(name: str, tmp_path: Path) -> None:
    """An unknown file ending is refused with a list of the known ones, before anything is written."""
    with pytest.raises(ValueError, match=f"{name}: must end in {', '.join(FORMATS)}"):
        write_table(TABLE, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_named_first(tmp_path: Path) -> None:
    """A folder that does not exist is named before anything is computed for it."""
    with pytest.raises(FileNotFoundError, match=r"nowhere: there is no such folder for t.csv"):
        check_format(tmp_path / "nowhere" / "t.csv")


@pytest.mark.parametrize("ending", FORMATS)
def test_a_writer_that_dies_leaves_what_was_there(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an interruption the old file is unchanged and no temporary file is left."""
    path = tmp_path / f"t{ending}"
    path.write_text("old")

    def half(table: pa.Table, partial: Path) -> None:
        partial.write_text("ha")
        raise KeyboardInterrupt

    monkeypatch.setitem(FORMATS, ending, half)
    with pytest.raises(KeyboardInterrupt):
        write_table(TABLE, path)
    assert [file.read_text() for file in tmp_path.iterdir()] == ["old"]


def test_csv_guards_what_a_spreadsheet_would_run(tmp_path: Path) -> None:
    """Text that begins like a formula gets an apostrophe, unless it is switched off; numbers and Parquet do not."""
    wide = ["＝1+1", "＋1", "－5", "＠x"]
    texts = [*wide, "=1+1", "+1", "-5", "@x", "\tx", "\rx", "'=1", " =1", "a=1", "", None, "\n=1"]
    columns = {
        "text": pa.array(texts),
        "large": pa.array(texts, pa.large_string()),
        "category": pa.array(texts).dictionary_encode(),
        "list": pa.array([[text or ""] for text in texts]),
        "number": pa.array(range(-6, 10)),
        "share": pa.array([-0.5] * len(texts)),
    }
    table = pa.table(columns)
    options = {
        "parse_options": pyarrow.csv.ParseOptions(newlines_in_values=True),
        "convert_options": pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(columns, pa.string()), strings_can_be_null=True, null_values=[]
        ),
    }
    for guarding in (True, False):
        write_table(table, tmp_path / "t.csv", guard_formulas=guarding)
        found = pyarrow.csv.read_csv(tmp_path / "t.csv", **options).to_pydict()
        expected = [f"'{text}" if guarding and place < 10 else text or "" for place, text in enumerate(texts)]
        assert found["list"] == expected
        assert [text or "" for text in found["text"]] == expected
        assert found["large"] == found["category"] == found["text"]
        assert found["number"] == [str(number) for number in range(-6, 10)]
        assert set(found["share"]) == {"-0.5"}
    write_table(table, tmp_path / "t.parquet")
    assert pq.read_table(tmp_path / "t.parquet").column("text").to_pylist() == texts
