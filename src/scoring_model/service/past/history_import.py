"""Import of records into the history of a client that has no verifications yet.

A verification afterwards gets what the next row of the file would get. That holds only if nothing was scored with a
part of the history, so a scope under import answers no verification until it is finished.

Decision record: docs/adr/0028-link-rows.md.
"""

import os
import struct
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from scoring_model.features import FeatureMatrix
from scoring_model.history import TableAmounts, pack_label, table_amounts
from scoring_model.records import NEVER, RecordTable
from scoring_model.service.core.clock import SKEW, Clock
from scoring_model.service.core.rows import ClientRow, ImportedRow, LinkRow, more_amounts
from scoring_model.service.keys.link_hashes import Linker, Links, Masks
from scoring_model.service.keys.secrets import Purpose, Secrets
from scoring_model.service.store import Store, Transaction

BATCH: Final = 200
"""Records per transaction."""

_TIED_HASH: Final = struct.Struct("<16sI")
_FRAUD: Final = 1


class ImportRefused(ValueError):
    """Records can't be imported; the message says why, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryImported:
    """The result of an import.

    Parameters
    ----------
    imported, labelled : int
        New records, and those of them with a label.
    repeated : int
        Records that had been imported before, by `recordId`.
    too_old : int
        Records from before the longest window, which no verification sees: left out.
    unlinked : int
        Records without a link key: left out, since no other record sees them.
    """

    imported: int
    labelled: int
    repeated: int
    too_old: int
    unlinked: int


class _Event(NamedTuple):
    """A record to import."""

    record: bytes  # keyed hash of its id
    row: int
    links: Links


def record_hash(secrets: Secrets, client: int, record_id: str) -> bytes:
    """Hash the `recordId` of a client's record."""
    return secrets.reference(Purpose.RECORD, client, record_id)


def tied_hashes(row: ImportedRow) -> list[tuple[bytes, int]]:
    """Return hash and tie of each link record of an imported record."""
    return [(value, tie) for value, tie in _TIED_HASH.iter_unpack(row.links)]


