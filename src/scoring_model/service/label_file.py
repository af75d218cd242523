"""A file of labels: which verifications turned out to be what, and since when that is known."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from scoring_model.contract.ids import from_text
from scoring_model.contract.rules import RuleError
from scoring_model.records import cells
from scoring_model.records.csv_header import check_csv_header
from scoring_model.records.rules import instant
from scoring_model.records.sheet import UnreadableSource

LABELS: Final = ("fraud", "genuine", "withdrawn")
IDENTIFIERS: Final = ("verificationId", "identityId")
COLUMNS: Final = (*IDENTIFIERS, "label", "knownAt")
WHOLE: Final = "row"  # the field of a problem of a whole row


class LabelLine(NamedTuple):
    """One row of a file of labels. Exactly one of the two identifiers is there."""

    verification_id: bytes | None
    identity_id: bytes | None
    label: str
    known_at: int  # microseconds since 1970-01-01 UTC


class LabelProblem(NamedTuple):
    """A rule that a row of a file of labels breaks; `row` is 0-based, header and blank lines left out."""

    row: int
    field: str
    rule: str
    detail: str


class LabelsRefused(ValueError):
    """A file of labels can't be taken as it is, so that nothing of it is.

    Parameters
    ----------
    problems : tuple of LabelProblem
        All of them, by row.
    """

    def __init__(self, path: Path, problems: tuple[LabelProblem, ...]) -> None:
        lines = (f"- row {row}: {field}: {rule}, {detail}" for row, field, rule, detail in problems)
        super().__init__("\n".join((f"{path.name}: the labels are refused:", *lines)))
        self.problems = problems


def read_labels(path: Path, *, at: int) -> list[LabelLine]:
    """Read a file of labels.

    Parameters
    ----------
    path : Path
        `.csv` (UTF-8, header, comma), `.jsonl` or `.ndjson` (UTF-8, one object a line). Columns of other names are
        of no concern.
    at : int
        The present, in microseconds since 1970-01-01 UTC: nothing was known later.

    Raises
    ------
    LabelsRefused
        With every rule that a row breaks.
    ValueError
        If the file is of no known kind, or no UTF-8, or it has no header, or its header lacks a column.
    """
    rows = _ROWS.get(path.suffix.lower())
    if rows is None:
        raise ValueError(f"{path.name}: a file of labels must end in one of {', '.join(_ROWS)}")
    try:
        lines, problems = _read(rows(path), at)
    except UnicodeDecodeError:
        raise ValueError(f"{path.name}: a file of labels must be UTF-8") from None
    except csv.Error as error:
        raise ValueError(f"{path.name}: is no CSV: {error}") from None
    if problems:
        raise LabelsRefused(path, tuple(problems))
    return lines


def _read(rows: Iterator[Row], at: int) -> tuple[list[LabelLine], list[LabelProblem]]:
    lines: list[LabelLine] = []
    problems: list[LabelProblem] = []
    for number, row in enumerate(rows):
        if isinstance(row, str):
            problems.append(LabelProblem(number, WHOLE, "malformed_row", row))
            continue
        values, found = _values(number, row, at)
        problems += found
        if not found:
            lines.append(LabelLine(*(values.get(name) for name in COLUMNS)))  # type: ignore[arg-type]
    return lines, problems


Row = Mapping[str, object] | str
"""Cells by column, or what is wrong with a row that has none."""


def _csv_rows(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = (row for row in csv.reader(file, strict=True) if row)
        header = next(rows, [])
        _check_header(path, header)
        for row in rows:
            if len(row) == len(header):
                yield dict(zip(header, row, strict=True))
            else:
                yield f"must have {len(header)} columns, got {len(row)}"


def _check_header(path: Path, header: list[str]) -> None:
    try:
        check_csv_header(header)
    except UnreadableSource as error:
        raise ValueError(f"{path.name}: {error}") from None
    missing = [name for name in ("label", "knownAt") if name not in header]
    if not set(IDENTIFIERS) & set(header):
        missing.append(" or ".join(IDENTIFIERS))
    if missing:
        raise ValueError(f"{path.name}: the header lacks {', '.join(missing)}")
    if len(set(header)) < len(header):
        raise ValueError(f"{path.name}: columns must have distinct names")


def _json_rows(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8-sig") as file:
        for line in file:
            if not line.isspace():
                yield _json_row(line)


def _json_row(line: str) -> Row:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    return row if isinstance(row, dict) else "must be a JSON object"


_ROWS: Final[Mapping[str, Callable[[Path], Iterator[Row]]]] = {
    ".csv": _csv_rows,
    ".jsonl": _json_rows,
    ".ndjson": _json_rows,
}


def _values(number: int, row: Mapping[str, object], at: int) -> tuple[dict[str, object], list[LabelProblem]]:
    values: dict[str, object] = {}
    problems = []
    for name, parse in _PARSERS.items():
        try:
            values[name] = parse(cells.plain(row.get(name)))
        except RuleError as error:
            problems.append(LabelProblem(number, name, error.type, error.message()))
    named = sum(cells.plain(row.get(name)) is not None for name in IDENTIFIERS)
    if named != 1:
        detail = f"must have exactly one of {' and '.join(IDENTIFIERS)}, got {named}"
        problems.append(LabelProblem(number, WHOLE, "one_identifier", detail))
    known_at = values.get("knownAt")
    if isinstance(known_at, int) and known_at > at:
        problems.append(LabelProblem(number, "knownAt", "in_future", "must not be later than now"))
    return values, problems


def _identifier(value: object) -> bytes | None:
    if value is None:
        return None
    found = from_text(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise RuleError("not_a_uuid", "must be a UUID")
    return found


def _label(value: object) -> str:
    text = value.strip().lower() if isinstance(value, str) else value
    if text is None:
        raise RuleError("missing", "must be there")
    if text not in LABELS:
        raise RuleError("not_listed", f"must be one of {', '.join(LABELS)}")
    return str(text)


def _known_at(value: object) -> int:
    found = instant(value)
    if found is None:
        raise RuleError("missing", "must be there")
    return found


_PARSERS: Final[Mapping[str, Callable[[object], object]]] = {
    "verificationId": _identifier,
    "identityId": _identifier,
    "label": _label,
    "knownAt": _known_at,
}
