"""Accepted but unscored verifications are finished later, once, by the first process, or given up."""

import asyncio
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from scoring_model.contract.verification import VerificationStatus
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core.errors import Unavailable
from scoring_model.service.core.rows import VerificationRow
from scoring_model.service.requests.commit_queue import QueueLimits
from scoring_model.service.scoring import pending as work
from scoring_model.service.scoring.pending import LEASE
from scoring_model.service.scoring.scoring import Scoring
from scoring_model.service.store import StoreUnavailable
from service_use import (
    HOUR,
    START,
    Made,
    World,
    applicants,
    blocked,
    eventually,
    opened,
    run_story,
    signals_of,
    together,
)
from stored_rows import broken

LATE = QueueLimits(scoring_seconds=-1.0)
"""Everything has waited too long at once."""


async def taken(url: str, sealed: Path, caller: Caller, *requests: dict[str, Any]) -> list[Made]:
    """Let a service accept requests without time to score them."""
    async with opened(url, sealed, limits=LATE) as busy:
        answers = [await busy.verify(caller, **request) for request in requests]
    assert all(answer.pending for answer in answers)
    return [answer.resource for answer in answers]


async def status(world: World, caller: Caller, resource: bytes) -> VerificationStatus:
    """Status of a verification, as its client sees it."""
    return (await world.verification(caller, resource)).status


