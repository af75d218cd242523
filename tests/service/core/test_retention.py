"""Retention over a whole database: what it deletes and keeps, and that it can be interrupted and repeated."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from scoring_model.contract.event import EventType
from scoring_model.records.times import DAY
from scoring_model.service.core import ids
from scoring_model.service.core.clock import SKEW
from scoring_model.service.core.faults import FAULTS
from scoring_model.service.core.rows import (
    TABLES,
    ControlPassRow,
    EventRow,
    FactRow,
    ImportedRow,
    LinkRow,
    ListEntryRow,
    Row,
)
from scoring_model.service.events.events import NewEvent, write_events
from scoring_model.service.requests.idempotency import LIFETIME
from scoring_model.service.retention import sweeping
from scoring_model.service.retention.kept import KEPT_SINCE, note_window, noted_window
from scoring_model.service.retention.sweeping import Ages, Housekeeping, sweep
from scoring_model.service.store import (
    TRUNCATION_FACT,
    Expiring,
    Store,
    StoreUnavailable,
    Transaction,
    open_store,
)
from service_use import START, SetClock, World, table
from store_story import write
from stored_rows import client_row, delivery_row, event_row, idempotency_row, new_id, packed, webhook_row

pytestmark = pytest.mark.anyio

NOW = 1_000 * DAY
WINDOW = 90 * DAY
AGES = Ages(deliveries=10 * DAY, dead_letters=20 * DAY, events=15 * DAY)
CUTOFFS = AGES.cutoffs(now=NOW, longest=WINDOW)
SWEEPER = """
import asyncio, sys
from scoring_model.service.core import ids
from scoring_model.service.retention import sweeping
from scoring_model.service.store import open_store

sweeping.BATCH, sweeping.PAUSE = 10, 0.02

def reported(kind, count):
    if count >= 30:
        print(kind, count, flush=True)

async def main(url, now):
    store = await open_store(url, seconds=60)
    await sweeping.sweep(store, sweeping.Ages().cutoffs(now=now, longest=None), progress=reported)

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


def rows_at(age: int, earlier: int) -> tuple[list[Row], list[Row]]:
    """Rows of every kind that are as old as their kind is kept, moved back a little; and others that stay."""
    at = {name: NOW - kept - earlier for name, kept in vars_of(AGES).items()}
    events = [event_row(waiting=0, created_at=at["events"]) for _ in range(3)]
    settled: dict[str, Any] = {"attempts": 1}
    expiring: list[Row] = [
        LinkRow(new_id(), NOW - WINDOW - SKEW - earlier, b"p", None),
        ImportedRow(new_id(), 1, NOW - WINDOW - SKEW - earlier, b""),
        ControlPassRow(new_id(), NOW - WINDOW - SKEW - earlier, new_id()),
        ListEntryRow(new_id(), 1, 1, None, 2, NOW - WINDOW - SKEW - earlier),
        idempotency_row(created_at=NOW - LIFETIME - earlier),
        *events,
        delivery_row(event=events[0].id, status="DELIVERED", finished_at=at["deliveries"], **settled),
        delivery_row(event=events[1].id, status="DROPPED", finished_at=at["deliveries"], **settled),
        delivery_row(event=events[2].id, status="DEAD", finished_at=at["dead_letters"], **settled),
    ]
    waiting = event_row(waiting=0, created_at=1)
    staying: list[Row] = [
        waiting,
        delivery_row(event=waiting.id, attempts=3),
        event_row(created_at=1),
        webhook_row(created_at=1),
    ]
    return expiring, staying


def vars_of(ages: Ages) -> dict[str, int]:
    """The ages by name."""
    return {name: getattr(ages, name) for name in ("deliveries", "dead_letters", "events")}


async def everything(url: str) -> dict[str, set[Row]]:
    """All rows of all kinds."""
    return {name: set(await table(url, kind)) for kind, name in TABLES.items()}


