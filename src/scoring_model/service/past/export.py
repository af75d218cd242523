"""Exports completed verifications as records of a file, for retraining and for comparing batch with online scores.

The values are decrypted with the master key. Erased persons, and verifications that lost their signals, are left out
and counted: a model would learn that their values are missing.

Decision record: docs/adr/0034-exports.md.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet

from scoring_model.contract.fields import (
    IDENTITY_FIELDS,
    LABEL_FIELDS,
    PROPENSITY,
    REFERENCE_FIELDS,
    SIGNAL_PREFIX,
    signal_field,
)
from scoring_model.contract.outcome import DecidedBy
from scoring_model.contract.rules import SIGNAL_RULES, RuleError, SignalType
from scoring_model.contract.texts import to_text
from scoring_model.records import normaliser, rfc3339
from scoring_model.records.atomic import atomic_file
from scoring_model.records.sheet import CONTRACT_MARK
from scoring_model.service.core.rows import ClientRow, ResolutionRow, VerificationRow
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.past.pages import LATEST, LeftOut, OpenedValues, PastPage, past_pages
from scoring_model.service.store import EARLIEST, Store

ROW_GROUP: Final = 20_000
"""Records in a row group, which are held in memory."""

_REFERENCE_BYTES: Final = 16
_OF_A_PERSON: Final = frozenset(IDENTITY_FIELDS) - frozenset(REFERENCE_FIELDS)
_INSTANT: Final = pa.timestamp("us", "UTC")
_DICTIONARY: Final = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedVerification:
    """A completed verification as a record.

    Parameters
    ----------
    record : mapping of str to object
        The fields of a record by dotted names, `recordId` (of the verification), `eventTime`, those of its label
        (`LABEL_FIELDS`), instants as RFC 3339, and `propensity`.
    row : VerificationRow
        Its verdict.
    resolution : ResolutionRow or None
        How its step-up or review ended.
    """

    record: Mapping[str, Any] = field(repr=False)
    row: VerificationRow
    resolution: ResolutionRow | None = None


@dataclass(frozen=True, slots=True)
class ExportPage:
    """Some verifications in the order of their event times, and how many between them were left out."""

    verifications: Sequence[ExportedVerification]
    left_out: Mapping[LeftOut, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedFile:
    """The result of an export.

    Parameters
    ----------
    records, labelled : int
        Records in the file, and those of them with a label.
    first, last : int or None
        Event times of the first and the last record, microseconds.
    left_out : mapping of LeftOut to int
        Completed verifications of the same period that are not in the file.
    untyped : mapping of str to int
        How many values of a configured signal are of another type than the configuration says. They are among
        `otherSignals`.
    """

    records: int
    labelled: int
    first: int | None
    last: int | None
    left_out: Mapping[LeftOut, int]
    untyped: Mapping[str, int]


async def clients_of_one_history(store: Store, client_id: str | None) -> list[ClientRow]:
    """Return the clients that share the history of a client, or of the only history: a file is one history.

    Raises
    ------
    ValueError
        If there is no such client, it is a sandbox, or none is given and there are several histories.
    """
    async with store.reading() as reader:
        clients = await reader.clients()
    if any(row.sandbox and row.client_id == client_id for row in clients):
        raise ValueError("it is a sandbox client: nothing of it is exported")
    scopes = {row.pool for row in clients if not row.sandbox and client_id in (None, row.client_id)}
    if not scopes:
        raise ValueError("there is no such client" if clients else "the database has no client")
    if len(scopes) > 1:
        raise ValueError(
            f"the database has {len(scopes)} histories, and a file holds one: name a client of it (--client)"
        )
    return [row for row in clients if row.pool in scopes]


async def export_pages(
    store: Store, vault: Vault, clients: Sequence[int], *, since: int = EARLIEST, before: int = LATEST
) -> AsyncIterator[ExportPage]:
    """Read the completed verifications of clients, one client after the other, each in the order of event times.

    Clients assign references independently. So those of several clients, which share a history, are hashed with the
    client.

    Parameters
    ----------
    since, before : int
        Microseconds. Event times from `since` on and before `before`, with the labels that were reported before
        `before`: a verification of this period counted no others.
    """
    async for page in past_pages(store, vault, clients, since=since, before=before):
        left_out: Counter[LeftOut] = Counter()
        found = []
        for row in page.rows:
            record = record_of(page, row, hashed=len(clients) > 1)
            if isinstance(record, LeftOut):
                left_out[record] += 1
            else:
                resolution = page.resolutions.get(row.id)
                found.append(ExportedVerification(record=record, row=row, resolution=resolution))
        yield ExportPage(found, left_out)


def record_of(page: PastPage, row: VerificationRow, *, hashed: bool) -> dict[str, Any] | LeftOut:
    """Return a verification as the fields of a record; returns why it is none.

    Parameters
    ----------
    hashed : bool
        Whether references are hashed with the client, since the file has several clients.
    """
    opened = page.opened[row.id]
    if isinstance(opened, LeftOut):
        return opened
    values = _record(opened)
    if hashed:
        values = _with_hashed_references(row.client, values)
    event = {"recordId": to_text(row.id), "eventTime": rfc3339(row.completed_at or 0)}
    record: dict[str, Any] = {**event, **values, **page.labels[row.id]}
    if row.id in page.propensities:
        record[PROPENSITY] = page.propensities[row.id]
    return record


def _record(opened: OpenedValues) -> dict[str, object]:
    """Return the values as fields of a record."""
    subject = {} if opened.subject is None else {"subjectId": opened.subject}
    signals = {signal_field(name): value for name, value in opened.signals.items()}
    return opened.identity | subject | signals


def _with_hashed_references(client: int, record: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the references by hashes that differ between clients."""
    hashed = dict(record)
    for name in REFERENCE_FIELDS:
        # Normalise first: equal normalised texts are one reference. Hash to bound the length.
        reference = None if name not in record else normaliser(name)(record[name])
        if reference is not None:
            text = f"{client} {reference}".encode()
            hashed[name] = hashlib.blake2b(text, digest_size=_REFERENCE_BYTES).hexdigest()
    return hashed


