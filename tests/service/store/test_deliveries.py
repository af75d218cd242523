"""Events that wait, and their deliveries, on both databases."""

import asyncio
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scoring_model.service.core.rows import DeliveryRow, DeliveryStatus, EventRow, WebhookRow
from scoring_model.service.store import DueWebhook, Duplicate, Reader, Store
from scoring_model.service.store.transaction import DROPPED_AT_ONCE
from store_story import kept, write
from stored_rows import delivery_row, event_row, new_id, webhook_row

pytestmark = pytest.mark.anyio

Leased = tuple[DeliveryRow, EventRow, WebhookRow]
STATUSES = tuple(DeliveryStatus)


async def of_each(store: Store, webhooks: list[WebhookRow], due: list[int]) -> list[DeliveryRow]:
    """A delivery to each webhook for each instant at which one is due, with its event, in the order of their ids."""
    rows: list[DeliveryRow] = []
    for at in due:
        for webhook in webhooks:
            event = event_row(waiting=0)
            rows.append(delivery_row(event=event.id, webhook=webhook.id, due_at=at))
            await write(store, event, rows[-1])
    return rows


async def lease(store: Store, now: int, until: int, limit: int, *webhooks: WebhookRow) -> list[Leased]:
    """Lease so many of each webhook in a transaction of its own."""
    async with store.writing([]) as transaction:
        return await transaction.lease_deliveries(now, until, {webhook.id: limit for webhook in webhooks})


async def due(store: Store, now: int, limit: int, after: bytes = b"") -> list[DueWebhook]:
    """Find webhooks in a transaction of its own."""
    async with store.writing([]) as transaction:
        return await transaction.due_webhooks(now, limit, after)


def ids(leased: list[Leased]) -> list[bytes]:
    """The ids of what was leased."""
    return [delivery.id for delivery, _, _ in leased]


async def test_each_client_has_its_share_of_the_waiting_events(store: Store) -> None:
    """Webhooks: events are taken in the order of their ids, so many of each client, each once; others never."""
    rows = [event_row(client=client) for client in (7, 7, 7, 2, 5, 2)]
    await write(store, *reversed(rows), event_row(client=3, waiting=0))
    async with store.writing([]) as transaction:
        assert await transaction.waiting_clients() == [2, 5, 7]
        taken = await transaction.take_events({7: 2, 2: 1, 4: 9})
        assert taken == [rows[place]._replace(waiting=0) for place in (0, 1, 3)]
    async with store.writing([]) as transaction:
        assert await transaction.waiting_clients() == [2, 5, 7]
        await transaction.take_events({2: 9, 5: 9})
        assert await transaction.take_events({7: 9, 2: 9}) == [rows[2]._replace(waiting=0)]
        assert await transaction.waiting_clients() == []
        assert await transaction.take_events({}) == []


async def test_events_that_were_not_kept_are_taken_again(store: Store) -> None:
    """Law 10: what a transaction took before it failed waits still."""

    async def fail(store: Store) -> None:
        async with store.writing([]) as transaction:
            assert await transaction.take_events({1: 9})
            raise RuntimeError

    await write(store, row := event_row())
    with pytest.raises(RuntimeError):
        await fail(store)
    async with store.writing([]) as transaction:
        assert [event.id for event in await transaction.take_events({1: 9})] == [row.id]


async def test_two_who_take_events_at_once_get_different_ones(postgres_store: Store) -> None:
    """On a server two transactions take without waiting for each other, and never the same event."""
    rows = [event_row() for _ in range(5)]
    await write(postgres_store, *rows)
    async with postgres_store.writing([]) as one, postgres_store.writing([]) as two:
        first, second = await one.take_events({1: 2}), await two.take_events({1: 9})
    assert [row.id for row in first + second] == [row.id for row in rows]


