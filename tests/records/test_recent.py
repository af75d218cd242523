"""Rows of a history that are too old to be seen are left out only where nothing else depends on them."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scoring_model.records import microseconds
from scoring_model.records.reading import read_records
from scoring_model.records.schema import RecordSchema

SINCE = microseconds("2024-05-02T00:00:00Z")
DAYS = ("2024-05-01", "2024-05-02", "2024-05-03", "2024-05-01")
SCHEMA = RecordSchema(signals={})


def history(**changed: pa.Array) -> pa.Table:
    """Four records, the first and the last of them old."""
    times = pa.array([f"{day}T00:00:00Z" for day in DAYS]).cast(pa.timestamp("ms", "UTC"))
    columns = {"recordId": pa.array(list("abcd")), "eventTime": times, "firstName": pa.array(list("wxyz"))}
    return pa.table({**columns, **changed})


def ids(table: pa.Table, since: int | None = SINCE) -> tuple[str, ...]:
    """Record ids that are read."""
    return read_records(table, SCHEMA, labelled=False, since=since).table.record_ids


def test_old_rows_are_left_out(tmp_path: Path) -> None:
    """Of frames and single files; a row at the instant stays, and without an instant every row."""
    path = tmp_path / "history.parquet"
    pq.write_table(history(), path)
    read = read_records(path, SCHEMA, labelled=False, since=SINCE).table
    whole = read_records(path, SCHEMA, labelled=False).table
    assert ids(history()) == read.record_ids == ("b", "c")
    assert whole.record_ids == tuple("abcd")
    expected = [whole.column("firstName").values[code] for code in whole.column("firstName").codes[1:3]]
    assert [read.column("firstName").values[code] for code in read.column("firstName").codes] == expected
    assert ids(history().drop_columns("recordId")) == ("0", "1")


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.int32()])
def test_old_rows_of_known_ids_stay(kind: pa.DataType) -> None:
    """A record that is scored too is found in a history of any age, by texts and by numbers."""
    table = history(recordId=pa.array(["1", "2", "3", "4"]).cast(kind))
    for known, count in (("4", 4), ("2", 2), ("5", 2)):
        read = read_records(table, SCHEMA, labelled=False, since=SINCE, ids=pa.array([known]))
        assert len(read.table) == count


@pytest.mark.parametrize("repeating", [["a", "a", "c", "d"], [" a", "a", "c", "d"], [1.0, 1.0, 2.0, 3.0]])
def test_a_later_row_with_the_id_of_an_old_one_stays_refused(repeating: list[object]) -> None:
    """Also where the cells differ in blanks."""
    table = history(recordId=pa.array(repeating))
    assert ids(table) == ids(table, None)
    assert len(ids(table)) == 3


@pytest.mark.parametrize(
    "changed",
    [
        {"eventTime": pa.array([f"{day}T00:00:00Z" for day in DAYS])},
        {"dob": pa.array(["31.12.1990", "01.02.1990", "02.01.1990", None])},
    ],
)
def test_texts_of_dates_are_all_read(changed: dict[str, pa.Array]) -> None:
    """The format of some may show only in old rows."""
    assert ids(history(**changed)) == tuple("abcd")


def test_several_files_are_read_whole(tmp_path: Path) -> None:
    """A row of one file may repeat the id of an old row of another."""
    paths = [tmp_path / "1.parquet", tmp_path / "2.parquet"]
    pq.write_table(history(), paths[0])
    pq.write_table(history().slice(1), paths[1])
    assert read_records(paths, SCHEMA, labelled=False, since=SINCE).table.record_ids == tuple("abcd")
