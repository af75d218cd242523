"""Scans files before their records are read: columns, rows, formats of dates, and units that are read one by one."""

import codecs
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import chain
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet

from scoring_model.batch.text_blocks import text_blocks
from scoring_model.records import RecordSchema
from scoring_model.records.dates import DateEvidence
from scoring_model.records.files import columns_of_codes, file_ending, unreadable_as_such
from scoring_model.records.layout import MissingColumns, schema_of
from scoring_model.records.reading import DATED, date_texts, field_columns
from scoring_model.records.sheet import Sheet, UnreadableSource, check_names
from scoring_model.records.stored import StoredFile
from scoring_model.records.text_files import (
    COMPRESSIONS,
    CsvStart,
    csv_part,
    csv_start,
    distinct_names,
    json_part,
    opened,
)

PARTS_PER_UNIT: Final = 4
"""Parts of a row group that are read together, since the rows before them have to be decoded too."""

_ASCII: Final = bytes(range(128))


@dataclass(frozen=True, kw_only=True, slots=True)
class Unit:
    """Consecutive rows of a file, the smallest piece of work.

    Parameters
    ----------
    file : int
        Index of the file in its source.
    first_row, rows : int
        Its rows in the source.
    group, skip : int
        Row group of a Parquet file, and the rows of the group before this unit.
    start, end : int
        Its bytes in a text file; an end of -1 is that of the file.
    """

    file: int
    first_row: int
    rows: int
    group: int = 0
    skip: int = 0
    start: int = 0
    end: int = -1


@dataclass(frozen=True, kw_only=True, slots=True)
class ScannedFile:
    """What the whole of a file says about each of its parts.

    Parameters
    ----------
    rows : int
    columns : tuple of str
        All columns, those of its folders included.
    used : tuple of str
        Columns that hold a field, in the order of the fields.
    id_column : str or None
        Column of `recordId`.
    dates : mapping of str to tuple of str
        Guessed formats of dates, by field.
    codes : tuple of str
        Columns of a Parquet file that are read as codes of distinct values.
    header, separator, encoding
        Of a CSV file; the names as they stand.
    titles : int
        Rows before its header.
    padded : bool
        Whether blanks fill its cells.
    units : tuple of Unit
        Counted from the first row of the file.
    is_contract : bool
        Whether it has the names and spellings of the contract.
    """

    file: StoredFile
    rows: int
    columns: tuple[str, ...]
    used: tuple[str, ...]
    id_column: str | None
    dates: Mapping[str, tuple[str, ...]]
    codes: tuple[str, ...] = ()
    header: tuple[str, ...] = ()
    separator: str = ","
    encoding: str = "utf-8"
    titles: int = 0
    padded: bool = False
    units: tuple[Unit, ...]
    is_contract: bool = False

    def schema_of(self, schema: RecordSchema) -> RecordSchema:
        """Return the schema of this file in a run with a schema."""
        return schema.contract if self.is_contract else schema


def scan_file(file: StoredFile, schema: RecordSchema, part_rows: int) -> ScannedFile:
    """Scan one file.

    Raises
    ------
    UnreadableSource, MissingColumns, OSError
        As `read_records`, with the name of the file.
    """
    try:
        with unreadable_as_such(file):
            match file_ending(file):
                case ".parquet":
                    return _scan_parquet(file, schema, part_rows)
                case ".csv":
                    return _scan_csv(file, schema, part_rows)
                case _:
                    return _scan_json(file, schema, part_rows)
    except UnreadableSource as error:
        raise UnreadableSource(f"{file.name}: {error}") from error
    except MissingColumns as error:
        raise MissingColumns(error.problems, file.name) from error


def read_sheets(
    scanned: ScannedFile, unit: Unit, schema: RecordSchema, *, part_rows: int, ids_only: bool = False
) -> Iterator[Sheet]:
    """Read the parts of a unit, none of more than `part_rows` rows, one after the other.

    Parameters
    ----------
    schema : RecordSchema
        That of the file.
    ids_only : bool
        Whether other columns than that of `recordId` may be left out.
    """
    used = [scanned.id_column] if ids_only and scanned.id_column is not None else list(scanned.used)
    file, nulls = scanned.file, schema.format.nulls
    match file_ending(file):
        case ".parquet":
            sheets = _parquet_sheets(scanned, unit, used, part_rows)
        case ".csv":
            encoding = _block_encoding(scanned.encoding)
            given = list(scanned.header)
            names = distinct_names(given)
            start = CsvStart(names, True, scanned.separator, encoding, given, padded=scanned.padded)
            sheets = (
                csv_part(pa.py_buffer(block), start, nulls) for block in _blocks(scanned, unit, part_rows)
            )
        case _:
            sheets = (json_part(BytesIO(block)) for block in _blocks(scanned, unit, part_rows))
    for sheet in sheets:
        yield _with_partitions(sheet, file)


