"""A file of labels of verifications."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from scoring_model.contract.ids import from_text
from scoring_model.contract.rules import Rule, RuleError
from scoring_model.contract.violation import Violation, pointer
from scoring_model.records import cells
from scoring_model.records.record import instant
from scoring_model.records.sheet import UnreadableSource, check_csv_header

LABELS: Final = ("fraud", "genuine", "withdrawn")
IDENTIFIERS: Final = ("verificationId", "identityId")
COLUMNS: Final = (*IDENTIFIERS, "label", "knownAt")


class LabelLine(NamedTuple):
    """One row of a file of labels. Exactly one of the two identifiers is there."""

    verification_id: bytes | None
    identity_id: bytes | None
    label: str
    known_at: int  # microseconds since 1970-01-01 UTC


class BrokenRow(NamedTuple):
    """A row of a file that breaks a rule; `row` is 0-based, without header and blank lines."""

    row: int
    violation: Violation

    def __str__(self) -> str:
        """Name the row, the field and the rule."""
        violation = self.violation
        return f"row {self.row}: {violation.pointer[1:] or 'row'}: {violation.code}, {violation.detail}"


class LabelsRefused(ValueError):
    """A file of labels breaks rules, so that nothing of it is imported.

    Parameters
    ----------
    rows : tuple of BrokenRow
        All violations, by row.
    """

    def __init__(self, path: Path, rows: tuple[BrokenRow, ...]) -> None:
        super().__init__("\n".join((f"{path.name}: the labels are refused:", *(f"- {row}" for row in rows))))
        self.rows = rows


def read_labels(path: Path, *, at: int) -> list[LabelLine]:
    """Read a file of labels.

    Parameters
    ----------
    path : Path
        `.csv` (UTF-8, header, comma), `.jsonl` or `.ndjson` (UTF-8, one object a line). Other columns are ignored.
    at : int
        The present, in microseconds since 1970-01-01 UTC. A label known later is an error.

    Raises
    ------
    LabelsRefused
        With all violations of all rows.
    ValueError
        If the file has another ending or encoding, no header, or a header that lacks a column.
    """
    rows = _ROWS.get(path.suffix.lower())
    if rows is None:
        raise ValueError(f"{path.name}: a file of labels must end in one of {', '.join(_ROWS)}")
    try:
        lines, broken = _read(rows(path), at)
    except UnicodeDecodeError:
        raise ValueError(f"{path.name}: a file of labels must be UTF-8") from None
    except csv.Error as error:
        raise ValueError(f"{path.name}: is no CSV: {error}") from None
    if broken:
        raise LabelsRefused(path, tuple(broken))
    return lines


def _read(rows: Iterator[Cells | Violation], at: int) -> tuple[list[LabelLine], list[BrokenRow]]:
    lines: list[LabelLine] = []
    broken: list[BrokenRow] = []
    for number, row in enumerate(rows):
        if isinstance(row, Violation):
            broken.append(BrokenRow(number, row))
            continue
        values, violations = _values(row, at)
        broken += [BrokenRow(number, violation) for violation in violations]
        if not violations:
            lines.append(LabelLine(*(values.get(name) for name in COLUMNS)))  # type: ignore[arg-type]
    return lines, broken


Cells = Mapping[str, object]


def _csv_rows(path: Path) -> Iterator[Cells | Violation]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = (row for row in csv.reader(file, strict=True) if row)
        header = next(rows, [])
        _check_header(path, header)
        for row in rows:
            if len(row) == len(header):
                yield dict(zip(header, row, strict=True))
            else:
                yield _malformed(f"must have {len(header)} columns, got {len(row)}")


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


def _json_rows(path: Path) -> Iterator[Cells | Violation]:
    with path.open(encoding="utf-8-sig") as file:
        for line in file:
            if not line.isspace():
                yield _json_row(line)


def _json_row(line: str) -> Cells | Violation:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    return row if isinstance(row, dict) else _malformed("must be a JSON object")


def _malformed(detail: str) -> Violation:
    return Violation("", Rule.MALFORMED_ROW.value, detail)


_ROWS: Final[Mapping[str, Callable[[Path], Iterator[Cells | Violation]]]] = {
    ".csv": _csv_rows,
    ".jsonl": _json_rows,
    ".ndjson": _json_rows,
}


def _values(row: Cells, at: int) -> tuple[dict[str, object], list[Violation]]:
    values: dict[str, object] = {}
    violations = []
    for name, parse in _PARSERS.items():
        try:
            values[name] = parse(cells.plain(row.get(name)))
        except RuleError as error:
            violations.append(Violation(pointer(name), error.type, error.message()))
    named = sum(cells.plain(row.get(name)) is not None for name in IDENTIFIERS)
    if named != 1:
        detail = f"must have exactly one of {' and '.join(IDENTIFIERS)}, got {named}"
        violations.append(Violation("", "one_identifier", detail))
    known_at = values.get("knownAt")
    if isinstance(known_at, int) and known_at > at:
        violations.append(Violation("/knownAt", Rule.IN_FUTURE.value, "must not be later than now"))
    return values, violations


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
        raise RuleError(Rule.MISSING, "must be there")
    if text not in LABELS:
        raise RuleError(Rule.NOT_LISTED, f"must be one of {', '.join(LABELS)}")
    return str(text)


def _known_at(value: object) -> int:
    found = instant(value)
    if found is None:
        raise RuleError(Rule.MISSING, "must be there")
    return found


_PARSERS: Final[Mapping[str, Callable[[object], object]]] = {
    "verificationId": _identifier,
    "identityId": _identifier,
    "label": _label,
    "knownAt": _known_at,
}
