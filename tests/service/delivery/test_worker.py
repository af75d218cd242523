"""Contract, "Webhooks", Delivery, and law 10: what becomes of deliveries, with real stores and a written sender."""

import asyncio
import contextlib
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from aiohttp import web
from standardwebhooks.webhooks import Webhook

from scoring_model.service.core.delivery_status import DeliveryStatus
from scoring_model.service.core.faults import FAULTS
from scoring_model.service.core.rows import DeliveryRow, EventRow, Row, WebhookRow
from scoring_model.service.core.secrets import Secrets
from scoring_model.service.core.store import StoreUnavailable
from scoring_model.service.core.webhook import new_secret, secret_place
from scoring_model.service.delivery.schedule import DELAYS, HOUR, PATIENCE, SECOND
from scoring_model.service.delivery.sender import AiohttpSender
from scoring_model.service.delivery.sending import Reply, Sender
from scoring_model.service.delivery.watched_store import WatchedStore
from scoring_model.service.delivery.worker import LEASE, Deliverer, DeliveryLimits
from scoring_model.service.store import open_store
from service_use import START, HeldStore, SetClock, eventually, table
from stored_rows import client_row, event_row, new_id, webhook_row

SECRETS = Secrets(bytes(32))
LIMITS = DeliveryLimits(interval=0.01, gather=0.0, grace=5.0)
OK = Reply(204)
Behaviour = Callable[["Sent"], Awaitable[Reply]]


@dataclass(frozen=True)
class Sent:
    """One attempt as it came to the sender."""

    url: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def id(self) -> str:
        """Which delivery it is of."""
        return self.headers["webhook-id"]


