"""Webhooks as clients manage them, and which events wait for any."""

import json
from pathlib import Path

import pytest

from scoring_model.contract.ids import to_text
from scoring_model.contract.webhook import Webhook
from scoring_model.service.clients import Caller
from scoring_model.service.core import ids
from scoring_model.service.core.errors import Invalid, NotFound, WebhookLimit
from scoring_model.service.core.rows import DeliveryRow, WebhookRow
from service_use import HOUR, START, World, applicants, table, tell
from stored_rows import delivery_row

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


def test_webhooks_show_their_secret_once(store_url: str, sealed: Path) -> None:
    """Creation shows it; reading, listing and changing do not; at rest it is sealed."""

    async def story(world: World) -> None:
        caller = await world.client()
        made = await created(world, caller, description=" mine ")
        assert made.secret is not None
        assert made.secret.startswith("whsec_")
        assert (made.event_types, made.description, made.disabled_reason) == (("*",), "mine", None)
        assert (made.created_at, made.updated_at) == (START, START)
        read = await world.service.webhooks.get(caller, made.id)
        page, _ = await world.service.webhooks.page(caller, limit=100, after=None)
        changed = await world.service.webhooks.update(caller, made.id, HOOK)
        tested = (await world.service.webhooks.test(caller, made.id, None)).resource
        assert {one.secret for one in (read, page[0], changed, tested)} == {None}
        assert await secrets_of(world, made.id) == [made.secret, None]
        row = await kept(world, made.id)
        assert made.secret.encode() not in row.secret

    tell(store_url, sealed, story)


def test_webhooks_put_changes_what_it_names(store_url: str, sealed: Path) -> None:
    """Destination and activity are required; what is left out keeps its value; what is wrong changes nothing."""

    async def story(world: World) -> None:
        caller = await world.client()
        made = await created(world, caller, eventTypes=["identity.*"], description="d")
        world.clock.advance(60)
        other = {"destinationUrl": URL + "/2", "active": False}
        changed = await world.service.webhooks.update(caller, made.id, other)
        assert (changed.destination_url, changed.active) == (URL + "/2", False)
        assert (changed.event_types, changed.description) == (("identity.*",), "d")
        assert (changed.created_at, changed.updated_at) == (START, START + 60_000_000)
        assert await world.service.webhooks.get(caller, made.id) == changed
        full = {**HOOK, "eventTypes": ["verification.failed"], "description": ""}
        changed = await world.service.webhooks.update(caller, made.id, full)
        assert (changed.event_types, changed.description) == (("verification.failed",), None)
        for body in ({"active": True}, {**HOOK, "secret": "whsec_x"}, {**HOOK, "eventTypes": ["no"]}):
            with pytest.raises(Invalid):
                await world.service.webhooks.update(caller, made.id, body)
        assert await world.service.webhooks.get(caller, made.id) == changed

    tell(store_url, sealed, story)


def test_webhooks_put_enables_again(store_url: str, sealed: Path) -> None:
    """Activating clears why it was disabled; a change that leaves it inactive does not."""

    async def story(world: World) -> None:
        caller = await world.client()
        made = await created(world, caller)
        async with world.store.writing([caller.history_scope]) as transaction:
            row = await kept(world, made.id)
            await transaction.update_webhook(row._replace(active=0, disabled_reason="gone"))
        read = await world.service.webhooks.get(caller, made.id)
        assert (read.active, read.disabled_reason) == (False, "gone")
        still = await world.service.webhooks.update(caller, made.id, {**HOOK, "active": False})
        assert (still.active, still.disabled_reason) == (False, "gone")
        again = await world.service.webhooks.update(caller, made.id, HOOK)
        assert (again.active, again.disabled_reason) == (True, None)

    tell(store_url, sealed, story)


def test_webhooks_that_are_enabled_again_begin_anew(store_url: str, sealed: Path) -> None:
    """The time without success counts from creation, and anew from being enabled; no other change begins it anew."""

    async def story(world: World) -> None:
        caller = await world.client()
        made = await created(world, caller)
        inactive = {**HOOK, "active": False}
        seen = []
        for body in (HOOK, inactive, inactive, HOOK, HOOK):
            world.clock.advance(60)
            await world.service.webhooks.update(caller, made.id, body)
            seen.append((await kept(world, made.id)).succeeded_at)
        assert seen == [START, START, START, START + 240_000_000, START + 240_000_000]

    tell(store_url, sealed, story)


def test_webhooks_that_are_inactive_get_nothing_that_waits(store_url: str, sealed: Path) -> None:
    """Webhooks: an inactive or deleted one gets nothing; what waits for others stays, as do tests of inactive ones."""

    async def story(world: World) -> None:
        caller = await world.client()
        first, second, other = [await created(world, caller) for _ in range(3)]

        async def deliver(hook: Webhook) -> bytes:
            row = delivery_row(webhook=hook.id, client=caller.client)
            async with world.store.writing([caller.history_scope]) as transaction:
                await transaction.insert([row])
            return row.id

        rows = [await deliver(hook) for hook in (first, second, other)]

        async def statuses() -> list[tuple[str, int | None]]:
            found = {row.id: (row.status, row.finished_at) for row in await table(world.url, DeliveryRow)}
            return [found[row] for row in rows]

        waiting, dropped = ("WAITING", None), ("DROPPED", START)
        await world.service.webhooks.update(caller, first.id, HOOK)
        assert await statuses() == [waiting] * 3
        await world.service.webhooks.update(caller, first.id, {**HOOK, "active": False})
        assert await statuses() == [dropped, waiting, waiting]
        await world.service.webhooks.delete(caller, second.id)
        assert await statuses() == [dropped, dropped, waiting]
        rows.append(await deliver(first))
        await world.service.webhooks.update(caller, first.id, {**HOOK, "active": False})
        assert await statuses() == [dropped, dropped, waiting, waiting]

    tell(store_url, sealed, story)


