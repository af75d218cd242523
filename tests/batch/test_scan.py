"""Files that are read in parts against the same files read at once."""

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from scoring_model.batch.scan import read_sheets, scan_file
from scoring_model.batch.sources import list_files
from scoring_model.contract.rules import SignalType
from scoring_model.records import FileFormat, RecordSchema
from scoring_model.records.layout import MissingColumns
from scoring_model.records.reading import read_part, read_records
from scoring_model.records.sheet import UnreadableSource
from scoring_model.records.stored import StoredFile

SCHEMA = RecordSchema(signals={"paid": SignalType.NUMBER})
HEADER = ["recordId", "eventTime", "firstName", "lastName", "dob", "signals.paid", "Notiz"]


def rows() -> list[list[str]]:
    """Rows whose order of day and month two distant dates show; ids that repeat, bad values, gaps, line breaks."""
    found = [
        [
            f"r{place}",
            f"0{place % 9 + 1}/0{place % 7 + 1}/2024 10:00",
            "Zoë",
            "Müller",
            "1980-01-01",
            "1.5",
            "",
        ]
        for place in range(60)
    ]
    found[2][1], found[55][1] = "13/01/2024 10:00", "31/01/2024 10:00"
    found[40][0], found[41][0] = "r3", ""
    found[7][4], found[50][4] = "yesterday", "2025-01-01"
    found[30][6] = 'say "so",\nor; not'
    found[31][2:6] = ["", "", "", ""]
    return found


def write_csv(path: Path, *, encoding: str = "utf-8", separator: str = ";") -> Path:
    """A CSV file with torn rows, blank lines, and its header again."""
    lines = []
    for row in [HEADER, *rows()]:
        lines.append(
            separator.join(f'"{cell.replace(chr(34), chr(34) * 2)}"' if cell else "" for cell in row)
        )
        if row[0] in ("r10", "r20"):
            lines += ["", f"torn{separator}row", lines[0]]
    content = "\r\n".join([*lines, "", ""]).encode(encoding)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def write_json(path: Path) -> Path:
    """JSON Lines with a broken one; a column occurs in the last lines alone."""
    bodies = [dict(zip(HEADER[:5], row[:5], strict=True)) for row in rows()]
    bodies[58]["signals"] = {"paid": 2}  # type: ignore[assignment]
    lines = [json.dumps(body) for body in bodies]
    lines[20:20] = ["", "{broken"]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def write_parquet(path: Path) -> Path:
    """Parquet with texts as dates, in row groups of 25 rows."""
    columns = zip(*rows(), strict=True)
    texts = {name: pa.array(cells) for name, cells in zip(HEADER, columns, strict=True)}
    pq.write_table(pa.table(texts), path, row_group_size=25)
    return path


FILES = {
    "semicolons.csv": lambda path: write_csv(path),
    "cp1252.csv": lambda path: write_csv(path, encoding="cp1252", separator=","),
    "utf16.csv": lambda path: write_csv(path, encoding="utf-16"),
    "bom.csv": lambda path: write_csv(path, encoding="utf-8-sig", separator="\t"),
    "packed.csv.gz": lambda path: write_csv(path),
    "lines.jsonl": write_json,
    "texts.parquet": write_parquet,
}


@pytest.mark.parametrize("part_rows", [7, 31, 1_000])
@pytest.mark.parametrize("name", FILES)
def test_parts_are_read_like_the_whole(name: str, part_rows: int, tmp_path: Path) -> None:
    """Records, ids, instants and violations of all parts are those of the whole file."""
    path = FILES[name](tmp_path / name)
    whole = read_records(path, SCHEMA, labelled=False)
    scanned = scan_file(StoredFile(str(path)), SCHEMA, part_rows=part_rows)
    assert scanned.rows == whole.rows
    first = 0
    ids: list[str] = []
    times: list[int] = []
    names: list[object] = []
    violations: list[object] = []
    repeated = [row for row, found in whole.violations if found.code == "duplicate"]
    for unit in scanned.units:
        assert unit.first_row == first
        for sheet in read_sheets(scanned, unit, SCHEMA, part_rows=part_rows):
            assert sheet.rows <= part_rows
            inside = [row - first for row in repeated if first <= row < first + sheet.rows]
            part = read_part(
                sheet,
                SCHEMA,
                dates=scanned.dates,
                first_row=first,
                has_ids=True,
                repeated=np.array(inside, dtype=np.int64),
            )
            column = part.table.column("firstName")
            ids += part.table.record_ids
            times += part.table.event_times.tolist()
            names += [column.values[code] if code >= 0 else None for code in column.codes.tolist()]
            violations += [(first + row, found) for row, found in part.violations]
            first += sheet.rows
    column = whole.table.column("firstName")
    assert tuple(ids) == whole.table.record_ids
    assert times == whole.table.event_times.tolist()
    assert names == [column.values[code] if code >= 0 else None for code in column.codes.tolist()]
    assert violations == [(row, found) for row, found in whole.violations]
    assert len(violations) >= 5


