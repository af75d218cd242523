"""What one process leases and sends: shares, turns, slow lanes, and leases that end."""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.service.core.rows import WebhookRow
from scoring_model.service.delivery.fair_queue import DeliveryQueue, LeasedDelivery, host_and_port
from scoring_model.service.store import DueWebhook
from stored_rows import delivery_row, event_row, webhook_row

PLENTY = 1_000


def hook(host: str = "one.example", client: int = 1) -> WebhookRow:
    """A webhook on a host."""
    return webhook_row(client=client, destination_url=f"https://{host}/")


def due(webhook: WebhookRow, number: int | None = None) -> DueWebhook:
    """Due deliveries of a webhook."""
    return DueWebhook(webhook.id, webhook.client, webhook.destination_url, number)


def deliveries(webhook: WebhookRow, count: int, leased_until: int = 100) -> list[LeasedDelivery]:
    """Leased deliveries to a webhook."""
    return [
        LeasedDelivery(delivery_row(webhook=webhook.id, leased_until=leased_until), event_row(), webhook)
        for _ in range(count)
    ]


def begun(queue: DeliveryQueue, until: int = 100) -> list[LeasedDelivery]:
    """Begin all permitted attempts."""
    found = []
    while (leased := queue.next(until=until)) is not None:
        found.append(leased)
    return found


def ended(
    queue: DeliveryQueue, some: Sequence[LeasedDelivery], *, answered: bool = True, seconds: float = 0.1
) -> list[bool]:
    """End attempts; report for each whether its client had more due."""
    return [queue.done(leased, answered=answered, seconds=seconds) for leased in some]


def lease(
    queue: DeliveryQueue, webhooks: Sequence[WebhookRow], *, taken: int, batch: int = PLENTY
) -> Counter[int]:
    """Lease what the shares allow when everything is due; how much each client got."""
    shares = queue.shares([due(webhook) for webhook in webhooks], capacity=taken - queue.held, batch=batch)
    found = Counter[int]()
    for webhook in webhooks:
        queue.add(deliveries(webhook, shares.get(webhook.id, 0)))
        found[webhook.client] += shares.get(webhook.id, 0)
    return found


def test_clients_have_equal_shares_however_many_webhooks_they_have() -> None:
    """A batch is divided by clients first, and by their webhooks then."""
    queue, many = DeliveryQueue(at_once=9, per_destination=9), [hook(f"{n}.example") for n in range(50)]
    one = hook("other.example", client=2)
    shares = queue.shares([due(webhook) for webhook in [*many, one]], capacity=PLENTY, batch=60)
    assert shares.pop(one.id) == 30
    assert shares == {webhook.id: 1 for webhook in many[:30]}


def test_clients_take_turns_where_a_batch_is_too_small_for_all() -> None:
    """A client without a share of a batch comes first in the next."""
    queue, hooks = (
        DeliveryQueue(at_once=9, per_destination=9),
        [hook(client=client) for client in range(1, 6)],
    )
    for expected in ({1, 2}, {3, 4}, {5, 1}, {2, 3}):
        lease(queue, hooks, taken=PLENTY, batch=2)
        assert {leased.webhook.client for leased in queue.clear()} == expected


def test_no_more_is_leased_than_is_due() -> None:
    """The unused share of a webhook goes to others."""
    queue, few, many = DeliveryQueue(at_once=9, per_destination=9), hook(client=1), hook(client=2)
    assert queue.shares([due(few, 2), due(many, 50)], capacity=PLENTY, batch=20) == {few.id: 2, many.id: 18}


