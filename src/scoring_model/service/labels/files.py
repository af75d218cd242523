"""Files of labels, for the command of operators."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TextIO

from scoring_model.contract.label import IDENTIFIERS, LABELS
from scoring_model.contract.rules import REFERENCE_LENGTH, Rule, RuleError, definite_text
from scoring_model.contract.texts import from_text
from scoring_model.contract.violation import MOST_ERRORS, Invalid, Violation, pointer
from scoring_model.records import cells
from scoring_model.records.record import RowViolation, instant
from scoring_model.records.sheet import UnreadableSource, check_csv_header
from scoring_model.service.labels.imports import LabelLine

LONGEST_LINE: Final = 1024 * 1024
"""Characters: a line is read at once."""


class LabelsRefused(Invalid):
    """A label file breaks rules; nothing is imported.

    `rows` has the first violations, by row, and `omitted` is the number of others.
    """

    def __init__(self, path: Path, rows: Sequence[RowViolation], omitted: int) -> None:
        super().__init__((violation for _, violation in rows), omitted=omitted)
        self.path = path
        self.rows = tuple(rows)

    def __str__(self) -> str:
        lines = [
            f"- row {row}: {violation.field or 'row'}: {violation.code}, {violation.detail}"
            for row, violation in self.rows
        ]
        if self.omitted:
            lines.append(f"- and {self.omitted:,} more")
        return "\n".join((f"{self.path.name}: the labels are refused:", *lines))


def check_labels(path: Path, *, at: int) -> bool:
    """Check a label file; returns True if it names imported records. Arguments and errors are those of `read_labels`.

    Raises
    ------
    LabelsRefused
        With the first `MOST_ERRORS` violations, and the number of others.
    """
    broken: list[RowViolation] = []
    omitted, has_records = 0, False
    for number, found in enumerate(_rows(path, at)):
        if isinstance(found, LabelLine):
            has_records = has_records or found.record_id is not None
            continue
        left = MOST_ERRORS - len(broken)
        broken += [RowViolation(number, violation) for violation in found[:left]]
        omitted += len(found[left:])
    if broken:
        raise LabelsRefused(path, broken, omitted)
    return has_records


def read_labels(path: Path, *, at: int) -> Iterator[LabelLine]:
    """Read a label file row by row, whatever its size.

    Parameters
    ----------
    path : Path
        `.csv` (UTF-8, header, comma), `.jsonl` or `.ndjson` (UTF-8, one object per line). Other columns are ignored.
    at : int
        The current time, microseconds since 1970-01-01 UTC. A label known later is an error.

    Raises
    ------
    LabelsRefused
        With the violations of the first row that has some. `check_labels` finds those of all.
    ValueError
        If the file has another extension or encoding, no header, a header that lacks a column, or too long a line.
    """
    for number, found in enumerate(_rows(path, at)):
        if not isinstance(found, LabelLine):
            raise LabelsRefused(path, [RowViolation(number, violation) for violation in found], 0)
        yield found


def _rows(path: Path, at: int) -> Iterator[LabelLine | list[Violation]]:
    """Read each row, or what is wrong with it."""
    rows = _ROWS.get(path.suffix.lower())
    if rows is None:
        raise ValueError(f"{path.name}: a file of labels must end in one of {', '.join(_ROWS)}")
    try:
        for row in rows(path):
            if isinstance(row, Violation):
                yield [row]
                continue
            values, violations = _values(row, at)
            named = {_NAMES[name]: value for name, value in values.items()}
            yield violations or LabelLine(**named)  # type: ignore[arg-type]
    except UnicodeDecodeError:
        raise ValueError(f"{path.name}: a file of labels must be UTF-8") from None
    except csv.Error as error:
        raise ValueError(f"{path.name}: is not CSV: {error}") from None


Cells = Mapping[str, object]


def _csv_rows(path: Path) -> Iterator[Cells | Violation]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = (row for row in csv.reader(_lines(file, path), strict=True) if row)
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
        for line in _lines(file, path):
            if not line.isspace():
                yield _json_row(line)


def _lines(file: TextIO, path: Path) -> Iterator[str]:
    while line := file.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE and not line.endswith("\n"):
            raise ValueError(f"{path.name}: a line has more than {LONGEST_LINE:,} characters")
        yield line


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
        detail = f"must have exactly one of {', '.join(IDENTIFIERS)}, got {named}"
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


def _record_id(value: object) -> str | None:
    # Text as the import of a history reads it, where a table may hold numbers.
    return definite_text(cells.text(value), limit=REFERENCE_LENGTH)


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
    "recordId": _record_id,
    "label": _label,
    "knownAt": _known_at,
}

_NAMES: Final = {
    "verificationId": "verification_id",
    "identityId": "identity_id",
    "recordId": "record_id",
    "label": "label",
    "knownAt": "known_at",
}
