"""Contract, "Webhooks", Events: which webhook gets which event, once."""

from collections.abc import Iterable

import pytest

from scoring_model.contract.event import EventType
from scoring_model.service.core.rows import DeliveryRow, DeliveryStatus, EventRow, WebhookRow
from scoring_model.service.delivery.fan_out import MOST_CLIENTS, FannedOut, deliveries_of, fan_out, gets
from scoring_model.service.events.webhooks import pack_event_types, unpack_event_types, wants
from scoring_model.service.store import Store
from service_use import START
from store_story import run_story, write
from stored_rows import event_row, webhook_row

EVERYTHING = ("*",)


def hook(*event_types: str, **changes: object) -> WebhookRow:
    """A webhook that wants these."""
    return webhook_row(event_types=pack_event_types(event_types or EVERYTHING), **changes)


def got(webhook: WebhookRow, event: EventRow) -> bool:
    """Return True if an event goes to a webhook."""
    return gets(webhook, event, unpack_event_types(webhook.event_types))


async def fanned(store: Store, limit: int = 1_000, after: int = 0) -> FannedOut:
    """Fan out in a separate transaction."""
    async with store.writing([]) as transaction:
        return await fan_out(transaction, now=START, limit=limit, after=after)


async def broken(store: Store) -> None:
    """Fan out in a transaction that fails before it commits."""
    async with store.writing([]) as transaction:
        await fan_out(transaction, now=START, limit=1_000, after=0)
        raise ZeroDivisionError


async def pairs(store: Store) -> set[tuple[bytes, bytes]]:
    """Event and webhook of every delivery, each pair once."""
    async with store.reading() as reader:
        rows = await reader.deliveries(limit=10_000)
    found = {(row.event, row.webhook) for row in rows}
    assert len(found) == len(rows)
    return found


def made(events: Iterable[EventRow], webhooks: Iterable[WebhookRow]) -> list[DeliveryRow]:
    """The deliveries of events, read directly from the database."""
    return deliveries_of(list(events), list(webhooks), now=START)


@pytest.mark.parametrize("kind", [kind for kind in EventType if not kind.startswith("webhook.")])
@pytest.mark.parametrize(
    "event_types",
    [("*",), ("identity.*",), ("verification.*",), ("verification.completed",), ("*", "webhook.*")],
)
def test_webhooks_get_what_they_want(kind: EventType, event_types: tuple[str, ...]) -> None:
    """An active webhook gets what its event types name; `verification.completed` only if named explicitly."""
    event = event_row(type=kind.value, created_at=START)
    assert got(hook(*event_types), event) is wants(event_types, kind)
    if kind is EventType.VERIFICATION_COMPLETED:
        assert got(hook(*event_types), event) is ("verification.completed" in event_types)


def test_webhooks_created_after_the_event_get_nothing() -> None:
    """Only events after the webhook's creation, by the client's sequence and not by clocks, go to it."""
    event = event_row(sequence=7, created_at=START)
    for created_at in (START - 1, START + 1):
        assert got(hook(created_at=created_at, since_sequence=6), event)
        assert not got(hook(created_at=created_at, since_sequence=7), event)
    test = event_row(type="webhook.test", sequence=7)
    assert got(hook(id=test.resource, since_sequence=9), test)


def test_webhooks_inactive_get_nothing() -> None:
    """Nothing but a test goes to an inactive webhook."""
    assert not got(hook(active=0), event_row())


@pytest.mark.parametrize("active", [0, 1])
def test_webhooks_a_test_goes_to_its_webhook_alone(active: int) -> None:
    """A test event goes only to its webhook, whatever its event types and even if inactive."""
    tested = hook("identity.created", active=active)
    event = event_row(type="webhook.test", resource=tested.id)
    assert got(tested, event)
    assert not got(hook("*", "webhook.test"), event)


def test_webhooks_others_are_notified_of_a_disabled_one() -> None:
    """`webhook.disabled` goes to those of the client's other webhooks that want it."""
    disabled = hook()
    event = event_row(type="webhook.disabled", resource=disabled.id)
    assert not got(disabled, event)
    assert got(hook(), event)
    assert got(hook("webhook.*"), event)
    assert not got(hook("identity.*"), event)
    assert not got(hook(active=0), event)


