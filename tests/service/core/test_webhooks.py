"""Management and storage of webhooks, and the events that wait for them."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import delivery_use
from scoring_model.contract.event import EventType
from scoring_model.contract.resource import instant
from scoring_model.contract.webhook import Webhook, WebhookContext, WebhookInput
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core import ids
from scoring_model.service.core.errors import Invalid, NotFound, WebhookLimit
from scoring_model.service.core.rows import DeliveryRow, WebhookRow
from scoring_model.service.events.webhooks import (
    associated_data,
    destination_of,
    new_secret,
    pack_event_types,
    unpack_event_types,
    updated,
    wants,
)
from scoring_model.service.keys.data_keys import rotate
from scoring_model.service.keys.keyring import KeyEncryptionKey, Keyring, Unreadable
from scoring_model.service.keys.secrets import Secrets
from service_use import (
    HOUR,
    MASTERS,
    START,
    World,
    applicants,
    id_of,
    opened,
    table,
    with_service,
)
from stored_rows import delivery_row, webhook_row

URL = "https://example.com/hook"
HOOK = {"destinationUrl": URL, "active": True}


async def created(world: World, caller: Caller, **fields: object) -> Webhook:
    """A new webhook."""
    return (await world.service.webhooks.create(caller, {**HOOK, **fields}, None)).resource


async def kept(world: World, hook: bytes) -> WebhookRow:
    """The row of a webhook."""
    (row,) = [row for row in await table(world.url, WebhookRow) if row.id == hook]
    return row


async def secrets_of(world: World, hook: bytes) -> list[str | None]:
    """The secrets that sign for a webhook, the newest first."""
    row = await kept(world, hook)
    place = b"webhooks.secret." + hook
    sealed = (row.secret, row.old_secret)
    return [None if one is None else world.secrets.open(place, one).decode() for one in sealed]


@with_service
async def test_webhooks_show_their_secret_once(world: World) -> None:
    """Only creation shows the secret; it is sealed at rest."""
    caller = await world.client()
    made = await created(world, caller, description=" mine ")
    assert made.secret is not None
    assert made.secret.startswith("whsec_")
    assert (made.event_types, made.description, made.disabled_reason) == (("*",), "mine", None)
    assert (made.created_at, made.updated_at) == (instant(START), instant(START))
    read = await world.service.webhooks.get(caller, id_of(made))
    page, _ = await world.service.webhooks.page(caller, limit=100, after=None)
    changed = await world.service.webhooks.update(caller, id_of(made), HOOK)
    tested = (await world.service.webhooks.test(caller, id_of(made), None)).resource
    assert {one.secret for one in (read, page[0], changed, tested)} == {None}
    assert await secrets_of(world, id_of(made)) == [made.secret, None]
    row = await kept(world, id_of(made))
    assert made.secret.encode() not in row.secret


@with_service
async def test_webhooks_put_changes_what_it_names(world: World) -> None:
    """Destination and activity are required; omitted members keep their value; errors change nothing."""
    caller = await world.client()
    made = await created(world, caller, eventTypes=["identity.*"], description="d")
    world.clock.advance(60)
    other = {"destinationUrl": URL + "/2", "active": False}
    changed = await world.service.webhooks.update(caller, id_of(made), other)
    assert (changed.destination_url, changed.active) == (URL + "/2", False)
    assert (changed.event_types, changed.description) == (("identity.*",), "d")
    assert (changed.created_at, changed.updated_at) == (made.created_at, instant(START + 60_000_000))
    assert await world.service.webhooks.get(caller, id_of(made)) == changed
    full = {**HOOK, "eventTypes": ["verification.failed"], "description": ""}
    changed = await world.service.webhooks.update(caller, id_of(made), full)
    assert (changed.event_types, changed.description) == (("verification.failed",), None)
    for body in ({"active": True}, {**HOOK, "secret": "whsec_x"}, {**HOOK, "eventTypes": ["no"]}):
        with pytest.raises(Invalid):
            await world.service.webhooks.update(caller, id_of(made), body)
    assert await world.service.webhooks.get(caller, id_of(made)) == changed


@with_service
async def test_webhooks_put_enables_again(world: World) -> None:
    """Only activation clears the reason of disabling and restarts the time without success."""
    caller = await world.client()
    made = await created(world, caller)
    async with world.store.writing([caller.history_scope]) as transaction:
        row = await kept(world, id_of(made))
        await transaction.update_webhook(row._replace(active=0, disabled_reason="gone"))
    read = await world.service.webhooks.get(caller, id_of(made))
    assert (read.active, read.disabled_reason) == (False, "gone")
    seen = []
    for active in (False, False, True, True):
        world.clock.advance(60)
        found = await world.service.webhooks.update(caller, id_of(made), {**HOOK, "active": active})
        seen.append((found.disabled_reason, (await kept(world, id_of(made))).succeeded_at - START))
    assert seen == [("gone", 0), ("gone", 0), (None, 180_000_000), (None, 180_000_000)]


@with_service
async def test_webhooks_that_are_inactive_get_nothing_that_waits(world: World) -> None:
    """Webhooks: an inactive or deleted one gets nothing; what waits for others stays, as do tests of inactive ones."""
    caller = await world.client()
    first, second, other = [await created(world, caller) for _ in range(3)]

    async def deliver(hook: Webhook) -> bytes:
        row = delivery_row(webhook=id_of(hook), client=caller.client)
        async with world.store.writing([caller.history_scope]) as transaction:
            await transaction.insert([row])
        return row.id

    rows = [await deliver(hook) for hook in (first, second, other)]

    async def statuses() -> list[tuple[str, int | None]]:
        found = {row.id: (row.status, row.finished_at) for row in await table(world.url, DeliveryRow)}
        return [found[row] for row in rows]

    waiting, dropped = ("WAITING", None), ("DROPPED", START)
    await world.service.webhooks.update(caller, id_of(first), HOOK)
    assert await statuses() == [waiting] * 3
    await world.service.webhooks.update(caller, id_of(first), {**HOOK, "active": False})
    assert await statuses() == [dropped, waiting, waiting]
    await world.service.webhooks.delete(caller, id_of(second))
    assert await statuses() == [dropped, dropped, waiting]
    rows.append(await deliver(first))
    await world.service.webhooks.update(caller, id_of(first), {**HOOK, "active": False})
    assert await statuses() == [dropped, dropped, waiting, waiting]


@with_service
async def test_webhooks_are_fifty_at_most(world: World) -> None:
    """Above the limit a client's next webhook is refused; deleting one makes room."""
    caller, mate = await world.client("bank"), await world.client("bank")
    made = [await created(world, caller, active=bool(i % 2)) for i in range(50)]
    with pytest.raises(WebhookLimit):
        await created(world, caller)
    await created(world, mate)
    await world.service.webhooks.delete(caller, id_of(made[7]))
    await created(world, caller)
    with pytest.raises(WebhookLimit):
        await created(world, caller)


