"""Contract, "Webhooks", Delivery: when attempts are made, and when deliveries and webhooks are given up."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.contract.units import HOUR, MINUTE, SECOND
from scoring_model.service.core.rows import DeliveryStatus
from scoring_model.service.delivery.results import (
    DELAYS,
    DISABLE_AFTER,
    DisabledReason,
    RetryDecision,
    after_attempt,
    requested_delay,
    succeeded,
)
from scoring_model.service.delivery.sender import Reply
from service_use import START
from stored_rows import delivery_row, webhook_row

FAILED = Reply(500)
LAST = len(DELAYS) - 1


class Lengthening(Random):
    """Always the same share of what is possible."""

    def __init__(self, share: float) -> None:
        super().__init__(0)
        self.share = share

    def uniform(self, a: float, b: float) -> float:
        """A share of the range."""
        return a + self.share * (b - a)


def verdict(
    reply: Reply, *, attempts: int = 0, share: float = 0.0, idle: int = 0, active: int = 1
) -> RetryDecision:
    """What follows from an attempt at `START` on a webhook without a success for so long."""
    webhook = webhook_row(active=active, succeeded_at=START - idle)
    delivery = delivery_row(attempts=attempts)
    return after_attempt(delivery, webhook, reply, now=START, rng=Lengthening(share))


def test_webhooks_ten_attempts_in_75_hours() -> None:
    """The delays of the contract, and a failure of the last attempt makes a dead letter."""
    minutes = (0, 5 / 60, 5, 30, 120, 300, 600, 840, 1200, 1440)
    assert tuple(round(minute * MINUTE) for minute in minutes) == DELAYS
    assert sum(DELAYS) == 75 * HOUR + 35 * MINUTE + 5 * SECOND
    assert DISABLE_AFTER == 120 * HOUR
    assert verdict(Reply(None), attempts=LAST - 1).status is DeliveryStatus.WAITING
    assert verdict(Reply(None), attempts=LAST).status is DeliveryStatus.DEAD


@pytest.mark.parametrize("attempts", range(LAST))
def test_webhooks_delays_are_lengthened_by_up_to_a_fifth(attempts: int) -> None:
    """Every delay is lengthened by 0 to 20 %, and never shortened."""
    delay = DELAYS[attempts + 1]
    for share, expected in ((0.0, delay), (0.5, delay * 1.1), (1.0, delay * 1.2)):
        assert verdict(FAILED, attempts=attempts, share=share).due_at - START == round(expected)


@pytest.mark.parametrize("status", [200, 201, 202, 204, 226, 299])
def test_webhooks_2xx_is_success(status: int) -> None:
    """Any 2xx ends a delivery, at the last attempt too, however long nothing succeeded."""
    for attempts in (0, LAST):
        found = verdict(Reply(status), attempts=attempts, idle=2 * DISABLE_AFTER)
        assert found == RetryDecision(status=DeliveryStatus.DELIVERED, due_at=START)


@pytest.mark.parametrize("status", [None, 100, 199, 300, 301, 302, 304, 307, 308, 400, 404, 429, 500, 503])
def test_webhooks_everything_else_is_a_failure(status: int | None) -> None:
    """Redirects, refusals and silence are tried again; after the last attempt the delivery is dead."""
    reply = Reply(status)
    assert not succeeded(reply)
    assert verdict(reply) == RetryDecision(status=DeliveryStatus.WAITING, due_at=START + DELAYS[1])
    assert verdict(reply, attempts=LAST) == RetryDecision(status=DeliveryStatus.DEAD, due_at=START)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("asked", "expected"),
    [("4", 5), ("6", 6), ("3600", 3600), ("86400", 86_400), ("86401", 86_400), ("9" * 200, 86_400), ("x", 5)],
)
def test_webhooks_a_longer_retry_after_replaces_the_delay(status: int, asked: str, expected: int) -> None:
    """On 429 and 503 the longer of delay and Retry-After counts, the latter up to 24 h."""
    assert verdict(Reply(status, asked)).due_at - START == expected * SECOND


def test_webhooks_a_shorter_retry_after_changes_nothing() -> None:
    """Later delays are not shortened by what a receiver asks for."""
    assert verdict(Reply(503, "60"), attempts=LAST - 1).due_at - START == 24 * HOUR


@pytest.mark.parametrize("status", [None, 301, 400, 408, 500, 502])
def test_webhooks_retry_after_of_other_answers_is_ignored(status: int | None) -> None:
    """Only 429 and 503 may delay with Retry-After."""
    assert verdict(Reply(status, "3600")).due_at - START == DELAYS[1]


def test_webhooks_retry_after_may_be_a_date() -> None:
    """All three forms of dates of HTTP are read (RFC 9110, section 5.6.7); a past date counts nothing."""
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=START)
    later = at + timedelta(hours=2)
    forms = (
        format_datetime(later, usegmt=True),
        later.strftime("%A, %d-%b-%y %H:%M:%S GMT"),
        later.strftime("%a %b %e %H:%M:%S %Y"),
    )
    assert [requested_delay(form, now=START) for form in forms] == [2 * HOUR] * 3
    assert verdict(Reply(503, forms[0])).due_at - START == 2 * HOUR
    assert requested_delay(format_datetime(at - timedelta(days=1), usegmt=True), now=START) == 0


@given(st.text(max_size=200) | st.from_regex(r"\A\w{3}, \d{1,4} \w{3} \d{1,6} \d\d:\d\d:\d\d [-+]?\w{1,6}\Z"))
def test_webhooks_no_retry_after_is_an_error(text: str) -> None:
    """Whatever a receiver sends, nothing raises, and no attempt is made earlier."""
    assert requested_delay(text, now=START) >= 0
    assert DELAYS[1] <= verdict(Reply(429, text)).due_at - START <= 24 * HOUR


def test_webhooks_410_disables_at_once() -> None:
    """One 410 is enough, whatever succeeded before; the delivery waits to be dropped with the rest."""
    found = verdict(Reply(410))
    assert (found.status, found.disable) == (DeliveryStatus.WAITING, DisabledReason.GONE)
    assert verdict(Reply(410), attempts=LAST).status is DeliveryStatus.DEAD


def test_webhooks_a_test_of_an_inactive_one_disables_nothing() -> None:
    """A failed test event does not disable an inactive webhook again."""
    assert verdict(Reply(410), active=0).disable is None
    assert verdict(FAILED, idle=DISABLE_AFTER, active=0).disable is None