class Broken:
    """A scorer whose features can't be computed."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.matrix = self
        self.settings, self.specs = inner.matrix.settings, inner.matrix.specs
        self.amounts, self.reach = inner.matrix.amounts, inner.matrix.reach

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def finish(self, *_: object) -> None:
        """Fail."""
        raise ValueError("canary-text")


def test_verification_what_is_pending_is_finished_with_its_events(store_url: str, sealed: Path) -> None:
    """A finished verification has the time of its scoring, is sent to webhooks then, and is like any other."""

    async def story(world: World) -> None:
        caller = await world.client()
        person, alone = applicants(sealed)[0], signals_of(sealed)[1]
        identity = await world.identity(caller, person.identity)
        found = await taken(
            store_url,
            sealed,
            caller,
            {"identity": identity, "signals": person.signals, "subject": "a"},
            {"signals": alone, "subject": "b"},
        )
        reported = len(await world.events(caller))
        world.clock.advance(2 * 3600)
        assert await world.pending.step() == 2
        for one in found:
            now = await world.verification(caller, one.id)
            assert now.status is VerificationStatus.COMPLETED
            assert (now.created_at, now.completed_at) == (START, START + 2 * HOUR)
            assert now.score is not None
            assert now.outcome is not None
            assert now.subject_id == one.subject_id
            row = await world.row(one.id)
            assert (row.reference, row.leased_until, row.attempts) == (None, None, 1)
            assert len(row.links or b"") == 16 * {"a": 4, "b": 2}[one.subject_id or ""]
            assert (await world.features(one.id))["event_hour"] == 14
            assert (await world.event_types(caller, one.id))[0] == "verification.completed"
        assert len(await world.events(caller)) == reported + 4
        assert await world.pending.step() == 0

    run_story(store_url, sealed, story)


def test_verification_until_it_is_scored_nobody_sees_it(store_url: str, sealed: Path) -> None:
    """Only completed verifications count in the history, from their scoring on."""

    async def story(world: World) -> None:
        caller = await world.client()
        await taken(store_url, sealed, caller, {"signals": {"deviceId": "d"}})
        assert await world.events(caller) == []
        before = await world.verify(caller, signals={"deviceId": "d"})
        await world.pending.step()
        after = await world.verify(caller, signals={"deviceId": "d"})
        seen = [(await world.features(one.resource.id))["link_device_1d_records"] for one in (before, after)]
        assert seen == [0, 2]

    run_story(store_url, sealed, story)


def test_verification_what_is_pending_is_leased_by_one_of_two(store_url: str, sealed: Path) -> None:
    """Two processes that look at the same time share the work, and each row is scored once."""

    async def story(world: World) -> None:
        caller = await world.client()
        requests = [{"signals": {"deviceId": "d"}, "subject": f"s{i}"} for i in range(24)]
        found = await taken(store_url, sealed, caller, *requests)
        async with opened(store_url, sealed) as other:
            counts = [0, 0]
            while sum(counts) < 24:
                steps = await asyncio.gather(world.pending.step(), other.pending.step())
                counts = [a + b for a, b in zip(counts, steps, strict=True)]
        assert sum(counts) == 24
        seen = [(await world.features(one.id))["link_device_1d_records"] for one in found]
        assert sorted(seen) == list(range(24))
        assert len(await world.link_rows()) == 48
        assert len(await world.events(caller)) == 48

    run_story(store_url, sealed, story)


def test_verification_a_lease_keeps_others_away_until_it_is_over(store_url: str, sealed: Path) -> None:
    """Rows leased by a dead process are taken over after the lease, not before."""

    async def story(world: World) -> None:
        caller = await world.client()
        (found,) = await taken(store_url, sealed, caller, {"signals": {"vpn": True}})
        async with world.store.writing([]) as transaction:
            (row,) = await transaction.lease_pending(world.clock.now(), world.clock.now() + LEASE, 16)
            await transaction.settle([row._replace(attempts=1, leased_until=world.clock.now() + LEASE)])
        world.clock.at += LEASE
        assert await world.pending.step() == 0
        world.clock.at += 1
        assert await world.pending.step() == 1
        assert await status(world, caller, found.id) is VerificationStatus.COMPLETED
        assert (await world.row(found.id)).attempts == 2

    run_story(store_url, sealed, story)


def test_verification_none_is_scored_twice(store_url: str, sealed: Path) -> None:
    """A late process changes nothing in a row finished by another, and the event counts once."""

    async def story(world: World) -> None:
        caller = await world.client()
        (found,) = await taken(store_url, sealed, caller, {"signals": {"deviceId": "d"}})
        finish = await world.finish(await world.row(found.id), caller)
        await world.pending.step()
        done = await world.row(found.id)
        links, events = await world.link_rows(), await world.events(caller)
        world.clock.advance(60)
        again, after = await together(world, finish(), world.verify(caller, signals={"deviceId": "d"}))
        assert again.value == done == await world.row(found.id)
        assert (await world.features(after.resource.id))["link_device_1d_records"] == 1
        assert len(await world.link_rows()) == len(links) + 1
        assert len(await world.events(caller)) == len(events) + 2

    run_story(store_url, sealed, story)


def test_verification_three_failures_are_an_error(
    store_url: str, sealed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Two attempts leave it PENDING, the third ends it, with an event and without an outcome."""

    async def story(world: World) -> None:
        caller = await world.client()
        (found,) = await taken(store_url, sealed, caller, {"signals": {"vpn": True}, "subject": "s"})
        world.service.scoring.scorer = Broken(world.service.scoring.scorer)  # type: ignore[assignment]
        for attempt in (1, 2):
            assert await world.pending.step() == 1
            row = await world.row(found.id)
            assert (row.status, row.attempts) == ("PENDING", attempt)
            assert await world.events(caller) == []
            world.clock.at += LEASE + 1
        await world.pending.step()
        now = await world.verification(caller, found.id)
        assert now.status is VerificationStatus.ERROR
        assert (now.outcome, now.score, now.model_version) == (None, None, None)
        assert (now.reasons, now.subject_id, now.completed_at) == ((), "s", world.clock.at)
        assert await world.event_types(caller, found.id) == ["verification.error"]
        assert await world.link_rows() == set()
        world.clock.at += 10 * LEASE
        assert await world.pending.step() == 0

    with caplog.at_level(logging.DEBUG):
        run_story(store_url, sealed, story)
    assert "canary-text" not in caplog.text


def test_verification_a_first_attempt_that_failed_counts(store_url: str, sealed: Path) -> None:
    """A verification that failed while the client waited has two attempts left."""

    async def story(world: World) -> None:
        caller = await world.client()
        world.service.scoring.scorer = Broken(world.service.scoring.scorer)  # type: ignore[assignment]
        found = (await world.verify(caller, signals={"vpn": True})).resource
        for expected in ("PENDING", "ERROR"):
            await world.pending.step()
            assert (await world.row(found.id)).status == expected
            world.clock.at += LEASE + 1

    run_story(store_url, sealed, story)


