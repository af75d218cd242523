"""Events: thin, without personal data, and written in the transaction of the change that they report (outbox)."""

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from pydantic_core import to_json

from scoring_model.contract.event import EventType
from scoring_model.contract.identity import IdentityStatus
from scoring_model.contract.ids import to_text
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.verification import VerificationStatus
from scoring_model.service.core import ids
from scoring_model.service.core.rows import EventRow, VerificationRow
from scoring_model.service.core.store import Transaction

_OF_IDENTITY: Final = {
    IdentityStatus.INCOMPLETE: (EventType.IDENTITY_CREATED,),
    IdentityStatus.VALIDATED: (EventType.IDENTITY_CREATED, EventType.IDENTITY_VALIDATED),
    IdentityStatus.INVALID: (EventType.IDENTITY_CREATED, EventType.IDENTITY_INVALID),
}
_OF_OUTCOME: Final = {
    Outcome.PASSED: EventType.VERIFICATION_PASSED,
    Outcome.STEPPED_UP: EventType.VERIFICATION_STEPPED_UP,
    Outcome.FAILED: EventType.VERIFICATION_FAILED,
}


class NewEvent(NamedTuple):
    """An event that has no number yet.

    `always` keeps it waiting even when the client has no active webhook, as a test of an inactive one needs.
    """

    client: int
    type: EventType
    resource: bytes
    at: int
    data: str
    always: bool = False


async def write_events(transaction: Transaction, events: Sequence[NewEvent]) -> None:
    """Number events in their order, one sequence per client, and write them.

    An event of a client without an active webhook does not wait for delivery.
    """
    if not events:
        return
    advanced = await transaction.advance(Counter(event.client for event in events))
    sequences = {client: before for client, (before, _) in advanced.items()}
    rows = []
    for event in events:
        sequences[event.client] += 1
        rows.append(
            EventRow(
                id=ids.new_id(event.at),
                client=event.client,
                sequence=sequences[event.client],
                type=event.type.value,
                resource=event.resource,
                created_at=event.at,
                data=event.data,
                waiting=int(event.always or advanced[event.client][1]),
            )
        )
    await transaction.insert(rows)


def events_of_new_identity(status: IdentityStatus) -> tuple[EventType, ...]:
    """Return the events of a creation, in their order.

    Raises
    ------
    KeyError
        If the status is REDACTED, which no new identity has.
    """
    return _OF_IDENTITY[status]


def events_of_verification(row: VerificationRow) -> list[NewEvent]:
    """Make the events of a verification that has reached a status, in their order; one that is PENDING has none.

    A COMPLETED one has two: a webhook gets that of the outcome, unless it names `verification.completed` exactly.
    """
    if row.status == VerificationStatus.PENDING:
        return []
    kinds: tuple[EventType, ...] = (EventType.VERIFICATION_ERROR,)
    if row.status == VerificationStatus.COMPLETED:
        kinds = (EventType.VERIFICATION_COMPLETED, _OF_OUTCOME[Outcome(row.outcome or "")])
    data = to_json(
        {
            "id": to_text(row.id),
            "identityId": None if row.identity_id is None else to_text(row.identity_id),
            "status": row.status,
            "scoringOutcome": row.outcome,
            "scoringScore": row.score,
            "modelVersion": row.model_version,
        }
    ).decode()
    return [NewEvent(row.client, kind, row.id, row.completed_at or row.created_at, data) for kind in kinds]


def identity_data(resource: bytes, status: IdentityStatus) -> str:
    """Write the data of an event of an identity: a JSON object without the sequence."""
    return to_json({"id": to_text(resource), "status": status.value}).decode()


def webhook_data(resource: bytes, disabled_reason: str | None = None) -> str:
    """Write the data of an event of a webhook: a JSON object without the sequence.

    The destination is left out: its query may hold a secret of the client.
    """
    reason = {} if disabled_reason is None else {"disabledReason": disabled_reason}
    return to_json({"id": to_text(resource), **reason}).decode()


def numbered(data: str, sequence: int) -> str:
    """Add the sequence to the data of an event.

    Examples
    --------
    >>> numbered('{"id":"x"}', 7)
    '{"id":"x","sequence":7}'
    """
    return f'{data[:-1]},"sequence":{sequence}}}'