def test_webhooks_of_other_clients_get_nothing() -> None:
    """An event goes to webhooks of its own client only."""
    ours, theirs = hook(client=1), hook(client=2)
    events = [event_row(client=1), event_row(client=2)]
    assert [(row.client, row.webhook) for row in made(events, [ours, theirs])] == [
        (1, ours.id),
        (2, theirs.id),
    ]


def test_webhooks_one_delivery_for_each_event_and_webhook(store_url: str) -> None:
    """Every event that waits becomes one delivery for each webhook that wants it, due at once, and waits no longer."""

    async def story(store: Store) -> None:
        hooks = [hook(), hook("identity.created"), hook("verification.*"), hook(active=0)]
        events = [event_row() for _ in range(5)]
        await write(store, *hooks, *events, event_row(waiting=0))
        # The client has three active webhooks, so that an event counts for three deliveries.
        assert await fanned(store, limit=9) == (3, 1)
        assert await fanned(store) == (2, 1)
        assert await fanned(store) == (0, 0)
        assert await pairs(store) == {(event.id, one.id) for event in events for one in hooks[:2]}
        async with store.reading() as reader:
            (row, *_) = await reader.deliveries(limit=1)
        assert (row.status, row.attempts, row.due_at) == (DeliveryStatus.WAITING, 0, START)
        assert (row.leased_until, row.finished_at, row.answered, row.excerpt) == (None, None, None, None)

    run_story(store_url, story)


def test_webhooks_an_event_that_nobody_wants_waits_no_longer(store_url: str) -> None:
    """An event without a webhook is taken without a delivery."""

    async def story(store: Store) -> None:
        await write(store, event_row(), event_row(client=2), hook("verification.*"))
        assert await fanned(store) == (2, 2)
        assert await fanned(store) == (0, 0)
        assert await pairs(store) == set()

    run_story(store_url, story)


def test_law_10_events_with_lower_ids_that_come_later_are_found(store_url: str) -> None:
    """An event that is committed after others with higher ids is delivered all the same."""

    async def story(store: Store) -> None:
        early, late, webhook = event_row(), event_row(), hook()
        await write(store, webhook, late)
        await fanned(store)
        await write(store, early)
        await fanned(store)
        assert await pairs(store) == {(early.id, webhook.id), (late.id, webhook.id)}

    run_story(store_url, story)


def test_law_10_what_was_not_committed_is_fanned_out_again(store_url: str) -> None:
    """When the transaction fails, the events wait as before and no delivery is there."""

    async def story(store: Store) -> None:
        event, webhook = event_row(), hook()
        await write(store, event, webhook)
        with pytest.raises(ZeroDivisionError):
            await broken(store)
        assert await pairs(store) == set()
        assert await fanned(store) == (1, 1)
        assert await pairs(store) == {(event.id, webhook.id)}

    run_story(store_url, story)


def test_webhooks_events_of_every_client_are_taken_together(store_url: str) -> None:
    """A backlog of one client, with any number of webhooks, does not delay another client's event."""

    async def story(store: Store) -> None:
        many, one = [hook(client=1) for _ in range(50)], hook(client=2)
        events, other = [event_row(client=1) for _ in range(20)], event_row(client=2)
        await write(store, *many, one, *events, other)
        assert await fanned(store, limit=200) == (3, 2)
        expected = {(event.id, webhook.id) for event in events[:2] for webhook in many}
        assert await pairs(store) == {*expected, (other.id, one.id)}

    run_story(store_url, story)


def test_webhooks_clients_take_turns_where_their_events_are_too_many(store_url: str) -> None:
    """A transaction takes events of a limited number of clients, and the next one continues after the last of them."""

    async def story(store: Store) -> None:
        clients = range(1, MOST_CLIENTS + 4)
        await write(store, *(event_row(client=client) for client in clients for _ in range(2)))
        assert await fanned(store, limit=1) == (MOST_CLIENTS, MOST_CLIENTS)
        assert await fanned(store, limit=1, after=MOST_CLIENTS) == (MOST_CLIENTS, MOST_CLIENTS - 3)
        async with store.writing([]) as transaction:
            assert await transaction.waiting_clients() == [*clients][-6:]

    run_story(store_url, story)
