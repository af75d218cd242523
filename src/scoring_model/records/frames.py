"""Tables in memory as sheets: pandas DataFrames, and whatever speaks the Arrow C stream interface."""

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from scoring_model.records import cells
from scoring_model.records.body import NESTED
from scoring_model.records.sheet import Cells, ObjectColumns, Objects, Sheet, UnreadableSource, named_columns

_UNFIT: Final = (pa.ArrowException, TypeError, ValueError, OverflowError)


def frame_sheet(source: Any) -> Sheet:
    """Open a table that is in memory.

    Parameters
    ----------
    source : pandas.DataFrame or object with `__arrow_c_stream__`
        Columns of pandas' `object` type are read value by value, whatever their types.

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
    return Sheet(len(frame), named_columns([*columns, *nested.cells()]), tuple(nested.problems))


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
