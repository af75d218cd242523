"""Deliveries as operators see them: listed, and replayed."""

from dataclasses import dataclass

from scoring_model.contract.event import EventType
from scoring_model.service.core.rows import DeliveryRow, DeliveryStatus, EventRow
from scoring_model.service.store import Store, Transaction


class NotReplayed(ValueError):
    """No delivery can be sent again; the text gives the reasons."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivery:
    """A delivery with its event and client."""

    row: DeliveryRow
    event: EventRow
    client_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Replayed:
    """What came of a replay.

    Parameters
    ----------
    again : tuple of bytes
        Ids of deliveries that wait again.
    refused : tuple of (bytes, str)
        Ids of the others of the event, each with the reason.
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
    """Read at most `limit` deliveries in the order of their creation, after an id, filtered by the other arguments.

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
    """Send a settled delivery, or all of an event, again under the same ids: a new first attempt is due now.

    Parameters
    ----------
    resource : bytes
        Id of a delivery or of an event.
    now : int
        Microseconds since 1970-01-01 UTC.

    Raises
    ------
    NotReplayed
        If the id is unknown, or no delivery can be sent again: it waits already, or its webhook is deleted or inactive.
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
    """Make a delivery wait again, or return the reason why it can't."""
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