def _with_partitions(sheet: Sheet, file: StoredFile) -> Sheet:
    added = {
        name: pa.chunked_array([pa.repeat(pa.scalar(value, pa.string()), sheet.rows)])
        for name, value in file.partitions
        if name not in sheet.columns
    }
    return Sheet(sheet.rows, {**sheet.columns, **added}, sheet.violations, sheet.unreadable, sheet.guesses)


def _all_columns(file: StoredFile, columns: Collection[str]) -> tuple[str, ...]:
    """Add the columns that the names of its folders hold."""
    return (*columns, *(name for name, _ in file.partitions if name not in columns))


def _scanned(
    file: StoredFile,
    schema: RecordSchema,
    columns: Collection[str],
    evidence: Mapping[str, DateEvidence],
    units: Sequence[Unit],
    **more: Any,
) -> ScannedFile:
    names = _all_columns(file, columns)
    fields = field_columns(names, schema, labelled=False)
    return ScannedFile(
        file=file,
        rows=sum(unit.rows for unit in units),
        columns=names,
        used=tuple(chain.from_iterable(fields.values())),
        id_column=next(iter(fields.get("recordId", ())), None),
        dates={field: formats for field, found in evidence.items() if (formats := found.formats())},
        units=tuple(units),
        **more,
    )


def _gather(sheet: Sheet, schema: RecordSchema, evidence: dict[str, DateEvidence]) -> None:
    for field, texts in date_texts(sheet, schema):
        evidence.setdefault(field, DateEvidence()).add(texts)


def _scan_parquet(file: StoredFile, schema: RecordSchema, part_rows: int) -> ScannedFile:
    evidence: dict[str, DateEvidence] = {}
    with file.open() as source, pa.parquet.ParquetFile(source) as opened_file:
        empty = Sheet.of_table(opened_file.schema_arrow.empty_table())
        kinds: Mapping[str, Any] = empty.columns
        names = _all_columns(file, kinds)
        found = schema_of(names, schema, marked=empty.marked)
        is_contract, schema = found is not schema, found
        fields = field_columns(names, schema, labelled=False)
        texts = [
            column
            for field, (day, *clock) in fields.items()
            if field in DATED
            and not schema.format.dates
            and day in empty.columns
            and not pa.types.is_temporal(kinds[day].type)
            for column in (day, *clock)
        ]
        for batch in opened_file.iter_batches(part_rows, columns=texts) if texts else ():
            _gather(Sheet.of_table(pa.Table.from_batches([batch])), schema, evidence)
        codes = columns_of_codes(opened_file)
        units, row = [], 0
        for group in range(opened_file.num_row_groups):
            size = opened_file.metadata.row_group(group).num_rows
            for skip in range(0, size, part_rows * PARTS_PER_UNIT):
                rows = min(part_rows * PARTS_PER_UNIT, size - skip)
                units.append(Unit(file=0, first_row=row, rows=rows, group=group, skip=skip))
                row += rows
    return _scanned(file, schema, kinds, evidence, units, codes=tuple(codes), is_contract=is_contract)


def _parquet_sheets(scanned: ScannedFile, unit: Unit, used: Sequence[str], part_rows: int) -> Iterator[Sheet]:
    tops = {name.partition(".")[0] for name in used} | set(used)
    with (
        scanned.file.open() as source,
        pa.parquet.ParquetFile(source, read_dictionary=list(scanned.codes)) as file,
    ):
        names = [name for name in file.schema_arrow.names if name in tops]
        left, held = unit.skip, []
        missing = unit.rows
        for batch in file.iter_batches(part_rows, row_groups=[unit.group], columns=names):
            passed = min(left, batch.num_rows)
            left -= passed
            taken = batch.slice(passed, missing)
            missing -= taken.num_rows
            held.append(taken)
            while sum(one.num_rows for one in held) >= part_rows:
                table = pa.Table.from_batches(held)
                yield Sheet.of_table(table.slice(0, part_rows))
                held = table.slice(part_rows).to_batches()
            if not missing:
                break
        if any(one.num_rows for one in held):
            yield Sheet.of_table(pa.Table.from_batches(held))


