"""Contract, "Webhooks", Delivery: the state of a delivery after each attempt."""

import json
import time
from collections import Counter
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook

from delivery_use import Sent, World, run_story
from scoring_model.contract.units import HOUR, SECOND
from scoring_model.service.core.rows import DeliveryStatus, EventRow
from scoring_model.service.delivery.deliverer import DeliveryLimits
from scoring_model.service.delivery.results import DELAYS, DISABLE_AFTER
from scoring_model.service.delivery.sender import Reply
from scoring_model.service.events.webhooks import new_secret
from service_use import START, table


def test_webhooks_what_arrives_is_delivered_once(store_url: str) -> None:
    """A 2xx ends a delivery; what was sent is the event, signed for its webhook, as JSON, and is not sent again."""

    async def story(world: World) -> None:
        secret = new_secret()
        hook = await world.hook(secret=secret)
        (event,) = await world.events()
        world.clock.at = time.time_ns() // 1000
        await world.drain()
        world.clock.advance(200 * 3600)
        await world.drain()
        (sent,) = world.sender.sent
        read = Webhook(secret).verify(sent.body, dict(sent.headers))
        assert (read["type"], read["data"]["sequence"]) == (event.type, event.sequence)
        assert sent.url == hook.destination_url
        row = await world.row()
        assert (row.status, row.attempts, row.answered) == (DeliveryStatus.DELIVERED, 1, 204)
        assert (row.finished_at, row.leased_until, row.excerpt) == (
            world.clock.at - 200 * HOUR,
            None,
            None,
        )

    run_story(store_url, story)


