"""Reads a source: records that obey the contract as a table, the others as violations of their rows."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Final

import numpy as np

from scoring_model.arrays import BoolArray, IntArray
from scoring_model.contract.fields import EVENT_FIELDS, FORMER_FIELDS
from scoring_model.contract.rules import Rule, ValueRule, reference
from scoring_model.records import cells
from scoring_model.records.cells import Cell
from scoring_model.records.columns import Parsed, parse_column, parse_instants, row_violations
from scoring_model.records.encoding import encode
from scoring_model.records.files import file_sheet, frame_sheet
from scoring_model.records.labels import UNLABELLED, label_cell, label_rule, label_times
from scoring_model.records.layout import MissingColumns, check_layout, unused_columns
from scoring_model.records.record import RowViolation, field_rules, in_order
from scoring_model.records.schema import RecordSchema
from scoring_model.records.sheet import Sheet, UnreadableSource
from scoring_model.records.table import NEVER, RecordTable

INSTANTS: Final = ("eventTime", "labelKnownAt", "labelReportedAt")


@dataclass(frozen=True)
class Reading:
    """The result of reading a source.

    Parameters
    ----------
    table : RecordTable
        The records without a violation, in the order of the source.
    violations : tuple of RowViolation
        All violations of the other rows, by row and field.
    rows : int
        Number of rows of the source.
    unused_columns : tuple of str
        Columns that hold no field, in the order of the source.
    """

    table: RecordTable
    violations: tuple[RowViolation, ...]
    rows: int
    unused_columns: tuple[str, ...]


def read_records(source: object, schema: RecordSchema, *, labelled: bool) -> Reading:
    """Read a source of records.

    Parameters
    ----------
    source : path, pandas.DataFrame or object with `__arrow_c_stream__`
        A path ends in `.parquet`, `.csv`, `.jsonl` or `.ndjson`. Columns are named like the fields, or as
        `schema.columns` says; `address` and `signals` may be nested.
    schema : RecordSchema
        Names columns, signals and labels.
    labelled : bool
        Whether labels must be there. Labels that are there are read in either case.

    Returns
    -------
    Reading
        Rows keep their order, also where it is not that of time. Of rows that share a `recordId` the first is
        kept. Without a column `recordId` a record is called by its row.

    Raises
    ------
    UnreadableSource
        If the source is no table of a known kind, or a CSV file without a header row.
    MissingColumns
        If columns are missing or misspelt. A source without any column is an empty table.
    OSError
        If a file cannot be opened.
    """
    if isinstance(source, str | PathLike):
        return _read_file(Path(source), schema, labelled=labelled)
    return _read_sheet(frame_sheet(source), schema, labelled=labelled)


def _read_file(path: Path, schema: RecordSchema, *, labelled: bool) -> Reading:
    """Read a file; what is wrong with it as a whole is reported with its name."""
    try:
        return _read_sheet(file_sheet(path), schema, labelled=labelled)
    except UnreadableSource as error:
        raise UnreadableSource(f"{path.name}: {error}") from error
    except MissingColumns as error:
        raise MissingColumns(error.problems, path.name) from error


def _read_sheet(sheet: Sheet, schema: RecordSchema, *, labelled: bool) -> Reading:
    sheet = _with_new_names(sheet, schema)
    if sheet.columns:
        check_layout(sheet.columns, schema, labelled=labelled)
    parsed = {field: _column(sheet, field, schema) for field in _present(sheet, schema)}
    violations = in_order(
        [
            *sheet.violations,
            *(found for column in parsed.values() for found in column.violations),
            *row_violations(parsed, schema.labels, readable=_readable(sheet)),
        ]
    )
    table = _table(parsed, schema, kept=_kept(sheet.rows, violations), rows=sheet.rows)
    return Reading(table, violations, sheet.rows, unused_columns(sheet.columns, schema))


def _with_new_names(sheet: Sheet, schema: RecordSchema) -> Sheet:
    """Read columns by the old names of their fields, unless the schema maps these fields or columns."""
    columns = dict(sheet.columns)
    for old, new in FORMER_FIELDS.items():
        if old in columns and new not in schema.columns and old not in schema.columns.values():
            if new in columns:
                raise MissingColumns((f"the columns {old!r} and {new!r} hold the same field: remove one",))
            columns[new] = columns.pop(old)
    return replace(sheet, columns=columns)


def _present(sheet: Sheet, schema: RecordSchema) -> list[str]:
    return [field for field in (*EVENT_FIELDS, *schema.fields) if schema.column_of(field) in sheet.columns]


def _column(sheet: Sheet, field: str, schema: RecordSchema) -> Parsed:
    raw = encode(sheet.columns[schema.column_of(field)], sheet.rows)
    if field in INSTANTS:
        return parse_instants(field, raw)
    read, check = _parser(field, schema)
    return parse_column(field, raw, lambda cell: check(read(cell)))


def _parser(field: str, schema: RecordSchema) -> tuple[Cell, ValueRule]:
    if field == "recordId":
        return cells.text, reference
    if field == "label":
        return label_cell, label_rule(schema.labels)
    return cells.field_cells(schema)[field], field_rules(schema)[field]


def _readable(sheet: Sheet) -> BoolArray:
    readable = np.ones(sheet.rows, dtype=np.bool_)
    malformed = [found.row for found in sheet.violations if found.violation.code == Rule.MALFORMED_ROW]
    readable[malformed] = False
    return readable


def _kept(rows: int, violations: tuple[RowViolation, ...]) -> IntArray:
    good = np.ones(rows, dtype=np.bool_)
    good[[found.row for found in violations]] = False
    return np.flatnonzero(good)


def _table(parsed: Mapping[str, Parsed], schema: RecordSchema, *, kept: IntArray, rows: int) -> RecordTable:
    absent = Parsed.absent(rows)

    def gather(field: str, missing: int) -> IntArray:
        return parsed.get(field, absent).column.gather(missing)[kept]

    labels = gather("label", UNLABELLED).astype(np.int8)
    events, known, reported = (gather(field, NEVER) for field in INSTANTS)
    return RecordTable(
        record_ids=_record_ids(parsed, kept),
        event_times=events,
        columns={
            field: found.column.take(kept) for field, found in parsed.items() if field not in EVENT_FIELDS
        },
        labels=labels,
        label_times=label_times(labels, events, known, reported, schema.labels.delay),
        source_rows=kept,
    )


def _record_ids(parsed: Mapping[str, Parsed], kept: IntArray) -> tuple[str, ...]:
    if "recordId" not in parsed:
        return tuple(map(str, kept.tolist()))
    column = parsed["recordId"].column
    return tuple([str(column.values[code]) for code in column.codes[kept].tolist()])
