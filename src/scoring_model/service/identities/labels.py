"""Labels: reported for verifications after the fact, and appended under the lock of the history scope."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from scoring_model.contract.verification import VerificationStatus
from scoring_model.history import pack_label
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.rows import ClientRow, LabelRow, VerificationRow
from scoring_model.service.store import Reader, Store, Transaction

FRAUD: Final = "fraud"
_BATCH: Final = 200
_HASH: Final = 16


class Line(Protocol):
    """A reported label, of a verification or of all completed verifications of an identity."""

    @property
    def verification_id(self) -> bytes | None:
        """The verification."""

    @property
    def identity_id(self) -> bytes | None:
        """The identity."""

    @property
    def label(self) -> str:
        """fraud, genuine or withdrawn."""

    @property
    def known_at(self) -> int:
        """Since when it is known."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of an import.

    Parameters
    ----------
    imported : int
        Labels that are new.
    repeated : int
        Labels that were reported before.
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
    store: Store, clients: Sequence[ClientRow], lines: Iterable[Line], clock: Clock
) -> Imported:
    """Store reported labels.

    A label counts from the later of two instants: when it was known, and when it is reported here, which is later than
    every event that was scored without it. Repeating a report changes nothing; a label of another kind or instant is
    appended, and the latest one that counts decides.

    Parameters
    ----------
    clients : sequence of ClientRow
        All of them.
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


async def _rows_of(reader: Reader, line: Line) -> list[VerificationRow]:
    """The verifications that a line reports on."""
    if line.verification_id is not None:
        row = await reader.verification_by_id(line.verification_id)
        found = [] if row is None else [row]
    else:
        found = await reader.verifications_of_identity(line.identity_id or b"")
    return [row for row in found if row.status == VerificationStatus.COMPLETED and row.links is not None]


async def _append(
    transaction: Transaction, batch: Sequence[_Report], clock: Clock
) -> tuple[int, list[bytes]]:
    """Append the new labels of a batch; returns their number, and the verifications that were erased meanwhile."""
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
        packed = pack_label(max(report.known_at, at), fraud=report.label == FRAUD)
        await transaction.link_labels(_hashes(row), row.completed_at, packed)
        new += 1
    return new, erased


async def _reporting_time(transaction: Transaction, batch: Sequence[_Report], clock: Clock) -> int:
    """The instant of reporting: after every event that has a link key of these verifications."""
    hashes = {value for report in batch for value in _hashes(report.verification)}
    newest = await transaction.newest(sorted(hashes)) if hashes else None
    return clock.now() if newest is None else max(clock.now(), newest + 1)


def _hashes(row: VerificationRow) -> list[bytes]:
    links = row.links or b""
    return [links[i : i + _HASH] for i in range(0, len(links), _HASH)]
