"""Reads a source into a table of valid records and the violations of the other rows."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from functools import reduce
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.contract.fields import DECIDED_FIELDS, EVENT_FIELDS, PROPENSITY, TIME_FIELDS, signal_field
from scoring_model.contract.rules import TEXT_RULES, Rule, ValueRule, image_urls, propensity, reference
from scoring_model.records import cells
from scoring_model.records.cells import Cell
from scoring_model.records.clocks import with_clocks
from scoring_model.records.columns import (
    Parsed,
    in_century,
    parse_column,
    parse_instants,
    parse_texts,
    parse_urls,
    repetition,
    row_violations,
)
from scoring_model.records.dates import guess_dates, is_unlike_iso
from scoring_model.records.encoding import encode, is_typed, is_zoned
from scoring_model.records.files import file_sheet, frame_sheet
from scoring_model.records.labels import UNLABELLED, label_cell, label_rule, label_times
from scoring_model.records.layout import MissingColumns, check_layout, half_decided, schema_of, unused_columns
from scoring_model.records.observation import (
    observed_until_of,
    outcome_rule,
    resolution_rule,
    sampled,
)
from scoring_model.records.recent import without_old_rows
from scoring_model.records.record import InvalidRecord, Record, RowViolation, field_rules, in_order
from scoring_model.records.schema import RecordSchema
from scoring_model.records.sheet import ObjectColumns, Sheet, UnreadableSource, members, named_columns
from scoring_model.records.sources import file_paths
from scoring_model.records.table import NEVER, Column, RecordTable

INSTANTS: Final = ("eventTime", "labelKnownAt", "labelReportedAt")
DATED: Final = (*TIME_FIELDS, "dob")

T = TypeVar("T")


@dataclass(frozen=True)
class Reading:
    """The result of reading a source.

    Parameters
    ----------
    table : RecordTable
        The records without a violation, in the order of the source.
    violations : tuple of RowViolation
        All violations of the other rows, by row and field. Rows are numbered continuously across files.
    rows : int
        Number of rows of the source.
    unused_columns : tuple of str
        Columns without a field, in the order of the source.
    guesses : tuple of str
        Properties inferred because the schema does not define them, such as the format of dates.
    files : tuple of (str, int)
        Names of the files, where there are several, each with its first row.
    refused_ids : mapping of int to str
        `recordId` of the refused rows that have one.
    ids : Column, optional
        `recordId` of all rows, if the source has that column.
    undecided : tuple of str
        Which columns of what was decided are in some files and not in others, a sentence for each.
    """

    table: RecordTable
    violations: tuple[RowViolation, ...]
    rows: int
    unused_columns: tuple[str, ...]
    guesses: tuple[str, ...] = ()
    files: tuple[tuple[str, int], ...] = ()
    refused_ids: Mapping[int, str] = field(default_factory=dict)
    ids: Column | None = field(default=None, repr=False)
    undecided: tuple[str, ...] = ()


def read_records(
    source: object, schema: RecordSchema, *, labelled: bool, since: int | None = None, ids: Any = None
) -> Reading:
    """Read a source of records.

    Parameters
    ----------
    source : path, list of paths, pandas.DataFrame or object with `__arrow_c_stream__`
        A path ends as `file_sheet` says, text perhaps compressed; it may be a pattern
        such as ``2026-*.csv``, whose files are read in the order of their names. Columns are named like the
        fields, like the signals, or as `schema.columns` says, in each file as `schema_of` decides; `address` and
        `signals` may be nested. A struct, or object, of another name is a column for each of its members, `device.os`.
    schema : RecordSchema
        Names columns, signals and labels.
    labelled : bool
        Whether labels are required. Present labels are read in either case.
    since : int, optional
        Instant, microseconds: rows of earlier events may be left out, as if the source did not hold them, where that
        saves parsing them. All other records are the same.
    ids : pyarrow.StringArray, optional
        Ids whose rows stay, however old they are.

    Returns
    -------
    Reading
        Rows keep their order, even if it is not chronological. The first row with a `recordId` is kept. Without a
        column `recordId` the row number is the id. Propensities of which none is below 1 are of no control group:
        they say who was observed where no outcome does, and nothing else.

    Raises
    ------
    UnreadableSource
        If the source is not a table of a known kind, or is a CSV file without a header row.
    MissingColumns
        If columns are missing or misspelt. A source without any column is an empty table.
    OSError
        If a file cannot be opened.
    """
    paths = file_paths(source)
    if paths is None:
        parts = [_read_sheet(frame_sheet(source), schema, labelled=labelled, since=since, ids=ids)]
    else:
        # A row of one file may repeat the id of an old row of another.
        since = since if len(paths) == 1 else None
        parts = [_read_file(path, schema, labelled=labelled, since=since, ids=ids) for path in paths]
    reading = _reading(parts, schema, paths or ())
    return replace(reading, table=sampled(reading.table))


def without_columns(table: RecordTable, schema: RecordSchema) -> str:
    """Say which signals have no column, perhaps since it is called otherwise now; empty if all have one."""
    absent = sorted({*map(signal_field, schema.signals)}.difference(table.columns))
    return f"no column holds {', '.join(absent)}: in every record they count as missing" if absent else ""


def field_columns(
    columns: Collection[str], schema: RecordSchema, *, labelled: bool
) -> dict[str, tuple[str, ...]]:
    """Check the names of a file's columns, before its rows are read in parts; return the columns of each field.

    Parameters
    ----------
    schema : RecordSchema
        That of the file, here and below: the result of `schema_of`.

    Raises
    ------
    MissingColumns
        As `read_records`.
    """
    named = _with_signal_names({name: name for name in columns}, schema)
    if named:
        check_layout(named, schema, labelled=labelled)
    return {
        field: tuple(
            named[name] for name in (schema.column_of(field), schema.clocks.get(field)) if name in named
        )
        for field in _present(named, schema)
    }


def date_texts(sheet: Sheet, schema: RecordSchema) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield the fields whose format of dates has to be guessed, with their texts in a part of a file."""
    sheet = _renamed(sheet, schema)
    for name in () if schema.format.dates else _present(sheet.columns, schema):
        if name in DATED:
            raw = encode(sheet.columns[schema.column_of(name)], sheet.rows, schema.format.nulls)
            yield name, _dates_unlike_iso(raw)