async def test_an_event_is_delivered_to_a_webhook_once(store: Store) -> None:
    """Webhooks: there is one delivery per event and webhook; another one is refused."""
    row = delivery_row()
    await write(store, row, delivery_row(event=row.event), delivery_row(webhook=row.webhook))
    with pytest.raises(Duplicate):
        await write(store, delivery_row(event=row.event, webhook=row.webhook))


async def test_webhooks_of_several_clients_come_together(store: Store) -> None:
    """Those of every client that was asked for, active or not, in the order of their ids; of others none."""
    rows = [webhook_row(client=client, active=active) for client, active in ((2, 1), (1, 0), (2, 1), (3, 1))]
    await write(store, *rows)
    async with store.writing([]) as transaction:
        assert await transaction.webhooks_of([1, 2, 2, 9]) == rows[:3]
        assert await transaction.webhooks_of([]) == []


async def test_deliveries_are_leased_when_they_are_due(store: Store) -> None:
    """What is due comes first by when it was, with its event and webhook; again only once its lease is over."""
    webhook = webhook_row()
    await write(store, webhook)
    rows = await of_each(store, [webhook], [30, 10, 20, 101])
    first = await lease(store, 100, 200, 2, webhook)
    assert [delivery for delivery, _, _ in first] == [
        row._replace(leased_until=200) for row in (rows[1], rows[2])
    ]
    assert [event.id for _, event, _ in first] == [rows[1].event, rows[2].event]
    assert {found for _, _, found in first} == {webhook}
    assert await kept(store, rows[1].id) == first[0][0]
    assert ids(await lease(store, 100, 200, 9, webhook)) == [rows[0].id]
    assert ids(await lease(store, 200, 300, 9, webhook)) == [rows[3].id]
    assert ids(await lease(store, 201, 300, 9, webhook)) == [rows[1].id, rows[2].id, rows[0].id]


async def test_nothing_is_leased_but_what_waits(store: Store) -> None:
    """Deliveries that are over are not taken again, and make no webhook due."""
    webhook, event = webhook_row(), event_row()
    rows = [delivery_row(webhook=webhook.id, event=new_id(), status=status) for status in STATUSES]
    rows[0] = rows[0]._replace(event=event.id)
    await write(store, webhook, event, *rows)
    assert [found.due for found in await due(store, 100, 9)] == [1]
    assert ids(await lease(store, 100, 200, 9, webhook)) == [rows[0].id]
    assert await due(store, 100, 9) == []


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 6), st.none() | st.integers(0, 6)),
        min_size=1,
        max_size=14,
    ),
    limit=st.integers(1, 15),
    shares=st.lists(st.integers(0, 5), min_size=4, max_size=4),
)
async def test_what_is_due_and_leased_follows_the_law(
    store: Store, rows: list[tuple[int, int, int | None]], limit: int, shares: list[int]
) -> None:
    """Webhooks are found for which anything is due and free; of each its share is leased, the earliest first.

    With fewer of them than the limit the number of each is known.
    """
    webhooks = [webhook_row(client=place % 2 + 1) for place in range(4)]
    now = 4
    await write(store, *webhooks)
    for place, due_at, leased_until in rows:
        event = event_row(waiting=0)
        await write(
            store,
            event,
            delivery_row(
                event=event.id, webhook=webhooks[place].id, due_at=due_at, leased_until=leased_until
            ),
        )
    free: list[list[int]] = [[] for _ in webhooks]
    for place, due_at, leased_until in rows:
        if due_at <= now and (leased_until is None or leased_until < now):
            free[place].append(due_at)
    is_known = sum(map(len, free)) < limit
    assert (
        await due(store, now, limit)
        == [
            (webhook.id, webhook.client, webhook.destination_url, len(some) if is_known else None)
            for webhook, some in zip(webhooks, free, strict=True)
            if some
        ][: 14 if is_known else limit]
    )
    async with store.writing([]) as transaction:
        wanted = {webhook.id: share for webhook, share in zip(webhooks, shares, strict=True) if share}
        found = await transaction.lease_deliveries(now, 99, wanted)
    expected = sorted(
        (due_at, webhook.id)
        for webhook, some, share in zip(webhooks, free, shares, strict=True)
        for due_at in sorted(some)[:share]
    )
    assert sorted((delivery.due_at, delivery.webhook) for delivery, _, _ in found) == expected
    assert [delivery.due_at for delivery, _, _ in found] == [due_at for due_at, _ in expected]
    async with store.writing([]) as transaction:
        for webhook in webhooks:
            await transaction.drop_deliveries(webhook.id, now)