def test_what_is_wrong_with_a_whole_file_is_known_before_it_is_read(tmp_path: Path) -> None:
    """Missing columns, another kind of file and a header of another encoding are errors that name the file."""
    (tmp_path / "a.csv").write_text("recordId,firstname\n1,x\n", encoding="utf-8")
    with pytest.raises(MissingColumns, match=r"a\.csv: the column 'eventTime' is not in the source"):
        scan_file(StoredFile(str(tmp_path / "a.csv")), SCHEMA, part_rows=10)
    (tmp_path / "b.parquet").write_text("no Parquet", encoding="utf-8")
    with pytest.raises(UnreadableSource, match=r"b\.parquet: not a readable \.parquet file"):
        scan_file(StoredFile(str(tmp_path / "b.parquet")), SCHEMA, part_rows=10)


def test_sources_are_files_patterns_and_folders(tmp_path: Path) -> None:
    """Patterns and folders give files sorted by path; reserved and unknown names and .txt are left out of folders."""
    for name in (
        "in/b.csv",
        "in/a.jsonl",
        "in/day=1/c%20d=x%2Fy/d.parquet",
        "in/_x.csv",
        "in/.y.csv",
        "in/c.tsv",
        "in/z.txt",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    def found(*sources: str) -> list[str]:
        return [file.name for file in list_files([f"{tmp_path}/{source}" for source in sources])]

    assert found("in") == ["a.jsonl", "b.csv", "c.tsv", "d.parquet"]
    assert found("in/z.txt") == ["z.txt"]
    assert found("in/**/*.parquet", "in/?.csv") == ["d.parquet", "b.csv"]
    assert list_files([f"file://{tmp_path}/in/"])[3].partitions == (("day", "1"), ("c d", "x/y"))
    with pytest.raises(UnreadableSource, match="a file is given twice"):
        found("in/b.csv", "in/b.csv")
    with pytest.raises(UnreadableSource, match="no file of records"):
        found("in/*.zip")
    assert StoredFile("s3://bucket/x.csv.gz?region=eu").suffixes == [".csv", ".gz"]


OWN = RecordSchema(
    columns={"eventTime": "Eingang", "lastName": "Name", "dob": "geboren"},
    format=FileFormat(nulls=("k.A.",), dates=("%d.%m.%Y",), timezone="Europe/Berlin"),
)


def read_both_ways(path: Path) -> list[list[object]]:
    """Instant, name and date of birth of each record, read at once and in parts."""
    found = []
    scanned = scan_file(StoredFile(str(path)), OWN, part_rows=1)
    schema = scanned.schema_of(OWN)
    parts = [
        read_part(sheet, schema, dates=scanned.dates, has_ids=True).table
        for unit in scanned.units
        for sheet in read_sheets(scanned, unit, schema, part_rows=1)
    ]
    for tables in ([read_records(path, OWN, labelled=False).table], parts):
        rows: list[object] = []
        for table in tables:
            cells = [table.column(name) for name in ("lastName", "dob")]
            values = [[*column.values, None] for column in cells]
            rows += [
                (int(time), *(value[column.codes[row]] for value, column in zip(values, cells, strict=True)))
                for row, time in enumerate(table.event_times)
            ]
        found.append(rows)
    return found


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_each_file_has_its_own_names_or_those_of_the_contract(ending: str, tmp_path: Path) -> None:
    """The words for gaps, the formats and the zone are those of the names, at once and in parts."""
    own = {"recordId": ["1", "2"], "Eingang": ["02.01.2026", "03.02.2026"], "Name": ["Ash", "k.A."]}
    ours = {"recordId": ["1", "2"], "eventTime": ["2026-01-02", "2026-02-03"], "lastName": ["Ash", "k.A."]}
    expected = {
        "own": [(1767308400000000, "Ash", "1980-01-31"), (1770073200000000, None, None)],
        "ours": [(1767312000000000, "Ash", "1980-01-31"), (1770076800000000, "k.A.", None)],
    }
    for name, columns, born in (("own", own, "geboren"), ("ours", ours, "dob")):
        table = pa.table(columns | {"firstName": ["Jo", "Bo"], born: ["31.01.1980", None]})
        path = tmp_path / f"{name}.{ending}"
        if ending == "parquet":
            pq.write_table(table, path)
        elif ending == "csv":
            pa.csv.write_csv(table, path)
        else:
            path.write_text("\n".join(map(json.dumps, table.to_pylist())), encoding="utf-8")
        assert read_both_ways(path) == [expected[name]] * 2