@with_service
async def test_webhooks_are_listed_page_by_page(world: World) -> None:
    """Pages in order of creation contain each webhook once, and the last is marked as the last."""
    caller, other = await world.client(), await world.client()
    await created(world, other)
    made = [(await created(world, caller)).id for _ in range(5)]
    for limit in (1, 2, 5, 100):
        found: list[str] = []
        after = None
        while True:
            page, after = await world.service.webhooks.page(caller, limit=limit, after=after)
            assert 1 <= len(page) <= limit
            found += [hook.id for hook in page]
            if after is None:
                break
        assert found == made


@with_service
async def test_webhooks_are_there_for_their_client_alone(world: World) -> None:
    """No operation of another client, even in the same history scope, finds a webhook; a bad body is reported first.

    Deletion returns the webhook; a second deletion finds nothing.
    """
    caller, mate = await world.client("bank"), await world.client("bank")
    made = await created(world, caller)
    service = world.service
    for who, what in ((mate, id_of(made)), (caller, ids.new_id(0))):
        for call in (
            lambda who, what: service.webhooks.get(who, what),
            lambda who, what: service.webhooks.update(who, what, HOOK),
            lambda who, what: service.webhooks.delete(who, what),
            lambda who, what: service.webhooks.test(who, what, None),
            lambda who, what: service.webhooks.rotate_secret(who, what, None),
        ):
            with pytest.raises(NotFound):
                await call(who, what)
        with pytest.raises(Invalid):
            await service.webhooks.update(who, what, {})
    assert await service.webhooks.page(mate, limit=100, after=None) == ([], None)
    assert await world.events(caller) == []
    read = await service.webhooks.get(caller, id_of(made))
    assert await service.webhooks.delete(caller, id_of(made)) == read
    with pytest.raises(NotFound):
        await service.webhooks.delete(caller, id_of(made))
    assert await table(world.url, WebhookRow) == []


