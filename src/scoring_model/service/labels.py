"""Labels: appending them under the locks of the verifications' history scopes, for files and for requests."""

import asyncio
import json
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple, TypeVar

from scoring_model.contract import violation
from scoring_model.contract.label import (
    LABELS,
    LabelContext,
    LabelInput,
    LabelReport,
    LabelResult,
    LabelsInput,
    LabelStatus,
)
from scoring_model.contract.rules import Rule, kind_of
from scoring_model.contract.verification import VerificationStatus
from scoring_model.contract.violation import Violation
from scoring_model.history import pack_label
from scoring_model.service.clients import Caller
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.errors import parsed
from scoring_model.service.core.rows import ClientRow, IdempotencyRow, LabelRow, VerificationRow
from scoring_model.service.events import events_of_label, write_events
from scoring_model.service.history_import import record_hash, tied_hashes
from scoring_model.service.idempotency import Answer, IdempotencyRecord, IdempotencyStore, IdempotentRequest
from scoring_model.service.keys.secrets import Secrets
from scoring_model.service.scoring.commit_queue import CommitQueue
from scoring_model.service.scoring.jobs import Done
from scoring_model.service.store import Reader, Store, Transaction

T = TypeVar("T")

ROWS: Final = 100
"""Labels of verifications in one transaction: a longer one would delay the verifications of its history scope."""

_FRAUD: Final = "fraud"
_HASH: Final = 16
_REPORTED: Final = struct.Struct("<qb")
"""A label of an imported record: when it was known, and its place in `LABELS`."""

_NO_RESOURCE: Final = bytes(16)


class LabelLine(NamedTuple):
    """One row of a label file. Exactly one of the three identifiers is set."""

    verification_id: bytes | None
    identity_id: bytes | None
    label: str
    known_at: int  # microseconds since 1970-01-01 UTC
    record_id: str | None = None