def test_verification_what_does_not_open_is_an_error_in_the_end(store_url: str, sealed: Path) -> None:
    """A corrupted row is tried three times and does not delay others."""

    async def story(world: World) -> None:
        caller = await world.client()
        bad, good = await taken(
            store_url, sealed, caller, {"signals": {"vpn": True}}, {"signals": {"vpn": False}}
        )
        # The oldest first: the failing row comes before the others.
        async with world.store.writing([]) as transaction:
            row = await world.row(bad.id)
            await transaction.settle([row._replace(payload=broken(row.payload))])
        for expected in ("PENDING", "PENDING", "ERROR"):
            await world.pending.step()
            assert (await world.row(bad.id)).status == expected
            assert await status(world, caller, good.id) is VerificationStatus.COMPLETED
            world.clock.at += LEASE + 1
        assert await world.event_types(caller, bad.id) == ["verification.error"]

    run_story(store_url, sealed, story)


def test_verification_signals_that_no_model_takes_are_an_error_in_the_end(
    store_url: str, sealed: Path
) -> None:
    """A row for another model is left to other processes twice, then becomes an ERROR that keeps its signals."""

    async def story(world: World) -> None:
        caller = await world.client()
        (found,) = await taken(
            store_url, sealed, caller, {"signals": {"vpn": True, "own": 1}, "subject": "s"}
        )
        schema = world.service.candidates.schema
        signals = {"vpn": schema.signals["formSeconds"]}
        world.service.candidates.schema = replace(schema, signals=signals)
        for expected in ("PENDING", "PENDING", "ERROR"):
            await world.pending.step()
            assert (await world.row(found.id)).status == expected
            world.clock.at += LEASE + 1
        assert (await world.verification(caller, found.id)).subject_id == "s"

    run_story(store_url, sealed, story)


def test_verification_of_a_person_erased_meanwhile_is_an_error(store_url: str, sealed: Path) -> None:
    """Of an identity, by signals, and between the look and the lock: nothing is scored and nothing comes back."""

    async def story(world: World) -> None:
        caller = await world.client()
        person, second = applicants(sealed)[:2]
        identity, later = [await world.identity(caller, one.identity) for one in (person, second)]
        found = await taken(
            store_url,
            sealed,
            caller,
            {"identity": identity, "key": "canary-key"},
            {"signals": {"vpn": True}, "subject": "s"},
            {"identity": later},
        )
        await world.service.identities.erase(caller, identity)
        await world.erase_signals(caller, found[1].id)
        finish = await world.finish(await world.row(found[2].id), caller)
        await world.service.identities.erase(caller, later)
        await finish()
        await world.pending.step()
        for one in found:
            now = await world.verification(caller, one.id)
            assert (now.status, now.outcome, now.subject_id) == (VerificationStatus.ERROR, None, None)
            assert await world.event_types(caller, one.id) == ["verification.error"]
            row = await world.row(one.id)
            assert (row.payload, row.links, row.reference) == (None, None, None)
        assert await world.link_rows() == set()

    run_story(store_url, sealed, story)


def test_verification_an_attempt_that_could_not_be_made_does_not_count(store_url: str, sealed: Path) -> None:
    """An unavailable database, a full queue and a slow clock do not count as attempts."""

    async def story(world: World) -> None:
        caller = await world.client()
        (found,) = await taken(store_url, sealed, caller, {"signals": {"deviceId": "d"}})
        world.clock.at += HOUR
        await world.verify(caller, signals={"deviceId": "d"})
        world.clock.at -= HOUR - LEASE
        for _ in range(5):
            assert await world.pending.step() == 1
            row = await world.row(found.id)
            assert (row.status, row.attempts) == ("PENDING", 0)
            world.clock.at += LEASE + 1
        submit = world.queue.submit

        async def away(*_: object, **__: object) -> None:
            raise StoreUnavailable("away")

        async def full(*_: object, **__: object) -> None:
            raise Unavailable

        for unavailable in (away, full):
            world.queue.submit = unavailable  # type: ignore[assignment, method-assign]
            await world.pending.step()
            assert (await world.row(found.id)).attempts == 0
            world.clock.at += LEASE + 1
        world.queue.submit = submit  # type: ignore[method-assign]
        world.clock.at += HOUR
        await world.pending.step()
        assert await status(world, caller, found.id) is VerificationStatus.COMPLETED

    run_story(store_url, sealed, story)