@pytest.mark.parametrize("active", [True, False])
@with_service
async def test_webhooks_a_test_event_waits_even_for_one_that_is_inactive(world: World, active: bool) -> None:
    """Whatever its event types: the event names the webhook, and nothing of its destination."""
    caller = await world.client()
    made = await created(world, caller, active=active, eventTypes=["identity.created"])
    assert (await world.service.webhooks.test(caller, id_of(made), None)).resource.id == made.id
    (event,) = await world.events(caller)
    assert (event.type, event.resource, event.waiting, event.sequence) == (
        "webhook.test",
        id_of(made),
        1,
        1,
    )
    assert json.loads(event.data) == {"id": made.id}


@with_service
async def test_webhooks_rotation_keeps_the_secret_before_for_a_day(world: World) -> None:
    """Rotation shows the new secret, the old one also signs for 24 h, and a second rotation drops the oldest."""
    caller = await world.client()
    made = await created(world, caller)
    shown = [made.secret]
    for hours in (0, 1, 2):
        world.clock.at = START + hours * HOUR
        rotated = (await world.service.webhooks.rotate_secret(caller, id_of(made), None)).resource
        shown.append(rotated.secret)
        assert await secrets_of(world, id_of(made)) == [shown[-1], shown[-2]]
        row = await kept(world, id_of(made))
        assert row.old_secret_until == world.clock.at + 24 * HOUR
        assert (rotated.updated_at, rotated.destination_url) == (instant(world.clock.at), URL)
    assert len(set(shown)) == 4


@with_service
async def test_webhooks_events_wait_only_where_somebody_listens(world: World) -> None:
    """An event without an active webhook does not wait for delivery, but is still numbered."""
    caller, other = await world.client(), await world.client()
    person = {**applicants(world.bundle)[0].identity}
    waiting = []
    await created(world, other)
    for active in (None, False, True):
        if active is not None:
            hook = await created(world, caller, active=active)
        await world.identity(caller, {"firstName": "Ann"})
        waiting.append((await world.events(caller))[-1].waiting)
    await world.service.webhooks.delete(caller, id_of(hook))
    identity = await world.identity(caller, person)
    await world.service.identities.erase(caller, identity)
    events = await world.events(caller)
    assert waiting == [0, 0, 1]
    assert [event.waiting for event in events] == [0, 0, 1, 0, 0, 0]
    assert [event.sequence for event in events] == [1, 2, 3, 4, 5, 6]
    assert await world.events(other) == []


def test_webhooks_secrets_are_whsec_and_32_random_bytes() -> None:
    """Each is another, in the form of Standard Webhooks."""
    secrets = {new_secret() for _ in range(100)}
    assert len(secrets) == 100
    for secret in secrets:
        assert secret.startswith("whsec_")
        assert len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) == 32


@pytest.mark.parametrize("event", list(EventType))
def test_webhooks_wildcards_get_all_but_what_must_be_named(event: EventType) -> None:
    """A name, its prefix and the star select an event; `verification.completed` and `label.received` must be named."""
    by_wildcard = event not in (EventType.VERIFICATION_COMPLETED, EventType.LABEL_RECEIVED)
    assert wants([event.value], event.value)
    assert wants(["webhook.test", event.value], event)
    assert wants(["*"], event.value) == by_wildcard
    assert wants([f"{event.partition('.')[0]}.*"], event.value) == by_wildcard
    others = [name for name in ("identity.*", "verification.*", "webhook.*") if name[:4] != event[:4]]
    assert not wants(others, event.value)
    assert not wants([name for name in EventType if name != event], event.value)


