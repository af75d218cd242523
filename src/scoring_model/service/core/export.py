"""What the service has scored, as records of a file: to retrain from, and to prove that a file scores alike."""

from collections.abc import AsyncIterator
from typing import Any, Final

from scoring_model.records import rfc3339
from scoring_model.service.core import ids
from scoring_model.service.core.persons import Persons
from scoring_model.service.core.rows import VerificationRow
from scoring_model.service.core.store import Reader, Store

_PAGE: Final = 500
_WITHDRAWN: Final = "withdrawn"


async def export_records(store: Store, persons: Persons, client: int) -> AsyncIterator[dict[str, Any]]:
    """Give the completed verifications of a client as records, in the order of their event times.

    Parameters
    ----------
    store : Store
    persons : Persons
    client : int

    Yields
    ------
    dict
        The fields of a record by dotted names, `recordId` (of the verification), `eventTime`, and of its latest
        label `label`, `labelKnownAt` and `labelToldAt`. Whoever was erased is left out.
    """
    after: tuple[int, bytes] | None = None
    while True:
        async with store.reading() as reader:
            rows = await reader.completed(client, after, _PAGE)
            labels = await reader.labels([row.id for row in rows])
            records = [(row.id, await _record(reader, persons, row)) for row in rows]
        for id_, record in records:
            if record is not None:
                yield record | _label(labels.get(id_, []))
        if len(rows) < _PAGE:
            return
        after = (rows[-1].completed_at or 0, rows[-1].id)


async def _record(reader: Reader, persons: Persons, row: VerificationRow) -> dict[str, Any] | None:
    key = None if row.payload is None else await persons.key_of(reader, row.key_id)
    if key is None:
        return None
    signals, subject, _ = persons.verification_payload(row, key)
    record: dict[str, Any] = {"recordId": ids.to_text(row.id), "eventTime": rfc3339(row.completed_at or 0)}
    if row.identity_id is not None:
        identity = await reader.identity(row.client, row.identity_id)
        if identity is not None:
            record |= persons.identity_values(identity, key)[0]
    if subject is not None:
        record["subjectId"] = subject
    return record | {f"signals.{name}": value for name, value in signals.items()}


def _label(told: list[tuple[str, int, int]]) -> dict[str, Any]:
    """The label that was told last; one that was withdrawn is none."""
    if not told or told[-1][0] == _WITHDRAWN:
        return {}
    label, known_at, told_at = told[-1]
    return {"label": label, "labelKnownAt": rfc3339(known_at), "labelToldAt": rfc3339(told_at)}
