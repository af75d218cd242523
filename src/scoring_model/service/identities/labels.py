"""Labels: reported of verifications after the fact, appended under the lock that events are scored under."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from scoring_model.contract.verification import VerificationStatus
from scoring_model.history import pack_label
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.rows import ClientRow, LabelRow, VerificationRow
from scoring_model.service.core.store import Reader, Store, Transaction

FRAUD: Final = "fraud"
_BATCH: Final = 200
_HASH: Final = 16


class Line(Protocol):
    """One label as it is reported: of a verification, or of every completed verification of an identity."""

    @property
    def verification_id(self) -> bytes | None:
        """The verification."""
        ...

    @property
    def identity_id(self) -> bytes | None:
        """The identity."""
        ...

    @property
    def label(self) -> str:
        """fraud, genuine or withdrawn."""
        ...

    @property
    def known_at(self) -> int:
        """Since when it is known."""
        ...


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
        Identifiers of which there is no completed verification, or whose person was erased.
    """

    imported: int
    repeated: int
    unknown: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class _Telling:
    verification: VerificationRow
    label: str
    known_at: int


async def import_labels(
    store: Store, clients: Sequence[ClientRow], lines: Iterable[Line], clock: Clock
) -> Imported:
    """Write to the store what verifications turned out to be.

    A label counts from the later of the instant it was known and the instant it is reported here, which is later than
    every event that has not seen it. Reporting the same again changes nothing; a label of another kind or another
    instant is appended, and the latest that counts decides.

    Parameters
    ----------
    clients : sequence of ClientRow
        All of them.
    """
    pools = {client.client: client.pool for client in clients}
    unknown: dict[bytes, None] = {}
    by_pool: dict[str, list[_Telling]] = defaultdict(list)
    async with store.reading() as reader:
        for line in lines:
            rows = await _rows_of(reader, line)
            if not rows:
                unknown[line.verification_id or line.identity_id or b""] = None
            for row in rows:
                by_pool[pools[row.client]].append(_Telling(row, line.label, line.known_at))
    imported = repeated = 0
    for pool, tellings in by_pool.items():
        for start in range(0, len(tellings), _BATCH):
            batch = tellings[start : start + _BATCH]
            async with store.writing([pool]) as transaction:
                new, erased = await _tell(transaction, batch, clock)
            imported += new
            repeated += len(batch) - new - len(erased)
            unknown |= dict.fromkeys(erased)
    return Imported(imported, repeated, tuple(unknown))


async def _rows_of(reader: Reader, line: Line) -> list[VerificationRow]:
    """The verifications that a line speaks of."""
    if line.verification_id is not None:
        row = await reader.verification_by_id(line.verification_id)
        found = [] if row is None else [row]
    else:
        found = await reader.verifications_of_identity(line.identity_id or b"")
    return [row for row in found if row.status == VerificationStatus.COMPLETED and row.links is not None]


async def _tell(transaction: Transaction, batch: Sequence[_Telling], clock: Clock) -> tuple[int, list[bytes]]:
    """Append what is new of a batch; returns how many that were, and which were erased meanwhile."""
    told = await transaction.labels([telling.verification.id for telling in batch])
    known = {(id_, label, at) for id_, labels in told.items() for label, at, _ in labels}
    at = await _telling_time(transaction, batch, clock)
    new, erased = 0, []
    for telling in batch:
        row = await transaction.verification_by_id(telling.verification.id)
        if row is None or row.links is None or row.completed_at is None:
            erased.append(telling.verification.id)
            continue
        if (row.id, telling.label, telling.known_at) in known:
            continue
        known.add((row.id, telling.label, telling.known_at))
        await transaction.insert([LabelRow(row.client, row.id, telling.label, telling.known_at, at)])
        packed = pack_label(max(telling.known_at, at), fraud=telling.label == FRAUD)
        await transaction.link_labels(_hashes(row), row.completed_at, packed)
        new += 1
    return new, erased


async def _telling_time(transaction: Transaction, batch: Sequence[_Telling], clock: Clock) -> int:
    """The instant of reporting: after every event that has seen the link keys of these verifications."""
    hashes = {value for telling in batch for value in _hashes(telling.verification)}
    newest = await transaction.newest(sorted(hashes)) if hashes else None
    return clock.now() if newest is None else max(clock.now(), newest + 1)


def _hashes(row: VerificationRow) -> list[bytes]:
    links = row.links or b""
    return [links[i : i + _HASH] for i in range(0, len(links), _HASH)]
