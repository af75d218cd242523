"""Contract, "Webhooks", Delivery: many deliveries at once, in one process or several, and the end of a process."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable

import pytest

from delivery_use import OK, Sent, World, WrittenSender, never, run_story, running
from scoring_model.service.core.rows import DeliveryStatus
from scoring_model.service.delivery.deliverer import LEASE, DeliveryLimits
from scoring_model.service.delivery.sender import Reply
from service_use import START, eventually


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

    run_story(store_url, story)


def test_webhooks_what_is_too_much_is_left_to_others(store_url: str) -> None:
    """A process does not lease more than it can send, so that another can."""
    limits = DeliveryLimits(interval=0.01, gather=0.0, grace=0.0, taken=12, batch=80)

    async def story(world: World) -> None:
        world.sender.reply = never
        await world.hook()
        await world.events(20)
        for _ in range(2):  # the first makes few deliveries
            await world.deliverer.step()
        leased = [row for row in await world.rows() if row.leased_until is not None]
        assert len(leased) == 4
        other = WrittenSender()
        another = world.another(other)
        while await world.round(another):
            pass
        assert len(other.sent) == 16
        async with running(world.deliverer):  # whose end ends its attempts
            await asyncio.sleep(0)

    run_story(store_url, story, limits=limits)


def test_webhooks_a_process_goes_on_as_soon_as_it_has_room(store_url: str) -> None:
    """After a result is written the next delivery is leased immediately, not at the next poll in an hour."""
    limits = DeliveryLimits(interval=3_600, gather=0.0, taken=1)

    async def story(world: World) -> None:
        await world.hook()
        await world.events(5)
        async with running(world.deliverer), asyncio.timeout(30):
            await eventually(lambda: len(world.sender.sent) == 5)
        assert await world.statuses() == {"DELIVERED": 5}

    run_story(store_url, story, limits=limits)


def test_webhooks_stopping_ends_what_is_under_way(store_url: str) -> None:
    """A cancelled deliverer finishes and records its attempts, and begins no new ones."""
    limits = DeliveryLimits(interval=0.01, gather=0.0, at_once=4)

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

    run_story(store_url, story, limits=limits)


def test_webhooks_stopping_does_not_wait_for_ever(store_url: str) -> None:
    """After the grace period a hanging delivery is left to the next process, and its attempt is not counted."""
    limits = DeliveryLimits(interval=0.01, gather=0.0, grace=0.02)

    async def story(world: World) -> None:
        world.sender.reply = never
        await world.hook()
        await world.events()
        async with running(world.deliverer):
            await eventually(lambda: len(world.sender.sent) == 1)
        row = await world.row()
        assert (row.status, row.attempts, row.leased_until) == (DeliveryStatus.WAITING, 0, START + LEASE)

    run_story(store_url, story, limits=limits)


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


async def slow(_: Sent) -> Reply:
    """A slow sender."""
    await asyncio.sleep(0.02)
    return OK


@pytest.mark.parametrize(("load", "waits"), [(full_loop, 0.0), (contextlib.nullcontext, 1.0)])
def test_webhooks_deliveries_give_way_and_do_not_starve(
    sqlite_url: str, load: Callable[[], contextlib.AbstractAsyncContextManager[None]], waits: float
) -> None:
    """While requests wait, a process leases at most half a second of its floor, and everything is still sent.

    Requests wait for a late event loop, or in the queue.
    """
    limits = DeliveryLimits(interval=0.05, gather=0.0, floor=100.0, at_once=4)
    leased: list[int] = []

    async def story(world: World) -> None:
        sender = WrittenSender(reply=slow)
        await world.hook()
        await world.hook("two.example")
        await world.events(25)
        async with load(), running(world.another(sender, limits, oldest_waits=lambda: waits)):
            await eventually(lambda: len(sender.sent) >= 50)  # by now it is known that they wait
            await world.events(35)
            while len(sender.sent) < 120:
                rows = [row for row in await world.rows() if row.leased_until is not None]
                leased.append(len(rows))
                await asyncio.sleep(0.01)
        assert await world.statuses() == {"DELIVERED": 120}

    run_story(sqlite_url, story)
    assert 0 < max(leased) <= 50
