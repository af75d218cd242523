"""Deliveries with real stores and a sender controlled by the test."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from scoring_model.service.core.rows import DeliveryRow, EventRow, Row, WebhookRow
from scoring_model.service.delivery.deliverer import Deliverer, DeliveryLimits
from scoring_model.service.delivery.sender import Reply, Sender
from scoring_model.service.events.webhooks import associated_data, new_secret
from scoring_model.service.keys.secrets import Secrets
from scoring_model.service.store import open_store
from service_use import START, HeldStore, SetClock
from stored_rows import client_row, event_row, new_id, webhook_row

SECRETS = Secrets(bytes(32))
LIMITS = DeliveryLimits(interval=0.01, gather=0.0, grace=5.0)
OK = Reply(204)
Behaviour = Callable[["Sent"], Awaitable[Reply]]


@dataclass(frozen=True)
class Sent:
    """One attempt as the sender received it."""

    url: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def id(self) -> str:
        """The delivery of the attempt."""
        return self.headers["webhook-id"]


@dataclass
class WrittenSender:
    """A sender that records its attempts and returns the results set by a test, per host or for all."""

    reply: Reply | Behaviour = OK
    by_host: dict[str, Reply | Behaviour] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)
    under_way: Counter[str] = field(default_factory=Counter)
    most: Counter[str] = field(default_factory=Counter)

    async def send(self, url: str, headers: Mapping[str, str], body: bytes, *, client: int) -> Reply:
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
        """Attempts to a host."""
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
            name: SECRETS.seal(associated_data("secret", resource), changes.pop(name, new_secret()).encode())
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
        """One step, and its attempts."""
        deliverer = deliverer or self.deliverer
        found = await deliverer.step()
        await deliverer.finished()
        return found

    async def drain(self) -> None:
        """Repeat rounds until nothing is due."""
        while await self.round():
            pass

    async def rows(self, webhook: WebhookRow | None = None) -> list[DeliveryRow]:
        """All deliveries by id, optionally of one webhook."""
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
        """The current row of a webhook."""
        async with self.store.reading() as reader:
            row: WebhookRow | None = await reader.webhook(webhook.client, webhook.id)
        assert row is not None
        return row

    async def statuses(self) -> Counter[str]:
        """Number of deliveries by status."""
        return Counter(row.status for row in await self.rows())


def run_story(
    url: str,
    story: Callable[[World], Awaitable[None]],
    *,
    limits: DeliveryLimits = LIMITS,
) -> None:
    """Open a store with a client, run a story with it and close it."""

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
    """Run a deliverer until the context ends."""
    task = asyncio.create_task(deliverer.run())
    try:
        yield task
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def never(_: Sent) -> Reply:
    """Hang."""
    await asyncio.Event().wait()
    raise AssertionError("it never ends")
