"""When a failed delivery is retried, when it becomes a dead letter, and when its webhook is disabled.

Instants are microseconds since 1970-01-01 UTC.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum
from random import Random
from typing import Final

from scoring_model.service.core.rows import DeliveryRow, DeliveryStatus, WebhookRow
from scoring_model.service.delivery.sender import Reply

SECOND: Final = 1_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE

DELAYS: Final = (
    0,
    5 * SECOND,
    5 * MINUTE,
    30 * MINUTE,
    2 * HOUR,
    5 * HOUR,
    10 * HOUR,
    14 * HOUR,
    20 * HOUR,
    24 * HOUR,
)
"""Microseconds before each attempt, from the end of the one before; the first from the event."""

JITTER: Final = 0.2
"""Share by which a delay may grow, so that deliveries that failed together are not retried together."""

MAX_RETRY_AFTER: Final = 24 * HOUR
"""The longest ``Retry-After`` that is honoured, microseconds."""

DISABLE_AFTER: Final = 120 * HOUR
"""Microseconds without a success after which a failure disables a webhook."""

_GONE: Final = 410
_BUSY: Final = frozenset((429, 503))
_SECONDS: Final = re.compile(r"[0-9]+")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class DisabledReason(StrEnum):
    """Why the service disabled a webhook."""

    GONE = "gone"
    FAILING = "failing"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryDecision:
    """What follows from an attempt.

    Parameters
    ----------
    status : DeliveryStatus
        WAITING when there will be another attempt.
    due_at : int
        When that is; otherwise the end of this attempt.
    disable : DisabledReason or None
        Why the webhook is to be disabled. Its waiting deliveries are then dropped, this one included.
    """

    status: DeliveryStatus
    due_at: int
    disable: DisabledReason | None = None


def succeeded(reply: Reply) -> bool:
    """Whether an attempt arrived: any 2xx; a redirect is a failure."""
    return reply.status is not None and 200 <= reply.status < 300


def after_attempt(
    delivery: DeliveryRow, webhook: WebhookRow, reply: Reply, *, now: int, rng: Random
) -> RetryDecision:
    """Decide what follows from an attempt.

    Parameters
    ----------
    delivery : DeliveryRow
        As it was before the attempt.
    now : int
        The end of the attempt.
    """
    if succeeded(reply):
        return RetryDecision(status=DeliveryStatus.DELIVERED, due_at=now)
    disable = _disables(webhook, reply, now)
    made = delivery.attempts + 1
    if made >= len(DELAYS):
        return RetryDecision(status=DeliveryStatus.DEAD, due_at=now, disable=disable)
    delay = DELAYS[made]
    if reply.status in _BUSY:
        delay = max(delay, min(requested_delay(reply.retry_after, now=now), MAX_RETRY_AFTER))
    due_at = now + round(delay * (1 + rng.uniform(0, JITTER)))
    return RetryDecision(status=DeliveryStatus.WAITING, due_at=due_at, disable=disable)


def requested_delay(retry_after: str | None, *, now: int) -> int:
    """Read a ``Retry-After``: whole seconds, or a date in any of the three forms of HTTP.

    Returns
    -------
    int
        Microseconds; 0 for a date in the past and for anything else.

    References
    ----------
    RFC 9110, section 10.2.3 (Retry-After) and section 5.6.7 (dates).

    Examples
    --------
    >>> requested_delay("120", now=0), requested_delay("Thu, 01 Jan 1970 00:00:30 GMT", now=0)
    (120000000, 30000000)
    """
    text = (retry_after or "").strip()
    if _SECONDS.fullmatch(text):
        # Longer numbers exceed every limit anyway.
        return int(text[:18]) * SECOND
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return 0
    # The third form, that of asctime, names no zone and means UTC.
    aware = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
    return max(0, (aware - _EPOCH) // _MICROSECOND - now)


def is_stale(webhook: WebhookRow, now: int) -> bool:
    """Whether a webhook has had no success for so long that a failure disables it."""
    return now - webhook.succeeded_at >= DISABLE_AFTER


def _disables(webhook: WebhookRow, reply: Reply, now: int) -> DisabledReason | None:
    if not webhook.active:
        return None  # a test of an inactive one
    if reply.status == _GONE:
        return DisabledReason.GONE
    return DisabledReason.FAILING if is_stale(webhook, now) else None
