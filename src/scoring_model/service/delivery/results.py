"""A webhook that is given up: it gets nothing any more, and its client's others get an event."""

from scoring_model.contract.event import EventType
from scoring_model.service.core.rows import WebhookRow
from scoring_model.service.core.store import Transaction
from scoring_model.service.delivery.schedule import DisabledReason, is_stale
from scoring_model.service.webhooks.events import NewEvent, webhook_data, write_events


async def disable(transaction: Transaction, webhook: WebhookRow, reason: DisabledReason, *, now: int) -> bool:
    """Disable a webhook, drop what waits for it, and write the event.

    Parameters
    ----------
    transaction : Transaction
        Under the lock of the client's pool, so that no change of the client is overwritten.
    webhook : WebhookRow
        As it was when the attempt was made.
    now : int
        Microseconds since 1970-01-01 UTC.

    Returns
    -------
    bool
        False if nothing was done: it is gone or inactive already, leads elsewhere by now, or an attempt
        succeeded meanwhile.
    """
    found = await transaction.webhook(webhook.client, webhook.id)
    if found is None or not found.active:
        return False
    if (found.destination_url, found.query) != (webhook.destination_url, webhook.query):
        return False
    if reason is DisabledReason.FAILING and not is_stale(found, now):
        return False
    changed = found._replace(active=0, disabled_reason=reason.value, updated_at=now)
    # In this order, in which deliveries are settled and successes written too.
    await transaction.drop_deliveries(webhook.id, now)
    await transaction.update_webhook(changed)
    data = webhook_data(webhook.id, reason.value)
    told = NewEvent(webhook.client, EventType.WEBHOOK_DISABLED, webhook.id, now, data)
    await write_events(transaction, [told])
    return True