def test_webhooks_75_hours_until_a_dead_letter(store_url: str) -> None:
    """Ten attempts under one id and with the same body, each signed anew, then a dead letter; nothing in between."""

    async def story(world: World) -> None:
        world.sender.reply = Reply(500, None, "broken")
        await world.hook()
        await world.events()
        await world.round()
        instants = [START]
        for delay in DELAYS[1:]:
            row = await world.row()
            waited = row.due_at - instants[-1]
            assert delay <= waited <= 1.2 * delay
            assert (row.status, row.answered, row.excerpt) == (DeliveryStatus.WAITING, 500, "broken")
            world.clock.at = row.due_at - 1
            assert await world.round() == 0
            world.clock.at = row.due_at
            assert await world.round() == 1
            instants.append(world.clock.at)
        row = await world.row()
        assert (row.status, row.attempts, row.finished_at) == (DeliveryStatus.DEAD, 10, world.clock.at)
        assert 75 * HOUR <= world.clock.at - START <= 91 * HOUR
        assert len(world.sender.sent) == 10
        assert len({(sent.id, sent.body) for sent in world.sender.sent}) == 1
        stamps = [int(sent.headers["webhook-timestamp"]) for sent in world.sender.sent]
        assert stamps == [at // SECOND for at in instants]
        world.clock.advance(100 * 3600)
        assert await world.round() == 0

    run_story(store_url, story)


def test_webhooks_410_disables_and_reports_the_others(store_url: str) -> None:
    """One 410 disables a webhook with a reason, drops its deliveries, and sends `webhook.disabled` to the others."""

    async def story(world: World) -> None:
        gone, other = await world.hook("gone.example"), await world.hook("other.example")
        world.sender.by_host["gone.example"] = Reply(500)
        await world.events(3)
        await world.drain()
        world.sender.by_host["gone.example"] = Reply(410)
        world.clock.advance(1)
        await world.events(1)
        await world.drain()
        kept = await world.kept(gone)
        assert (kept.active, kept.disabled_reason, kept.updated_at) == (0, "gone", world.clock.at)
        assert {row.status for row in await world.rows(gone)} == {DeliveryStatus.DROPPED}
        bodies = [json.loads(sent.body) for sent in world.sender.to("other.example")]
        (disabled,) = [body for body in bodies if body["type"] == "webhook.disabled"]
        assert disabled["data"]["disabledReason"] == "gone"
        assert len(bodies) == 5
        assert {row.status for row in await world.rows(other)} == {DeliveryStatus.DELIVERED}
        world.clock.advance(100 * 3600)
        await world.events(1)
        await world.drain()
        assert len(world.sender.to("gone.example")) == 4

    run_story(store_url, story)


def test_webhooks_120_hours_of_failures_disable(store_url: str) -> None:
    """A failure 120 h after the last success disables; a success in between restarts the count."""

    async def story(world: World) -> None:
        hook = await world.hook()
        world.clock.advance(100 * 3600)
        await world.events()
        await world.drain()
        assert (await world.kept(hook)).succeeded_at == world.clock.at
        world.sender.reply = Reply(None, None, "timeout")
        world.clock.at += DISABLE_AFTER - 1
        await world.events()
        await world.drain()
        assert (await world.kept(hook)).active == 1
        world.clock.at += 1
        await world.events()
        await world.drain()
        kept = await world.kept(hook)
        assert (kept.active, kept.disabled_reason) == (0, "failing")
        assert await world.statuses() == {"DELIVERED": 1, "DROPPED": 2}

    run_story(store_url, story)


@pytest.mark.parametrize(
    "changes",
    [{"destination_url": "https://new.example/"}, {"active": 0}, None],
    ids=["leads elsewhere", "made inactive", "deleted"],
)
def test_webhooks_a_410_of_the_past_disables_nothing(store_url: str, changes: dict[str, Any] | None) -> None:
    """A client's change during an attempt is kept, without an event."""

    async def story(world: World) -> None:
        hook = await world.hook()

        async def change_then_410(_: Sent) -> Reply:
            async with world.store.writing([]) as transaction:
                if changes is None:
                    await transaction.delete_webhook(hook.id)
                else:
                    await transaction.update_webhook(hook._replace(**changes))
            return Reply(410)

        world.sender.reply = change_then_410
        await world.events()
        await world.round()
        if changes is not None:
            assert await world.kept(hook) == hook._replace(**changes)
        assert {event.type for event in await table(world.url, EventRow)} == {"identity.created"}

    run_story(store_url, story)


def test_webhooks_a_success_elsewhere_prevents_disabling(store_url: str) -> None:
    """Another process had a success while this one failed: the webhook stays."""

    async def story(world: World) -> None:
        hook = await world.hook()
        world.clock.at += DISABLE_AFTER

        async def succeed_then_fail(_: Sent) -> Reply:
            async with world.store.writing([]) as transaction:
                await transaction.touch_webhook(hook.id, world.clock.at)
            return Reply(500)

        world.sender.reply = succeed_then_fail
        await world.events()
        await world.round()
        assert (await world.kept(hook)).active == 1

    run_story(store_url, story)


def test_webhooks_a_test_reaches_an_inactive_webhook_alone(store_url: str) -> None:
    """A test event is sent to an inactive webhook; its other deliveries are dropped unsent."""

    async def story(world: World) -> None:
        hook = await world.hook()
        await world.hook("other.example")
        await world.events()
        deliverer = world.another(limits=DeliveryLimits(gather=0.0, taken=0))
        await world.round(deliverer)  # written, not leased: there is no room
        async with world.store.writing([]) as transaction:
            await transaction.update_webhook(hook._replace(active=0))
        await world.events(type="webhook.test", resource=hook.id)
        await world.drain()
        assert [json.loads(sent.body)["type"] for sent in world.sender.to("one.example")] == ["webhook.test"]
        assert [json.loads(sent.body)["type"] for sent in world.sender.to("other.example")] == [
            "identity.created"
        ]
        assert Counter(row.status for row in await world.rows(hook)) == {"DELIVERED": 1, "DROPPED": 1}

    run_story(store_url, story)


def test_webhooks_a_deleted_webhook_gets_nothing(store_url: str) -> None:
    """Deliveries of a deleted webhook are not sent and do not wait forever."""

    async def story(world: World) -> None:
        hook = await world.hook()
        await world.events(3)
        writing = world.another(limits=DeliveryLimits(gather=0.0, taken=0))
        for _ in range(3):  # with room for none, one delivery is written at a time
            await world.round(writing)
        async with world.store.writing([]) as transaction:
            await transaction.delete_webhook(hook.id)
        await world.drain()
        assert world.sender.sent == []
        assert await world.statuses() == {"DROPPED": 3}

    run_story(store_url, story)


def test_webhooks_secrets_that_do_not_open_fail_the_attempt(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is sent unsigned; the fault is logged without a secret, and other webhooks get their deliveries."""

    async def story(world: World) -> None:
        bad = await world.hook("bad.example")
        async with world.store.writing([]) as transaction:
            await transaction.update_webhook(bad._replace(secret=b"not sealed"))
        await world.hook()
        await world.events()
        await world.drain()
        assert len(world.sender.sent) == 1
        (row,) = await world.rows(bad)
        assert (row.status, row.attempts, row.answered) == (DeliveryStatus.WAITING, 1, None)

    with caplog.at_level("CRITICAL", "scoring_model.faults"):
        run_story(store_url, story)


def test_webhooks_a_sender_that_raises_fails_the_attempt(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """An internal error of the sender counts as an attempt without an answer, and its text is not stored."""

    async def story(world: World) -> None:
        async def broken(_: Sent) -> Reply:
            raise ValueError("said by a receiver")

        world.sender.reply = broken
        await world.hook()
        await world.events()
        await world.round()
        row = await world.row()
        assert (row.status, row.attempts) == (DeliveryStatus.WAITING, 1)
        assert "said by" not in (row.excerpt or "")

    run_story(store_url, story)
    assert "said by" not in caplog.text
