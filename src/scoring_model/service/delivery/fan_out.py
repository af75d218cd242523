"""From events to deliveries: one for each webhook that wants the event.

An event is taken while it waits and no longer waits afterwards, all in one transaction. No number says how far this
has come: events are committed in another order than that of their ids.
"""

from collections import defaultdict
from collections.abc import Sequence

from scoring_model.service.core import ids
from scoring_model.service.core.delivery_status import DeliveryStatus
from scoring_model.service.core.event import EventType
from scoring_model.service.core.rows import DeliveryRow, EventRow, WebhookRow
from scoring_model.service.core.store import Transaction
from scoring_model.service.core.webhook import unpack_event_types, wants
from scoring_model.service.delivery.schedule import DELAYS


async def fan_out(transaction: Transaction, *, now: int, limit: int) -> int:
    """Write the deliveries of some events that wait.

    Parameters
    ----------
    transaction : Transaction
        No lock is needed: events that another transaction is taking are left to it.
    now : int
        Microseconds since 1970-01-01 UTC.
    limit : int
        The most events.

    Returns
    -------
    int
        How many events were taken.
    """
    events = await transaction.take_events(limit)
    if not events:
        return 0
    webhooks = await transaction.webhooks_of(sorted({event.client for event in events}))
    rows = deliveries_of(events, webhooks, now=now)
    if rows:
        await transaction.insert(rows)
    return len(events)


def deliveries_of(
    events: Sequence[EventRow], webhooks: Sequence[WebhookRow], *, now: int
) -> list[DeliveryRow]:
    """Make the deliveries of events.

    Parameters
    ----------
    events : sequence of EventRow
    webhooks : sequence of WebhookRow
        All of the clients whose events these are.
    now : int
        Microseconds since 1970-01-01 UTC.

    Returns
    -------
    list of DeliveryRow
        In the order of the events.
    """
    found = defaultdict(list)
    for webhook in webhooks:
        found[webhook.client].append((webhook, unpack_event_types(webhook.event_types)))
    return [
        _delivery(event, webhook, now)
        for event in events
        for webhook, event_types in found[event.client]
        if gets(webhook, event, event_types)
    ]


def gets(webhook: WebhookRow, event: EventRow, event_types: Sequence[str]) -> bool:
    """Tell whether an event goes to a webhook of its client.

    Parameters
    ----------
    webhook : WebhookRow
    event : EventRow
    event_types : sequence of str
        Of the webhook, unpacked.

    Returns
    -------
    bool
        A test goes to the webhook that it tests, whatever that wants and even when it is inactive; that a webhook
        was disabled goes to the others. Nothing goes to a webhook that was created or enabled after the event, by the
        sequence of the client: clocks may step back.
    """
    is_its_own = event.resource == webhook.id
    if event.type == EventType.WEBHOOK_TEST:
        return is_its_own
    if event.type == EventType.WEBHOOK_DISABLED and is_its_own:
        return False
    is_later = event.sequence > webhook.since_sequence
    return is_later and bool(webhook.active) and wants(event_types, event.type)


def _delivery(event: EventRow, webhook: WebhookRow, now: int) -> DeliveryRow:
    return DeliveryRow(
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
