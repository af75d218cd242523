"""Events: thin, without personal data, written in the transaction of the change that they report (outbox).

Operators can list their deliveries and send them again.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from pydantic_core import to_json

from scoring_model.contract.event import EventType
from scoring_model.contract.identity import IdentityStatus
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.texts import rfc3339, to_text
from scoring_model.contract.verification import VerificationStatus
from scoring_model.service.core import ids
from scoring_model.service.core.rows import (
    DeliveryRow,
    DeliveryStatus,
    EventRow,
    IdentityRow,
    LabelRow,
    VerificationRow,
)
from scoring_model.service.store import Advanced, Store, Transaction

_OF_IDENTITY: Final[Mapping[str, tuple[EventType, ...]]] = {
    IdentityStatus.INCOMPLETE: (EventType.IDENTITY_CREATED,),
    IdentityStatus.VALIDATED: (EventType.IDENTITY_CREATED, EventType.IDENTITY_VALIDATED),
    IdentityStatus.INVALID: (EventType.IDENTITY_CREATED, EventType.IDENTITY_INVALID),
    IdentityStatus.REDACTED: (EventType.IDENTITY_REDACTED,),
}
_OF_OUTCOME: Final[Mapping[str | None, EventType]] = {
    Outcome.PASSED: EventType.VERIFICATION_PASSED,
    Outcome.STEPPED_UP: EventType.VERIFICATION_STEPPED_UP,
    Outcome.FAILED: EventType.VERIFICATION_FAILED,
}


class NewEvent(NamedTuple):
    """An event without a sequence number yet.

    With `always`, it waits for delivery even if the client has no active webhook: tests of inactive webhooks need it.
    """

    client: int
    type: EventType
    resource: bytes
    at: int
    data: str
    always: bool = False


async def write_events(transaction: Transaction, events: Sequence[NewEvent]) -> Mapping[int, Advanced]:
    """Write events in order, numbered by one sequence per client.

    An event of a client without an active webhook does not wait for delivery; those of sandbox clients are marked.
    Returns the state of the clients.
    """
    if not events:
        return {}
    advanced = await transaction.advance(Counter(event.client for event in events))
    sequences = {client: found.before for client, found in advanced.items()}
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
                data=marked(event.data) if advanced[event.client].sandbox else event.data,
                waiting=int(event.always or advanced[event.client].listens),
            )
        )
    await transaction.insert(rows)
    return advanced


def events_of_identity(row: IdentityRow, now: int) -> list[NewEvent]:
    """Return the events of an identity that was just created or erased, in order."""
    data = to_json({"id": to_text(row.id), "status": row.status}).decode()
    return [NewEvent(row.client, kind, row.id, now, data) for kind in _OF_IDENTITY[row.status]]


def events_of_verification(row: VerificationRow) -> list[NewEvent]:
    """Return the events of a verification that has reached a status, in order; none for PENDING.

    COMPLETED has two: a webhook gets that of the outcome, unless it lists `verification.completed` exactly.
    """
    if row.status == VerificationStatus.PENDING:
        return []
    kinds: tuple[EventType, ...] = (EventType.VERIFICATION_ERROR,)
    if row.status == VerificationStatus.COMPLETED:
        kinds = (EventType.VERIFICATION_COMPLETED, _OF_OUTCOME[row.outcome])
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


def events_of_label(label: LabelRow, row: VerificationRow) -> NewEvent:
    """Return the event of a new label of a verification, for webhooks that list `label.received` exactly."""
    data = to_json(
        {
            "id": to_text(row.id),
            "identityId": None if row.identity_id is None else to_text(row.identity_id),
            "label": label.label,
            "knownAt": rfc3339(label.known_at),
        }
    ).decode()
    return NewEvent(label.client, EventType.LABEL_RECEIVED, row.id, label.told_at, data)


def message_id(delivery: bytes) -> str:
    """Return the ``webhook-id`` of a delivery, the same for every attempt.

    Examples
    --------
    >>> message_id(bytes(range(16)))
    'msg_000102030405060708090a0b0c0d0e0f'
    """
    return f"msg_{delivery.hex()}"


def webhook_data(resource: bytes, disabled_reason: str | None = None) -> str:
    """Return the data of a webhook's event: a JSON object without the sequence.

    Omits the destination: its query may contain a secret of the client.
    """
    reason = {} if disabled_reason is None else {"disabledReason": disabled_reason}
    return to_json({"id": to_text(resource), **reason}).decode()


def marked(data: str) -> str:
    """Mark a JSON object as one of a sandbox client.

    Examples
    --------
    >>> marked('{"id":"x"}')
    '{"id":"x","sandbox":true}'
    """
    return f'{data[:-1]},"sandbox":true}}'


def numbered(data: str, sequence: int) -> str:
    """Add the sequence to the data of an event.

    Examples
    --------
    >>> numbered('{"id":"x"}', 7)
    '{"id":"x","sequence":7}'
    """
    return f'{data[:-1]},"sequence":{sequence}}}'


class NotReplayed(ValueError):
    """No delivery can be sent again; the message has the reasons."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivery:
    """A delivery with its event and client."""

    row: DeliveryRow
    event: EventRow
    client_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Replayed:
    """The result of a replay.

    Parameters
    ----------
    again : tuple of bytes
        Ids of the deliveries that wait again.
    refused : tuple of (bytes, str)
        Ids of the other deliveries of the event, each with the reason.
    """

    again: tuple[bytes, ...]
    refused: tuple[tuple[bytes, str], ...]


