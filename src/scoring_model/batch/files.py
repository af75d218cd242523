"""Tables out to files, whole or not at all."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from scoring_model.records.atomic import atomic_file
from scoring_model.records.quarantine import FORMULA_STARTS, GUARD

_FORMULA: Final = rf"\A([{re.escape(''.join(FORMULA_STARTS))}])"


def write_table(table: pa.Table, path: Path, *, guard_formulas: bool = True) -> None:
    """Write a table in the format that the ending of the path names.

    Parameters
    ----------
    table : pyarrow.Table
    path : Path
        Ends in one of `FORMATS`. In CSV a list is its items separated by blanks.
    guard_formulas : bool
        Whether text in CSV that a spreadsheet would run as a formula gets an apostrophe in front.

    Raises
    ------
    ValueError
        On another ending.
    """
    check_format(path)
    if path.suffix == ".csv":
        table = _flat(table)
        table = _guarded(table) if guard_formulas else table
    with atomic_file(path) as partial:
        FORMATS[path.suffix](table, partial)


def check_format(path: Path) -> None:
    """Refuse a path that can't be written, before any work is done for it.

    Raises
    ------
    ValueError
        When its ending names no format.
    FileNotFoundError
        When its folder does not exist.
    """
    if path.suffix not in FORMATS:
        raise ValueError(f"{path.name}: must end in {', '.join(FORMATS)}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent}: there is no such folder for {path.name}")


def _parquet(table: pa.Table, path: Path) -> None:
    pyarrow.parquet.write_table(table, path, compression="zstd")


def _flat(table: pa.Table) -> pa.Table:
    """Turn lists and dictionaries, which CSV does not know, into plain columns."""
    for place, field in enumerate(table.schema):
        if pa.types.is_list(field.type):
            table = table.set_column(place, field.name, pc.binary_join(table.column(place), " "))
        elif pa.types.is_dictionary(field.type):
            table = table.set_column(place, field.name, table.column(place).cast(field.type.value_type))
    return table


def _guarded(table: pa.Table) -> pa.Table:
    """Guard the text of a flat table; numbers stay what they are, negative ones too."""
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            cells = pc.replace_substring_regex(table.column(place), _FORMULA, rf"{GUARD}\1")
            table = table.set_column(place, field.name, cells)
    return table


def _json_lines(table: pa.Table, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for batch in table.to_batches(max_chunksize=10_000):
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in batch.to_pylist())


FORMATS: Final[Mapping[str, Callable[[pa.Table, Path], None]]] = {
    ".parquet": _parquet,
    ".csv": pyarrow.csv.write_csv,
    ".jsonl": _json_lines,
}
"""Writers by file ending."""
