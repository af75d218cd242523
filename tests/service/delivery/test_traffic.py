"""What one process takes, by destination: shares, turns, and leases that end."""

from collections.abc import Sequence

import pytest

from scoring_model.service.core.rows import WebhookRow
from scoring_model.service.delivery.traffic import Job, Traffic, destination_of
from stored_rows import delivery_row, event_row, webhook_row


def hook(host: str = "one.example") -> WebhookRow:
    """A webhook on a host."""
    return webhook_row(destination_url=f"https://{host}/")


def jobs(webhook: WebhookRow, count: int, leased_until: int = 100) -> list[Job]:
    """Leased deliveries to a webhook."""
    return [
        Job(delivery_row(webhook=webhook.id, leased_until=leased_until), event_row(), webhook)
        for _ in range(count)
    ]


def begun(traffic: Traffic, until: int = 100) -> list[Job]:
    """Begin all that may be begun."""
    found = []
    while (job := traffic.next(until=until)) is not None:
        found.append(job)
    return found


def ended(
    traffic: Traffic, some: Sequence[Job], *, answered: bool = True, seconds: float = 0.1
) -> list[bool]:
    """End attempts; whether each opened its destination again."""
    return [traffic.done(job, answered=answered, seconds=seconds, at=seconds) for job in some]


def test_what_exceeds_a_share_is_returned() -> None:
    """A destination takes twice as many as it may be sent at once; its webhook is avoided from then on."""
    traffic, webhook = Traffic(per_destination=3, most=100), hook()
    given = jobs(webhook, 10)
    assert traffic.add(given, at=0.0) == given[6:]
    assert (traffic.taken, traffic.running, traffic.avoided()) == (6, 0, [webhook.id])
    assert traffic.add(jobs(hook("other.example"), 1), at=0.0) == []


def test_a_destination_opens_again_when_nothing_waits() -> None:
    """As long as some of its deliveries wait here no more are taken; then its first attempt that ends says so."""
    traffic, webhook = Traffic(per_destination=3, most=100), hook()
    traffic.add(jobs(webhook, 10), at=0.0)
    assert ended(traffic, begun(traffic)) == [False, False, False]
    assert traffic.avoided() == [webhook.id]
    assert ended(traffic, begun(traffic)) == [True, False, False]
    assert traffic.avoided() == []


def test_attempts_take_turns() -> None:
    """Destinations are served in turn, each up to what it may have at once, in the order of its deliveries."""
    traffic, one, two = Traffic(per_destination=2, most=100), hook(), hook("two.example")
    given, others = jobs(one, 4), jobs(two, 1)
    traffic.add([*given, *others], at=0.0)
    assert begun(traffic) == [given[0], others[0], given[1]]
    assert (traffic.taken, traffic.running) == (5, 3)
    ended(traffic, given[:1])
    assert begun(traffic) == [given[2]]


def test_a_share_grows_for_the_quick_and_shrinks_for_the_slow() -> None:
    """Worked off within a second it doubles, up to the most; later it halves, down to the least."""
    traffic, webhook = Traffic(per_destination=2, most=10), hook()
    for at, share in ((0.0, 4), (0.0, 8), (0.0, 10), (-9.0, 10), (-9.0, 5), (-9.0, 4), (0.0, 4)):
        assert len(traffic.add(jobs(webhook, 20), at=at)) == 20 - share
        opened = []
        while some := begun(traffic):
            opened += ended(traffic, some)
        assert opened.count(True) == 1
        assert traffic.avoided() == []


@pytest.mark.parametrize(("answered", "seconds"), [(False, 0.1), (True, 2.1)])
def test_the_slow_and_silent_get_fewer_attempts_at_once(*, answered: bool, seconds: float) -> None:
    """Silence and slowness halve what may be under way, down to two; quick answers bring it back one by one."""
    traffic, webhook = Traffic(per_destination=8, most=100), hook()
    traffic.add(jobs(webhook, 16), at=0.0)
    some = begun(traffic)
    assert len(some) == 8
    ended(traffic, some, answered=answered, seconds=seconds)
    assert len(begun(traffic)) == 2
    ended(traffic, some[:2])
    assert traffic.running == 0
    assert len(begun(traffic)) == 4


def test_no_attempt_outlasts_its_lease() -> None:
    """What has waited so long that its lease would end within the attempt is let go, and its webhook with it."""
    traffic, webhook = Traffic(per_destination=1, most=100), hook()
    old, new = jobs(webhook, 1, leased_until=99), jobs(webhook, 1, leased_until=100)
    traffic.add([*old, *new, *jobs(webhook, 1)], at=0.0)
    assert traffic.avoided() == [webhook.id]
    assert begun(traffic, until=101) == []
    assert (traffic.taken, traffic.avoided()) == (0, [])
    traffic.add([*old, *new], at=0.0)
    assert begun(traffic, until=100) == new


def test_what_waits_for_a_webhook_is_dropped() -> None:
    """The webhook's own deliveries go, those of its neighbours on the same host stay."""
    traffic, gone, stays = Traffic(per_destination=4, most=100), hook(), hook()
    kept = jobs(stays, 2)
    traffic.add([*jobs(gone, 3), *kept], at=0.0)
    traffic.drop(gone.id)
    assert traffic.taken == 2
    assert begun(traffic) == kept


def test_all_that_waits_is_let_go() -> None:
    """Attempts under way stay."""
    traffic, webhook = Traffic(per_destination=2, most=100), hook()
    given = jobs(webhook, 4)
    traffic.add(given, at=0.0)
    some = begun(traffic)
    assert traffic.clear() == given[2:]
    assert (traffic.taken, begun(traffic)) == (2, [])
    ended(traffic, some)
    assert (traffic.taken, begun(traffic)) == (0, [])


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://a.example", "a.example:443"),
        ("HTTPS://A.Example.:443/x?y=https://b.example/", "a.example:443"),
        ("http://a.example/", "a.example:80"),
        ("https://a.example:8443/", "a.example:8443"),
        ("https://[2001:db8::1]/", "2001:db8::1:443"),
    ],
)
def test_a_destination_is_a_host_and_a_port(url: str, name: str) -> None:
    """Case, a dot at the end and the port of the scheme make no difference."""
    assert destination_of(url) == name