async def list_deliveries(
    store: Store,
    *,
    status: DeliveryStatus | None = None,
    client_id: str | None = None,
    webhook: bytes | None = None,
    after: bytes | None = None,
    limit: int,
) -> list[Delivery]:
    """Read at most `limit` deliveries after an id in order of creation, filtered by the other arguments.

    Raises
    ------
    ValueError
        If there is no such client.
    """
    async with store.reading() as reader:
        clients = {client.client: client.client_id for client in await reader.clients()}
        numbers = [number for number, text in clients.items() if text == client_id]
        if client_id is not None and not numbers:
            raise ValueError("there is no such client")
        rows = await reader.deliveries(
            status=None if status is None else status.value,
            client=numbers[0] if numbers else None,
            webhook=webhook,
            after=after,
            limit=limit,
        )
        pairs = [await reader.delivery(row.id) for row in rows]
    return [
        Delivery(row=row, event=event, client_id=clients[row.client])
        for row, event in (pair for pair in pairs if pair is not None)
    ]


async def replay(store: Store, resource: bytes, *, now: int) -> Replayed:
    """Send a settled delivery, or all of an event, again with the same ids; a new first attempt is due now.

    Parameters
    ----------
    resource : bytes
        Id of a delivery or of an event.
    now : int
        Microseconds since 1970-01-01 UTC.

    Raises
    ------
    NotReplayed
        If the id is unknown, or no delivery can be sent again: already waiting, or the webhook is deleted or inactive.
    """
    async with store.writing([]) as transaction:
        pair = await transaction.delivery(resource)
        rows = [pair[0]] if pair is not None else await transaction.deliveries_of(resource)
        if not rows:
            raise NotReplayed(
                "no delivery has this id, and no event with deliveries; settled ones are deleted after a time, "
                "30 days by default, and can't be sent again"
            )
        reasons = [await _again(transaction, row, now) for row in rows]
        refused = tuple((row.id, why) for row, why in zip(rows, reasons, strict=True) if why is not None)
        if len(refused) == len(rows):
            raise NotReplayed("; ".join(dict.fromkeys(why for _, why in refused)))
    again = tuple(row.id for row, why in zip(rows, reasons, strict=True) if why is None)
    return Replayed(again=again, refused=refused)


async def _again(transaction: Transaction, row: DeliveryRow, now: int) -> str | None:
    """Make a delivery wait again; returns the reason if it can't."""
    webhook = await transaction.webhook(row.client, row.webhook)
    if webhook is None:
        return "the webhook is deleted"
    pair = await transaction.delivery(row.id)
    is_test = pair is not None and pair[1].type == EventType.WEBHOOK_TEST
    if not webhook.active and not is_test:
        return "the webhook is inactive"
    if await transaction.deliver_again(row.id, now):
        return None
    still_there = await transaction.delivery(row.id) is not None
    return "the delivery waits already" if still_there else "the delivery was just deleted"
