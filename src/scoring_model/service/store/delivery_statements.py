"""SQL on waiting events and on deliveries, written as in `statements`."""

from functools import cache
from typing import Final

from scoring_model.service.core.rows import DeliveryRow, DeliveryStatus, EventRow, WebhookRow
from scoring_model.service.store.statements import Each, columns, for_each, select, update_by_id

_WAITING: Final = "SELECT client FROM events WHERE waiting = 1"
WAITING_CLIENTS: Final = (
    f"WITH RECURSIVE waiting(client) AS (SELECT ({_WAITING} ORDER BY client LIMIT 1) UNION ALL "
    f"SELECT ({_WAITING} AND client > waiting.client ORDER BY client LIMIT 1) FROM waiting "
    "WHERE waiting.client IS NOT NULL) SELECT client FROM waiting WHERE client IS NOT NULL"
)
"""One index search per client, however many events wait."""


def _events(client: str, most: str) -> str:
    return f"SELECT id FROM events WHERE waiting = 1 AND client = {client} ORDER BY id LIMIT {most}"


_TAKE: Final = "UPDATE events SET waiting = 0 WHERE id"
TAKE_EVENTS: Final = Each(
    f"{_TAKE} IN ({_events('$1', '$2')}) RETURNING {columns(EventRow)}",
    f"{_TAKE} = any(ARRAY(SELECT taken.id FROM unnest($1::bigint[], $2::bigint[]) AS share(client, most) "
    f"CROSS JOIN LATERAL ({_events('share.client', 'share.most')} FOR UPDATE SKIP LOCKED) AS taken)) "
    f"RETURNING {columns(EventRow)}",
)


def _free(now: str) -> str:
    """The condition that a delivery waits, is due and is not leased."""
    return f"status = 'WAITING' AND due_at <= {now} AND (leased_until IS NULL OR leased_until < {now})"


_WEBHOOK: Final = "due.webhook, webhooks.client, webhooks.destination_url"
_OF_WEBHOOKS: Final = "LEFT JOIN webhooks ON webhooks.id = due.webhook"
SOME_DUE: Final = (
    f"SELECT {_WEBHOOK}, due.number FROM (SELECT webhook, count(*) AS number FROM "
    f"(SELECT webhook FROM deliveries WHERE {_free('$1')} LIMIT $2) AS found GROUP BY webhook) "
    f"AS due {_OF_WEBHOOKS}"
)
"""The webhooks of the first due deliveries that are found, with their numbers of these."""

_TARGET: Final = "SELECT webhook FROM deliveries WHERE status = 'WAITING' AND webhook >"
NEXT_DUE: Final = (
    f"WITH RECURSIVE due(webhook) AS (SELECT ({_TARGET} $3 ORDER BY webhook LIMIT 1) UNION ALL "
    f"SELECT ({_TARGET} due.webhook ORDER BY webhook LIMIT 1) FROM due "
    f"WHERE due.webhook IS NOT NULL) SELECT {_WEBHOOK}, NULL FROM due {_OF_WEBHOOKS} "
    # A server would join EXISTS, and read everything that is due.
    f"WHERE (SELECT 1 FROM deliveries WHERE webhook = due.webhook AND {_free('$1')} LIMIT 1) = 1 LIMIT $2"
)
"""The next webhooks after an id with due deliveries: two index searches each, however many are due."""


def _due(webhook: str, most: str, now: str) -> str:
    return (
        f"SELECT id FROM deliveries WHERE webhook = {webhook} AND {_free(now)} ORDER BY due_at LIMIT {most}"
    )


_LEASE: Final = "UPDATE deliveries SET leased_until ="
LEASE: Final = Each(
    f"{_LEASE} $4 WHERE id IN ({_due('$1', '$2', '$3')}) RETURNING id",
    f"{_LEASE} ($4::bigint[])[1] WHERE id = any(ARRAY(SELECT leased.id FROM "
    "unnest($1::bytea[], $2::bigint[], $3::bigint[]) AS share(webhook, most, now) CROSS JOIN LATERAL "
    f"({_due('share.webhook', 'share.most', 'share.now')} FOR UPDATE SKIP LOCKED) AS leased)) RETURNING id",
)
"""By webhook and its share; the two instants are the same for all."""

_TOGETHER: Final = ", ".join((columns(DeliveryRow, "d."), columns(EventRow, "e."), columns(WebhookRow, "w.")))
LEASED: Final = for_each(
    f"SELECT {_TOGETHER} FROM deliveries d JOIN events e ON e.id = d.event "
    "JOIN webhooks w ON w.id = d.webhook WHERE d.id"
)

SETTLE: Final = update_by_id(
    DeliveryRow, "id", ("event", "webhook", "client", "created_at"), "AND deliveries.status = 'WAITING'"
)
_DROP: Final = "UPDATE deliveries SET status = 'DROPPED', leased_until = NULL, finished_at ="
_OF_WEBHOOK: Final = "webhook = $1 AND status = 'WAITING'"
DROP: Final = Each(
    f"{_DROP} $2 WHERE {_OF_WEBHOOK}",
    # Other transactions may be settling some of them: all lock in the order of the ids.
    f"{_DROP} $2 WHERE id = any(ARRAY(SELECT id FROM deliveries WHERE {_OF_WEBHOOK} ORDER BY id FOR UPDATE))",
)
LOCK_IN_ORDER: Final = "SELECT id FROM deliveries WHERE id = any($1::bytea[]) ORDER BY id FOR UPDATE"

_DELIVERY: Final = ", ".join((columns(DeliveryRow, "d."), columns(EventRow, "e.")))
DELIVERY: Final = f"SELECT {_DELIVERY} FROM deliveries d JOIN events e ON e.id = d.event WHERE d.id = $1"

OF_EVENT: Final = select(DeliveryRow, "WHERE event = $1 ORDER BY id")
AGAIN: Final = (
    "UPDATE deliveries SET status = 'WAITING', attempts = 0, due_at = $2, leased_until = NULL, "
    "finished_at = NULL WHERE id = $1 AND status <> 'WAITING' RETURNING id"
)


@cache
def deliveries(status: str | None, *, client: bool, webhook: bool) -> str:
    """A query for deliveries after an id, `$1`, at most `$2`.

    Parameters
    ----------
    status : str or None
        The only status to return. It is part of the text, since indexes are partial by status.
    client, webhook : bool
        Whether to filter by client and webhook: the next arguments.

    Raises
    ------
    ValueError
        If there is no such status.
    """
    conditions = ["id > $1"]
    if status is not None:
        conditions.append(f"status = '{DeliveryStatus(status).value}'")
    for place, name in enumerate((name for name, on in (("client", client), ("webhook", webhook)) if on), 3):
        conditions.append(f"{name} = ${place}")
    return select(DeliveryRow, f"WHERE {' AND '.join(conditions)} ORDER BY id LIMIT $2")