async def test_what_is_as_old_as_it_is_kept_stays_and_a_microsecond_later_it_goes(
    store: Store, store_url: str
) -> None:
    """Old rows of every kind are deleted; waiting ones stay at any age."""
    exact, staying = rows_at(0, 0)
    older, _ = rows_at(0, 1)
    await write(store, *exact, *staying, *older)
    assert await sweep(store, CUTOFFS) == {
        Expiring.LINKS: 1,
        Expiring.IMPORTED: 1,
        Expiring.CONTROL_PASSES: 1,
        Expiring.LIST_ENTRIES: 1,
        Expiring.LABEL_TIMES: 0,
        Expiring.ANSWERS: 1,
        Expiring.DELIVERIES: 2,
        Expiring.DEAD_LETTERS: 1,
        Expiring.EVENTS: 3,
    }
    left = {row for rows in (await everything(store_url)).values() for row in rows}
    left = {row for row in left if not isinstance(row, FactRow) or row.name != TRUNCATION_FACT}
    assert left == {*exact, *staying, FactRow(KEPT_SINCE, b"%d" % (NOW - WINDOW - SKEW))}
    assert set((await sweep(store, CUTOFFS)).values()) == {0}


async def test_a_dry_run_counts_the_same_and_changes_nothing(
    store: Store, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a row, not a fact; also where stretches are short."""
    monkeypatch.setattr(sweeping, "BATCH", 2)
    monkeypatch.setattr(sweeping, "PAUSE", 0)
    for earlier in range(3):
        await write(store, *rows_at(0, earlier)[0])
    await write(store, LinkRow(new_id(), 5, b"p", packed((7, 1))), *rows_at(0, 0)[1])
    before = await everything(store_url)
    foretold = await sweep(store, CUTOFFS, dry=True)
    assert await everything(store_url) == before
    assert foretold == await sweep(store, CUTOFFS)
    assert all(foretold.values())


class Failing:
    """A store that becomes unavailable after some transactions."""

    def __init__(self, store: Store, transactions: int) -> None:
        self._store = store
        self._left = transactions

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @asynccontextmanager
    async def writing(
        self, history_scopes: Sequence[str], *, wait: bool = True
    ) -> AsyncIterator[Transaction]:
        """See `Store.writing`."""
        self._left -= 1
        if self._left < 0:
            raise StoreUnavailable("gone")
        async with self._store.writing(history_scopes, wait=wait) as transaction:
            yield transaction


async def test_an_interrupted_walk_goes_on_when_it_is_run_again(
    store: Store, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it is interrupted, no event is deleted before its deliveries, and the final rows are the same."""
    monkeypatch.setattr(sweeping, "BATCH", 2)
    monkeypatch.setattr(sweeping, "PAUSE", 0)
    staying = rows_at(0, 0)[1]
    for transactions in range(9):
        await write(store, *[row for earlier in (1, 2) for row in rows_at(0, earlier)[0]])
        await write(store, *([] if transactions else staying))
        with pytest.raises(StoreUnavailable):
            await sweep(Failing(store, transactions), CUTOFFS)
        found = await everything(store_url)
        events = {row[0] for row in found["events"]}
        assert {row[1] for row in found["deliveries"]} <= events
        await sweep(store, CUTOFFS)
        found = await everything(store_url)
        assert found["events"] | found["deliveries"] == {*staying} - found["webhooks"]


async def test_a_killed_walk_goes_on_when_it_is_run_again(store: Store, store_url: str) -> None:
    """A killed process has deleted whole key ranges; another one completes the work."""
    events = [event_row(waiting=0, created_at=NOW - 31 * DAY) for _ in range(300)]
    deliveries = [
        delivery_row(event=row.id, status="DELIVERED", finished_at=row.created_at) for row in events
    ]
    await write(store, *events, *deliveries)
    process = subprocess.Popen(
        [sys.executable, "-c", SWEEPER, store_url, str(NOW)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = await everything(store_url)
    assert len(before["events"]) == 300
    assert 0 < len(before["deliveries"]) <= 270
    assert len(before["deliveries"]) % 10 == 0
    done = await sweep(store, Ages().cutoffs(now=NOW, longest=None))
    assert done[Expiring.DELIVERIES] == len(before["deliveries"])
    assert done[Expiring.EVENTS] == 300


async def test_several_walks_at_a_time_delete_everything_once(
    store: Store, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reported deletions of concurrent runs add up to the expired rows."""
    monkeypatch.setattr(sweeping, "BATCH", 7)
    monkeypatch.setattr(sweeping, "PAUSE", 0)
    rows = [row for earlier in range(1, 31) for row in rows_at(0, earlier)[0]]
    await write(store, *rows)
    other = await open_store(store_url)
    done = await asyncio.gather(*(sweep(one, CUTOFFS) for one in (store, other, store)))
    await other.close()
    left = await sweep(store, CUTOFFS)  # what one held another left
    assert sum(sum(counts.values()) for counts in (*done, left)) == len(rows)
    assert not (await everything(store_url))["events"]


async def test_the_sequence_of_a_client_goes_on(
    store: Store, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Webhooks: numbering of events continues after all earlier ones are deleted."""
    monkeypatch.setattr(ids, "new_id", ids.Identifiers().new_id)  # other tests have been in later years
    async with store.writing([]) as transaction:
        client = await transaction.new_client(client_row())

    async def event(at: int) -> None:
        reported = NewEvent(client, EventType.IDENTITY_CREATED, new_id(), at, "{}")
        async with store.writing([]) as transaction:
            await write_events(transaction, [reported])

    for _ in range(3):
        await event(NOW - 16 * DAY)
    assert (await sweep(store, CUTOFFS))[Expiring.EVENTS] == 3
    await event(NOW)
    (left,) = await table(store_url, EventRow)
    assert left.sequence == 4


async def test_what_servers_delete_by_themselves(world: World) -> None:
    """An opening records the look-back of its bundle; settled events and deliveries are kept for 30 days."""
    assert await noted_window(world.store) == world.service.scoring.scorer.matrix.reach
    at = START - 30 * DAY
    kept, gone = ([event_row(waiting=0, created_at=at - early) for _ in range(3)] for early in (0, 1))
    of_kept, of_gone = (
        [
            delivery_row(event=event.id, status=status, finished_at=at - early)
            for event, status in zip(events, ("DELIVERED", "DROPPED", "DEAD"), strict=True)
        ]
        for early, events in ((0, kept), (1, gone))
    )
    await write(world.store, *kept, *gone, *of_kept, *of_gone)
    await world.service.housekeeping.walk()
    found = await everything(world.url)
    assert (found["events"], found["deliveries"]) == ({*kept}, {*of_kept})


async def test_the_longest_window_is_that_of_the_bundle_opened_last(store: Store) -> None:
    """It is unknown before a bundle is opened."""
    assert await noted_window(store) is None
    for window in (WINDOW, WINDOW, 2 * WINDOW, WINDOW):
        await note_window(store, window)
        assert await noted_window(store) == window


async def test_housekeeping_goes_on_after_an_error(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A sweep that fails is repeated: silently if the database is away, else with a fault without its text."""
    errors: list[Exception] = [StoreUnavailable("away"), RuntimeError("canary")]
    swept = asyncio.Event()

    async def walk(_: Housekeeping) -> None:
        if errors:
            raise errors.pop(0)
        swept.set()

    monkeypatch.setattr(sweeping, "INTERVAL", 0.001)
    monkeypatch.setattr(Housekeeping, "walk", walk)
    task = asyncio.create_task(Housekeeping(store=store, clock=SetClock(), longest=WINDOW).run())
    async with asyncio.timeout(20):
        await swept.wait()
    task.cancel()
    (fault,) = [one.getMessage() for one in caplog.records if one.name == FAULTS]
    assert '"doing":"deleting expired rows"' in fault
    assert "canary" not in fault