def test_webhooks_are_fifty_at_most(store_url: str, sealed: Path) -> None:
    """The next is refused, of this client alone; one that is deleted makes room."""

    async def story(world: World) -> None:
        caller, mate = await world.client("bank"), await world.client("bank")
        made = [await created(world, caller, active=bool(i % 2)) for i in range(50)]
        with pytest.raises(WebhookLimit):
            await created(world, caller)
        await created(world, mate)
        await world.service.webhooks.delete(caller, made[7].id)
        await created(world, caller)
        with pytest.raises(WebhookLimit):
            await created(world, caller)

    tell(store_url, sealed, story)


def test_webhooks_are_listed_page_by_page(store_url: str, sealed: Path) -> None:
    """Pages in the order of creation hold each once, and the last says that it is the last."""

    async def story(world: World) -> None:
        caller, other = await world.client(), await world.client()
        await created(world, other)
        made = [(await created(world, caller)).id for _ in range(5)]
        for limit in (1, 2, 5, 100):
            found: list[bytes] = []
            after = None
            while True:
                page, after = await world.service.webhooks.page(caller, limit=limit, after=after)
                assert 1 <= len(page) <= limit
                found += [hook.id for hook in page]
                if after is None:
                    break
            assert found == made

    tell(store_url, sealed, story)


def test_webhooks_are_there_for_their_client_alone(store_url: str, sealed: Path) -> None:
    """To another client, of the same history scope too, none of the operations finds one; a bad body is told first."""

    async def story(world: World) -> None:
        caller, mate = await world.client("bank"), await world.client("bank")
        made = await created(world, caller)
        service = world.service
        for who, what in ((mate, made.id), (caller, ids.new_id(0))):
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

    tell(store_url, sealed, story)


def test_webhooks_that_are_deleted_are_gone(store_url: str, sealed: Path) -> None:
    """Deletion answers the webhook as it was; a second one finds nothing."""

    async def story(world: World) -> None:
        caller = await world.client()
        made = await created(world, caller)
        read = await world.service.webhooks.get(caller, made.id)
        assert await world.service.webhooks.delete(caller, made.id) == read
        with pytest.raises(NotFound):
            await world.service.webhooks.delete(caller, made.id)
        assert await table(store_url, WebhookRow) == []

    tell(store_url, sealed, story)


@pytest.mark.parametrize("active", [True, False])
def test_webhooks_a_test_event_waits_even_for_one_that_is_inactive(
    store_url: str, sealed: Path, active: bool
) -> None:
    """Whatever its event types: the event names the webhook, and nothing of its destination."""

    async def story(world: World) -> None:
        caller = await world.client()
        made = await created(world, caller, active=active, eventTypes=["identity.created"])
        assert (await world.service.webhooks.test(caller, made.id, None)).resource.id == made.id
        (event,) = await world.events(caller)
        assert (event.type, event.resource, event.waiting, event.sequence) == ("webhook.test", made.id, 1, 1)
        assert json.loads(event.data) == {"id": to_text(made.id)}

    tell(store_url, sealed, story)


def test_webhooks_rotation_keeps_the_secret_before_for_a_day(store_url: str, sealed: Path) -> None:
    """The new one is shown, the old one signs too for 24 h, and a second rotation drops the oldest at once."""

    async def story(world: World) -> None:
        caller = await world.client()
        made = await created(world, caller)
        shown = [made.secret]
        for hours in (0, 1, 2):
            world.clock.at = START + hours * HOUR
            rotated = (await world.service.webhooks.rotate_secret(caller, made.id, None)).resource
            shown.append(rotated.secret)
            assert await secrets_of(world, made.id) == [shown[-1], shown[-2]]
            row = await kept(world, made.id)
            assert row.old_secret_until == world.clock.at + 24 * HOUR
            assert (rotated.updated_at, rotated.destination_url) == (world.clock.at, URL)
        assert len(set(shown)) == 4

    tell(store_url, sealed, story)


def test_webhooks_events_wait_only_where_somebody_listens(store_url: str, sealed: Path) -> None:
    """An event of a client without an active webhook waits for nobody; every event is numbered all the same."""

    async def story(world: World) -> None:
        caller, other = await world.client(), await world.client()
        person = {**applicants(sealed)[0].identity}
        waiting = []
        await created(world, other)
        for active in (None, False, True):
            if active is not None:
                hook = await created(world, caller, active=active)
            await world.identity(caller, {"firstName": "Ann"})
            waiting.append((await world.events(caller))[-1].waiting)
        await world.service.webhooks.delete(caller, hook.id)
        identity = await world.identity(caller, person)
        await world.service.identities.erase(caller, identity)
        events = await world.events(caller)
        assert waiting == [0, 0, 1]
        assert [event.waiting for event in events] == [0, 0, 1, 0, 0, 0]
        assert [event.sequence for event in events] == [1, 2, 3, 4, 5, 6]
        assert await world.events(other) == []

    tell(store_url, sealed, story)


def test_webhooks_text_that_a_database_can_not_keep_is_refused(store_url: str, sealed: Path) -> None:
    """A description with a NUL is told as wrong, alike on every store."""

    async def story(world: World) -> None:
        caller = await world.client()
        with pytest.raises(Invalid) as caught:
            await created(world, caller, description="a\0b")
        assert [problem.pointer for problem in caught.value.errors] == ["/description"]

    tell(store_url, sealed, story)