def read_part(
    sheet: Sheet,
    schema: RecordSchema,
    *,
    dates: Mapping[str, tuple[str, ...]],
    first_row: int = 0,
    has_ids: bool,
    repeated: IntArray | None = None,
) -> Reading:
    """Read consecutive rows of a source, as `read_records` reads all of them.

    Parameters
    ----------
    dates : mapping of str to tuple of str
        Guessed formats of dates in the whole file, by field.
    first_row : int
        Number of rows of the source before this part. Rows of the result count from 0.
    has_ids : bool
        Whether any file of the source has record ids.
    repeated : ndarray of shape (m,), int64
        Rows of this part whose `recordId` occurs earlier in the source, if they are known. Those whose `recordId`
        occurs earlier in the part are found anyway.
    """
    sheet = _renamed(sheet, schema)
    parsed: dict[str, Parsed] = {}
    for name in _present(sheet.columns, schema):
        parsed[name], _ = _column(sheet, name, schema, dates.get(name, ()), parsed.get("eventTime"))
    if has_ids:
        parsed.setdefault("recordId", Parsed.absent(sheet.rows))
    part = _Part(sheet.rows, unused_columns(sheet.columns, schema), parsed, sheet.violations, ())
    return _checked(part, schema, first_row=first_row, repeated=repeated)


