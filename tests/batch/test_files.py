"""Tables out: what is written reads back, and a file is there whole or not at all."""

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq
import pytest

from scoring_model.batch import FORMATS, check_format, write_table

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
    """An ending that names no format is refused with those that do, before anything is written."""
    with pytest.raises(ValueError, match=f"{name}: must end in {', '.join(FORMATS)}"):
        write_table(TABLE, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_told_first(tmp_path: Path) -> None:
    """A folder that does not exist is named before anything is computed for it."""
    with pytest.raises(FileNotFoundError, match=r"nowhere: there is no such folder for t.csv"):
        check_format(tmp_path / "nowhere" / "t.csv")


@pytest.mark.parametrize("ending", FORMATS)
def test_a_writer_that_dies_leaves_what_was_there(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted half way, the old file stands as it was and nothing lies beside it."""
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
    texts = ["=1+1", "+1", "-5", "@x", "\tx", "\rx", "'=1", " =1", "a=1", "", None, "\n=1"]
    columns = {
        "text": pa.array(texts),
        "large": pa.array(texts, pa.large_string()),
        "category": pa.array(texts).dictionary_encode(),
        "list": pa.array([[text or ""] for text in texts]),
        "number": pa.array(range(-6, 6)),
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
        expected = [f"'{text}" if guarding and place < 6 else text or "" for place, text in enumerate(texts)]
        assert found["list"] == expected
        assert [text or "" for text in found["text"]] == expected
        assert found["large"] == found["category"] == found["text"]
        assert found["number"] == [str(number) for number in range(-6, 6)]
        assert set(found["share"]) == {"-0.5"}
    write_table(table, tmp_path / "t.parquet")
    assert pq.read_table(tmp_path / "t.parquet").column("text").to_pylist() == texts
