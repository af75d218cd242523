"""Backlog, receivers and names of a harmful client delay no other client's event."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from delivery_use import World, run_story, running
from scoring_model.service.core.rows import WebhookRow
from scoring_model.service.delivery.deliverer import DeliveryLimits
from scoring_model.service.delivery.dialling import system_lookup
from scoring_model.service.delivery.egress import Egress
from scoring_model.service.delivery.sender import AiohttpSender, Reply
from service_use import eventually
from stored_rows import client_row
from webhook_receiver import hang, receiving, rough

LIMITS = DeliveryLimits(interval=0.05, gather=0.01, grace=0.0)


class CountedSender(AiohttpSender):
    """The sender of the service, with every name on this machine, and a list of what it began to send."""

    def __init__(self, lookup: Callable[[str], Sequence[str]] = lambda _: system_lookup("127.0.0.1")) -> None:
        super().__init__(Egress(development=True), lookup=lookup)
        self.begun: list[str] = []

    async def send(self, url: str, headers: Mapping[str, str], body: bytes, **named: Any) -> Reply:
        """See `Sender`."""
        self.begun.append(url)
        return await super().send(url, headers, body, **named)

    def begun_to(self, port: int) -> int:
        """How many attempts were begun to a port."""
        return sum(f":{port}/" in url for url in self.begun)


async def another_client(world: World) -> int:
    """A client beside the harmful one."""
    async with world.store.writing([]) as transaction:
        return await transaction.new_client(client_row())


async def hook(world: World, port: int, host: str = "127.0.0.1", **changes: Any) -> WebhookRow:
    """A webhook on a port of this machine."""
    return await world.hook(destination_url=f"http://{host}:{port}/hook", **changes)


@asynccontextmanager
async def delivering(
    world: World, sender: CountedSender, limits: DeliveryLimits = LIMITS
) -> AsyncIterator[None]:
    """Deliver over real sockets until the context ends; time advances with every poll."""

    async def pass_time() -> None:
        world.clock.advance(0.001)

    world.store.before_each = pass_time
    async with sender, running(world.another(sender, limits)):
        yield


def test_a_backlog_of_one_client_delays_no_event_of_another(store_url: str) -> None:
    """5,000 deliveries of a client with 50 webhooks are due: another's event is sent among the next few hundred."""

    async def story(world: World) -> None:
        client, sender = await another_client(world), CountedSender()
        with receiving() as harmful, receiving() as honest:
            for number in range(50):
                await hook(world, harmful.server_port, f"{number}.example")
            await hook(world, honest.server_port, client=client)
            await world.events(100)
            async with delivering(world, sender):
                await eventually(lambda: sender.begun_to(harmful.server_port) >= 50)
                began = sender.begun_to(harmful.server_port)
                await world.events(1, client=client)
                await eventually(lambda: len(honest.taken) == 1)
                before = sender.begun_to(harmful.server_port) - began
        assert before <= 1_000

    run_story(store_url, story)


def test_receivers_of_one_client_that_hang_delay_no_event_of_another(store_url: str) -> None:
    """However many of its attempts are under way and end with nothing: another's event is sent meanwhile.

    That holds at another destination as well as at the same one.
    """
    limits = DeliveryLimits(
        interval=0.05, gather=0.01, grace=0.0, at_once=64, per_destination=16, taken=128, batch=64
    )

    async def story(world: World) -> None:
        client, sender = await another_client(world), CountedSender()
        with rough(hang) as harmful, receiving() as honest:
            port = harmful.server_address[1]
            for number in range(10):
                await hook(world, port, f"{number}.example")
            shared = f"http://0.example:{port}/another"
            await world.hook(destination_url=shared, client=client)
            await hook(world, honest.server_port, client=client)
            await world.events(40)
            async with delivering(world, sender, limits):
                # Of 64 attempts one client gets no more than half, and before it got all.
                await eventually(lambda: harmful.came >= 24)
                await world.events(1, client=client)
                await eventually(lambda: len(honest.taken) == 1)
                await eventually(lambda: shared in sender.begun)
                assert {row.attempts for row in await world.rows() if row.client != client} == {0}

    run_story(store_url, story, limits=limits)


def test_names_of_one_client_that_hang_fail_no_attempt_of_another(store_url: str) -> None:
    """More names hang than there are look-ups at once: another's event arrives at its first attempt."""
    gate = threading.Event()

    def lookup(host: str) -> Sequence[str]:
        if host.startswith("slow"):
            gate.wait(60)
        return ["127.0.0.1"]

    async def story(world: World) -> None:
        client, sender = await another_client(world), CountedSender(lookup)
        with receiving() as honest:
            try:
                for number in range(200):  # 50 webhooks whose names change
                    await hook(world, 9, f"slow{number}.example")
                await hook(world, honest.server_port, "quick.example", client=client)
                await world.events(1)
                async with delivering(world, sender):
                    await eventually(lambda: sender.begun_to(9) == 200)
                    await world.events(1, client=client)
                    await eventually(lambda: sender.begun_to(honest.server_port) == 1)
                    await eventually(lambda: _settled(world, client))
            finally:
                gate.set()
        (row,) = [row for row in await world.rows() if row.client == client]
        assert (row.status, row.attempts, len(honest.taken)) == ("DELIVERED", 1, 1)

    run_story(store_url, story)


async def _settled(world: World, client: int) -> bool:
    return all(row.attempts == 1 for row in await world.rows() if row.client == client)


def test_webhooks_of_one_client_that_end_hold_up_no_results_of_another(store_url: str) -> None:
    """Disabling a webhook waits for the lock of its client's history; what others were sent is written meanwhile."""

    async def story(world: World) -> None:
        locked, client = asyncio.Event(), await another_client(world)
        as_always = world.store.writing

        @asynccontextmanager
        async def writing(history_scopes: Sequence[str], *, wait: bool = True) -> AsyncIterator[Any]:
            if history_scopes:
                locked.set()
                await asyncio.Event().wait()
            async with as_always(history_scopes, wait=wait) as transaction:
                yield transaction

        world.store.writing = writing  # type: ignore[method-assign]
        world.sender.by_host["gone.example"] = Reply(410)
        await world.hook("gone.example")
        await world.hook("honest.example", client=client)
        await world.events(1)
        async with running(world.another(limits=LIMITS)):
            await locked.wait()
            await world.events(1, client=client)
            async with asyncio.timeout(20):
                await eventually(lambda: _delivered(world, client))
            assert locked.is_set()
            assert await _delivered(world, client)

    run_story(store_url, story)


async def _delivered(world: World, client: int) -> bool:
    return [row.status for row in await world.rows() if row.client == client] == ["DELIVERED"]