def read_ids(sheet: Sheet, schema: RecordSchema) -> Column | None:
    """Read `recordId` of consecutive rows of a source; None where the source has no such column."""
    sheet = _renamed(sheet, schema)
    if schema.column_of("recordId") not in sheet.columns:
        return None
    return _column(sheet, "recordId", schema)[0].column


def read_record(row: Mapping[str, object], schema: RecordSchema) -> Record:
    """Read one row with the column names and value formats of a file.

    Parameters
    ----------
    row : mapping of str to object
        Cells by column; absent columns of the schema are missing values.

    Raises
    ------
    InvalidRecord
        With every rule that the row breaks.
    MissingColumns
        If it has neither an event time nor a column of a field.
    """
    names = [name for column, value in row.items() for name, _ in members(column, value)]
    schema = schema_of(names, schema)
    columns, own_id = ObjectColumns(), schema.column_of("recordId")
    # A file with ids has one in every row; a single record needs none.
    absent = {**dict.fromkeys((*schema.columns.values(), *schema.clocks.values())), own_id: "0"}
    columns.add(0, {name: value for name, value in absent.items() if name not in names} | dict(row))
    sheet = Sheet(1, named_columns(columns.cells()), tuple(columns.violations))
    reading = _reading([_read_sheet(sheet, schema, labelled=False)], schema, ())
    if reading.violations:
        raise InvalidRecord(found for _, found in reading.violations)
    record = reading.table.record(0)
    return record if own_id in names else replace(record, record_id=None)


@dataclass(frozen=True)
class _Part:
    """A source, or one of its files, after each column was parsed."""

    rows: int
    unused: tuple[str, ...]
    parsed: Mapping[str, Parsed]
    violations: tuple[RowViolation, ...]
    guesses: tuple[str, ...]
    own: bool = True  # with the names of the configuration, not of the contract


def _read_file(path: Path, schema: RecordSchema, *, labelled: bool, since: int | None, ids: Any) -> _Part:
    """Read a file; errors of the whole file include its name."""
    try:
        sheet = file_sheet(path, schema.format)
        found = schema_of(sheet.columns, schema, marked=sheet.marked)
        if found.format.nulls != schema.format.nulls:
            sheet = file_sheet(path, found.format)  # with the words that it does not take for missing values
        return _read_sheet(sheet, schema, labelled=labelled, since=since, ids=ids)
    except UnreadableSource as error:
        raise UnreadableSource(f"{path.name}: {error}") from error
    except MissingColumns as error:
        raise MissingColumns(error.problems, path.name) from error


def _read_sheet(
    sheet: Sheet, schema: RecordSchema, *, labelled: bool, since: int | None = None, ids: Any = None
) -> _Part:
    given, schema = schema, schema_of(sheet.columns, schema, marked=sheet.marked)
    sheet = _renamed(sheet, schema)
    if sheet.columns:
        check_layout(sheet.columns, schema, labelled=labelled)
    if since is not None:
        sheet = without_old_rows(sheet, schema, () if schema.format.dates else DATED, since, ids)
    parsed: dict[str, Parsed] = {}
    guesses = list(sheet.guesses)
    for name in _present(sheet.columns, schema):
        parsed[name], formats = _column(sheet, name, schema, events=parsed.get("eventTime"))
        guesses += [f"{name} as {' or '.join(formats)}"] if formats else []
    unused = unused_columns(sheet.columns, schema)
    return _Part(sheet.rows, unused, parsed, sheet.violations, tuple(guesses), own=schema == given)


def _reading(parts: Sequence[_Part], schema: RecordSchema, paths: Sequence[Path]) -> Reading:
    starts = accumulate((part.rows for part in parts), initial=0)
    names = [path.name for path in paths] if len(paths) > 1 else []
    return replace(
        _checked(reduce(_joined, parts), schema),
        files=tuple(zip(names, starts, strict=False)),
        undecided=tuple(_undecided(parts, names, schema)),
    )


