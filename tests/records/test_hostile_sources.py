"""Sources made to cost much, or that are none: each is an error of one line, after little work."""

import json
import os
from collections.abc import Callable, Iterable
from io import BytesIO
from pathlib import Path
from random import Random

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from program import Captured, run
from scoring_model.batch.scan import scan_file
from scoring_model.configuration.headers import words_of
from scoring_model.records.reading import read_records
from scoring_model.records.schema import RecordSchema
from scoring_model.records.sheet import COLUMNS, NAME, ROW, UnreadableSource
from scoring_model.records.stored import StoredFile
from scoring_model.records.text_files import json_part

SCHEMA = RecordSchema()
MARKS = "a" + "\u0301\u0316" * 20_000
MANY = [f"c{number}" for number in range(100_000)]
SOURCES: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "marks in CSV": ("a.csv", lambda: f"eventTime,{MARKS}\n1,2\n".encode(), f"at most {NAME:,} characters"),
    "many columns of CSV": ("a.csv", lambda: f"{','.join(MANY)}\n".encode(), f"at most {COLUMNS:,} columns"),
    "many keys": ("a.jsonl", lambda: json.dumps(dict.fromkeys(MANY[:20_000], 1)).encode(), f"at most {COLUMNS:,}"),
    "a long key": ("a.jsonl", lambda: json.dumps({MARKS: 1}).encode(), f"at most {NAME:,} characters"),
    "keys of many lines": (
        "a.jsonl",
        lambda: b"".join(b'{"k%d": 1}\n' % number for number in range(12_000)),
        f"at most {COLUMNS:,} columns",
    ),
    "a header without end": ("a.csv", lambda: b"a" * 100_000 + b",b" * ROW, "must end within|field larger"),
    "a line without end": ("a.jsonl", lambda: b"[" + b" " * (ROW + 1), f"{ROW:,} bytes or more"),
}  # fmt: skip


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_a_header_is_bounded(tmp_path: Path, source: tuple[str, Callable[[], bytes], str]) -> None:
    """Names, columns and lines have a largest size, as files, in parts, and compressed; the error is one short line."""
    name, content, detail = source
    path = tmp_path / name
    path.write_bytes(content())
    for read in (
        lambda: read_records(path, SCHEMA, labelled=False),
        lambda: scan_file(StoredFile(str(path)), SCHEMA, part_rows=1_000),
    ):
        with pytest.raises(UnreadableSource, match=f"{detail}|not a readable .csv file: Error") as caught:
            read()
        assert len(str(caught.value)) < 200
        assert "\n" not in str(caught.value)


def test_frames_and_parquet_have_the_same_bounds(tmp_path: Path) -> None:
    """Tables of too many columns or too long names are refused before a cell is read."""
    table = pa.table({name: pa.array([1]) for name in MANY[: COLUMNS + 1]})
    pq.write_table(table, tmp_path / "a.parquet")
    for source in (table, pd.DataFrame([[1]] * 1, columns=[MARKS]), tmp_path / "a.parquet"):
        with pytest.raises(UnreadableSource, match=r"at most"):
            read_records(source, SCHEMA, labelled=False)


def test_lines_are_read_one_by_one() -> None:
    """Reading stops at the line that brings one column too many."""

    def lines() -> Iterable[bytes]:
        for number in range(COLUMNS + 2):
            yield b'{"k%d": 1}' % number
        pytest.fail("read on")

    with pytest.raises(UnreadableSource, match="columns"):
        json_part(lines())
    assert json_part(BytesIO(b'{"a": 1}\n' * 3)).rows == 3


def test_only_the_beginning_of_a_name_is_normalised() -> None:
    """What comes after 200 characters, such as marks without end, changes no words."""
    assert words_of("Konto Nr" + "\u0301" * 900) == words_of("Konto Nr" + "\u0301" * 192)


def test_a_pipe_is_no_file(tmp_path: Path, capsys: Captured) -> None:
    """A FIFO, which would wait for a writer for ever, is refused by name."""
    pipe = tmp_path / "a.csv"
    os.mkfifo(pipe)
    with pytest.raises(UnreadableSource, match=r"a\.csv: must be a regular file"):
        read_records(pipe, SCHEMA, labelled=False)
    code, _, error = run(capsys, "init", pipe, "--out", tmp_path / "use.yaml")
    assert (code, error.strip().count("\n")) == (1, 0)


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".csv.gz", ".csv.zip", ".jsonl", ".jsonl.zst"])
def test_random_bytes_are_one_line(tmp_path: Path, capsys: Captured, ending: str) -> None:
    """Noise under any name ends `init` with one line; as lines of JSON, each row is a violation."""
    path = tmp_path / f"noise{ending}"
    path.write_bytes(Random(3).randbytes(200_000))
    code, _, error = run(capsys, "init", path, "--out", tmp_path / "use.yaml")
    assert (code, error.strip().count("\n"), len(error) < 300) == (1, 0, True), error