@given(
    greedy=st.lists(st.integers(1, 4), min_size=1, max_size=9),
    taken=st.integers(20, 60),
    at_once=st.integers(20, 60),
)
def test_a_client_that_begins_finds_room_whatever_others_hold(
    greedy: list[int], taken: int, at_once: int
) -> None:
    """When clients with any number of destinations hold all they may, another leases and begins at once.

    Its share depends only on the number of the others.
    """
    queue = DeliveryQueue(at_once=at_once, per_destination=2 * at_once)
    others = [hook(f"{n}.{client}.example", client) for client, of in enumerate(greedy, 1) for n in range(of)]
    lease(queue, others, taken=taken)
    begun(queue)
    new = hook("new.example", client=99)
    parts = 3 * (len(greedy) + 1)
    assert lease(queue, [*others, new], taken=taken)[99] >= max(1, taken // parts)
    assert Counter(leased.webhook.client for leased in begun(queue))[99] >= max(
        1, min(taken, at_once) // parts
    )


def test_a_client_alone_leaves_room_within_its_share() -> None:
    """A hanging destination of a client does not take the share of its others."""
    queue, hanging, quick = DeliveryQueue(at_once=30, per_destination=100), hook(), hook("two.example")
    assert lease(queue, [hanging], taken=60) == {1: 20}
    assert len(begun(queue)) == 10
    assert lease(queue, [hanging, quick], taken=60) == {1: 7}
    assert {leased.webhook.destination_url for leased in begun(queue)} == {quick.destination_url}


def test_attempts_take_turns() -> None:
    """Clients take turns, and the destinations of each, in the order of the deliveries of each."""
    queue = DeliveryQueue(at_once=100, per_destination=100)
    many, one = [hook(f"{n}.example") for n in range(3)], hook("other.example", client=2)
    given = {webhook.id: deliveries(webhook, 2) for webhook in [*many, one]}
    for some in given.values():
        queue.add(some)
    first, second, third = (given[webhook.id] for webhook in many)
    others = given[one.id]
    assert begun(queue) == [
        first[0],
        others[0],
        second[0],
        others[1],
        third[0],
        first[1],
        second[1],
        third[1],
    ]
    assert (queue.held, queue.waiting, queue.running) == (8, 0, 8)


def test_a_destination_is_shared_by_clients() -> None:
    """One client has at most half of the attempts to a host and port; another begins at once."""
    queue, one, two = DeliveryQueue(at_once=1_000, per_destination=8), hook(), hook(client=2)
    queue.add(deliveries(one, 10))
    some = begun(queue)
    assert len(some) == 4
    queue.add(deliveries(two, 10))
    assert [leased.webhook.client for leased in begun(queue)] == [2, 2]
    ended(queue, some)
    assert Counter(leased.webhook.client for leased in begun(queue)) == {1: 3, 2: 1}


@pytest.mark.parametrize(("answered", "seconds"), [(False, 0.1), (True, 2.1)])
def test_the_slow_and_silent_get_fewer_attempts_at_once(*, answered: bool, seconds: float) -> None:
    """Silence and slowness halve what may be under way, down to two; quick answers bring it back one by one.

    Of a slow lane no more is leased than twice as much; that of another client to the same destination is not slow.
    """
    queue, webhook, other = DeliveryQueue(at_once=100, per_destination=16), hook(), hook(client=2)
    queue.add(deliveries(webhook, 16))
    some = begun(queue)
    assert len(some) == 8
    ended(queue, some, answered=answered, seconds=seconds)
    assert len(begun(queue)) == 2
    queue.drop(webhook.id)
    assert lease(queue, [webhook, other], taken=PLENTY, batch=50) == {1: 2, 2: 48}
    ended(queue, some[:2])
    assert queue.running == 0
    assert Counter(leased.webhook.client for leased in begun(queue)) == {1: 2, 2: 7}


def test_the_end_of_an_attempt_says_whether_more_is_due() -> None:
    """The queue reports once that a client's share had no room for all due deliveries."""
    queue, webhook, other = DeliveryQueue(at_once=100, per_destination=100), hook(), hook(client=2)
    lease(queue, [webhook], taken=9)
    queue.add(deliveries(other, 2))
    some = begun(queue)
    assert Counter(zip((leased.webhook.client for leased in some), ended(queue, some), strict=True)) == {
        (1, True): 1,
        (1, False): 2,
        (2, False): 2,
    }


def test_no_attempt_outlasts_its_lease() -> None:
    """A delivery whose lease would end within the attempt is released."""
    queue, webhook = DeliveryQueue(at_once=100, per_destination=100), hook()
    old, new = deliveries(webhook, 2, leased_until=99), deliveries(webhook, 1, leased_until=100)
    queue.add([old[0], *new, old[1]])
    assert begun(queue, until=100) == new
    assert (queue.held, queue.running) == (1, 1)


def test_what_waits_for_a_webhook_is_dropped() -> None:
    """Only the webhook's own deliveries are removed, not those of others on the same host."""
    queue, gone, stays = DeliveryQueue(at_once=100, per_destination=100), hook(), hook()
    kept = deliveries(stays, 2)
    queue.add([*deliveries(gone, 3), *kept])
    queue.drop(gone.id)
    assert queue.held == 2
    assert begun(queue) == kept


def test_all_that_waits_is_let_go() -> None:
    """Attempts under way stay."""
    queue, webhook = DeliveryQueue(at_once=100, per_destination=4), hook()
    given = deliveries(webhook, 4)
    queue.add(given)
    some = begun(queue)
    assert queue.clear() == given[2:]
    assert (queue.held, begun(queue)) == (2, [])
    ended(queue, some)
    assert (queue.held, begun(queue)) == (0, [])


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
    assert host_and_port(url) == name