def _undecided(parts: Sequence[_Part], names: Sequence[str], schema: RecordSchema) -> Iterator[str]:
    """Name the fields of what was decided that some files have and others lack: who was stopped in these is unknown.

    Of a history beside an export of the service it is assumed that nobody was stopped.
    """
    files = [(name, part.parsed) for name, part in zip(names, parts, strict=False) if part.own]
    for decided in DECIDED_FIELDS:
        lacking = [name for name, parsed in files if decided not in parsed]
        if 0 < len(lacking) < len(files):
            yield half_decided(schema.column_of(decided), lacking)


def _checked(
    whole: _Part, schema: RecordSchema, *, first_row: int = 0, repeated: IntArray | None = None
) -> Reading:
    parsed = whole.parsed
    found = [
        *whole.violations,
        *(found for column in parsed.values() for found in column.violations),
        *row_violations(parsed, schema.labels, readable=_readable(whole)),
    ]
    if repeated is not None and len(repeated):
        known = {row for row, one in found if one.code == Rule.DUPLICATE}
        found += [repetition(row) for row in repeated.tolist() if row not in known]
    violations = in_order(found)
    kept = _kept(whole.rows, violations)
    return Reading(
        table=_table(parsed, schema, kept=kept, rows=whole.rows, first_row=first_row),
        violations=violations,
        rows=whole.rows,
        unused_columns=whole.unused,
        guesses=whole.guesses,
        refused_ids=_refused_ids(parsed, violations),
        ids=parsed["recordId"].column if "recordId" in parsed else None,
    )


def _joined(one: _Part, other: _Part) -> _Part:
    """Append the rows of another file."""
    parsed = {
        field: one.parsed.get(field, Parsed.absent(one.rows)).append(
            other.parsed.get(field, Parsed.absent(other.rows))
        )
        for field in dict.fromkeys((*one.parsed, *other.parsed))
    }
    later = [RowViolation(one.rows + row, found) for row, found in other.violations]
    return _Part(
        one.rows + other.rows,
        tuple(dict.fromkeys(one.unused + other.unused)),
        parsed,
        (*one.violations, *later),
        tuple(dict.fromkeys(one.guesses + other.guesses)),
    )


def _refused_ids(parsed: Mapping[str, Parsed], violations: tuple[RowViolation, ...]) -> dict[int, str]:
    if "recordId" not in parsed:
        return {}
    column = parsed["recordId"].column
    codes = {found.row: int(column.codes[found.row]) for found in violations}
    return {row: str(column.values[code]) for row, code in codes.items() if code >= 0}


def _renamed(sheet: Sheet, schema: RecordSchema) -> Sheet:
    return with_clocks(replace(sheet, columns=_with_signal_names(sheet.columns, schema)), schema)


def _with_signal_names(given: Mapping[str, T], schema: RecordSchema) -> dict[str, T]:
    """Read a column named like a signal without prefix, unless the column or signal is mapped or present."""
    columns = dict(given)
    taken = {schema.column_of(field) for field in (*schema.event_fields, *schema.fields)}
    for name in schema.signals:
        field = signal_field(name)
        if name in columns and name not in taken and field not in columns and field not in schema.columns:
            columns[field] = columns.pop(name)
    return columns


def _present(columns: Collection[str], schema: RecordSchema) -> list[str]:
    return [field for field in (*schema.event_fields, *schema.fields) if schema.column_of(field) in columns]


