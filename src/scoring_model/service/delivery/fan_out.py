"""Fan-out: creates a delivery for each webhook that wants an event.

One transaction takes waiting events and marks them as taken. There is no cursor, since events are not committed in id
order.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

from scoring_model.contract.event import EventType
from scoring_model.service.core import ids
from scoring_model.service.core.rows import DeliveryRow, DeliveryStatus, EventRow, WebhookRow
from scoring_model.service.delivery.fair_queue import in_turn
from scoring_model.service.delivery.results import DELAYS
from scoring_model.service.events.webhooks import unpack_event_types, wants
from scoring_model.service.store import Transaction

MOST_CLIENTS: Final = 32
"""Maximum number of clients whose events one transaction takes."""


class FannedOut(NamedTuple):
    """The number of events taken, and the client that was served last."""

    events: int
    last: int


async def fan_out(transaction: Transaction, *, now: int, limit: int, after: int) -> FannedOut:
    """Create the deliveries of some waiting events; clients take turns, starting after the client `after`.

    The transaction needs no lock: it skips events that another one is taking. It creates about `limit` deliveries; more
    if one event per client already exceeds it.
    """
    clients = in_turn(await transaction.waiting_clients(), after=after)[:MOST_CLIENTS]
    if not clients:
        return FannedOut(0, after)
    webhooks = await transaction.webhooks_of(clients)
    events = await transaction.take_events(event_shares(clients, webhooks, limit=limit))
    rows = deliveries_of(events, webhooks, now=now)
    if rows:
        await transaction.insert(rows)
    return FannedOut(len(events), clients[-1])


def event_shares(clients: Sequence[int], webhooks: Sequence[WebhookRow], *, limit: int) -> dict[int, int]:
    """Divide deliveries evenly among clients; returns the number of events to take per client, at least one.

    An event costs its client one delivery per active webhook, so more webhooks do not give a larger share.

    Examples
    --------
    >>> event_shares([1, 2], [], limit=20)
    {1: 10, 2: 10}
    """
    active = Counter(webhook.client for webhook in webhooks if webhook.active)
    share = limit // len(clients)
    return {client: max(1, share // max(1, active[client])) for client in clients}


def deliveries_of(
    events: Sequence[EventRow], webhooks: Sequence[WebhookRow], *, now: int
) -> list[DeliveryRow]:
    """Create the deliveries of events in order; `webhooks` are all webhooks of their clients."""
    found = defaultdict(list)
    for webhook in webhooks:
        found[webhook.client].append((webhook, unpack_event_types(webhook.event_types)))
    return [
        DeliveryRow(
            id=ids.new_id(now),
            event=event.id,
            webhook=webhook.id,
            client=event.client,
            status=DeliveryStatus.WAITING.value,
            attempts=0,
            due_at=now + DELAYS[0],
            leased_until=None,
            created_at=now,
            finished_at=None,
            answered=None,
            excerpt=None,
        )
        for event in events
        for webhook, event_types in found[event.client]
        if gets(webhook, event, event_types)
    ]


def gets(webhook: WebhookRow, event: EventRow, event_types: Sequence[str]) -> bool:
    """Return True if an event goes to a webhook of its client that has these event types.

    A test event goes to the tested webhook, even if inactive; the event that a webhook was disabled goes to the others.
    No webhook gets events from before its creation or activation, by the client's sequence: clocks may step back.
    """
    is_its_own = event.resource == webhook.id
    if event.type == EventType.WEBHOOK_TEST:
        return is_its_own
    if event.type == EventType.WEBHOOK_DISABLED and is_its_own:
        return False
    is_later = event.sequence > webhook.since_sequence
    return is_later and bool(webhook.active) and wants(event_types, event.type)