async def export_file(
    store: Store,
    vault: Vault,
    clients: Sequence[ClientRow],
    out: Path,
    *,
    signals: Mapping[str, SignalType],
    since: int,
    before: int,
    progress: Callable[[int], None] = lambda records: None,
) -> ExportedFile:
    """Write completed verifications as Parquet, which appears whole or not at all and only its owner can read.

    Parameters
    ----------
    out : Path
        Ends in ``.parquet``. It holds the columns of a record, the verdict (`scoringScore`, `scoringOutcome`,
        `modelVersion`, `policyVersion`, `decidedBy`, `policyOutcome`, `controlRepeat`), `clientId`,
        `previousVerificationId`, how a step-up or review ended (`resolution`, `resolutionMethod`, `resolvedAt`) and
        `otherSignals`. `propensity` is empty where a label can't become known, and without
        a control group.
    signals : mapping of str to SignalType
        Signals with columns of their own; all others are in `otherSignals`, as JSON.
    since, before : int
        As for `export_pages`.

    Raises
    ------
    ValueError
        If the name of the file has another ending.
    UnknownMasterKey
        If the keyring lacks the master key of a person's key.
    """
    names = {row.client: row.client_id for row in clients}
    table = RecordColumns(signals, names)
    left_out: Counter[LeftOut] = Counter()
    with private_parquet(out, table.schema) as writer:
        waiting: list[ExportedVerification] = []
        async for page in export_pages(store, vault, list(names), since=since, before=before):
            records = [one for one in page.verifications if table.is_record(one.record)]
            left_out.update(page.left_out)
            left_out[LeftOut.EMPTY] += len(page.verifications) - len(records)
            waiting += records
            if len(waiting) >= ROW_GROUP:
                writer.write_batch(table.batch(waiting))
                waiting.clear()
            progress(table.records + len(waiting))
        if waiting:
            writer.write_batch(table.batch(waiting))
    return ExportedFile(
        records=table.records,
        labelled=table.labelled,
        first=table.first,
        last=table.last,
        left_out=left_out,
        untyped=table.untyped,
    )


@contextmanager
def private_parquet(out: Path, schema: pa.Schema) -> Iterator[Any]:
    """Write a Parquet file that appears when it is whole and that only its owner can read; yields the writer."""
    if out.suffix != ".parquet":
        raise ValueError(f"{out.name}: must end in .parquet")
    with atomic_file(out) as partial:
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with pa.parquet.ParquetWriter(partial, schema, compression="zstd") as writer:
            yield writer


