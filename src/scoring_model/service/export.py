"""Exports scored verifications as file records, for retraining and for comparing batch with online scores."""

import hashlib
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from scoring_model.contract.fields import LABEL_FIELDS, REFERENCE_FIELDS
from scoring_model.contract.texts import to_text
from scoring_model.records import normaliser, rfc3339
from scoring_model.service.core.rows import VerificationRow
from scoring_model.service.identities import Persons
from scoring_model.service.retention import lost_its_signals
from scoring_model.service.store import Reader, Store

_PAGE: Final = 500
_WITHDRAWN: Final = "withdrawn"
_REFERENCE_BYTES: Final = 16


async def export_records(store: Store, persons: Persons, *clients: int) -> AsyncIterator[dict[str, Any]]:
    """Yield the completed verifications of a client as records, in order of event time.

    For a shared history scope pass all of its clients; records are grouped by client. Clients assign references
    independently, so `subjectId` and `externalId` are then hashed with the client.

    Yields
    ------
    dict
        The fields of a record by dotted names, `recordId` (of the verification), `eventTime`, and those of
        its latest label (`LABEL_FIELDS`). Omits erased persons, records with references only (invalid in a
        file), and verifications whose signals were removed: a model would learn that these are missing.
    """
    for client in clients:
        async for record in _records_of(store, persons, client):
            yield _with_hashed_references(client, record) if len(clients) > 1 else record


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
    """Return the values of a verification; empty after erasure, or if a part was removed."""
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


def _with_hashed_references(client: int, record: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the references by hashes that differ between clients."""
    hashed = dict(record)
    for field in REFERENCE_FIELDS:
        # Normalise first: equal normalised texts are one reference. Hash to bound the length.
        reference = None if field not in record else normaliser(field)(record[field])
        if reference is not None:
            text = f"{client} {reference}".encode()
            hashed[field] = hashlib.blake2b(text, digest_size=_REFERENCE_BYTES).hexdigest()
    return hashed


def _label(labels: list[tuple[str, int, int]]) -> dict[str, Any]:
    """Return the label that was reported last, unless it is a withdrawal."""
    if not labels or labels[-1][0] == _WITHDRAWN:
        return {}
    label, known_at, reported_at = labels[-1]
    return dict(zip(LABEL_FIELDS, (label, rfc3339(known_at), rfc3339(reported_at)), strict=True))