@dataclass
class WrittenSender:
    """A sender that notes what it sent and answers what a test wants, by host or for all."""

    reply: Reply | Behaviour = OK
    by_host: dict[str, Reply | Behaviour] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)
    under_way: Counter[str] = field(default_factory=Counter)
    most: Counter[str] = field(default_factory=Counter)

    async def send(self, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """See `Sender`."""
        sent = Sent(url, headers, body)
        self.sent.append(sent)
        host = url.split("/")[2]
        for name in (host, ""):
            self.under_way[name] += 1
            self.most[name] = max(self.most[name], self.under_way[name])
        try:
            reply = self.by_host.get(host, self.reply)
            return reply if isinstance(reply, Reply) else await reply(sent)
        finally:
            self.under_way[host] -= 1
            self.under_way[""] -= 1

    def to(self, host: str) -> list[Sent]:
        """What was sent to a host."""
        return [sent for sent in self.sent if sent.url.split("/")[2] == host]


@dataclass(frozen=True)
class World:
    """A store, a sender, a clock, and a deliverer over them."""

    url: str
    store: HeldStore
    sender: WrittenSender
    clock: SetClock
    deliverer: Deliverer
    client: int

    def another(
        self,
        sender: Sender | None = None,
        limits: DeliveryLimits = LIMITS,
        *,
        woken: asyncio.Event | None = None,
        oldest_waits: Callable[[], float] | None = None,
    ) -> Deliverer:
        """A second deliverer, as of another process."""
        return Deliverer(
            store=self.store,
            secrets=SECRETS,
            clock=self.clock,
            sender=sender or self.sender,
            limits=limits,
            rng=Random(1),
            woken=woken,
            oldest_waits=oldest_waits,
        )

    async def write(self, *rows: Row) -> None:
        """Insert rows of any kinds."""
        async with self.store.writing([]) as transaction:
            for row in rows:
                await transaction.insert([row])

    async def hook(self, host: str = "one.example", **changes: Any) -> WebhookRow:
        """A new webhook of the client, with secrets that open."""
        resource = new_id()
        secrets = {
            name: SECRETS.seal(secret_place(resource), changes.pop(name, new_secret()).encode())
            for name in ("secret", "old_secret")
            if name == "secret" or name in changes
        }
        row = webhook_row(
            id=resource,
            client=self.client,
            destination_url=f"https://{host}/hook",
            created_at=START,
            succeeded_at=START,
            **secrets,
        )._replace(**changes)
        await self.write(row)
        return row

    async def events(self, count: int = 1, **changes: Any) -> list[EventRow]:
        """New events of the client."""
        rows = [
            event_row(client=self.client, data='{"id":"x"}', created_at=START)._replace(**changes)
            for _ in range(count)
        ]
        await self.write(*rows)
        return rows

    async def round(self, deliverer: Deliverer | None = None) -> int:
        """One step, and all that comes of it."""
        deliverer = deliverer or self.deliverer
        found = await deliverer.step()
        await deliverer.finished()
        return found

    async def drain(self) -> None:
        """Rounds until nothing is found."""
        while await self.round():
            pass

    async def rows(self, webhook: WebhookRow | None = None) -> list[DeliveryRow]:
        """All deliveries, of a webhook perhaps, by id."""
        async with self.store.reading() as reader:
            found: list[DeliveryRow] = await reader.deliveries(
                webhook=None if webhook is None else webhook.id, limit=10_000
            )
        return found

    async def row(self) -> DeliveryRow:
        """The only delivery."""
        (row,) = await self.rows()
        return row

    async def kept(self, webhook: WebhookRow) -> WebhookRow:
        """A webhook as it is."""
        async with self.store.reading() as reader:
            row: WebhookRow | None = await reader.webhook(webhook.client, webhook.id)
        assert row is not None
        return row

    async def statuses(self) -> Counter[str]:
        """How many deliveries have each status."""
        return Counter(row.status for row in await self.rows())


def tell(
    url: str,
    story: Callable[[World], Awaitable[None]],
    *,
    limits: DeliveryLimits = LIMITS,
) -> None:
    """Open a store with a client, do something with it and close it."""

    async def run() -> None:
        store, clock, sender = HeldStore(await open_store(url)), SetClock(), WrittenSender()
        try:
            async with store.writing([]) as transaction:
                client = await transaction.new_client(client_row())
            deliverer = Deliverer(
                store=store, secrets=SECRETS, clock=clock, sender=sender, limits=limits, rng=Random(0)
            )
            await story(World(url, store, sender, clock, deliverer, client))
        finally:
            store.gate.set()
            await store.close()

    asyncio.run(run())


@asynccontextmanager
async def running(deliverer: Deliverer) -> AsyncIterator["asyncio.Task[None]"]:
    """Run a deliverer as long as the context."""
    task = asyncio.create_task(deliverer.run())
    try:
        yield task
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def never(_: Sent) -> Reply:
    """What hangs."""
    await asyncio.Event().wait()
    raise AssertionError("it never ends")


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

    tell(store_url, story)


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

    tell(store_url, story)


def test_webhooks_retry_after_is_waited_for(store_url: str) -> None:
    """A receiver that asks for an hour gets no attempt before."""

    async def story(world: World) -> None:
        world.sender.reply = Reply(503, "3600")
        await world.hook()
        await world.events()
        await world.round()
        assert HOUR <= (await world.row()).due_at - START <= 1.2 * HOUR

    tell(store_url, story)


def test_webhooks_410_disables_and_tells_the_others(store_url: str) -> None:
    """One 410: inactive with a reason, what waits is dropped, and the other webhooks are sent `webhook.disabled`."""

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
        told = [json.loads(sent.body) for sent in world.sender.to("other.example")]
        (disabled,) = [body for body in told if body["type"] == "webhook.disabled"]
        assert disabled["data"]["disabledReason"] == "gone"
        assert len(told) == 5
        assert {row.status for row in await world.rows(other)} == {DeliveryStatus.DELIVERED}
        world.clock.advance(100 * 3600)
        await world.events(1)
        await world.drain()
        assert len(world.sender.to("gone.example")) == 4

    tell(store_url, story)


def test_webhooks_120_hours_of_failures_disable(store_url: str) -> None:
    """A failure 120 h after the last success disables; a success in between starts the hours anew."""

    async def story(world: World) -> None:
        hook = await world.hook()
        world.clock.advance(100 * 3600)
        await world.events()
        await world.drain()
        assert (await world.kept(hook)).succeeded_at == world.clock.at
        world.sender.reply = Reply(None, None, "timeout")
        world.clock.at += PATIENCE - 1
        await world.events()
        await world.drain()
        assert (await world.kept(hook)).active == 1
        world.clock.at += 1
        await world.events()
        await world.drain()
        kept = await world.kept(hook)
        assert (kept.active, kept.disabled_reason) == (0, "failing")
        assert await world.statuses() == {"DELIVERED": 1, "DROPPED": 2}

    tell(store_url, story)


@pytest.mark.parametrize(
    "changes",
    [{"destination_url": "https://new.example/"}, {"active": 0}, None],
    ids=["leads elsewhere", "made inactive", "deleted"],
)
def test_webhooks_a_410_of_the_past_disables_nothing(store_url: str, changes: dict[str, Any] | None) -> None:
    """What a client changed while an attempt was under way stays as the client wants it, and nobody is told."""

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

    tell(store_url, story)


def test_webhooks_a_success_elsewhere_prevents_disabling(store_url: str) -> None:
    """Another process had a success while this one failed: the webhook stays."""

    async def story(world: World) -> None:
        hook = await world.hook()
        world.clock.at += PATIENCE

        async def succeed_then_fail(_: Sent) -> Reply:
            async with world.store.writing([]) as transaction:
                await transaction.touch_webhook(hook.id, world.clock.at)
            return Reply(500)

        world.sender.reply = succeed_then_fail
        await world.events()
        await world.round()
        assert (await world.kept(hook)).active == 1

    tell(store_url, story)


def test_webhooks_a_test_reaches_an_inactive_webhook_alone(store_url: str) -> None:
    """The test event is sent to the inactive webhook; what had been written for it otherwise is dropped unsent."""

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

    tell(store_url, story)


def test_webhooks_a_deleted_webhook_gets_nothing(store_url: str) -> None:
    """What was written for it is not sent, and does not wait for ever."""

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

    tell(store_url, story)


def test_webhooks_secrets_that_do_not_open_fail_the_attempt(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is sent unsigned; the fault is told without a secret, and other webhooks get theirs."""

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
        tell(store_url, story)


def test_webhooks_a_sender_that_raises_fails_the_attempt(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """An error of the sender's own counts as an attempt without an answer, and its text is kept nowhere."""

    async def story(world: World) -> None:
        async def broken(_: Sent) -> Reply:
            raise ValueError("told by a receiver")

        world.sender.reply = broken
        await world.hook()
        await world.events()
        await world.round()
        row = await world.row()
        assert (row.status, row.attempts) == (DeliveryStatus.WAITING, 1)
        assert "told by" not in (row.excerpt or "")

    tell(store_url, story)
    assert "told by" not in caplog.text


def test_law_10_another_takes_over_when_the_lease_is_over(store_url: str) -> None:
    """What a dead process had leased is sent by another one, after the lease and not before, and counts once."""

    async def story(world: World) -> None:
        await world.hook()
        await world.events(3)
        dead = world.another(WrittenSender(never))
        await dead.step()
        assert await world.round() == 0
        world.clock.at += LEASE
        assert await world.round() == 0
        world.clock.at += 1
        assert await world.round() == 3
        assert len(world.sender.sent) == 3
        assert {(row.status, row.attempts) for row in await world.rows()} == {(DeliveryStatus.DELIVERED, 1)}

    tell(store_url, story)


def test_law_10_a_late_result_does_not_undo_a_delivery(store_url: str) -> None:
    """A process that fails after another has delivered changes nothing."""

    async def story(world: World) -> None:
        await world.hook()
        await world.events()
        answer = asyncio.Event()

        async def late(_: Sent) -> Reply:
            await answer.wait()
            return Reply(500)

        slow = world.another(WrittenSender(late))
        await slow.step()
        world.clock.at += LEASE + 1
        await world.round()
        delivered = await world.row()
        answer.set()
        await slow.finished()
        assert await world.row() == delivered
        assert delivered.status == DeliveryStatus.DELIVERED

    tell(store_url, story)


def test_law_10_results_wait_for_a_database_that_is_away(store_url: str) -> None:
    """What was sent is written when the database is back, without being sent again."""

    async def story(world: World) -> None:
        await world.hook()
        await world.events(5)
        world.sender.reply = Reply(200)
        found = await world.deliverer.step()
        world.store.error = StoreUnavailable("away")
        await eventually(lambda: len(world.sender.sent) == 5 and world.deliverer._behind)
        assert await world.statuses() == {"WAITING": 5}
        world.store.error = None
        await world.deliverer.finished()
        assert found == 10
        assert await world.statuses() == {"DELIVERED": 5}
        await world.drain()
        assert len(world.sender.sent) == 5

    tell(store_url, story)


def test_law_10_nothing_is_taken_while_results_wait(store_url: str) -> None:
    """What was sent and could not be written yet is not sent again, even when its lease is over meanwhile."""
    limits = DeliveryLimits(interval=0.3, gather=0.0)

    async def story(world: World) -> None:
        await world.hook()
        await world.events(5)
        await world.deliverer.step()
        world.store.error = StoreUnavailable("away")
        await eventually(lambda: len(world.sender.sent) == 5 and world.deliverer._behind)
        world.clock.at += LEASE + 1
        world.store.error = None
        assert await world.deliverer.step() == 0
        await world.deliverer.finished()
        await world.drain()
        assert len(world.sender.sent) == 5
        assert await world.statuses() == {"DELIVERED": 5}

    tell(store_url, story, limits=limits)


def test_webhooks_rotation_holds_for_what_waits(store_url: str) -> None:
    """Each attempt is signed by the secrets of its instant: both during the overlap, then the new one alone."""

    async def story(world: World) -> None:
        world.sender.reply = Reply(500)
        await world.hook(old_secret=new_secret(), old_secret_until=START + SECOND)
        await world.events()
        await world.round()
        world.clock.advance(10)
        await world.round()
        signatures = [sent.headers["webhook-signature"].split() for sent in world.sender.sent]
        assert [len(some) for some in signatures] == [2, 1]

    tell(store_url, story)


def test_law_10_events_wait_for_a_database_that_is_away(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A deliverer that runs goes on when the database is back, and takes that for no fault of its own."""

    async def story(world: World) -> None:
        await world.hook()
        await world.events(2)
        world.store.error = StoreUnavailable("away")
        async with running(world.deliverer) as task:
            await asyncio.sleep(0.05)
            assert not task.done()
            world.store.error = None
            await eventually(lambda: len(world.sender.sent) == 2)
        assert await world.statuses() == {"DELIVERED": 2}

    tell(store_url, story)
    assert [one for one in caplog.records if one.name == FAULTS] == []


def test_webhooks_several_processes_send_everything_once(store_url: str) -> None:
    """Deliverers at the same time share the work: every delivery is sent, none twice."""

    async def story(world: World) -> None:
        hooks = [await world.hook(f"{place}.example") for place in range(4)]
        events = await world.events(100)
        others = [world.another(limits=DeliveryLimits(interval=0.01, gather=0.0, batch=17)) for _ in range(3)]
        async with contextlib.AsyncExitStack() as stack:
            for one in others:
                await stack.enter_async_context(running(one))
            await eventually(lambda: len(world.sender.sent) >= len(hooks) * len(events))
        assert await world.statuses() == {"DELIVERED": 400}
        assert set(Counter(sent.id for sent in world.sender.sent).values()) == {1}

    tell(store_url, story)


def test_webhooks_a_hanging_receiver_holds_up_nobody(store_url: str) -> None:
    """However much waits for one that hangs, and before the others: they get all of theirs meanwhile."""
    limits = DeliveryLimits(
        interval=0.01, gather=0.0, grace=0.05, at_once=20, per_destination=4, taken=40, batch=20
    )

    async def story(world: World) -> None:
        world.sender.by_host |= {"hanging.example": never, "HANGING.example:443": never}
        await world.hook("hanging.example")
        await world.hook("HANGING.example:443", event_types='["identity.*"]')
        await world.events(60)
        async with running(world.deliverer):
            await eventually(lambda: len(world.sender.to("hanging.example")) > 0)
            await world.hook("quick.example", event_types='["verification.*"]')
            await world.events(200, type="verification.passed")
            await eventually(lambda: len(world.sender.to("quick.example")) == 200)
        both = world.sender.most["hanging.example"] + world.sender.most["HANGING.example:443"]
        assert both <= 4
        statuses = await world.statuses()
        assert statuses["DELIVERED"] == 200
        assert statuses["WAITING"] == 320

    tell(store_url, story, limits=limits)


def test_webhooks_no_more_at_once_than_allowed(store_url: str) -> None:
    """Attempts are bounded per destination and in all, and everything is sent in the end."""
    limits = DeliveryLimits(interval=0.01, gather=0.0, at_once=5, per_destination=3, taken=30, batch=30)

    async def story(world: World) -> None:
        async def soon(_: Sent) -> Reply:
            await asyncio.sleep(0.001)
            return OK

        world.sender.reply = soon
        for place in range(2):
            await world.hook(f"{place}.example")
        await world.events(100)
        async with running(world.deliverer):
            await eventually(lambda: len(world.sender.sent) == 200)
        assert world.sender.most == {"": 5, "0.example": 3, "1.example": 3}
        assert await world.statuses() == {"DELIVERED": 200}

    tell(store_url, story, limits=limits)


def test_webhooks_what_is_too_much_is_given_back(store_url: str) -> None:
    """What one process can't send yet to a destination is leased by nobody, so that another can."""
    limits = DeliveryLimits(interval=0.01, gather=0.0, grace=0.0, per_destination=2, batch=80)

    async def story(world: World) -> None:
        world.sender.reply = never
        await world.hook()
        await world.events(20)
        await world.deliverer.step()
        while world.deliverer._settling is not None:
            await asyncio.wait([world.deliverer._settling])
        leased = [row for row in await world.rows() if row.leased_until is not None]
        assert len(leased) == 4
        assert await world.round(world.another(WrittenSender())) == 16
        with contextlib.suppress(asyncio.CancelledError):
            await world.deliverer._end()

    tell(store_url, story, limits=limits)


def test_webhooks_stopping_ends_what_is_under_way(store_url: str) -> None:
    """A deliverer that is cancelled lets its attempts end and writes what came of them; nothing new is begun."""
    limits = DeliveryLimits(interval=0.01, gather=0.0, at_once=2)

    async def story(world: World) -> None:
        answer = asyncio.Event()

        async def later(_: Sent) -> Reply:
            await answer.wait()
            return OK

        world.sender.reply = later
        await world.hook()
        await world.events(5)
        task = asyncio.create_task(world.deliverer.run())
        await eventually(lambda: len(world.sender.sent) == 2)
        task.cancel()
        await asyncio.sleep(0.02)
        assert not task.done()
        answer.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(world.sender.sent) == 2
        assert await world.statuses() == {"DELIVERED": 2, "WAITING": 3}
        assert {row.leased_until for row in await world.rows()} == {None}

    tell(store_url, story, limits=limits)


def test_webhooks_stopping_does_not_wait_for_ever(store_url: str) -> None:
    """After the grace what hangs is left to the next process, its attempt not counted."""
    limits = DeliveryLimits(interval=0.01, gather=0.0, grace=0.02)

    async def story(world: World) -> None:
        world.sender.reply = never
        await world.hook()
        await world.events()
        async with running(world.deliverer):
            await eventually(lambda: len(world.sender.sent) == 1)
        row = await world.row()
        assert (row.status, row.attempts, row.leased_until) == (DeliveryStatus.WAITING, 0, START + LEASE)

    tell(store_url, story, limits=limits)


def test_webhooks_a_real_receiver_verifies_what_arrives(store_url: str) -> None:
    """Over a real connection: each event arrives, after a failure under the same id, signed for who verifies it."""
    secret, got = new_secret(), list[tuple[str, Any]]()

    async def receive(request: web.Request) -> web.Response:
        body = await request.read()
        read = Webhook(secret).verify(body, dict(request.headers))
        got.append((request.headers["webhook-id"], read["data"]["sequence"]))
        return web.Response(status=503 if len(got) == 1 else 200)

    async def story(world: World) -> None:
        app = web.Application()
        app.router.add_post("/hook", receive)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        world.clock.at = time.time_ns() // 1000
        try:
            await world.hook(runner.addresses[0][0] + f":{runner.addresses[0][1]}", secret=secret)
            async with world.store.writing([]) as transaction:
                (hook,) = await transaction.webhooks_of([world.client])
                url = hook.destination_url.replace("https", "http")
                await transaction.update_webhook(hook._replace(destination_url=url))
            events = await world.events(5)
            async with AiohttpSender(development=True) as sender:
                deliverer = world.another(sender)
                await world.round(deliverer)
                world.clock.advance(10)
                await world.round(deliverer)
        finally:
            await runner.cleanup()
        assert sorted(sequence for _, sequence in got[1:]) == sorted(event.sequence for event in events)
        assert len(got) == 6
        assert len(set(got)) == 5
        assert await world.statuses() == {"DELIVERED": 5}

    tell(store_url, story)


def test_webhooks_an_event_is_sent_at_its_commit(store_url: str) -> None:
    """Whoever commits an event in the same process need not wait for the next look, which would come in an hour."""
    limits = DeliveryLimits(interval=3_600, gather=0.0)

    async def story(world: World) -> None:
        await world.hook()
        woken = asyncio.Event()
        async with running(world.another(limits=limits, woken=woken)):
            await eventually(lambda: woken.is_set() is False and not world.store.knocking)
            store = WatchedStore(world.store, woken.set)
            for count in range(1, 4):
                async with store.writing([]) as transaction:
                    row = event_row(client=world.client, data='{"id":"x"}', created_at=START)
                    await transaction.insert([row])
                await eventually(lambda count=count: len(world.sender.sent) == count)
        assert await world.statuses() == {"DELIVERED": 3}

    tell(store_url, story)


@contextlib.asynccontextmanager
async def full_loop() -> AsyncIterator[None]:
    """Keep the event loop for 10 ms at a time, whatever else is done."""

    async def work() -> None:
        while True:
            time.sleep(0.01)
            await asyncio.sleep(0)

    task = asyncio.create_task(work())
    try:
        yield
    finally:
        task.cancel()


class WaitingSender(WrittenSender):
    """A sender to somebody who takes his time."""

    async def send(self, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """See `Sender`."""
        await asyncio.sleep(0.02)
        return await super().send(url, headers, body)


@pytest.mark.parametrize(("load", "waits"), [(full_loop, 0.0), (contextlib.nullcontext, 1.0)])
def test_webhooks_deliveries_give_way_and_do_not_starve(
    store_url: str, load: Callable[[], contextlib.AbstractAsyncContextManager[None]], waits: float
) -> None:
    """Whose requests wait leases no more than half a second of its floor, and everything is sent all the same.

    They wait for an event loop that is late, or in the queue.
    """
    limits = DeliveryLimits(interval=0.05, gather=0.0, floor=100.0, at_once=2)
    leased: list[int] = []

    async def story(world: World) -> None:
        sender = WaitingSender()
        await world.hook()
        await world.hook("two.example")
        await world.events(30)
        async with load(), running(world.another(sender, limits, oldest_waits=lambda: waits)):
            await eventually(lambda: len(sender.sent) == 60)  # by now it is known that they wait
            await world.events(70)
            while len(sender.sent) < 200:
                rows = [row for row in await world.rows() if row.leased_until is not None]
                leased.append(len(rows))
                await asyncio.sleep(0.01)
        assert await world.statuses() == {"DELIVERED": 200}

    tell(store_url, story)
    assert 0 < max(leased) <= 50
