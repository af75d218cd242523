"""SQL on events that wait and on their deliveries, written as in `statements`."""

from functools import cache
from typing import Final

from scoring_model.service.core.delivery_status import DeliveryStatus
from scoring_model.service.core.rows import DeliveryRow, EventRow, WebhookRow
from scoring_model.service.store.statements import Each, columns, select, update_by_id

_EVENTS: Final = "SELECT id FROM events WHERE waiting = 1 ORDER BY id LIMIT $1"
TAKE_EVENTS: Final = f"UPDATE events SET waiting = 0 WHERE id IN ({_EVENTS}) RETURNING {columns(EventRow)}"
TAKE_EVENTS_SKIPPING: Final = (
    f"UPDATE events SET waiting = 0 WHERE id = any(ARRAY({_EVENTS} FOR UPDATE SKIP LOCKED)) "
    f"RETURNING {columns(EventRow)}"
)


def _free(alias: str = "") -> str:
    """The condition that a delivery waits, is due, and is leased by nobody."""
    return (
        f"{alias}status = 'WAITING' AND {alias}due_at <= $1 "
        f"AND ({alias}leased_until IS NULL OR {alias}leased_until < $1)"
    )


_DUE: Final = f"SELECT id FROM deliveries WHERE {_free()} ORDER BY due_at LIMIT $3"
LEASE: Final = f"UPDATE deliveries SET leased_until = $2 WHERE id IN ({_DUE}) RETURNING id"
LEASE_SKIPPING: Final = (
    f"UPDATE deliveries SET leased_until = $2 WHERE id = any(ARRAY({_DUE} FOR UPDATE SKIP LOCKED)) "
    "RETURNING id"
)

_FIRST: Final = "SELECT webhook FROM deliveries WHERE status = 'WAITING'"
_TARGETS: Final = (
    f"WITH RECURSIVE targets(webhook) AS (SELECT ({_FIRST} ORDER BY webhook LIMIT 1) UNION ALL "
    f"SELECT ({_FIRST} AND webhook > targets.webhook ORDER BY webhook LIMIT 1) FROM targets "
    "WHERE targets.webhook IS NOT NULL)"
)
"""The webhooks for which anything waits: one look into the index for each, however much that is."""

_DUE_OF_TARGET: Final = (
    f"SELECT c.id FROM deliveries c WHERE c.webhook = targets.webhook AND {_free('c.')} "
    "ORDER BY c.due_at LIMIT $3"
)
LEASE_AVOIDING: Final = (
    f"UPDATE deliveries SET leased_until = $2 WHERE id IN ({_TARGETS} "
    f"SELECT d.id FROM targets CROSS JOIN deliveries d WHERE d.id IN ({_DUE_OF_TARGET}) "
    "AND targets.webhook IS NOT NULL AND hex(targets.webhook) NOT IN (SELECT value FROM json_each($4)) "
    "ORDER BY d.due_at LIMIT $3) RETURNING id"
)
LEASE_AVOIDING_SKIPPING: Final = (
    f"UPDATE deliveries SET leased_until = $2 WHERE id = any(ARRAY({_TARGETS} "
    f"SELECT d.id FROM targets CROSS JOIN LATERAL ({_DUE_OF_TARGET}) AS due JOIN deliveries d ON d.id = due.id "
    # Once more: what another transaction has leased meanwhile is looked at again when it is locked.
    f"WHERE targets.webhook <> ALL($4::bytea[]) AND {_free('d.')} "
    "ORDER BY d.due_at LIMIT $3 FOR UPDATE OF d SKIP LOCKED)) RETURNING id"
)
"""In the order of the instants at which all are due, each would be passed that waits for who is avoided."""

_TOGETHER: Final = ", ".join((columns(DeliveryRow, "d."), columns(EventRow, "e."), columns(WebhookRow, "w.")))
_LEASED: Final = (
    f"SELECT {_TOGETHER} FROM deliveries d JOIN events e ON e.id = d.event "
    "JOIN webhooks w ON w.id = d.webhook WHERE d.id ="
)
LEASED: Final = Each(f"{_LEASED} $1", f"{_LEASED} any($1::bytea[])")

SETTLE: Final = update_by_id(
    DeliveryRow, "id", ("event", "webhook", "client", "created_at"), "AND deliveries.status = 'WAITING'"
)
_DROP: Final = "UPDATE deliveries SET status = 'DROPPED', leased_until = NULL, finished_at ="
_OF_WEBHOOK: Final = "webhook = $1 AND status = 'WAITING'"
DROP: Final = f"{_DROP} $2 WHERE {_OF_WEBHOOK}"
DROP_IN_ORDER: Final = (
    f"{_DROP} $2 WHERE id = any(ARRAY(SELECT id FROM deliveries WHERE {_OF_WEBHOOK} ORDER BY id FOR UPDATE))"
)
"""Others may be settling some of them: all lock in the order of the ids."""
LOCK_IN_ORDER: Final = "SELECT id FROM deliveries WHERE id = any($1::bytea[]) ORDER BY id FOR UPDATE"

DROP_EACH: Final = Each(
    f"{_DROP} $2 WHERE id = $1",
    f"{_DROP} given.now FROM unnest($1::bytea[], $2::bigint[]) AS given(id, now) "
    "WHERE deliveries.id = given.id",
)

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
        Of those that are wanted. It is part of the text, as indexes hold those of one status.
    client, webhook : bool
        Whether only those of a client, to a webhook, are wanted: the next arguments.

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
