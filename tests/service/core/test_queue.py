"""Group commit: batches, order, and an answer for every request."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

import asyncpg
import pytest

from scoring_model.contract.verification import VerificationStatus
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core.errors import NotFound, Overloaded, Unavailable
from scoring_model.service.requests.commit_queue import LULL_SECONDS, QueueLimits
from scoring_model.service.requests.jobs import Done
from scoring_model.service.store import StoreUnavailable, Transaction
from scoring_model.service.store.postgres import lock_number
from service_use import (
    Owner,
    World,
    applicants,
    blocked,
    eventually,
    run_story,
    signals_of,
    together,
    verification_body,
)

Change = Callable[[Transaction], Awaitable[Done[str]]]


def set_fact(name: str) -> Change:
    """A change: a fact."""

    async def change(transaction: Transaction) -> Done[str]:
        await transaction.set_fact(name, b"1")
        return Done(name, name.encode())

    return change


def failing(error: Exception) -> Change:
    """A change that writes and then fails."""

    async def change(transaction: Transaction) -> Done[str]:
        if not isinstance(error, NotFound):
            await transaction.set_fact("half", b"1")
        raise error

    return change


async def facts(world: World, *names: str) -> list[bool]:
    """The facts that were written."""
    async with world.store.reading() as reader:
        return [await reader.fact(name) is not None for name in names]


def test_what_waits_while_a_transaction_is_under_way_comes_into_the_next_together(
    store_url: str, sealed: Path
) -> None:
    """Requests are batched: the first is alone, all that arrive meanwhile share one transaction."""

    async def story(world: World) -> None:
        changes = [world.queue.change(Owner(str(i % 3), i % 3), set_fact(f"f{i}")) for i in range(20)]
        done = await together(world, *changes)
        assert [d.value for d in done if isinstance(d, Done)] == [f"f{i}" for i in range(20)]
        assert world.store.history_scopes == [["first"], ["0", "1", "2"]]
        assert all(await facts(world, *(f"f{i}" for i in range(20))))

    run_story(store_url, sealed, story)


def test_a_batch_scores_no_more_than_its_limit(store_url: str, sealed: Path) -> None:
    """A scoring transaction has a limited size, so that no client waits for a large batch."""

    async def story(world: World) -> None:
        caller = await world.client()
        signals = signals_of(sealed)[:9]
        await together(world, *(world.verify(caller, signals=each) for each in signals))
        assert len(world.store.history_scopes) == 1 + 3  # 4, 4 and 1

    run_story(store_url, sealed, story, limits=QueueLimits(batch=4))


@pytest.mark.parametrize("poison", [1, 4, 7])
def test_one_that_breaks_its_transaction_does_not_hurt_the_others(
    store_url: str, sealed: Path, caplog: pytest.LogCaptureFixture, poison: int
) -> None:
    """A failing change gets its error and leaves nothing; the others are committed once each."""

    async def story(world: World) -> None:
        caller = await world.client()
        works: list[Awaitable[object]] = [
            world.queue.change(Owner("p"), set_fact(f"f{i}"))
            if i % 2
            else world.verify(caller, signals=signals_of(sealed)[i], subject=f"s{i}")
            for i in range(8)
        ]
        bad = world.queue.change(Owner("p"), failing(RuntimeError("canary-text")))
        works.insert(poison, bad)
        done = await together(world, *works)
        assert isinstance(done.pop(poison), RuntimeError)
        assert not [found for found in done if isinstance(found, BaseException)]
        assert await facts(world, "f1", "f3", "f5", "f7", "half") == [True] * 4 + [False]
        events = await world.events(caller)
        assert [event.sequence for event in events] == list(range(1, 9))

    with caplog.at_level(logging.DEBUG):
        run_story(store_url, sealed, story)
    (record,) = [record for record in caplog.records if record.name == "scoring_model.faults"]
    assert json.loads(record.getMessage())["errors"][0]["type"] == "RuntimeError"
    assert "canary-text" not in caplog.text


def test_a_refusal_leaves_the_others_of_its_transaction_alone(store_url: str, sealed: Path) -> None:
    """A request error answers one request; the shared transaction continues."""

    async def story(world: World) -> None:
        done = await together(
            world,
            world.queue.change(Owner("p"), set_fact("a")),
            world.queue.change(Owner("p"), failing(NotFound())),
            world.queue.change(Owner("p"), set_fact("b")),
        )
        assert isinstance(done[1], NotFound)
        assert await facts(world, "a", "b") == [True, True]
        assert len(world.store.history_scopes) == 2

    run_story(store_url, sealed, story)


def test_a_request_is_refused_at_arrival_when_its_client_waits_too_long(store_url: str, sealed: Path) -> None:
    """The client whose oldest request has waited longer than the limit is refused, another one is not."""

    async def story(world: World) -> None:
        first = await blocked(world)
        waiting = asyncio.ensure_future(world.queue.change(Owner("p", 1), set_fact("waiting")))
        await asyncio.sleep(0.02)
        with pytest.raises(Overloaded):
            world.queue.enter(1)
        world.queue.enter(2)
        world.store.gate.set()
        await asyncio.gather(first, waiting)
        world.queue.enter(1)

    run_story(store_url, sealed, story, limits=QueueLimits(wait_seconds=0.01))


def test_a_locked_scope_delays_no_other(postgres_url: str, sealed: Path) -> None:
    """While another process locks one history scope, the others commit; that scope follows when it is free."""

    async def story(world: World) -> None:
        holder = await asyncpg.connect(world.url)
        await holder.execute(f"SELECT pg_advisory_lock({lock_number('held')})")
        held = [
            asyncio.ensure_future(world.queue.change(Owner("held", 1), set_fact(f"held {i}")))
            for i in range(3)
        ]
        for i in range(10):  # with the held one in the same batch, while it is set aside, and after that
            both = [world.queue.change(Owner(f"free {j}", 2 + j), set_fact(f"{i}")) for j in range(2)]
            await asyncio.gather(*both)
        assert not any(task.done() for task in held)
        await holder.close()
        await asyncio.gather(*held)
        assert await facts(world, "held 0", "held 2", "9") == [True] * 3

    run_story(postgres_url, sealed, story, limits=QueueLimits(commit_seconds=60.0))


def test_more_scopes_may_be_locked_than_are_waited_for(postgres_url: str, sealed: Path) -> None:
    """Waiting for many locks does not exhaust the connections: another scope still commits."""

    async def story(world: World) -> None:
        holder = await asyncpg.connect(world.url)
        names = [f"held {i}" for i in range(12)]
        for name in names:
            await holder.execute(f"SELECT pg_advisory_lock({lock_number(name)})")
        held = [
            asyncio.ensure_future(world.queue.change(Owner(name, 1 + i), set_fact(name)))
            for i, name in enumerate(names)
        ]
        for i in range(10):
            await world.queue.change(Owner("free", 99), set_fact(f"{i}"))
        assert not any(task.done() for task in held)
        await holder.close()
        await asyncio.gather(*held)
        assert all(await facts(world, *names))

    run_story(postgres_url, sealed, story, limits=QueueLimits(commit_seconds=60.0))


def test_what_became_late_while_its_lock_was_waited_for_is_kept_as_pending(
    store_url: str, sealed: Path
) -> None:
    """A batch is taken when the locks are held: until then its verifications can become late."""

    async def story(world: World) -> None:
        caller = await world.client()
        world.store.gate.clear()
        verifying = asyncio.ensure_future(world.verify(caller, signals={"vpn": True}))
        await eventually(lambda: world.queue.waiting == 1)
        await asyncio.sleep(0.1)
        world.store.gate.set()
        assert (await verifying).pending

    run_story(store_url, sealed, story, limits=QueueLimits(scoring_seconds=0.05))


def test_a_verification_that_is_not_scored_in_time_is_kept_as_pending(store_url: str, sealed: Path) -> None:
    """After the time for scoring a request leaves a row in the next commit, unscored, and says so."""

    async def story(world: World) -> None:
        caller = await world.client()
        person, alone = applicants(sealed)[0], signals_of(sealed)[0]
        first = await blocked(world)
        late = [
            asyncio.ensure_future(world.verify(caller, signals=alone, subject="s")),
            asyncio.ensure_future(world.verify(caller, signals=person.signals)),
        ]
        change = asyncio.ensure_future(world.queue.change(Owner("p"), set_fact("later")))
        await asyncio.sleep(0.6)
        in_time = asyncio.ensure_future(world.verify(caller, signals=alone))
        await asyncio.sleep(0)
        world.store.gate.set()
        await first
        for answer in await asyncio.gather(*late):
            assert answer.pending
            assert answer.resource.status is VerificationStatus.PENDING
            assert answer.resource.completed_at is None
            assert (answer.resource.score, answer.resource.outcome) == (None, None)
            row = await world.row(answer.resource.id)
            assert (row.status, row.attempts, row.leased_until) == ("PENDING", 0, None)
            assert row.links is row.row_digest is None
        assert (await change).value == "later"
        answer = await in_time
        assert not answer.pending
        assert await world.event_types(caller, answer.resource.id) == [
            "verification.completed",
            "verification.passed",
        ]
        assert len(await world.events(caller)) == 2
        assert {row.time for row in await world.link_rows()} == {answer.resource.completed_at}

    run_story(store_url, sealed, story, limits=QueueLimits(scoring_seconds=0.5))


def test_any_number_of_late_ones_fit_into_one_commit(store_url: str, sealed: Path) -> None:
    """Changes that are not scored do not count towards the limit of a batch."""

    async def story(world: World) -> None:
        caller = await world.client()
        first = await blocked(world)
        late = [asyncio.ensure_future(world.verify(caller, signals={"vpn": True})) for _ in range(12)]
        await asyncio.sleep(0.1)
        before = len(world.store.history_scopes)
        world.store.gate.set()
        await first
        assert all(answer.pending for answer in await asyncio.gather(*late))
        assert len(world.store.history_scopes) - before == 2

    run_story(store_url, sealed, story, limits=QueueLimits(batch=2, scoring_seconds=0.05))


def test_no_commit_in_time_is_unavailable_and_what_was_given_up_is_not_made(
    store_url: str, sealed: Path
) -> None:
    """A request that waited too long for a commit is refused and dropped from the queue."""

    async def story(world: World) -> None:
        first = await blocked(world)
        second = asyncio.ensure_future(world.queue.change(Owner("p"), set_fact("waiting")))
        done = await asyncio.gather(first, second, return_exceptions=True)
        assert [type(found) for found in done] == [Unavailable, Unavailable]
        world.store.gate.set()
        await world.queue.change(Owner("p"), set_fact("next"))
        assert await facts(world, "waiting", "next") == [False, True]

    run_story(store_url, sealed, story, limits=QueueLimits(commit_seconds=1.0))


def test_who_goes_away_while_it_waits_is_passed_over(store_url: str, sealed: Path) -> None:
    """A request that was cancelled before its transaction began changes nothing."""

    async def story(world: World) -> None:
        caller: Caller = await world.client()
        first = await blocked(world)
        body = verification_body(signals=signals_of(sealed)[0])
        gone = asyncio.ensure_future(world.service.verifications.create(caller, body, None))
        stays = asyncio.ensure_future(world.queue.change(Owner("p"), set_fact("stays")))
        await asyncio.sleep(0.01)
        gone.cancel()
        await asyncio.sleep(0)
        world.store.gate.set()
        await asyncio.gather(first, stays)
        assert await facts(world, "stays") == [True]
        assert await world.events(caller) == []

    run_story(store_url, sealed, story)


@pytest.mark.parametrize("when", ["error", "error_on_commit"])
def test_a_database_that_is_away_is_reported_to_all_of_a_batch(
    store_url: str, sealed: Path, when: str
) -> None:
    """All requests of the batch get `StoreUnavailable`, nothing is written, and the next batch works."""

    async def story(world: World) -> None:
        setattr(world.store, when, StoreUnavailable("away"))
        done = await together(world, *(world.queue.change(Owner("p"), set_fact(f"f{i}")) for i in range(5)))
        assert [type(found) for found in done] == [StoreUnavailable] * 5
        setattr(world.store, when, None)
        await world.queue.change(Owner("p"), set_fact("after"))
        assert await facts(world, "f0", "f4", "after") == [False, False, True]

    run_story(store_url, sealed, story)


def test_closing_answers_everything(store_url: str, sealed: Path) -> None:
    """Requests accepted before the end are committed and answered."""

    async def story(world: World) -> None:
        caller = await world.client()
        world.store.gate.clear()
        works: list[asyncio.Future[object]] = [
            asyncio.ensure_future(world.queue.change(Owner("p"), set_fact(f"f{i}"))) for i in range(6)
        ]
        works.append(asyncio.ensure_future(world.verify(caller, signals=signals_of(sealed)[0])))
        await asyncio.sleep(0.01)
        closing = asyncio.ensure_future(world.service.close())
        await asyncio.sleep(0.01)
        assert not closing.done()
        world.store.gate.set()
        await closing
        await asyncio.sleep(0)
        assert all(work.done() and work.exception() is None for work in works)
        assert all(await facts(world, "f0", "f5"))

    run_story(store_url, sealed, story, limits=QueueLimits(batch=2))


def test_large_work_waits_for_other_requests_and_not_for_its_own(sqlite_url: str, sealed: Path) -> None:
    """A lull comes once no other request is admitted, or late; one caller at a time gets it."""

    async def story(world: World) -> None:
        queue = world.service.queue
        loop = asyncio.get_running_loop()

        async def waited() -> float:
            began = loop.time()
            await queue.lull()
            return loop.time() - began

        queue.enter(1)
        with queue.aside():
            assert await waited() < LULL_SECONDS
            queue.enter(2)
            assert await waited() >= LULL_SECONDS
            queue.leave(2)
            assert await waited() < LULL_SECONDS
        queue.leave(1)
        returned: list[int] = []
        iterations = 0

        async def slice_of_work() -> None:
            await queue.lull()
            returned.append(iterations)

        tasks = [asyncio.create_task(slice_of_work()) for _ in range(20)]
        while not all(task.done() for task in tasks):
            iterations += 1
            await asyncio.sleep(0)
        assert len(set(returned)) == len(returned)

    run_story(sqlite_url, sealed, story)
