"""Files of rows that operators import, CSV or JSON Lines: checked as a whole first, then read row by row."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, Generic, TextIO, TypeVar

from scoring_model.contract.rules import Rule, RuleError
from scoring_model.contract.texts import from_text
from scoring_model.contract.violation import MOST_ERRORS, Invalid, Violation, pointer
from scoring_model.records import cells
from scoring_model.records.record import RowViolation
from scoring_model.records.sheet import UnreadableSource, check_csv_header

LONGEST_LINE: Final = 1024 * 1024
"""Characters: a line is read at once."""

MOST_LISTED: Final = 10_000
"""Identifiers of each kind that the result of an import lists; it counts the others."""

_ENDINGS: Final = (".csv", ".jsonl", ".ndjson")

Cells = Mapping[str, object]
T = TypeVar("T")


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Divide items into lists of at most `size`."""
    iterator = iter(items)
    return iter(lambda: list(islice(iterator, size)), [])


class RowsRefused(Invalid):
    """A file breaks rules; nothing is imported.

    `rows` has the first violations, by row, and `omitted` is the number of others.
    """

    def __init__(self, path: Path, noun: str, rows: Sequence[RowViolation], omitted: int) -> None:
        super().__init__((violation for _, violation in rows), omitted=omitted)
        self.path = path
        self.noun = noun
        self.rows = tuple(rows)

    def __str__(self) -> str:
        lines = [
            f"- row {row}: {violation.field or 'row'}: {violation.code}, {violation.detail}"
            for row, violation in self.rows
        ]
        if self.omitted:
            lines.append(f"- and {self.omitted:,} more")
        return "\n".join((f"{self.path.name}: the {self.noun} are refused:", *lines))


@dataclass(frozen=True, kw_only=True)
class RowFile(Generic[T]):
    """The form of a file: CSV (UTF-8, header, comma) or JSON Lines (UTF-8, one object per line).

    Parameters
    ----------
    noun : str
        What its rows are, in errors: ``labels``.
    needed : tuple of tuple of str
        Columns that a header must have: of each one name.
    parse : callable
        Makes a line of a row, or says what is wrong with it.
    """

    noun: str
    needed: tuple[tuple[str, ...], ...]
    parse: Callable[[Cells], T | list[Violation]]

    def check(self, path: Path) -> Iterator[T]:
        """Check a file to its end; yields its lines up to the first bad one.

        Raises
        ------
        RowsRefused
            At the end, with the first `MOST_ERRORS` violations, and the number of others.
        """
        broken: list[RowViolation] = []
        omitted = 0
        for number, found in enumerate(self._rows(path)):
            if not isinstance(found, list):
                if not broken:
                    yield found
                continue
            left = MOST_ERRORS - len(broken)
            broken += [RowViolation(number, violation) for violation in found[:left]]
            omitted += len(found[left:])
        if broken:
            raise RowsRefused(path, self.noun, broken, omitted)

    def read(self, path: Path) -> Iterator[T]:
        """Read a file row by row, whatever its size.

        Raises
        ------
        RowsRefused
            With the violations of the first row that has some. `check` finds those of all.
        ValueError
            If the file has another extension or encoding, no header, a header that lacks a column, or too long a line.
        """
        for number, found in enumerate(self._rows(path)):
            if isinstance(found, list):
                raise RowsRefused(
                    path, self.noun, [RowViolation(number, violation) for violation in found], 0
                )
            yield found

    def _rows(self, path: Path) -> Iterator[T | list[Violation]]:
        """Read each row, or what is wrong with it."""
        suffix = path.suffix.lower()
        if suffix not in _ENDINGS:
            raise ValueError(f"{path.name}: a file of {self.noun} must end in one of {', '.join(_ENDINGS)}")
        rows = _csv_rows(path, self.needed) if suffix == ".csv" else _json_rows(path)
        try:
            for row in rows:
                yield [row] if isinstance(row, Violation) else self.parse(row)
        except UnicodeDecodeError:
            raise ValueError(f"{path.name}: a file of {self.noun} must be UTF-8") from None
        except csv.Error as error:
            raise ValueError(f"{path.name}: is not CSV: {error}") from None


def values_of(
    row: Cells, parsers: Mapping[str, Callable[[object], object]]
) -> tuple[dict[str, object], list[Violation]]:
    """Parse the cells of a row by name; returns the values, and what is wrong with the others."""
    values: dict[str, object] = {}
    violations = []
    for name, parse in parsers.items():
        try:
            values[name] = parse(cells.plain(row.get(name)))
        except RuleError as error:
            violations.append(Violation(pointer(name), error.type, error.message()))
    return values, violations


def identifier(value: object) -> bytes | None:
    """Read an id; None without one."""
    if value is None:
        return None
    found = from_text(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise RuleError("not_a_uuid", "must be a UUID")
    return found


def _csv_rows(path: Path, needed: tuple[tuple[str, ...], ...]) -> Iterator[Cells | Violation]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = (row for row in csv.reader(lines_of(file, path.name), strict=True) if row)
        header = next(rows, [])
        _check_header(path, header, needed)
        for row in rows:
            if len(row) == len(header):
                yield dict(zip(header, row, strict=True))
            else:
                yield _malformed(f"must have {len(header)} columns, got {len(row)}")


def _check_header(path: Path, header: list[str], needed: tuple[tuple[str, ...], ...]) -> None:
    try:
        check_csv_header(header)
    except UnreadableSource as error:
        raise ValueError(f"{path.name}: {error}") from None
    missing = [" or ".join(names) for names in needed if not set(names) & set(header)]
    if missing:
        raise ValueError(f"{path.name}: the header lacks {', '.join(missing)}")
    if len(set(header)) < len(header):
        raise ValueError(f"{path.name}: columns must have distinct names")


def _json_rows(path: Path) -> Iterator[Cells | Violation]:
    with path.open(encoding="utf-8-sig") as file:
        for line in lines_of(file, path.name):
            if not line.isspace():
                yield _json_row(line)


def lines_of(file: TextIO, name: str) -> Iterator[str]:
    """Read a file line by line; raises `ValueError` at a line that is too long."""
    while line := file.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE and not line.endswith("\n"):
            raise ValueError(f"{name}: a line has more than {LONGEST_LINE:,} characters")
        yield line


def _json_row(line: str) -> Cells | Violation:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    return row if isinstance(row, dict) else _malformed("must be a JSON object")


def _malformed(detail: str) -> Violation:
    return Violation("", Rule.MALFORMED_ROW.value, detail)
