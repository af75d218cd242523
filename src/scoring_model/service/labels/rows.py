"""Appends labels to verifications and imported records, in a transaction under the lock of their history scope."""

import struct
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from scoring_model.contract.label import LABELS
from scoring_model.contract.verification import VerificationStatus
from scoring_model.history import pack_label
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.rows import LabelRow, VerificationRow
from scoring_model.service.events.events import events_of_label, write_events
from scoring_model.service.keys.link_hashes import split_hashes
from scoring_model.service.past.history_import import tied_hashes
from scoring_model.service.store import Transaction

ROWS: Final = 100
"""Labels of verifications in one transaction: a longer one would delay the verifications of its history scope."""

MOST_KEPT: Final = 100
"""Labels that are stored of one verification or imported record: its history is read by every later one."""

_FRAUD: Final = "fraud"
_REPORTED: Final = struct.Struct("<qb")
"""A label of an imported record: when it was known, and its place in `LABELS`."""


class Report(NamedTuple):
    """A label of one verification or imported record; `line` is the place of the row that reports it."""

    line: int
    about: bytes  # id of the verification, or hash of the record's id
    label: str
    known_at: int
    is_record: bool = False


class Fate(IntEnum):
    """What became of a report. Where a row reports about several verifications, the greatest is its answer."""

    NOT_FOUND = 0
    NOT_COMPLETED = 1
    ERASED = 2
    REPEATED = 3
    NEW = 4
    TOO_MANY = 5


class _Labels:
    """The labels of one verification or record: those stored, and those that a transaction adds."""

    def __init__(self, stored: Sequence[tuple[str, int]]) -> None:
        self._known = set(stored)
        self._before = self._last = stored[-1][0] if stored else None

    def add(self, report: Report) -> Fate:
        if (report.label, report.known_at) in self._known:
            return Fate.REPEATED
        if len(self._known) >= MOST_KEPT:
            return Fate.TOO_MANY
        self._known.add((report.label, report.known_at))
        self._last = report.label
        return Fate.NEW

    def packed(self, at: int) -> bytes:
        """Pack what link records get: the value in force after the transaction, if it changed.

        All labels of a transaction count from one instant, so the last one alone is ever seen.
        """
        if self._last is None or self._last == self._before:
            return b""
        return pack_label(at, fraud=self._last == _FRAUD)


async def append_all(
    transaction: Transaction, batch: Sequence[Report], clock: Clock, *, client: int | None = None
) -> list[tuple[Report, Fate]]:
    """Append the new labels of a batch; returns each report with its fate.

    Parameters
    ----------
    client : int, optional
        Whose verifications may be labelled; by default those of all clients.
    """
    made = [report for report in batch if not report.is_record]
    imported = [report for report in batch if report.is_record]
    fates = await _append(transaction, made, clock, client) if made else []
    fates += await _append_to_records(transaction, imported, clock) if imported else []
    return list(zip([*made, *imported], fates, strict=True))


async def _append(
    transaction: Transaction, batch: Sequence[Report], clock: Clock, client: int | None
) -> list[Fate]:
    """Append the new labels of a batch with their events; returns the fate of each report."""
    wanted = list(dict.fromkeys(report.about for report in batch))
    found = await transaction.verifications_by_ids(wanted)
    rows = {row.id: row for row in found if client in (None, row.client)}
    stored = await transaction.labels(list(rows))
    labels = {id_: _Labels([told[:2] for told in stored.get(id_, ())]) for id_ in rows}
    at = await _reporting_time(
        transaction, [h for row in rows.values() for h in split_hashes(row.links)], batch, clock
    )
    fates = [_fate(report, rows.get(report.about), labels) for report in batch]
    new = [
        LabelRow(rows[report.about].client, report.about, report.label, report.known_at, at)
        for report, fate in zip(batch, fates, strict=True)
        if fate is Fate.NEW
    ]
    await transaction.insert(new)
    await transaction.append_labels(
        {
            (value, row.completed_at or 0, 0): packed
            for row in rows.values()
            if (packed := labels[row.id].packed(at))
            for value in split_hashes(row.links)
        }
    )
    await write_events(transaction, [events_of_label(label, rows[label.verification_id]) for label in new])
    return fates


def _fate(report: Report, row: VerificationRow | None, labels: dict[bytes, _Labels]) -> Fate:
    if row is None:
        return Fate.NOT_FOUND
    if row.status != VerificationStatus.COMPLETED:
        return Fate.NOT_COMPLETED
    return Fate.ERASED if row.links is None else labels[row.id].add(report)


async def _append_to_records(transaction: Transaction, batch: Sequence[Report], clock: Clock) -> list[Fate]:
    """Append the new labels of imported records; NOT_FOUND are those that are unknown or no longer kept."""
    rows = await transaction.imported(list(dict.fromkeys(report.about for report in batch)))
    reported = {record: row.labels or b"" for record, row in rows.items()}
    labels = {
        record: _Labels([(LABELS[place], known_at) for known_at, place in _REPORTED.iter_unpack(told)])
        for record, told in reported.items()
    }
    hashes = [value for row in rows.values() for value, _ in tied_hashes(row)]
    at = await _reporting_time(transaction, hashes, batch, clock)
    fates = []
    for report in batch:
        fate = labels[report.about].add(report) if report.about in rows else Fate.NOT_FOUND
        if fate is Fate.NEW:
            reported[report.about] += _REPORTED.pack(report.known_at, LABELS.index(report.label))
        fates.append(fate)
    await transaction.label_imported(reported)
    await transaction.append_labels(
        {
            (value, row.time, tie): packed
            for record, row in rows.items()
            if (packed := labels[record].packed(at))
            for value, tie in tied_hashes(row)
        }
    )
    return fates


async def _reporting_time(
    transaction: Transaction, hashes: Iterable[bytes], batch: Sequence[Report], clock: Clock
) -> int:
    """Return the instant of reporting: not before any label became known, later than every event under the hashes."""
    wanted = sorted(set(hashes))
    newest = await transaction.newest(wanted) if wanted else None
    known = max(report.known_at for report in batch)
    return max(clock.now(), known, known if newest is None else newest + 1)