class RecordColumns:
    """Makes columns of verifications, and counts what it made."""

    def __init__(self, signals: Mapping[str, SignalType], clients: Mapping[int, str]) -> None:
        self._types = {signal_field(name): kind for name, kind in signals.items()}
        self._clients = clients
        self.schema = _schema(self._types)
        self.records = self.labelled = 0
        self.first: int | None = None
        self.last: int | None = None
        self.untyped: Counter[str] = Counter()

    def is_record(self, record: Mapping[str, Any]) -> bool:
        """Return False if no file may hold it: besides references it has only signals that are not configured."""
        found: dict[str, Any] = {}
        return not _OF_A_PERSON.isdisjoint(record) or any(
            self._put_signal(found, name, value) and found[name] is not None for name, value in record.items()
        )

    def batch(self, verifications: Sequence[ExportedVerification]) -> pa.RecordBatch:
        """Make a batch of the next verifications."""
        rows = [self._row(one) for one in verifications]
        times = [one.row.completed_at or 0 for one in verifications]
        self.records += len(rows)
        self.labelled += sum("label" in row for row in rows)
        self.first = min(times) if self.first is None else min(self.first, *times)
        self.last = max(times) if self.last is None else max(self.last, *times)
        columns = []
        for column in self.schema:
            cells = [row.get(column.name) for row in rows]
            if column.type == _INSTANT:
                columns.append(pa.array(cells, pa.string()).cast(_INSTANT))
            else:
                columns.append(pa.array(cells, column.type))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _row(self, one: ExportedVerification) -> dict[str, Any]:
        row = one.row
        found: dict[str, Any] = {}
        others: dict[str, object] = {}
        for name, value in one.record.items():
            if not name.startswith(SIGNAL_PREFIX):
                found[name] = value
            elif not self._put_signal(found, name, value):
                others[name.removeprefix(SIGNAL_PREFIX)] = value
                self.untyped.update([name.removeprefix(SIGNAL_PREFIX)] if name in self._types else [])
        return found | {
            "otherSignals": json.dumps(others, ensure_ascii=False) if others else None,
            "scoringScore": row.score,
            "scoringOutcome": row.outcome,
            "modelVersion": row.model_version,
            "policyVersion": row.policy_version,
            "decidedBy": row.decided_by or DecidedBy.POLICY,
            "policyOutcome": row.outcome_of_policy,
            "controlRepeat": bool(row.control_repeat),
            "clientId": self._clients[row.client],
            "previousVerificationId": None if row.previous_id is None else to_text(row.previous_id),
            **_resolved(one.resolution),
        }

    def _put_signal(self, found: dict[str, Any], name: str, value: object) -> bool:
        """Put a signal into its column; return False if it has none, or is of another type."""
        if name not in self._types:
            return False
        kind = self._types[name]
        try:
            canonical = SIGNAL_RULES[kind](value)
        except RuleError:
            return False
        is_boolean = kind is SignalType.BOOLEAN and canonical is not None
        found[name] = bool(canonical) if is_boolean else canonical
        return True


def _resolved(row: ResolutionRow | None) -> dict[str, Any]:
    """Return the columns of a resolution. It counts from the later of when it ended and when that was received."""
    if row is None:
        return {}
    return {
        "resolution": row.result,
        "resolutionMethod": row.method,
        "resolvedAt": rfc3339(max(row.resolved_at, row.created_at)),
    }


def _schema(signals: Mapping[str, SignalType]) -> pa.Schema:
    kinds = {SignalType.NUMBER: pa.float64(), SignalType.BOOLEAN: pa.bool_()}
    label, *instants = LABEL_FIELDS
    return pa.schema(
        [
            ("recordId", pa.string()),
            ("eventTime", _INSTANT),
            *(
                (name, pa.list_(pa.string()) if name == "imageUrls" else pa.string())
                for name in IDENTITY_FIELDS
            ),
            *((name, kinds.get(kind, pa.string())) for name, kind in signals.items()),
            ("otherSignals", pa.string()),
            (label, _DICTIONARY),
            *((name, _INSTANT) for name in instants),
            (PROPENSITY, pa.float64()),
            ("scoringScore", pa.int16()),
            *(
                (name, _DICTIONARY)
                for name in (
                    *("scoringOutcome", "modelVersion", "policyVersion"),
                    *("decidedBy", "policyOutcome", "clientId"),
                )
            ),
            ("controlRepeat", pa.bool_()),
            ("previousVerificationId", pa.string()),
            ("resolution", _DICTIONARY),
            ("resolutionMethod", _DICTIONARY),
            ("resolvedAt", _INSTANT),
        ],
        metadata=CONTRACT_MARK,
    )
