"""Law 10: another process or the database fails while deliveries are under way."""

import asyncio

import pytest

from delivery_use import Sent, World, WrittenSender, never, run_story, running
from scoring_model.service.core.faults import FAULTS
from scoring_model.service.core.rows import DeliveryStatus
from scoring_model.service.delivery.deliverer import LEASE, DeliveryLimits
from scoring_model.service.delivery.sender import Reply
from scoring_model.service.store import StoreUnavailable
from service_use import eventually


def break_off(world: World) -> asyncio.Event:
    """Take the database away; the event is set once a transaction was refused."""
    refused = asyncio.Event()

    async def note() -> None:
        if world.store.error is not None:
            refused.set()

    world.store.before_each, world.store.error = note, StoreUnavailable("away")
    return refused


def test_law_10_another_takes_over_when_the_lease_is_over(store_url: str) -> None:
    """Deliveries leased by a dead process are sent by another one, only after the lease, and count once."""

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

    run_story(store_url, story)


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

    run_story(store_url, story)


def test_law_10_nothing_is_taken_while_results_wait(store_url: str) -> None:
    """What was sent and could not be written yet is not sent again, even when its lease is over meanwhile."""
    limits = DeliveryLimits(interval=0.3, gather=0.0)

    async def story(world: World) -> None:
        await world.hook()
        await world.events(5)
        await world.deliverer.step()
        refused = break_off(world)
        await eventually(lambda: len(world.sender.sent) == 5 and refused.is_set())
        world.clock.at += LEASE + 1
        world.store.error = None
        assert await world.deliverer.step() == 0
        await world.deliverer.finished()
        await world.drain()
        assert len(world.sender.sent) == 5
        assert await world.statuses() == {"DELIVERED": 5}

    run_story(store_url, story, limits=limits)


def test_law_10_a_result_that_cannot_be_written_fails_no_other(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Results of one transaction are bisected: all but the bad one are written, and that one is a fault."""

    async def story(world: World) -> None:
        for host in ("one.example", "two.example", "bad.example", "four.example"):
            await world.hook(host)
        world.sender.by_host["bad.example"] = Reply(2**70)  # no database has such a status
        await world.events()
        await world.round()
        assert await world.statuses() == {"DELIVERED": 3, "WAITING": 1}

    run_story(store_url, story, limits=DeliveryLimits(interval=0.01, gather=0.05))
    (fault,) = [one.getMessage() for one in caplog.records if one.name == FAULTS]
    assert '"doing":"writing the result of a delivery"' in fault


def test_law_10_events_wait_for_a_database_that_is_away(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A running deliverer continues when the database is back, and reports no fault."""

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

    run_story(store_url, story)
    assert [one for one in caplog.records if one.name == FAULTS] == []
