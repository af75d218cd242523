import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from scoring_model.records import RecordSchema, SignalType
from scoring_model.records.reading import read_records
from scoring_model.synthetic import NOTICE, schema, write

ENDINGS = ("parquet", "csv", "jsonl")


@pytest.mark.parametrize("ending", ENDINGS)
def test_same_seed_same_bytes(tmp_path: Path, ending: str) -> None:
    """The same arguments give the same bytes; another seed gives others."""
    files = [tmp_path / f"{name}.{ending}" for name in "abc"]
    for path, seed in zip(files, (1, 1, 2), strict=True):
        write(path, records=2000, seed=seed)
    first, second, third = (path.read_bytes() for path in files)
    assert first == second != third


def test_formats_agree(tmp_path: Path) -> None:
    """Parquet, CSV and JSON Lines read back as the same records, labels and times."""
    options = RecordSchema(signals={"vpn": SignalType.BOOLEAN, "formSeconds": SignalType.NUMBER})
    tables = []
    for ending in ENDINGS:
        write(tmp_path / f"h.{ending}", records=3000, seed=8)
        reading = read_records(tmp_path / f"h.{ending}", options, labelled=True)
        assert reading.violations == ()
        tables.append(reading.table)
    first, *others = tables
    for other in others:
        assert (other.event_times == first.event_times).all()
        assert (other.labels == first.labels).all()
        assert (other.label_times == first.label_times).all()
        for field in first.columns:
            assert other.column(field).values == first.column(field).values
            assert (other.column(field).codes == first.column(field).codes).all()


def test_json_lines_are_bodies(tmp_path: Path) -> None:
    """A line nests address and signals, and omits missing values."""
    write(tmp_path / "h.ndjson", records=50, seed=8, truth=True)
    rows = [json.loads(line) for line in (tmp_path / "h.ndjson").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 50
    assert all(set(row) >= {"recordId", "eventTime", "signals", "truth"} for row in rows)
    assert any("country" in row.get("address", {}) for row in rows)
    assert not any(value is None or "." in name for row in rows for name, value in row.items())


def test_parquet_has_the_notice(tmp_path: Path) -> None:
    """The file's metadata has the notice, and an empty history has all columns."""
    write(tmp_path / "h.parquet", records=0, seed=1)
    table = pq.read_table(tmp_path / "h.parquet")
    assert table.schema.metadata[b"scoring_model.synthetic"].decode() == NOTICE
    assert table.num_rows == 0
    assert table.schema.names == schema(truth=False).names


def test_progress_is_reported(tmp_path: Path) -> None:
    """The reported progress grows up to the number of records."""
    reported: list[int] = []
    write(tmp_path / "h.parquet", records=70_000, seed=1, progress=reported.append)
    assert reported == [65_536, 70_000]


def test_an_interrupted_write_leaves_no_file(tmp_path: Path) -> None:
    """If writing stops half-way, the folder is unchanged."""

    def stop(count: int) -> None:
        raise KeyboardInterrupt

    (tmp_path / "h.csv").write_text("before")
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "h.csv", records=100, seed=1, progress=stop)
    assert [path.name for path in tmp_path.iterdir()] == ["h.csv"]
    assert (tmp_path / "h.csv").read_text() == "before"


def test_an_unknown_ending_is_refused(tmp_path: Path) -> None:
    """An unknown extension is an error that lists the known ones, before any record is generated."""
    with pytest.raises(ValueError, match=r"\.parquet, \.csv, \.jsonl"):
        write(tmp_path / "h.xlsx", records=1, seed=1)
    assert list(tmp_path.iterdir()) == []
