"""Reads the named columns of scored files and of label files, which are no records."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC
from functools import reduce
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.contract.rules import number as number_rule
from scoring_model.contract.rules import propensity
from scoring_model.evaluation.evaluated_records import EvaluationError, refuse
from scoring_model.records import Column, FileFormat, RecordSchema
from scoring_model.records.cells import moment, number, number_of
from scoring_model.records.clocks import with_clocks
from scoring_model.records.columns import Parsed, parse_column, parse_instants, parse_texts
from scoring_model.records.encoding import encode, is_zoned
from scoring_model.records.files import file_sheet, frame_sheet
from scoring_model.records.layout import is_export
from scoring_model.records.sheet import Cells, Sheet
from scoring_model.records.sources import file_paths

ColumnParser: TypeAlias = Callable[[str, Cells, int], Parsed]
"""Field, cells and number of rows to parsed values."""

_SHOWN: Final = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """A source that was opened, without checks.

    Parameters
    ----------
    name : str
        Names of the files, for errors; "the table" in memory.
    files : tuple of str
        Names of the files; empty in memory.
    sheets : tuple of Sheet
        One for each file.
    """

    name: str
    files: tuple[str, ...]
    sheets: tuple[Sheet, ...]

    @classmethod
    def open(cls, source: object, form: FileFormat) -> "Source":
        """Open files or a table in memory; a source that is open stays so."""
        if isinstance(source, Source):
            return source
        paths: tuple[Path, ...] | None = file_paths(source)
        if paths is None:
            return cls(name="the table", files=(), sheets=(frame_sheet(source),))
        files = tuple(path.name for path in paths)
        return cls(name=", ".join(files), files=files, sheets=tuple(file_sheet(path, form) for path in paths))

    def with_clocks(self, schema: RecordSchema) -> "Source":
        """Join the times that a schema reads from two columns."""
        return replace(self, sheets=tuple(with_clocks(sheet, schema) for sheet in self.sheets))

    @property
    def is_export(self) -> bool:
        """Whether all of it is an export of the service."""
        return all(is_export(sheet.columns, marked=sheet.marked) for sheet in self.sheets)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(sheet.rows for sheet in self.sheets)

    def holds(self, column: str) -> bool:
        """Whether every sheet has a column."""
        return all(column in sheet.columns for sheet in self.sheets)

    def lacking(self, column: str) -> tuple[str, ...]:
        """Return the names of the files without a column that others have."""
        held = [column in sheet.columns for sheet in self.sheets]
        return (
            tuple(name for name, one in zip(self.files, held, strict=False) if not one) if any(held) else ()
        )

    def read(
        self,
        parsers: Mapping[str, ColumnParser],
        *,
        required: Collection[str],
        filled: Collection[str],
        partly: Collection[str] = (),
    ) -> dict[str, Parsed]:
        """Parse columns.

        Parameters
        ----------
        parsers : mapping of str to ColumnParser
            By column; those that the source lacks are left out.
        required, filled : collection of str
            Columns that must be there, and columns that must have a value in each row.
        partly : collection of str
            Columns that some sheets may lack, in whose rows they are missing.

        Raises
        ------
        EvaluationError
            With every missing column and every broken rule, and the first rows that break it.
        """
        missing = sorted(column for column in required if not self.holds(column))
        if missing:
            raise EvaluationError(f"{self.name}: must have the columns {', '.join(missing)}")
        found = {
            column: reduce(
                Parsed.append,
                (
                    parse(column, sheet.columns[column], sheet.rows)
                    if column in sheet.columns
                    else Parsed.absent(sheet.rows)
                    for sheet in self.sheets
                ),
            )
            for column, parse in parsers.items()
            if self.holds(column) or (column in partly and self.lacking(column))
        }
        self._check(found, filled)
        return found

    def _check(self, found: Mapping[str, Parsed], filled: Collection[str]) -> None:
        broken: dict[tuple[str, str], list[int]] = {}
        for sheet_violation in (one for sheet in self.sheets for one in sheet.violations):
            broken.setdefault(("row", sheet_violation.violation.detail), []).append(sheet_violation.row)
        for column, parsed in found.items():
            for row, violation in parsed.violations:
                broken.setdefault((column, violation.detail), []).append(row)
            if column in filled and parsed.missing.any():
                rows = parsed.missing.nonzero()[0].tolist()
                broken.setdefault((column, "must be there"), []).extend(rows)
        refuse(
            self.name,
            (
                f"{column}: {detail} ({len(rows):,} rows: {', '.join(map(str, rows[:_SHOWN]))}"
                f"{', ...' if len(rows) > _SHOWN else ''})"
                for (column, detail), rows in broken.items()
            ),
        )


def distinct_ids(ids: Column, source: str) -> tuple[str, ...]:
    """Return the `recordId` of each row; raises `EvaluationError` if one repeats."""
    record_ids = tuple([str(ids.values[code]) for code in ids.codes.tolist()])
    if repeated := len(record_ids) - len(set(record_ids)):
        raise EvaluationError(f"{source}: recordId: must be distinct, {repeated:,} rows repeat one")
    return record_ids


def values(parse: Callable[[object], object | None]) -> ColumnParser:
    """Make a parser of cells."""
    return lambda column, cells, rows: parse_column(column, encode(cells, rows), parse)


def texts(parse: Callable[[object], object | None]) -> ColumnParser:
    """Make a parser of texts by a rule of texts: most are canonical and need no parsing."""
    return lambda column, cells, rows: parse_texts(column, encode(cells, rows), parse)


def numbers(column: str, cells: Cells, rows: int) -> Parsed:
    """Parse a column of finite numbers; one that holds nothing but floats needs no parsing."""
    raw = encode(cells, rows)
    if set(map(type, raw.values)) == {float} and np.isfinite(raw.values).all():
        return Parsed(Column(tuple((np.array(raw.values) + 0.0).tolist()), raw.codes))
    return parse_column(column, raw, lambda cell: number_rule(number(cell)))


def propensities(decimal: str | None = None) -> ColumnParser:
    """Make a parser of the propensities of a control group, with this decimal mark."""
    read = number_of(decimal)
    return values(lambda cell: propensity(read(cell)))


def floats(column: Column) -> FloatArray:
    """Return the numbers of a column, NaN where it has none."""
    return np.array([*column.values, np.nan], dtype=np.float64)[column.codes]


def instants(schema: RecordSchema) -> ColumnParser:
    """Make a parser of times, in the formats and the zone of a schema."""
    form = schema.format
    read = moment(form.dates)

    def parse(column: str, cells: Cells, rows: int) -> Parsed:
        zone = UTC if is_zoned(cells) else form.zone or UTC
        return parse_instants(column, encode(cells, rows), read, zone)

    return parse
