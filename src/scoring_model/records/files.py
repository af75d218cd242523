"""Sources as sheets: files (Parquet, CSV, JSON Lines) and tables in memory (DataFrames, Arrow streams).

Types are left as the file has them; `cells` reads them. A row that cannot be taken apart is a violation of
its own and has no cells.
"""

import codecs
import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from scoring_model.contract.fields import NESTED
from scoring_model.contract.rules import Rule
from scoring_model.records import cells
from scoring_model.records.record import RowViolation, violation
from scoring_model.records.sheet import (
    Cells,
    ObjectColumns,
    Objects,
    Sheet,
    UnreadableSource,
    check_csv_header,
    named_columns,
)

_UNFIT: Final = (pa.ArrowException, TypeError, ValueError, OverflowError)


def frame_sheet(source: Any) -> Sheet:
    """Open a table that is in memory.

    Parameters
    ----------
    source : pandas.DataFrame or object with `__arrow_c_stream__`
        Columns of pandas' `object` type are read value by value.

    Returns
    -------
    Sheet
        All its columns.

    Raises
    ------
    UnreadableSource
        If the source is something else, or two of its columns share a name.

    References
    ----------
    Arrow PyCapsule interface, https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
    """
    if type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "iloc"):
        return _pandas_sheet(source)
    if not hasattr(source, "__arrow_c_stream__"):
        raise UnreadableSource(
            f"records are read from a path, a DataFrame or an Arrow stream, got {type(source).__name__}"
        )
    return arrow_sheet(pa.table(source))


def arrow_sheet(table: pa.Table) -> Sheet:
    """Open an Arrow table; structs called `address` and `signals` are taken apart."""
    columns: list[tuple[str, Cells]] = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        columns += _parts(name, column)
    return Sheet(table.num_rows, named_columns(columns))


def _parts(name: str, column: Any) -> list[tuple[str, Cells]]:
    if name not in NESTED or not pa.types.is_struct(column.type):
        return [(name, column)]
    names = [f"{name}.{field.name}" for field in column.type]
    return list(zip(names, column.flatten(), strict=True))


def _pandas_sheet(frame: Any) -> Sheet:
    columns: list[tuple[str, Cells]] = []
    nested = ObjectColumns()
    for place, label in enumerate(frame.columns):
        name, series = str(label), frame.iloc[:, place]
        if name in NESTED and series.dtype == object:
            _add_nested(nested, name, series)
        else:
            columns += _parts(name, _pandas_cells(series))
    return Sheet(len(frame), named_columns([*columns, *nested.cells()]), tuple(nested.violations))


def _add_nested(nested: ObjectColumns, name: str, series: Any) -> None:
    for row, value in enumerate(series):
        nested.add(row, {name: value if isinstance(value, Mapping) else cells.plain(value)})


def _pandas_cells(series: Any) -> Cells:
    if getattr(series.dtype, "tz", None) is not None:
        series = series.dt.tz_convert(None)  # UTC; with a zone Arrow runs into a deprecation of pandas 3
    if series.dtype != object:
        try:
            column = pa.array(series, from_pandas=True)
        except _UNFIT:
            pass
        else:
            return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    return Objects(range(len(series)), list(series))


def file_sheet(path: Path) -> Sheet:
    """Open a file by its ending.

    Parameters
    ----------
    path : Path
        `.parquet`, `.csv` (UTF-8, header, comma), `.jsonl` or `.ndjson` (UTF-8, one object a line).

    Returns
    -------
    Sheet
        All its columns.

    Raises
    ------
    UnreadableSource
        If the ending is another one, or the file is not what its ending says.
    OSError
        If the file cannot be opened.
    """
    read = _READERS.get(path.suffix.lower())
    if read is None:
        raise UnreadableSource(f"a file must end in one of {', '.join(_READERS)}, got {path.suffix!r}")
    try:
        return read(path)
    except (pa.ArrowInvalid, csv.Error) as error:
        raise UnreadableSource(f"not a readable {path.suffix} file: {type(error).__name__}") from error


def _parquet(path: Path) -> Sheet:
    with pa.parquet.ParquetFile(path) as file:
        return arrow_sheet(file.read())


def _csv(path: Path) -> Sheet:
    header, has_rows = _csv_start(path)
    check_csv_header(header)
    if not has_rows:
        return Sheet(0, named_columns((name, pa.chunked_array([], pa.string())) for name in header))
    ragged: list[Any] = []
    table = pa.csv.read_csv(path, **_csv_options(header, ragged))
    if not _has_header(table, header):
        raise UnreadableSource("the header of a CSV file must be UTF-8, quoted as in RFC 4180")
    return _with_gaps(table, ragged)


def _has_header(table: pa.Table, header: list[str]) -> bool:
    try:
        return bool(table.column_names == header)
    except UnicodeDecodeError:
        return False


def _csv_start(path: Path) -> tuple[list[str], bool]:
    """Read the header, and whether a row follows: Arrow refuses a file of a header alone."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        rows = (row for row in csv.reader(file) if row)
        return next(rows, []), next(rows, None) is not None


def _csv_options(header: list[str], ragged: list[Any]) -> dict[str, Any]:
    def skip(row: Any) -> str:
        ragged.append(row)
        return "skip"

    return {
        # Several threads would not number the ragged rows.
        "read_options": pa.csv.ReadOptions(use_threads=False),
        "parse_options": pa.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=skip),
        "convert_options": pa.csv.ConvertOptions(
            column_types=dict.fromkeys(header, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            check_utf8=False,  # the rule of the field rejects what is not Unicode, row by row
        ),
    }


def _with_gaps(table: pa.Table, ragged: list[Any]) -> Sheet:
    rows = table.num_rows + len(ragged)
    gaps = np.array([row.number - 2 for row in ragged], dtype=np.int64)  # the header is row 1
    is_gap = np.zeros(rows, dtype=np.bool_)
    is_gap[gaps] = True
    sources = pa.array(np.cumsum(~is_gap) - 1, mask=is_gap)
    sheet = arrow_sheet(table.take(sources) if ragged else table)
    details = [f"must have {row.expected_columns} columns, got {row.actual_columns}" for row in ragged]
    violations = [_malformed(row, detail) for row, detail in zip(gaps.tolist(), details, strict=True)]
    return Sheet(rows, sheet.columns, tuple(violations))


def _malformed(row: int, detail: str) -> RowViolation:
    return RowViolation(row, violation("", Rule.MALFORMED_ROW, detail))


def _json_lines(path: Path) -> Sheet:
    columns = ObjectColumns()
    row = -1
    with path.open("rb") as file:
        for line in file:
            text = line.strip().removeprefix(codecs.BOM_UTF8)
            if not text:
                continue
            row += 1
            try:
                columns.add(row, _json_object(text))
            except (ValueError, RecursionError) as error:
                columns.violations.append(
                    _malformed(row, f"must be a JSON object, got {type(error).__name__}")
                )
    return Sheet(row + 1, named_columns(columns.cells()), tuple(columns.violations))


def _json_object(text: bytes) -> dict[str, object]:
    value = json.loads(text.decode(), object_pairs_hook=_distinct)
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Make an object of its members, whose names must differ (RFC 7493, section 2.3)."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name is repeated")
    return members


_READERS: Final[Mapping[str, Callable[[Path], Sheet]]] = {
    ".parquet": _parquet,
    ".csv": _csv,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
}
