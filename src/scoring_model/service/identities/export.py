"""What the service has scored, as records of a file: to retrain from, and to prove that a file scores alike."""

import hashlib
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from scoring_model.contract.fields import REFERENCE_FIELDS
from scoring_model.contract.ids import to_text
from scoring_model.records import normaliser, rfc3339
from scoring_model.service.core.rows import VerificationRow
from scoring_model.service.core.store import Reader, Store
from scoring_model.service.identities.persons import Persons
from scoring_model.service.retention.signal_removal import lost_its_signals

_PAGE: Final = 500
_WITHDRAWN: Final = "withdrawn"
_REFERENCE_BYTES: Final = 16


async def export_records(store: Store, persons: Persons, *clients: int) -> AsyncIterator[dict[str, Any]]:
    """Give the completed verifications of a client as records, in the order of their event times.

    Of clients that share a history all are to be given: each one's records follow those of the one before. What one
    of them calls a person says nothing to the others, so `subjectId` and `externalId` are then hashed with the
    client, equal where the client's own are.

    Yields
    ------
    dict
        The fields of a record by dotted names, `recordId` (of the verification), `eventTime`, and of its latest
        label `label`, `labelKnownAt` and `labelToldAt`. Erased persons are left out, and so is what has no field
        but references: no file may hold that, and no history does. What lost its signals with age is left out too:
        what would be learnt from the rest is that such signals are missing.
    """
    for client in clients:
        async for record in _records_of(store, persons, client):
            yield _apart(client, record) if len(clients) > 1 else record


async def _records_of(store: Store, persons: Persons, client: int) -> AsyncIterator[dict[str, Any]]:
    after: tuple[int, bytes] | None = None
    while True:
        async with store.reading() as reader:
            rows = await reader.completed(client, after, _PAGE)
            labels = await reader.labels([row.id for row in rows])
            found = [(row, await _values(reader, persons, row)) for row in rows]
        for row, values in found:
            if not values.keys() <= set(REFERENCE_FIELDS):
                event = {"recordId": to_text(row.id), "eventTime": rfc3339(row.completed_at or 0)}
                yield event | values | _label(labels.get(row.id, []))
        if len(rows) < _PAGE:
            return
        after = (rows[-1].completed_at or 0, rows[-1].id)


async def _values(reader: Reader, persons: Persons, row: VerificationRow) -> dict[str, object]:
    """What is known of a verification; nothing after erasure, and nothing where a part of it is missing."""
    key = None if row.payload is None else await persons.key_of(reader, row.key_id)
    if key is None:
        return {}
    signals, subject, _ = persons.verification_payload(row, key)
    if not signals and lost_its_signals(row, key):
        return {}
    values: dict[str, object] = {}
    if row.identity_id is not None:
        identity = await reader.identity(row.client, row.identity_id)
        if identity is not None:
            values |= persons.identity_values(identity, key)[0]
    if subject is not None:
        values["subjectId"] = subject
    return values | {f"signals.{name}": value for name, value in signals.items()}


def _apart(client: int, record: Mapping[str, Any]) -> dict[str, Any]:
    """A record whose references are unlike those of any other client."""
    apart = dict(record)
    for field in REFERENCE_FIELDS:
        # Normalised first, since what is equal after that is one reference, and hashed, since it must stay short.
        reference = None if field not in record else normaliser(field)(record[field])
        if reference is not None:
            text = f"{client} {reference}".encode()
            apart[field] = hashlib.blake2b(text, digest_size=_REFERENCE_BYTES).hexdigest()
    return apart


def _label(told: list[tuple[str, int, int]]) -> dict[str, Any]:
    """The label that was reported last; one that was withdrawn is none."""
    if not told or told[-1][0] == _WITHDRAWN:
        return {}
    label, known_at, told_at = told[-1]
    return {"label": label, "labelKnownAt": rfc3339(known_at), "labelToldAt": rfc3339(told_at)}