def test_verification_what_ends_every_process_is_given_up(store_url: str, sealed: Path) -> None:
    """A row that was leased repeatedly without a result becomes an ERROR without another attempt."""

    async def story(world: World) -> None:
        caller = await world.client()
        (found,) = await taken(store_url, sealed, caller, {"signals": {"vpn": True}})
        async with world.store.writing([]) as transaction:
            row = await world.row(found.id)
            await transaction.settle([row._replace(attempts=work.MOST_LEASES)])
        await world.pending.step()
        assert await status(world, caller, found.id) is VerificationStatus.ERROR
        assert await world.event_types(caller, found.id) == ["verification.error"]

    run_story(store_url, sealed, story)


def test_verification_pending_ones_get_a_tenth_of_the_places_while_requests_wait(
    store_url: str, sealed: Path
) -> None:
    """PENDING rows get one place in ten under load, and all places when no request waits."""

    async def story(world: World) -> None:
        caller = await world.client()
        requests = [{"signals": {"vpn": True}, "subject": f"p{i}"} for i in range(12)]
        rows = [await world.row(one.id) for one in await taken(store_url, sealed, caller, *requests)]
        batches: list[tuple[int, int]] = []
        jobs = world.service.scoring.jobs

        async def counted(transaction: Any, batch: Any) -> Any:
            is_pending = [candidate.pending is not None for candidate in batch]
            batches.append((len(is_pending) - sum(is_pending), sum(is_pending)))
            return await jobs.run(transaction, batch)

        with mock.patch.object(Scoring, "jobs", replace(jobs, run=counted)):
            finish = [await world.finish(row, caller, background=True) for row in rows]
            first = await blocked(world)
            tasks = [asyncio.ensure_future(work()) for work in finish]
            crowd = [asyncio.ensure_future(world.verify(caller, signals={"vpn": True})) for _ in range(45)]
            await eventually(lambda: world.queue.waiting == 46)
            world.store.gate.set()
            await asyncio.gather(first, *crowd, *tasks)
        assert [requests for requests, _ in batches] == [9, 9, 9, 9, 9, 0]
        assert [finished for _, finished in batches] == [1, 1, 1, 1, 1, 7]

    run_story(store_url, sealed, story, limits=QueueLimits(batch=10))


def test_verification_pending_ones_are_finished_by_a_service_that_is_open(
    store_url: str, sealed: Path
) -> None:
    """A service finishes PENDING rows of all clients by itself, without a request."""

    async def story(world: World) -> None:
        caller = await world.client()
        (found,) = await taken(store_url, sealed, caller, {"signals": {"vpn": True}})

        async def finished() -> bool:
            return await status(world, caller, found.id) is VerificationStatus.COMPLETED

        async with opened(store_url, sealed, work=True):
            await eventually(finished)
        assert (await world.event_types(caller, found.id)).count("verification.completed") == 1

    run_story(store_url, sealed, story)


def test_verification_the_idempotency_key_of_a_pending_one_is_sealed(store_url: str, sealed: Path) -> None:
    """The clock gets the request's idempotency key, which is not stored in the clear."""

    async def story(world: World) -> None:
        caller = await world.client()
        (found,) = await taken(store_url, sealed, caller, {"signals": {"vpn": True}, "key": "canary key ü"})
        row: VerificationRow = await world.row(found.id)
        assert row.reference is not None
        assert "canary" not in row.reference
        await world.pending.step()
        assert world.clock.asked[-1] == "canary key ü"

    run_story(store_url, sealed, story)