def _column(
    sheet: Sheet,
    field: str,
    schema: RecordSchema,
    guessed: tuple[str, ...] | None = None,
    events: Parsed | None = None,
) -> tuple[Parsed, tuple[str, ...]]:
    """Parse a column; also return the formats of its dates if they were guessed, here or before.

    Parameters
    ----------
    events : Parsed, optional
        The times of the events, which decide between centuries of birth.
    """
    given = sheet.columns[schema.column_of(field)]
    raw = encode(given, sheet.rows, schema.format.nulls)
    if guessed is None:
        guessed = () if schema.format.dates or field not in DATED else guess_dates(_dates_unlike_iso(raw))
    formats = schema.format.dates or guessed
    if field in TIME_FIELDS:
        zone = UTC if is_zoned(given) else schema.format.zone or UTC
        read = cells.moment(formats)
        return parse_instants(field, raw, read, zone), guessed
    if field == "dob" and events is not None and any("%y" in text for text in formats):
        raw = in_century(raw, formats, events.column.gather(NEVER))
    read, check = _parser(field, schema, formats)
    if check is image_urls:
        parse = parse_urls
    else:
        parse = parse_texts if read is cells.text and check in TEXT_RULES else parse_column
    return parse(field, raw, lambda cell: check(read(cell))), guessed


def _dates_unlike_iso(raw: Column) -> Iterator[str]:
    """Yield texts that may be dates, except ISO dates, which need no format."""
    if not is_typed(raw):
        for value in raw.values:
            text = cells.text(value)
            if isinstance(text, str) and is_unlike_iso(text):
                yield text


def _parser(field: str, schema: RecordSchema, formats: tuple[str, ...]) -> tuple[Cell, ValueRule]:
    if field == "recordId":
        return cells.text, reference
    if field == "label":
        return label_cell, label_rule(schema.labels)
    if field == PROPENSITY:
        return cells.number_of(schema.format.decimal), propensity
    if field == "outcome":
        return cells.text, outcome_rule(schema.outcomes)
    if field == "resolution":
        return cells.text, resolution_rule(schema.outcomes)
    return cells.field_cells(schema, formats)[field], field_rules(schema)[field]


def _readable(part: _Part) -> BoolArray:
    readable = np.ones(part.rows, dtype=np.bool_)
    malformed = [found.row for found in part.violations if found.violation.code == Rule.MALFORMED_ROW]
    readable[malformed] = False
    return readable


def _kept(rows: int, violations: tuple[RowViolation, ...]) -> IntArray:
    good = np.ones(rows, dtype=np.bool_)
    good[[found.row for found in violations]] = False
    return np.flatnonzero(good)


def _table(
    parsed: Mapping[str, Parsed], schema: RecordSchema, *, kept: IntArray, rows: int, first_row: int
) -> RecordTable:
    absent = Parsed.absent(rows)

    def gather(field: str, missing: int) -> IntArray:
        return parsed.get(field, absent).column.gather(missing)[kept]

    labels = gather("label", UNLABELLED).astype(np.int8)
    events, known, reported = (gather(field, NEVER) for field in INSTANTS)
    return RecordTable(
        record_ids=_record_ids(parsed, kept, first_row),
        event_times=events,
        columns={
            field: found.column.take(kept)
            for field, found in parsed.items()
            if field not in (*EVENT_FIELDS, *DECIDED_FIELDS)
        },
        labels=labels,
        label_times=label_times(labels, events, known, reported, schema.labels.delay),
        source_rows=kept,
        propensities=_propensities(parsed, kept),
        observed_until=(observed_until_of(gather, schema) if parsed.keys() & set(DECIDED_FIELDS) else None),
    )


def _propensities(parsed: Mapping[str, Parsed], kept: IntArray) -> FloatArray | None:
    """Return the propensity of each record, NaN where it has none; None if no record has one."""
    column = parsed[PROPENSITY].column if PROPENSITY in parsed else None
    if column is None or not len(column.values):
        return None
    return np.append(np.asarray(column.values, dtype=np.float64), np.nan)[column.codes[kept]]


def _record_ids(parsed: Mapping[str, Parsed], kept: IntArray, first_row: int) -> tuple[str, ...]:
    if "recordId" not in parsed:
        return tuple(map(str, (kept + first_row).tolist()))
    column = parsed["recordId"].column
    codes = column.codes[kept]
    if np.array_equal(codes, np.arange(len(column.values))):  # in a file of valid records they are in order
        return tuple(column.values)
    return tuple(map(column.values.__getitem__, codes.tolist()))