async def test_webhooks_are_found_in_turn_when_much_is_due(store: Store) -> None:
    """No more than asked for, those after an id first; when little is due all are found, wherever one begins."""
    webhooks = [webhook_row() for _ in range(5)]
    await write(store, *webhooks)
    await of_each(store, webhooks, [1, 2])
    every = [webhook.id for webhook in webhooks]
    assert [found.id for found in await due(store, 9, 3)] == every[:3]
    assert [found.id for found in await due(store, 9, 3, every[2])] == every[3:]
    assert [found.id for found in await due(store, 9, 11, every[2])] == every


async def test_two_who_lease_at_once_never_get_the_same(postgres_store: Store) -> None:
    """On a server two transactions lease without waiting for each other; all is taken in the end, each once."""
    webhooks = [webhook_row() for _ in range(2)]
    await write(postgres_store, *webhooks)
    rows = await of_each(postgres_store, webhooks, [1, 2, 3])
    async with postgres_store.writing([]) as one, postgres_store.writing([]) as two:
        first = await one.lease_deliveries(100, 200, {webhook.id: 1 for webhook in webhooks})
        second = await two.lease_deliveries(100, 200, {webhook.id: 9 for webhook in webhooks})
    assert ids(first + second) == [row.id for row in rows]


@pytest.mark.parametrize("limit", [2, 9])
async def test_a_delivery_without_its_webhook_is_dropped(store: Store, limit: int) -> None:
    """What was made while its webhook was being deleted is not attempted, and does not come again."""
    webhook = webhook_row()
    await write(store, webhook)
    (row,) = await of_each(store, [webhook], [10])
    (lost,) = await of_each(store, [webhook_row()], [5])
    assert [found.id for found in await due(store, 100, limit)] == [webhook.id]
    assert await kept(store, row.id) == row
    assert await kept(store, lost.id) == lost._replace(status="DROPPED", finished_at=100)


async def test_only_waiting_deliveries_are_settled(store: Store) -> None:
    """WAITING is left once; id, event, webhook, client and creation never change."""
    events = [event_row() for _ in range(2)]
    waiting = delivery_row(event=events[0].id, leased_until=50)
    done = delivery_row(event=events[1].id, status="DELIVERED", attempts=1)
    new: dict[str, Any] = {
        "status": "DEAD",
        "attempts": 10,
        "due_at": 77,
        "leased_until": None,
        "finished_at": 99,
        "answered": 500,
        "excerpt": "no",
    }
    await write(store, *events, waiting, done)
    settled = [
        delivery_row(id=row.id, client=5, created_at=77)._replace(**new)
        for row in (waiting, done, delivery_row())
    ]
    later = waiting._replace(attempts=1, due_at=60, leased_until=None, answered=503, excerpt="later")
    async with store.writing([]) as transaction:
        assert await transaction.settle_deliveries([later]) == {waiting.id}
        assert (await transaction.delivery(waiting.id)) == (later, events[0])
        assert await transaction.settle_deliveries(settled) == {waiting.id}
        assert await transaction.settle_deliveries(settled) == frozenset()
        assert await transaction.settle_deliveries([]) == frozenset()
    assert await kept(store, waiting.id) == waiting._replace(**new)
    assert await kept(store, done.id) == done


