"""Labels: reading from a file, and appending under the locks of the verifications' history scopes."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from scoring_model.contract.rules import Rule, RuleError
from scoring_model.contract.texts import from_text
from scoring_model.contract.verification import VerificationStatus
from scoring_model.contract.violation import Invalid, Violation, pointer
from scoring_model.history import pack_label
from scoring_model.records import cells
from scoring_model.records.record import RowViolation, instant
from scoring_model.records.sheet import UnreadableSource, check_csv_header
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.rows import ClientRow, LabelRow, VerificationRow
from scoring_model.service.store import Reader, Store, Transaction

LABELS: Final = ("fraud", "genuine", "withdrawn")
IDENTIFIERS: Final = ("verificationId", "identityId")
COLUMNS: Final = (*IDENTIFIERS, "label", "knownAt")
_FRAUD: Final = "fraud"
_BATCH: Final = 200
_HASH: Final = 16


class LabelLine(NamedTuple):
    """One row of a label file. Exactly one of the two identifiers is set."""

    verification_id: bytes | None
    identity_id: bytes | None
    label: str
    known_at: int  # microseconds since 1970-01-01 UTC


class LabelsRefused(Invalid):
    """A label file breaks rules; nothing is imported. `rows` has all violations, by row."""

    def __init__(self, path: Path, rows: Sequence[RowViolation]) -> None:
        super().__init__(violation for _, violation in rows)
        self.path = path
        self.rows = tuple(rows)

    def __str__(self) -> str:
        lines = [
            f"- row {row}: {violation.field or 'row'}: {violation.code}, {violation.detail}"
            for row, violation in self.rows
        ]
        return "\n".join((f"{self.path.name}: the labels are refused:", *lines))


def read_labels(path: Path, *, at: int) -> list[LabelLine]:
    """Read a label file.

    Parameters
    ----------
    path : Path
        `.csv` (UTF-8, header, comma), `.jsonl` or `.ndjson` (UTF-8, one object per line). Other columns are ignored.
    at : int
        The current time, microseconds since 1970-01-01 UTC. A label known later is an error.

    Raises
    ------
    LabelsRefused
        With all violations of all rows.
    ValueError
        If the file has another extension or encoding, no header, or a header that lacks a column.
    """
    rows = _ROWS.get(path.suffix.lower())
    if rows is None:
        raise ValueError(f"{path.name}: a file of labels must end in one of {', '.join(_ROWS)}")
    try:
        lines, broken = _read(rows(path), at)
    except UnicodeDecodeError:
        raise ValueError(f"{path.name}: a file of labels must be UTF-8") from None
    except csv.Error as error:
        raise ValueError(f"{path.name}: is not CSV: {error}") from None
    if broken:
        raise LabelsRefused(path, broken)
    return lines


def _read(rows: Iterator[Cells | Violation], at: int) -> tuple[list[LabelLine], list[RowViolation]]:
    lines: list[LabelLine] = []
    broken: list[RowViolation] = []
    for number, row in enumerate(rows):
        if isinstance(row, Violation):
            broken.append(RowViolation(number, row))
            continue
        values, violations = _values(row, at)
        broken += [RowViolation(number, violation) for violation in violations]
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


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import.

    Parameters
    ----------
    imported : int
        Number of new labels.
    repeated : int
        Number of labels that were already reported.
    unknown : tuple of bytes
        Identifiers without a completed verification, or whose person was erased.
    """

    imported: int
    repeated: int
    unknown: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class _Report:
    verification: VerificationRow
    label: str
    known_at: int


async def import_labels(
    store: Store, clients: Sequence[ClientRow], lines: Iterable[LabelLine], clock: Clock
) -> Imported:
    """Store reported labels.

    A label counts from the later of two instants: when it was known, and when it is reported here, which is later than
    every event that was scored without it. A repeated report changes nothing; a label with another value or instant is
    appended, and the latest label that counts decides.

    Parameters
    ----------
    clients : sequence of ClientRow
        All clients.
    """
    scopes = {client.client: client.pool for client in clients}
    unknown: dict[bytes, None] = {}
    by_scope: dict[str, list[_Report]] = defaultdict(list)
    async with store.reading() as reader:
        for line in lines:
            rows = await _rows_of(reader, line)
            if not rows:
                unknown[line.verification_id or line.identity_id or b""] = None
            for row in rows:
                by_scope[scopes[row.client]].append(_Report(row, line.label, line.known_at))
    imported = repeated = 0
    for scope, reports in by_scope.items():
        for start in range(0, len(reports), _BATCH):
            batch = reports[start : start + _BATCH]
            async with store.writing([scope]) as transaction:
                new, erased = await _append(transaction, batch, clock)
            imported += new
            repeated += len(batch) - new - len(erased)
            unknown |= dict.fromkeys(erased)
    return Imported(imported, repeated, tuple(unknown))


async def _rows_of(reader: Reader, line: LabelLine) -> list[VerificationRow]:
    """Return the verifications that a line is about."""
    if line.verification_id is not None:
        row = await reader.verification_by_id(line.verification_id)
        found = [] if row is None else [row]
    else:
        found = await reader.verifications_of_identity(line.identity_id or b"")
    return [row for row in found if row.status == VerificationStatus.COMPLETED and row.links is not None]


async def _append(
    transaction: Transaction, batch: Sequence[_Report], clock: Clock
) -> tuple[int, list[bytes]]:
    """Append the new labels of a batch; returns their number and the verifications erased in the meantime."""
    stored = await transaction.labels([report.verification.id for report in batch])
    known = {(id_, label, at) for id_, labels in stored.items() for label, at, _ in labels}
    at = await _reporting_time(transaction, batch, clock)
    new, erased = 0, []
    for report in batch:
        row = await transaction.verification_by_id(report.verification.id)
        if row is None or row.links is None or row.completed_at is None:
            erased.append(report.verification.id)
            continue
        if (row.id, report.label, report.known_at) in known:
            continue
        known.add((row.id, report.label, report.known_at))
        await transaction.insert([LabelRow(row.client, row.id, report.label, report.known_at, at)])
        packed = pack_label(max(report.known_at, at), fraud=report.label == _FRAUD)
        await transaction.link_labels(_hashes(row), row.completed_at, packed)
        new += 1
    return new, erased


async def _reporting_time(transaction: Transaction, batch: Sequence[_Report], clock: Clock) -> int:
    """Return the instant of reporting, later than every event under the link keys of these verifications."""
    hashes = {value for report in batch for value in _hashes(report.verification)}
    newest = await transaction.newest(sorted(hashes)) if hashes else None
    return clock.now() if newest is None else max(clock.now(), newest + 1)


def _hashes(row: VerificationRow) -> list[bytes]:
    links = row.links or b""
    return [links[i : i + _HASH] for i in range(0, len(links), _HASH)]