class RecordNames(NamedTuple):
    """The client whose imported records a `recordId` names, and the secrets under which such names are hashed."""

    client: ClientRow
    secrets: Secrets


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import.

    Parameters
    ----------
    imported : int
        Number of new labels.
    repeated : int
        Number of labels that were already reported.
    unknown : tuple of bytes or str
        Identifiers without a completed verification, or whose person was erased; each `recordId` (text) that was not
        imported or that windows no longer reach.
    """

    imported: int
    repeated: int
    unknown: tuple[bytes | str, ...]


class _Report(NamedTuple):
    """A label of one verification; `line` is the place of the row that reports it."""

    line: int
    verification: VerificationRow
    label: str
    known_at: int


class _RecordReport(NamedTuple):
    """A label of an imported record, by the hash of its id."""

    line: int
    record: bytes
    label: str
    known_at: int


class _Fate(Enum):
    """What became of a report."""

    NEW = "new"
    REPEATED = "repeated"
    ERASED = "erased"


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[start : start + ROWS] for start in range(0, len(items), ROWS))


async def import_labels(
    store: Store,
    clients: Sequence[ClientRow],
    lines: Sequence[LabelLine],
    clock: Clock,
    *,
    records: RecordNames | None = None,
) -> Imported:
    """Store reported labels.

    A label counts from the later of two instants: when it was known, and when it is reported here, which is later than
    every event that was scored without it. A repeated report changes nothing; a label with another value or instant is
    appended, and the latest label that counts decides.

    Parameters
    ----------
    clients : sequence of ClientRow
        All clients.
    records : RecordNames, optional
        Needed by lines with a `recordId`.

    Raises
    ------
    ValueError
        If a line has a `recordId` and `records` is missing.
    """
    scopes = {client.client: client.pool for client in clients}
    unknown: dict[bytes | str, None] = {}
    by_scope: dict[str, list[_Report | _RecordReport]] = defaultdict(list)
    async with store.reading() as reader:
        for number, line in enumerate(lines):
            if line.record_id is not None:
                if records is None:
                    raise ValueError("recordId: names a record of one client: give the client (--client)")
                name = record_hash(records.secrets, records.client.client, line.record_id)
                by_scope[records.client.pool].append(_RecordReport(number, name, line.label, line.known_at))
                continue
            rows = [row for row in await _rows_of(reader, line) if _can_be_labelled(row)]
            if not rows:
                unknown[line.verification_id or line.identity_id or b""] = None
            for row in rows:
                by_scope[scopes[row.client]].append(_Report(number, row, line.label, line.known_at))
    counts = dict.fromkeys(_Fate, 0)
    for scope, reports in by_scope.items():
        for batch in _batches(reports):
            async with store.writing([scope]) as transaction:
                fates = await _append_all(transaction, batch, clock)
            for report, fate in fates:
                counts[fate] += 1
                if fate is _Fate.ERASED and isinstance(report, _Report):
                    unknown[report.verification.id] = None
                elif fate is _Fate.ERASED:
                    unknown[lines[report.line].record_id or ""] = None
    return Imported(counts[_Fate.NEW], counts[_Fate.REPEATED], tuple(unknown))


async def _rows_of(reader: Reader, line: LabelLine) -> list[VerificationRow]:
    """Return the verifications that a line names, of any client."""
    if line.verification_id is not None:
        row = await reader.verification_by_id(line.verification_id)
        return [] if row is None else [row]
    return await reader.verifications_of_identity(line.identity_id or b"")


def _can_be_labelled(row: VerificationRow) -> bool:
    return row.status == VerificationStatus.COMPLETED and row.links is not None


async def _append_all(
    transaction: Transaction, batch: Sequence[_Report | _RecordReport], clock: Clock
) -> list[tuple[_Report | _RecordReport, _Fate]]:
    """Append the new labels of a batch; returns each report with its fate."""
    made = [report for report in batch if isinstance(report, _Report)]
    imported = [report for report in batch if isinstance(report, _RecordReport)]
    fates = await _append(transaction, made, clock) if made else []
    fates += await _append_to_records(transaction, imported, clock) if imported else []
    return list(zip([*made, *imported], fates, strict=True))


async def _append(transaction: Transaction, batch: Sequence[_Report], clock: Clock) -> list[_Fate]:
    """Append the new labels of a batch with their events; returns the fate of each report."""
    wanted = list(dict.fromkeys(report.verification.id for report in batch))
    stored = await transaction.labels(wanted)
    # Persons may have been erased since the rows were read.
    rows = {row.id: row for row in await transaction.verifications_by_ids(wanted)}
    known = {(id_, label, at) for id_, labels in stored.items() for label, at, _ in labels}
    at = await _reporting_time(transaction, [value for row in rows.values() for value in _hashes(row)], clock)
    new: list[LabelRow] = []
    of_links: dict[tuple[bytes, int, int], bytes] = defaultdict(bytes)
    fates, events = [], []
    for report in batch:
        row = rows.get(report.verification.id)
        if row is None or row.links is None or row.completed_at is None:
            fates.append(_Fate.ERASED)
            continue
        label = LabelRow(row.client, row.id, report.label, report.known_at, at)
        if (row.id, label.label, label.known_at) in known:
            fates.append(_Fate.REPEATED)
            continue
        known.add((row.id, label.label, label.known_at))
        new.append(label)
        packed = pack_label(max(label.known_at, at), fraud=label.label == _FRAUD)
        for value in _hashes(row):
            of_links[value, row.completed_at, 0] += packed
        events.append(events_of_label(label, row))
        fates.append(_Fate.NEW)
    await transaction.insert(new)
    await transaction.append_labels(of_links)
    await write_events(transaction, events)
    return fates


async def _append_to_records(
    transaction: Transaction, batch: Sequence[_RecordReport], clock: Clock
) -> list[_Fate]:
    """Append the new labels of imported records; ERASED are those that are unknown or no longer kept."""
    rows = await transaction.imported(list(dict.fromkeys(report.record for report in batch)))
    reported = {record: row.labels or b"" for record, row in rows.items()}
    hashes = [value for row in rows.values() for value, _ in tied_hashes(row)]
    at = await _reporting_time(transaction, hashes, clock)
    of_links: dict[tuple[bytes, int, int], bytes] = defaultdict(bytes)
    fates = []
    for report in batch:
        if report.record not in rows:
            fates.append(_Fate.ERASED)
            continue
        kept = (report.known_at, LABELS.index(report.label))
        if kept in _REPORTED.iter_unpack(reported[report.record]):
            fates.append(_Fate.REPEATED)
            continue
        reported[report.record] += _REPORTED.pack(*kept)
        row = rows[report.record]
        packed = pack_label(max(report.known_at, at), fraud=report.label == _FRAUD)
        for value, tie in tied_hashes(row):
            of_links[value, row.time, tie] += packed
        fates.append(_Fate.NEW)
    await transaction.label_imported(reported)
    await transaction.append_labels(of_links)
    return fates


async def _reporting_time(transaction: Transaction, hashes: Iterable[bytes], clock: Clock) -> int:
    """Return the instant of reporting, later than every event under these hashes of link keys."""
    wanted = sorted(set(hashes))
    newest = await transaction.newest(wanted) if wanted else None
    return clock.now() if newest is None else max(clock.now(), newest + 1)


def _hashes(row: VerificationRow) -> list[bytes]:
    links = row.links or b""
    return [links[i : i + _HASH] for i in range(0, len(links), _HASH)]


class Labels:
    """The operation on labels of one client."""

    def __init__(
        self,
        *,
        store: Store,
        queue: CommitQueue,
        idempotency: IdempotencyStore,
        secrets: Secrets,
        clock: Clock,
    ) -> None:
        self._store = store
        self._queue = queue
        self._idempotency = idempotency
        self._secrets = secrets
        self._clock = clock
        # One batch of this process at a time, so that no transaction holds more than one.
        self._turn = asyncio.Lock()

    async def create(
        self, caller: Caller, body: Mapping[str, object], request: IdempotentRequest | None
    ) -> Answer[LabelReport]:
        """Report labels, each on its own: a bad one is refused and the others are stored.

        They are stored in transactions of at most `ROWS`. When one fails, those before it stay, and the same request
        can be repeated: what is stored already stays as it is.

        Raises
        ------
        Invalid
            If the body is no list of 1 to 1,000 labels.
        """

        async def action(record: IdempotencyRecord | None) -> Answer[LabelReport]:
            rows = parsed(LabelsInput, body).labels
            if record is not None:
                await self._idempotency.raise_answered(record)
            results, reports = await self._resolve(caller, rows)
            batches = list(_batches(reports)) or [()]
            for batch in batches:
                last = batch is batches[-1]
                await self._store_batch(caller, batch, results, record if last else None)
            return Answer(_report_of(results))

        return await self._idempotency.run(caller.client, request, action, self._replay)

    async def _resolve(
        self, caller: Caller, rows: Sequence[object]
    ) -> tuple[list[LabelResult], list[_Report | _RecordReport]]:
        """Check all labels and find their verifications; returns provisional answers, and what is to be stored."""
        results: list[LabelResult] = []
        reports: list[_Report | _RecordReport] = []
        context = LabelContext(self._clock.now())
        async with self._store.reading() as reader:
            for batch in _batches(list(enumerate(rows))):
                checked = [(line, _parsed(row, context)) for line, row in batch]
                named = [one.verification_id for _, one in checked if isinstance(one, LabelInput)]
                wanted = [resource for resource in named if resource is not None]
                known = {row.id: row for row in await reader.verifications_by_ids(wanted)}
                for line, found in checked:
                    if isinstance(found, LabelInput) and found.record_id is not None:
                        record = record_hash(self._secrets, caller.client, found.record_id)
                        reports.append(_RecordReport(line, record, found.label, found.known_at))
                        found = ()
                    elif isinstance(found, LabelInput):
                        verifications, problem = await _found(reader, caller, found, known)
                        reports += [_Report(line, one, found.label, found.known_at) for one in verifications]
                        found = () if problem is None else (problem,)
                    results.append(_refused(line, found) if found else _UNCHANGED)
                await asyncio.sleep(0)  # other requests get a turn
        return results, reports

    async def _store_batch(
        self,
        caller: Caller,
        batch: Sequence[_Report | _RecordReport],
        results: list[LabelResult],
        record: IdempotencyRecord | None,
    ) -> None:
        """Store a batch and update the answers of its lines; with a record, keep all answers for a repetition."""

        async def change(transaction: Transaction) -> Done[None]:
            for report, fate in await _append_all(transaction, batch, self._clock):
                if fate is _Fate.NEW:
                    results[report.line] = _CREATED
                elif fate is _Fate.ERASED and results[report.line] is _UNCHANGED:
                    problem = _ERASED if isinstance(report, _Report) else _NOT_FOUND["recordId"]
                    results[report.line] = _refused(report.line, (problem,))
            return Done(None, _NO_RESOURCE, 200, None if record is None else self._sealed(record, results))

        async with self._turn:
            await self._queue.change(caller, change, record)

    def _sealed(self, record: IdempotencyRecord, results: Sequence[LabelResult]) -> bytes:
        plain = json.dumps([result.model_dump(mode="json") for result in results])
        return self._secrets.seal(_associated_data(record.digest), plain.encode())

    async def _replay(self, row: IdempotencyRow) -> Answer[LabelReport]:
        if row.answer is None:
            raise ValueError("an answer about labels was not kept")
        plain = json.loads(self._secrets.open(_associated_data(row.digest), row.answer))
        results = [
            LabelResult(status=one["status"], errors=tuple(Violation(**error) for error in one["errors"]))
            for one in plain
        ]
        return Answer(_report_of(results), replayed=True)


_CREATED: Final = LabelResult(status=LabelStatus.CREATED)
_UNCHANGED: Final = LabelResult(status=LabelStatus.UNCHANGED)
_NOT_FOUND: Final = {
    "verificationId": Violation("/verificationId", "not_found", "must be a verification of this client"),
    "identityId": Violation("/identityId", "not_found", "must be an identity of this client"),
    "recordId": Violation(
        "/recordId", "not_found", "must be a record that was imported and that windows still reach"
    ),
}
_NOT_COMPLETED: Final = Violation("", "not_completed", "must name a completed verification")
_ERASED: Final = Violation("", "erased", "must name a person who was not erased")


def _associated_data(digest: bytes) -> bytes:
    return b"idempotency.answer." + digest


def _report_of(results: Sequence[LabelResult]) -> LabelReport:
    return LabelReport.of(tuple(results))


def _refused(line: int, violations: Sequence[Violation]) -> LabelResult:
    errors = tuple(violation.within("labels", line) for violation in violations)
    return LabelResult(status=LabelStatus.REFUSED, errors=errors)


def _parsed(row: object, context: LabelContext) -> LabelInput | tuple[Violation, ...]:
    if not isinstance(row, dict):
        return (Violation("", Rule.WRONG_TYPE.value, f"must be an object, got {kind_of(row)}"),)
    try:
        return LabelInput.parse(row, context)
    except violation.Invalid as error:
        return error.violations[: violation.MOST_ERRORS]


async def _found(
    reader: Reader, caller: Caller, label: LabelInput, known: Mapping[bytes, VerificationRow]
) -> tuple[list[VerificationRow], Violation | None]:
    """Return the caller's verifications that a label is about, or why there are none; `known` has some by id."""
    if label.verification_id is not None:
        rows = [known[label.verification_id]] if label.verification_id in known else []
    else:
        rows = await reader.verifications_of_identity(label.identity_id or b"")
    rows = [row for row in rows if row.client == caller.client]
    if good := [row for row in rows if _can_be_labelled(row)]:
        return good, None
    if any(row.status == VerificationStatus.COMPLETED for row in rows):
        return [], _ERASED
    if label.identity_id is None:
        return [], _NOT_COMPLETED if rows else _NOT_FOUND["verificationId"]
    identity = await reader.identity(caller.client, label.identity_id)
    return [], _NOT_FOUND["identityId"] if identity is None else _NOT_COMPLETED
