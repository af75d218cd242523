"""Labels that operators import: read page by page, stored under the locks of the verifications' history scopes."""

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scoring_model.service.core.clock import Clock
from scoring_model.service.core.row_files import MOST_LISTED, batches
from scoring_model.service.core.rows import ClientRow
from scoring_model.service.keys.secrets import Secrets
from scoring_model.service.labels.rows import ROWS, Fate, Report, append_all
from scoring_model.service.past.history_import import record_hash
from scoring_model.service.store import Store


class LabelLine(NamedTuple):
    """One row of a label file. Exactly one of the three identifiers is set."""

    verification_id: bytes | None
    identity_id: bytes | None
    label: str
    known_at: int  # microseconds since 1970-01-01 UTC
    record_id: str | None = None

    @property
    def name(self) -> bytes | str:
        """What the line names."""
        return self.verification_id or self.identity_id or self.record_id or b""


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
    too_many : tuple of bytes or str
        Identifiers that have as many labels as are stored of one.
    omitted : int
        Rows whose identifier is in neither list, because it has `MOST_LISTED` others.
    """

    imported: int
    repeated: int
    unknown: tuple[bytes | str, ...]
    too_many: tuple[bytes | str, ...] = ()
    omitted: int = 0


async def import_labels(
    store: Store,
    clients: Sequence[ClientRow],
    lines: Iterable[LabelLine],
    clock: Clock,
    *,
    records: RecordNames | None = None,
) -> Imported:
    """Store reported labels, in as little memory for many lines as for few.

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
        If a line has a `recordId` and `records` is missing. What lines before it say may be stored.
    """
    scopes = {client.client: client.pool for client in clients}
    counts = dict.fromkeys(Fate, 0)
    unknown: dict[bytes | str, None] = {}
    too_many: dict[bytes | str, None] = {}
    omitted = 0
    for page in batches(lines, ROWS):
        fates = [Fate.NOT_FOUND] * len(page)
        async for scope, batch in _batches_of(store, scopes, page, records):
            async with store.writing([scope]) as transaction:
                found = await append_all(transaction, batch, clock)
            for report, fate in found:
                counts[fate] += 1
                fates[report.line] = max(fates[report.line], fate)
        for line, fate in zip(page, fates, strict=True):
            if fate not in (Fate.NEW, Fate.REPEATED):
                names = too_many if fate is Fate.TOO_MANY else unknown
                if line.name in names or len(names) < MOST_LISTED:
                    names[line.name] = None
                else:
                    omitted += 1
    return Imported(counts[Fate.NEW], counts[Fate.REPEATED], tuple(unknown), tuple(too_many), omitted)


async def _batches_of(
    store: Store, scopes: Mapping[int, str], page: Sequence[LabelLine], records: RecordNames | None
) -> AsyncIterator[tuple[str, list[Report]]]:
    """Divide what some lines report into batches of one history scope, each in the order of the lines."""
    waiting: dict[str, list[Report]] = defaultdict(list)
    async for scope, report in _reports(store, scopes, page, records):
        waiting[scope].append(report)
        if len(waiting[scope]) == ROWS:
            yield scope, waiting.pop(scope)
    for scope, batch in waiting.items():
        yield scope, batch


async def _reports(
    store: Store, scopes: Mapping[int, str], page: Sequence[LabelLine], records: RecordNames | None
) -> AsyncIterator[tuple[str, Report]]:
    async with store.reading() as reader:
        made = await reader.verifications_by_ids([one.verification_id for one in page if one.verification_id])
        identities = await reader.identities_by_ids([one.identity_id for one in page if one.identity_id])
        scope_of = {row.id: scopes[row.client] for row in made}
        scope_of |= {id_: scopes[row.client] for id_, row in identities.items()}
        for place, line in enumerate(page):
            report = Report(place, line.verification_id or b"", line.label, line.known_at)
            scope = scope_of.get(line.verification_id or line.identity_id or b"")
            if line.record_id is not None:
                if records is None:
                    raise ValueError("recordId: names a record of one client: give the client (--client)")
                about = record_hash(records.secrets, records.client.client, line.record_id)
                yield records.client.pool, report._replace(about=about, is_record=True)
            elif scope is not None and line.identity_id is not None:
                after = b""
                while ids := await reader.ids_of_identity(line.identity_id, ROWS, after):
                    for after in ids:
                        yield scope, report._replace(about=after)
            elif scope is not None:
                yield scope, report
