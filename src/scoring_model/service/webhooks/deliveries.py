"""Deliveries as operators see them: listed, and replayed."""

from dataclasses import dataclass
from enum import StrEnum

from scoring_model.contract.event import EventType
from scoring_model.service.core.rows import DeliveryRow, EventRow
from scoring_model.service.core.store import Store, Transaction


class DeliveryStatus(StrEnum):
    """State of a delivery. Only an operator sets a settled one to WAITING again."""

    WAITING = "WAITING"
    DELIVERED = "DELIVERED"
    DEAD = "DEAD"  # no attempt is left
    DROPPED = "DROPPED"  # its webhook was made inactive, disabled or deleted


class NotReplayed(ValueError):
    """No delivery can be sent again; the text gives the reasons."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivery:
    """A delivery, its event, and whose it is."""

    row: DeliveryRow
    event: EventRow
    client_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Replayed:
    """What came of a replay.

    Parameters
    ----------
    again : tuple of bytes
        Deliveries that wait again, by id.
    refused : tuple of (bytes, str)
        Others of the event, each with its reason.
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
    """Read deliveries in the order of their ids, which is that in which they were made.

    Parameters
    ----------
    status : DeliveryStatus, optional
        Only those of this status.
    client_id : str, optional
        Only those of this client.
    webhook : bytes, optional
        Only those to this webhook.
    after : bytes, optional
        The id to go on after.
    limit : int
        How many at most.

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
    """Send a delivery again, or all of an event, under the ids that they had: a new first attempt is due now.

    Parameters
    ----------
    resource : bytes
        Id of a delivery that is settled, or of an event.
    now : int
        Microseconds since 1970-01-01 UTC.

    Raises
    ------
    NotReplayed
        If nothing has this id, or has it any more, or none of the deliveries can be sent again: it waits already, or
        its webhook is deleted or inactive.
    """
    async with store.writing([]) as transaction:
        pair = await transaction.delivery(resource)
        rows = [pair[0]] if pair is not None else await transaction.deliveries_of(resource)
        if not rows:
            raise NotReplayed(
                "no delivery has this id, and no event with deliveries; what is over is deleted after a time, "
                "30 days unless told otherwise, and can't be sent again"
            )
        reasons = [await _again(transaction, row, now) for row in rows]
        refused = tuple((row.id, why) for row, why in zip(rows, reasons, strict=True) if why is not None)
        if len(refused) == len(rows):
            raise NotReplayed("; ".join(dict.fromkeys(why for _, why in refused)))
    again = tuple(row.id for row, why in zip(rows, reasons, strict=True) if why is None)
    return Replayed(again=again, refused=refused)


async def _again(transaction: Transaction, row: DeliveryRow, now: int) -> str | None:
    """Make one wait again; the reason if it can't."""
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
    return "the delivery waits already" if still_there else "the delivery was deleted this moment"
