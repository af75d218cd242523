"""Appends resolutions to verifications, and ends step-ups by the verifications that follow them.

Decision record: docs/adr/0035-resolutions.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from pydantic_core import from_json, to_json

from scoring_model.contract.event import EventType
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.resolution import Method, Resolution, Result
from scoring_model.contract.resource import instant
from scoring_model.contract.texts import rfc3339, to_text
from scoring_model.contract.verification import VerificationStatus
from scoring_model.service.core import ids
from scoring_model.service.core.rows import ResolutionRow, VerificationRow
from scoring_model.service.events.events import NewEvent
from scoring_model.service.keys.data_keys import DataKey
from scoring_model.service.store import Reader, Transaction

MOST_KEPT: Final = 100
"""Resolutions that are stored of one verification: its list is one answer."""

LONGEST_CHAIN: Final = 10
"""Step-ups that one verification ends, each the follow-up of the one before."""

_RESULTS: Final[Mapping[str | None, Result]] = {
    Outcome.PASSED: Result.APPROVED,
    Outcome.FAILED: Result.DECLINED,
}
"""How an outcome of a follow-up ends the step-up; another step-up leaves it open."""


def seal_words(key: DataKey, resource: bytes, resolved_by: str | None, note: str | None) -> bytes | None:
    """Seal what is personal in a resolution under the key of its person; None if nothing is."""
    if resolved_by is None and note is None:
        return None
    return key.seal(to_json([resolved_by, note]), table="resolutions", column="payload", row=resource)


def open_words(key: DataKey | None, row: ResolutionRow) -> tuple[str | None, str | None]:
    """Return who ended it, and the note; None of both after erasure."""
    if key is None or row.payload is None:
        return None, None
    resolved_by, note = from_json(key.open(row.payload, table="resolutions", column="payload", row=row.id))
    return resolved_by, note


def shown(row: ResolutionRow, key: DataKey | None) -> Resolution:
    """Return a resolution as its client sees it."""
    resolved_by, note = open_words(key, row)
    return Resolution(
        id=to_text(row.id),
        verification_id=to_text(row.verification_id),
        result=row.result,
        method=row.method,
        resolved_by=resolved_by,
        note=note,
        resolved_at=instant(row.resolved_at),
        created_at=instant(row.created_at),
    )


def event_of_resolution(row: ResolutionRow, about: VerificationRow) -> NewEvent:
    """Return the event of a new resolution of a verification."""
    data = to_json(
        {
            "id": to_text(about.id),
            "identityId": None if about.identity_id is None else to_text(about.identity_id),
            "status": about.status,
            "scoringOutcome": about.outcome,
            "resolution": row.result,
            "resolvedAt": rfc3339(row.resolved_at),
        }
    ).decode()
    return NewEvent(row.client, EventType.VERIFICATION_RESOLVED, about.id, row.created_at, data)


async def resolutions_of(
    reader: Reader, verification_ids: Sequence[bytes]
) -> dict[bytes, list[ResolutionRow]]:
    """Return the resolutions of each verification, oldest first."""
    found: dict[bytes, list[ResolutionRow]] = {id_: [] for id_ in verification_ids}
    for row in await reader.resolutions(verification_ids) if verification_ids else []:
        found[row.verification_id].append(row)
    return found


async def follow(transaction: Transaction, rows: Iterable[VerificationRow]) -> list[NewEvent]:
    """End the step-ups that some new verifications follow, by their outcomes; returns the events.

    A chain of step-ups ends as a whole, up to `LONGEST_CHAIN` of them.
    """
    found: dict[bytes, tuple[ResolutionRow, VerificationRow]] = {}
    for row in rows:
        result, previous = _RESULTS.get(row.outcome), row.previous_id
        if row.status != VerificationStatus.COMPLETED or result is None:
            continue
        for _ in range(LONGEST_CHAIN):
            earlier = None if previous is None else await transaction.verification(row.client, previous)
            if earlier is None:
                break
            found[earlier.id] = (_followed(earlier, result, row.completed_at or 0), earlier)
            previous = earlier.previous_id
    if not found:
        return []
    stored = await resolutions_of(transaction, list(found))
    new = [one for id_, one in found.items() if len(stored[id_]) < MOST_KEPT]
    await transaction.insert([resolution for resolution, _ in new])
    return [event_of_resolution(*one) for one in new]


def _followed(row: VerificationRow, result: Result, at: int) -> ResolutionRow:
    return ResolutionRow(
        id=ids.new_id(at),
        client=row.client,
        verification_id=row.id,
        result=result.value,
        method=Method.FOLLOW_UP.value,
        payload=None,
        resolved_at=at,
        created_at=at,
    )