@given(st.lists(st.sampled_from([*map(str, EventType), "*"]), unique=True).map(tuple))
def test_what_is_packed_comes_back(event_types: tuple[str, ...]) -> None:
    """Event types come back in their order."""
    assert unpack_event_types(pack_event_types(event_types)) == event_types


QUERY = "https://example.com/hook?token=s3cret&x=?"
SECRET_HOOK = {"destinationUrl": QUERY, "active": True, "description": "of the back office"}
SECRETS = Secrets(bytes(32))


def sent(url: str, description: str | None = None) -> WebhookInput:
    """What a client sends of an active webhook."""
    body = {"destinationUrl": url, "active": True, "description": description}
    return WebhookInput.parse(body, WebhookContext(development=True))


@pytest.mark.parametrize("url", ["https://h", "https://h?", "https://h/a", QUERY, "http://[::1]:80/a?b/c"])
def test_what_was_sealed_opens_again(url: str) -> None:
    """Any destination and description come back; nothing from the first question mark on is in the clear."""
    row = updated(webhook_row(), sent(url, "d"), SECRETS)
    assert destination_of(row, SECRETS) == url
    assert SECRETS.open(associated_data("description", row.id), row.description or b"") == b"d"
    assert row.destination_url == url.partition("?")[0]


def test_sealed_parts_open_in_their_place_alone() -> None:
    """Neither in another column nor for another webhook nor under another root secret."""
    row = updated(webhook_row(), sent(QUERY, "d"), SECRETS)
    for moved in (row._replace(query=row.description), webhook_row(query=row.query)):
        with pytest.raises(Unreadable):
            destination_of(moved, SECRETS)
    with pytest.raises(Unreadable):
        destination_of(row, Secrets(bytes([1] * 32)))


def test_what_says_the_same_keeps_its_bytes() -> None:
    """An unchanged destination keeps its sealed bytes, so that a comparison of rows shows changes."""
    row = updated(webhook_row(), sent(QUERY, "d"), SECRETS)
    assert updated(row, sent(QUERY, "d"), SECRETS) == updated(row, sent(QUERY), SECRETS) == row
    changed = updated(row, sent(QUERY + "y", "d"), SECRETS)
    assert (changed.query != row.query, changed.description) == (True, row.description)


async def shown(world: World, caller: Caller, hook: bytes) -> tuple[str, str | None]:
    """What a client sees of a webhook."""
    found = await world.service.webhooks.get(caller, hook)
    return found.destination_url, found.description


@with_service
async def test_webhooks_show_what_is_sealed_at_rest(world: World) -> None:
    """Also after a rotation of the master key, which leaves the sealed bytes as they are."""
    newer = Keyring(KeyEncryptionKey(bytes([7] * 32)), (MASTERS.primary,))
    caller = await world.client()
    made = (await world.service.webhooks.create(caller, SECRET_HOOK, None)).resource
    assert (made.destination_url, made.description) == (QUERY, "of the back office")
    (row,) = await table(world.url, WebhookRow)
    assert (row.destination_url, made.active) == ("https://example.com/hook", True)
    assert b"s3cret" not in (row.query or b"s3cret")
    assert b"office" not in (row.description or b"office")
    await rotate(world.store, newer)
    async with opened(world.url, world.bundle, keyring=lambda: Keyring(newer.primary)) as again:
        assert await shown(again, caller, id_of(made)) == (QUERY, "of the back office")
        assert await table(world.url, WebhookRow) == [row]


def test_deliveries_go_to_the_whole_destination(store_url: str) -> None:
    """The deliverer opens the query."""

    async def story(world: delivery_use.World) -> None:
        hook = await world.hook()
        async with world.store.writing([]) as transaction:
            await transaction.update_webhook(updated(hook, sent(QUERY), delivery_use.SECRETS))
        await world.events()
        await world.drain()
        assert [sent.url for sent in world.sender.sent] == [QUERY]

    delivery_use.run_story(store_url, story)