async def test_what_waits_for_a_webhook_is_dropped(store: Store) -> None:
    """All that waits for it, leased or not, is DROPPED; what is over, and what waits for others, stays."""
    webhook, event = new_id(), event_row()
    rows = [delivery_row(webhook=webhook, status=status) for status in STATUSES]
    leased, other = delivery_row(webhook=webhook, leased_until=500), delivery_row()
    await write(store, event, *rows, leased, other)
    async with store.writing([]) as transaction:
        await transaction.drop_deliveries(webhook, 100)
        assert await transaction.settle_deliveries([leased._replace(status="DELIVERED")]) == frozenset()
        found = await transaction.deliveries(limit=9)
    dropped: dict[str, Any] = {"status": "DROPPED", "finished_at": 100, "leased_until": None}
    assert found == [rows[0]._replace(**dropped), *rows[1:], leased._replace(**dropped), other]


async def test_dropping_and_settling_at_once_block_nobody_for_good(postgres_store: Store) -> None:
    """Both lock the same rows in one order, whatever that of the instants at which they are due."""

    async def settle(store: Store, rows: list[DeliveryRow]) -> None:
        async with postgres_store.writing([]) as transaction:
            await transaction.settle_deliveries([row._replace(status="DELIVERED") for row in rows])

    async def drop(store: Store, webhook: bytes) -> None:
        async with postgres_store.writing([]) as transaction:
            await transaction.drop_deliveries(webhook, 100)

    for turn in range(20):
        webhook = new_id()
        rows = [delivery_row(webhook=webhook, due_at=1000 - place) for place in range(DROPPED_AT_ONCE)]
        # In the table they lie in another order still, which a plan may follow.
        async with postgres_store.writing([]) as transaction:
            await transaction.insert(Random(turn).sample(rows, len(rows)))
        await asyncio.gather(settle(postgres_store, rows[::-1]), drop(postgres_store, webhook))
        async with postgres_store.reading() as reader:
            found = await reader.deliveries(webhook=webhook, limit=DROPPED_AT_ONCE)
        assert len({row.status for row in found}) == 1


async def test_the_last_success_never_moves_back(store: Store) -> None:
    """The latest success counts, in whichever order they are reported; a report is no change of the webhook."""
    row, other = webhook_row(succeeded_at=50), webhook_row(succeeded_at=1)
    await write(store, row, other)
    async with store.writing([]) as transaction:
        await transaction.touch_webhook(row.id, 40)
        assert await transaction.webhook(1, row.id) == row
        await transaction.touch_webhook(row.id, 60)
        await transaction.touch_webhook(new_id(), 60)
        assert await transaction.webhook(1, row.id) == row._replace(succeeded_at=60)
        # As it was read before the success was reported.
        await transaction.update_webhook(row._replace(description=b"d"))
        changed = row._replace(description=b"d", succeeded_at=60)
        assert await transaction.webhook(1, row.id) == changed
        await transaction.update_webhook(changed._replace(succeeded_at=70))
        assert await transaction.webhook(1, row.id) == changed._replace(succeeded_at=70)
        assert await transaction.webhook(1, other.id) == other


async def test_deliveries_are_listed_page_by_page(store: Store, reader: Reader) -> None:
    """By status, client and webhook in any combination, in the order of their ids; no other status is known."""
    one, two = new_id(), new_id()
    rows = [
        delivery_row(status=status, client=client, webhook=webhook)
        for status in STATUSES
        for client, webhook in ((1, one), (1, two), (2, one))
    ]
    await write(store, *reversed(rows))
    for status in (None, *STATUSES):
        for client in (None, 1, 2, 3):
            for webhook in (None, one, two):
                wanted = [
                    row
                    for row in rows
                    if status in (None, row.status)
                    and client in (None, row.client)
                    and webhook in (None, row.webhook)
                ]
                found: list[DeliveryRow] = []
                while page := await reader.deliveries(
                    status=status,
                    client=client,
                    webhook=webhook,
                    after=found[-1].id if found else None,
                    limit=2,
                ):
                    assert len(page) <= 2
                    found += page
                assert found == wanted
    with pytest.raises(ValueError, match="GONE"):
        await reader.deliveries(status="GONE", limit=1)
