"""Checks columns against the rules of their fields, and rows against rules that involve several fields or rows."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from itertools import chain
from typing import Any, Final

import numpy as np

from scoring_model.arrays import BoolArray, IntArray
from scoring_model.contract.fields import DECIDED_FIELDS, EVENT_FIELDS, REFERENCE_FIELDS
from scoring_model.contract.rules import (
    LARGEST_IDENTIFIER,
    SHORTEST_LIMIT,
    URLS,
    Rule,
    RuleError,
    are_plain_urls,
)
from scoring_model.contract.violation import Violation
from scoring_model.records import cells, times
from scoring_model.records.cells import Cell
from scoring_model.records.dates import short_year_reader
from scoring_model.records.record import (
    EMPTY,
    FUTURE,
    MISSING,
    RowViolation,
    broken,
    instant,
    violation,
)
from scoring_model.records.schema import LabelSchema
from scoring_model.records.table import NEVER, Column

UNTIMED: Final = "must be there for a label, or the schema must set a label delay"
DUPLICATE: Final = "must differ from those of the rows before"


@dataclass(frozen=True)
class Parsed:
    """A parsed column.

    Parameters
    ----------
    column : Column
        Canonical values in any order; rows that break the rule have none.
    violations : tuple of RowViolation
        One for each row that breaks the rule.
    """

    column: Column
    violations: tuple[RowViolation, ...] = ()

    @classmethod
    def absent(cls, rows: int) -> "Parsed":
        """Return a placeholder for a column that the source lacks."""
        return cls(Column.missing(rows))

    @property
    def missing(self) -> BoolArray:
        """Return the mask of rows without a value that break no rule."""
        missing: BoolArray = self.column.codes < 0
        missing[[found.row for found in self.violations]] = False
        return missing

    def append(self, other: "Parsed") -> "Parsed":
        """Append the rows of another column."""
        later = [RowViolation(len(self.column) + row, found) for row, found in other.violations]
        return Parsed(self.column.append(other.column), (*self.violations, *later))


def parse_column(field: str, raw: Column, parse: Callable[[object], object | None]) -> Parsed:
    """Parse each distinct cell of a column once.

    Parameters
    ----------
    field : str
        Name of the field, for its violations.
    raw : Column
        Unchecked cells.
    parse : callable
        Cell to canonical value, or None where missing; raises `RuleError`.
    """
    return _parsed(field, raw, parse, (), range(len(raw.values)))


def parse_texts(field: str, raw: Column, parse: Callable[[object], object | None]) -> Parsed:
    """Parse a column of texts or whole numbers, like `parse_column`; most are canonical and need no parsing.

    Parameters
    ----------
    parse : callable
        Cell to text by one of `TEXT_RULES`.
    """
    values = raw.values
    if set(map(type, values)) == {int} and max(map(abs, values)) < LARGEST_IDENTIFIER:
        return Parsed(Column(tuple(map(str, values)), raw.codes))
    if _are_canonical(values):
        return Parsed(Column(tuple(values), raw.codes))
    others = [code for code, cell in enumerate(values) if not _are_canonical((cell,))]
    return _parsed(field, raw, parse, sorted(set(range(len(values))).difference(others)), others)


def parse_urls(field: str, raw: Column, parse: Callable[[object], object | None]) -> Parsed:
    """Parse a column of lists of URLs, like `parse_column`; most need no parsing.

    Parameters
    ----------
    parse : callable
        Cell to URLs by `image_urls`.
    """
    values = raw.values
    if set(map(type, values)) == {list} and all(values):
        urls = list(chain.from_iterable(values))
        if max(map(len, values)) <= URLS and are_plain_urls(urls):
            return Parsed(Column(tuple(map(tuple, values)), raw.codes))
    return parse_column(field, raw, parse)


def _are_canonical(values: Sequence[Any]) -> bool:
    """Whether all cells are texts that every rule of texts leaves as they are; without a loop over them."""
    if set(map(type, values)) != {str}:
        return False
    whole = "".join(values)
    return (
        whole.isascii()
        and whole.isprintable()
        and all(values)
        and max(map(len, values)) <= SHORTEST_LIMIT
        and (" " not in whole or list(map(str.strip, values)) == list(values))
    )


def _parsed(
    field: str,
    raw: Column,
    parse: Callable[[object], object | None],
    canonical: Sequence[int],
    others: Iterable[int],
) -> Parsed:
    """Make a column of the canonical values and of the others, which are parsed; both are given by their codes."""
    index: dict[object, int] = {raw.values[code]: place for place, code in enumerate(canonical)}
    violations: dict[int, Violation] = {}
    targets = np.full(len(raw.values) + 1, -1, dtype=np.int32)  # code -1 indexes the last element
    targets[np.asarray(canonical, dtype=np.int64)] = np.arange(len(canonical))
    for code in others:
        try:
            value = parse(raw.values[code])
        except RuleError as error:
            violations[code] = broken(field, error)
        else:
            targets[code] = -1 if value is None else index.setdefault(value, len(index))
    column = Column(tuple(index), targets[raw.codes])
    rows = np.flatnonzero(np.isin(raw.codes, list(violations))) if violations else ()
    return Parsed(column, tuple(RowViolation(int(row), violations[int(raw.codes[row])]) for row in rows))


def parse_instants(field: str, raw: Column, read: Cell = cells.plain, zone: tzinfo = UTC) -> Parsed:
    """Parse a column of times to microseconds, vectorised if the source has a time type.

    Times without a zone are in `zone`.
    """
    values: object = raw.values
    if isinstance(values, np.ndarray) and zone is UTC:
        micros: IntArray = values.astype(np.int64)
        if ((micros >= times.EARLIEST) & (micros <= times.LATEST)).all():
            return Parsed(Column(micros, raw.codes))  # type: ignore[arg-type]
    return parse_column(field, raw, lambda cell: instant(read(cell), zone))


def in_century(raw: Column, formats: tuple[str, ...], events: IntArray) -> Column:
    """Replace dates of birth with a year of two digits that is later than that of the event by those a century earlier.

    Parameters
    ----------
    events : ndarray of shape (n,), int64
        Microseconds.
    """
    read, values = short_year_reader(formats), list(raw.values)
    years = np.full(len(values) + 1, np.iinfo(np.int64).min)  # code -1 indexes the last element
    earlier = np.full(len(values) + 1, -1, dtype=np.int32)
    for code, value in enumerate(raw.values):
        moment = read(value) if isinstance(value, str) else None
        if moment is not None and (moment.month, moment.day, moment.year) != (2, 29, 2000):
            years[code], earlier[code] = moment.year, len(values)
            values.append(moment.date().replace(year=moment.year - 100))
    event_years = events.astype("datetime64[us]").astype("datetime64[Y]").astype(np.int64) + 1970
    later = years[raw.codes] > event_years
    return Column.compact(values, np.where(later, earlier[raw.codes], raw.codes))


def repetition(row: int) -> RowViolation:
    """Return the violation of a row whose `recordId` occurs in an earlier row."""
    return RowViolation(row, violation("recordId", Rule.DUPLICATE, DUPLICATE))


def row_violations(
    parsed: Mapping[str, Parsed], labels: LabelSchema, *, readable: BoolArray
) -> Iterator[RowViolation]:
    """Find violations that involve several fields or rows.

    Parameters
    ----------
    parsed : mapping of str to Parsed
        Columns of n rows by field; columns that the source lacks are absent.
    labels : LabelSchema
        Defines whether labels need a time of their own.
    readable : ndarray of shape (n,), bool
        Rows that could be parsed; other rows are skipped.

    Yields
    ------
    RowViolation
        By rule, then by row.
    """
    for found, rows in _broken(parsed, labels, len(readable)):
        for row in np.flatnonzero(rows & readable).tolist():
            yield RowViolation(row, found)


def _broken(
    parsed: Mapping[str, Parsed], labels: LabelSchema, rows: int
) -> Iterator[tuple[Violation, BoolArray]]:
    absent = Parsed.absent(rows)
    event = parsed.get("eventTime", absent)
    yield violation("eventTime", Rule.MISSING, MISSING), event.missing
    if "recordId" in parsed:
        yield violation("recordId", Rule.MISSING, MISSING), parsed["recordId"].missing
        yield violation("recordId", Rule.DUPLICATE, DUPLICATE), _repeated(parsed["recordId"].column)
    if labels.delay is None:
        labelled = parsed.get("label", absent).column.codes >= 0
        untimed = labelled & parsed.get("labelKnownAt", absent).missing
        yield violation("labelKnownAt", Rule.MISSING, UNTIMED), untimed
    yield violation("", Rule.EMPTY_RECORD, EMPTY), _empty(parsed, rows)
    born = _birth_times(parsed.get("dob", absent).column)
    yield violation("dob", Rule.IN_FUTURE, FUTURE), born > event.column.gather(NEVER)


def _repeated(column: Column) -> BoolArray:
    rows = np.arange(len(column.codes))
    first = np.zeros(len(column.values) + 1, dtype=np.int64)
    first[column.codes[::-1]] = rows[::-1]  # for repeated indices the last assignment, the first row, wins
    repeated: BoolArray = (column.codes >= 0) & (first[column.codes] != rows)
    return repeated


def _empty(parsed: Mapping[str, Parsed], rows: int) -> BoolArray:
    empty = np.ones(rows, dtype=np.bool_)
    for field, column in parsed.items():
        if field not in (*EVENT_FIELDS, *DECIDED_FIELDS, *REFERENCE_FIELDS):
            empty &= column.missing
    return empty


def _birth_times(column: Column) -> IntArray:
    born = np.array(column.values, dtype="datetime64[D]").astype("datetime64[us]")
    return np.append(born.astype(np.int64), times.EARLIEST)[column.codes]