def _is_seekable(file: StoredFile, encoding: str) -> bool:
    """Whether bytes of a text file can be read from any position: it is neither compressed nor transcoded."""
    return file.suffix.lower() not in COMPRESSIONS and not _is_transcoded(encoding)


def _is_transcoded(encoding: str) -> bool:
    if codecs.lookup(encoding).name == "utf-8":
        return False
    try:
        one_byte = len(bytes(range(256)).decode(encoding, "replace")) == 256
        return not one_byte or _ASCII.decode(encoding) != _ASCII.decode()
    except UnicodeDecodeError:
        return True


def _block_encoding(encoding: str) -> str:
    return "utf-8" if _is_transcoded(encoding) else encoding


def _text(stream: Any, encoding: str) -> Any:
    return pa.transcoding_input_stream(stream, encoding, "utf-8") if _is_transcoded(encoding) else stream


def _blocks(scanned: ScannedFile, unit: Unit, part_rows: int) -> Iterator[bytes]:
    """Read the blocks of rows of a unit of a text file."""
    if unit.end >= 0:
        with scanned.file.open() as source:
            source.seek(unit.start)
            yield source.read(unit.end - unit.start)
        return
    is_csv = bool(scanned.header)
    with opened(scanned.file) as stream:
        blocks = text_blocks(
            _text(stream, scanned.encoding),
            part_rows,
            separator=scanned.separator if is_csv else None,
            header=1 + scanned.titles if is_csv else 0,
        )
        if is_csv:
            next(blocks, None)
        yield from blocks


def _scan_csv(file: StoredFile, schema: RecordSchema, part_rows: int) -> ScannedFile:
    start = csv_start(file, schema.format)
    found = schema_of(_all_columns(file, start.header), schema)
    is_contract, schema = found is not schema, found
    encoding = _block_encoding(start.encoding)
    evidence: dict[str, DateEvidence] = {}
    with opened(file) as stream:
        blocks = text_blocks(
            _text(stream, start.encoding), part_rows, separator=start.separator, header=1 + start.titles
        )
        header = next(blocks)
        _check_header(header, start, encoding)

        def sheets() -> Iterator[tuple[int, Sheet]]:
            for block in blocks:
                sheet = csv_part(pa.py_buffer(block), start._replace(encoding=encoding), schema.format.nulls)
                _gather(sheet, schema, evidence)
                yield len(block), sheet

        units = _text_units(sheets(), len(header), _is_seekable(file, start.encoding))
    return _scanned(
        file,
        schema,
        start.header,
        evidence,
        units,
        header=tuple(start.given),
        separator=start.separator,
        encoding=start.encoding,
        titles=start.titles,
        padded=start.padded,
        is_contract=is_contract,
    )


def _check_header(block: bytes, start: CsvStart, encoding: str) -> None:
    sheet = csv_part(pa.py_buffer(block), start._replace(encoding=encoding, given=[]), ())
    try:
        columns: list[Any] = list(sheet.columns.values())
        found = [column[-1].as_py() or "" for column in columns] if sheet.rows == 1 + start.titles else []
    except UnicodeDecodeError:
        found = []
    if found != start.given:
        raise UnreadableSource(
            f"the header of a CSV file must be {start.encoding.upper()}, quoted as in RFC 4180"
        )


def _scan_json(file: StoredFile, schema: RecordSchema, part_rows: int) -> ScannedFile:
    # Only all rows show all columns, so that the dates are collected for either schema.
    evidence: dict[bool, dict[str, DateEvidence]] = {False: {}, True: {}}
    columns: dict[str, None] = {}
    with opened(file) as stream:

        def sheets() -> Iterator[tuple[int, Sheet]]:
            for block in text_blocks(stream, part_rows, separator=None, header=0):
                sheet = json_part(BytesIO(block))
                columns.update(dict.fromkeys(sheet.columns))
                check_names(columns)
                for is_contract, dates in evidence.items():
                    _gather(sheet, schema.contract if is_contract else schema, dates)
                yield len(block), sheet

        units = _text_units(sheets(), 0, _is_seekable(file, "utf-8"))
    found = schema_of(_all_columns(file, columns), schema)
    is_contract = found is not schema
    return _scanned(file, found, columns, evidence[is_contract], units, is_contract=is_contract)


def _text_units(sheets: Iterator[tuple[int, Sheet]], start: int, seekable: bool) -> list[Unit]:
    units, row = [], 0
    for size, sheet in sheets:
        units.append(Unit(file=0, first_row=row, rows=sheet.rows, start=start, end=start + size))
        row, start = row + sheet.rows, start + size
    return units if seekable or not units else [Unit(file=0, first_row=0, rows=row)]