class HistoryImport:
    """Imports records of one client.

    Parameters
    ----------
    matrix : FeatureMatrix
        Defines link keys, amounts and the longest window.
    """

    def __init__(
        self, store: Store, secrets: Secrets, matrix: FeatureMatrix, client: ClientRow, clock: Clock
    ) -> None:
        self._store = store
        self._secrets = secrets
        self._matrix = matrix
        self._client = client
        self._clock = clock
        self._linker = Linker(secrets, matrix.link_keys)
        self._masks = Masks(secrets)

    async def run(
        self, table: RecordTable, *, progress: Callable[[int], None] = lambda records: None
    ) -> HistoryImported:
        """Import the records of a table. It can be interrupted and run again.

        Raises
        ------
        ImportRefused
            If the history scope has verifications, or a record or label is later than now.
        StoreUnavailable
            What was imported before stays; run it again.
        """
        self._check_times(table)
        first = self._clock.now() - self._matrix.reach - SKEW
        amounts = [table_amounts(table, amount) for amount in self._matrix.amounts]
        counts: Counter[str] = Counter()
        for start in range(0, len(table), BATCH):
            events = []
            for row in range(start, min(start + BATCH, len(table))):
                links = self._links_of(table, row)
                if table.event_times[row] < first:
                    counts["too_old"] += 1
                elif not links.hashes:
                    counts["unlinked"] += 1
                else:
                    record = record_hash(self._secrets, self._client.client, table.record_ids[row])
                    events.append(_Event(record, row, links))
            async with self._store.writing([self._client.pool]) as transaction:
                await self._begin(transaction)
                counts += await self._insert(transaction, table, events, amounts)
            progress(min(start + BATCH, len(table)))
        return HistoryImported(**{name: counts[name] for name in HistoryImported.__dataclass_fields__})

    async def finish(self) -> None:
        """Let the clients of the history scope verify."""
        async with self._store.writing([self._client.pool]) as transaction:
            await transaction.set_importing(self._client.pool, False)

    def _check_times(self, table: RecordTable) -> None:
        now = self._clock.now()
        later = int((table.event_times > now).sum())
        labelled = int(((table.label_times > now) & (table.label_times != NEVER)).sum())
        if later or labelled:
            raise ImportRefused(
                f"{later} records and {labelled} labels are later than now: a history holds the past only. "
                "Leave them out of the file, or correct its time zone"
            )

    async def _begin(self, transaction: Transaction) -> None:
        """Check that nothing was scored in the history scope, and keep it so."""
        clients = [row for row in await transaction.clients() if row.pool == self._client.pool]
        for client in clients:
            if await transaction.has_verification(client.client):
                raise ImportRefused(
                    f"the history scope of client {self._client.client_id} has verifications: a record that is put "
                    "into their past would change what they should have seen. Import into a new client"
                )
        if not all(client.importing for client in clients):
            await transaction.set_importing(self._client.pool, True)

    def _links_of(self, table: RecordTable, row: int) -> Links:
        values = {
            field: column.values[code]
            for field, column in table.columns.items()
            if (code := int(column.codes[row])) >= 0
        }
        return self._linker.link(self._client.pool, self._client.client, values)

    async def _insert(
        self,
        transaction: Transaction,
        table: RecordTable,
        events: Sequence[_Event],
        amounts: Sequence[TableAmounts],
    ) -> Counter[str]:
        known = await transaction.imported([event.record for event in events])
        new = [event for event in events if event.record not in known]
        ties = await self._ties(transaction, table, new)
        links: list[LinkRow] = []
        label_times: dict[bytes, int] = {}
        for event in new:
            known_at = int(table.label_times[event.row])
            packed = None
            if known_at != NEVER:
                packed = pack_label(known_at, fraud=bool(table.labels[event.row] == _FRAUD))
                for _, value in event.links.hashes:
                    label_times[value] = max(known_at, label_times.get(value, known_at))
            time = int(table.event_times[event.row])
            own = [int(one.units[event.row]) if one.present[event.row] else None for one in amounts]
            links += self._link_rows(event, time, packed, own, ties[event.record])
        await transaction.insert(links)
        await transaction.insert(
            [
                ImportedRow(
                    record=event.record,
                    client=self._client.client,
                    time=int(table.event_times[event.row]),
                    links=b"".join(
                        _TIED_HASH.pack(value, tie)
                        for (_, value), tie in zip(event.links.hashes, ties[event.record], strict=True)
                    ),
                )
                for event in new
            ]
        )
        await transaction.note_label_times(label_times)
        labelled = sum(int(table.label_times[event.row]) != NEVER for event in new)
        return Counter(imported=len(new), labelled=labelled, repeated=len(events) - len(new))

    async def _ties(
        self, transaction: Transaction, table: RecordTable, events: Sequence[_Event]
    ) -> Mapping[bytes, list[int]]:
        """Number the events of each hash and instant, after those that are there; returns ties by record."""
        places = [
            [(value, int(table.event_times[event.row])) for _, value in event.links.hashes]
            for event in events
        ]
        wanted = list(dict.fromkeys(key for keys in places for key in keys))
        last = defaultdict(lambda: -1, await transaction.last_ties(wanted))
        ties: dict[bytes, list[int]] = {}
        for event, keys in zip(events, places, strict=True):
            ties[event.record] = []
            for key in keys:
                last[key] += 1
                ties[event.record].append(last[key])
        return ties

    def _link_rows(
        self, event: _Event, time: int, packed: bytes | None, own: Sequence[int | None], ties: Sequence[int]
    ) -> list[LinkRow]:
        hashes = [value for _, value in event.links.hashes]
        person = event.links.person or os.urandom(16)
        rows = [
            LinkRow(value, time, person, packed, tie=tie) for value, tie in zip(hashes, ties, strict=True)
        ]
        if not own:
            return rows
        first, *others = [
            self._masks.mask(self._client.pool, hashes, time, units, place, ties)
            for place, units in enumerate(own)
        ]
        more = more_amounts(others, len(rows))
        return [
            row._replace(amount=masked, more_amounts=rest)
            for row, masked, rest in zip(rows, first, more, strict=True)
        ]
