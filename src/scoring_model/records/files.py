"""Sources as sheets: files (Parquet, CSV, JSON Lines) and tables in memory (DataFrames, Arrow streams).

Types stay as in the file; `cells` converts them. A row that cannot be parsed is itself a violation and has no
cells.
"""

import csv
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile

import pyarrow as pa
import pyarrow.parquet

from scoring_model.contract.fields import NESTED
from scoring_model.records import cells
from scoring_model.records.file_format import PLAIN, FileFormat
from scoring_model.records.sheet import (
    Cells,
    ObjectColumns,
    Objects,
    Sheet,
    UnreadableSource,
    check_names,
    column_parts,
    named_columns,
)
from scoring_model.records.stored import StoredFile
from scoring_model.records.text_files import COMPRESSIONS, csv_sheet, json_sheet

_UNFIT: Final = (pa.ArrowException, TypeError, ValueError, OverflowError)


def frame_sheet(source: Any) -> Sheet:
    """Open a table that is in memory.

    Parameters
    ----------
    source : pandas.DataFrame or object with `__arrow_c_stream__`
        Columns of pandas type `object` are read value by value.

    Returns
    -------
    Sheet
        All its columns.

    Raises
    ------
    UnreadableSource
        If the source is of another type, or two of its columns share a name.

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
    return Sheet.of_table(pa.table(source))


def _pandas_sheet(frame: Any) -> Sheet:
    check_names(list(map(str, frame.columns)))
    columns: list[tuple[str, Cells]] = []
    nested = ObjectColumns()
    for place, label in enumerate(frame.columns):
        name, series = str(label), frame.iloc[:, place]
        if series.dtype == object and (name in NESTED or any(isinstance(cell, Mapping) for cell in series)):
            _add_nested(nested, name, series)
        else:
            columns += column_parts(name, _pandas_cells(series))
    return Sheet(len(frame), named_columns([*columns, *nested.cells()]), tuple(nested.violations))


def _add_nested(nested: ObjectColumns, name: str, series: Any) -> None:
    for row, value in enumerate(series):
        nested.add(row, {name: value if isinstance(value, Mapping) else cells.plain(value)})


def _pandas_cells(series: Any) -> Cells:
    zoned = getattr(series.dtype, "tz", None) is not None
    if zoned:
        series = series.dt.tz_convert(None)  # UTC; with a zone Arrow runs into a deprecation of pandas 3
    if series.dtype != object:
        try:
            column = pa.array(series, from_pandas=True)
        except _UNFIT:
            pass
        else:
            chunked = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
            return chunked.cast(pa.timestamp(chunked.type.unit, "UTC")) if zoned else chunked
    return Objects(range(len(series)), list(series))


def file_sheet(path: Path, form: FileFormat = PLAIN) -> Sheet:
    """Open a file by its extension.

    Parameters
    ----------
    path : Path
        `.parquet`, `.csv`, `.tsv` or `.txt` (with a header) or `.jsonl` and `.ndjson` (UTF-8, one object a line);
        text may be compressed: `.csv.gz`, `.bz2`, `.zst` or `.zip` of one file.
    form : FileFormat
        How CSV files are written.

    Returns
    -------
    Sheet
        All its columns.

    Raises
    ------
    UnreadableSource
        If the extension is unknown, or does not match the contents.
    OSError
        If the file cannot be opened.
    """
    ending = file_ending(path)
    if path.exists() and not path.is_file():
        raise UnreadableSource("must be a regular file")  # another one may never end, or never begin
    with unreadable_as_such(path):
        match ending:
            case ".parquet":
                return _parquet(path)
            case ".csv":
                return csv_sheet(path, form)
            case _:
                return json_sheet(path)


def file_ending(path: Path | StoredFile) -> str:
    """Return the kind of a file by its extension, that of its compression aside: `.parquet`, `.csv` or `.jsonl`.

    Raises
    ------
    UnreadableSource
        If it is unknown.
    """
    *_, before, last = "", "", *(suffix.lower() for suffix in path.suffixes)
    ending = before if last in COMPRESSIONS and before != ".parquet" else last
    if ending == ".json":
        raise UnreadableSource(
            "one object a line is read, in a file that ends in .jsonl: jq -c '.[]' x.json > x.jsonl makes it of a list"
        )
    if ending not in _KINDS:
        raise UnreadableSource(
            f"a file must end in one of {', '.join(_KINDS)}, text also in {', '.join(COMPRESSIONS)} after it, "
            f"got {path.suffix!r}"
        )
    return _KINDS[ending]


def is_of_a_folder(path: Path | StoredFile) -> bool:
    """Return True for the files of a folder that hold records; a text beside them rather says what they are."""
    try:
        return bool(file_ending(path)) and ".txt" not in map(str.lower, path.suffixes)
    except UnreadableSource:
        return False


@contextmanager
def unreadable_as_such(path: Path | StoredFile) -> Iterator[None]:
    """Raise `UnreadableSource` where the contents of a file do not match its extension."""
    shown = sys.unraisablehook
    # Of a row of another length that is no text, Arrow shows a traceback of its own before it refuses the file.
    sys.unraisablehook = lambda found: (
        None if isinstance(found.exc_value, UnicodeDecodeError) else shown(found)
    )
    try:
        yield
    except UnreadableSource:
        raise
    except (pa.ArrowInvalid, csv.Error, BadZipFile, UnicodeDecodeError) as error:
        raise UnreadableSource(f"not a readable {path.suffix} file: {type(error).__name__}") from error
    except OSError as error:
        if error.errno is not None:  # of the system
            raise
        raise UnreadableSource(f"not a readable {path.suffix} file: it can't be decompressed") from error
    finally:
        sys.unraisablehook = shown


_KINDS: Final = {
    ".parquet": ".parquet",
    ".csv": ".csv",
    ".tsv": ".csv",
    ".txt": ".csv",
    ".jsonl": ".jsonl",
    ".ndjson": ".jsonl",
}


_CODE_BYTES: Final = 4


def _parquet(path: Path) -> Sheet:
    with pa.parquet.ParquetFile(path) as file:
        check_names(file.schema_arrow.names)
        names = columns_of_codes(file)
    # Codes are read as they are: to write the texts out and to number them again takes several times longer.
    with pa.parquet.ParquetFile(path, read_dictionary=names) as file:
        return Sheet.of_table(file.read())


def columns_of_codes(file: Any) -> list[str]:
    """List the columns of text that take so few bytes a value that they are codes of distinct values."""
    groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    parts = [group.column(place) for group in groups for place in range(group.num_columns)]
    large = {
        part.path_in_schema for part in parts if part.total_uncompressed_size > _CODE_BYTES * part.num_values
    }
    return [
        field.name for field in file.schema_arrow if field.type == pa.string() and field.name not in large
    ]
