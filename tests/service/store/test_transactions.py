"""Transactions on both databases: atomicity, isolation, concurrency and cancellation."""

import asyncio
import sqlite3
from typing import Any, cast

import asyncpg
import pytest

from scoring_model.service.core.rows import (
    FactRow,
    LinkRow,
    Row,
)
from scoring_model.service.store import Duplicate, Reader, Store, StoreUnavailable, open_store
from scoring_model.service.store.postgres_connection import connect as open_session
from store_story import run_story, write
from stored_rows import (
    client_row,
    event_row,
    idempotency_row,
    person_key_row,
    verification_row,
)

pytestmark = pytest.mark.anyio

POOLS = ["1"]


async def test_an_error_rolls_everything_back(store: Store) -> None:
    """What a transaction wrote before an error is not there after it, whatever the error."""

    async def fail(store: Store, error: type[BaseException]) -> None:
        async with store.writing(POOLS) as transaction:
            await transaction.set_fact("a", b"1")
            await transaction.insert([LinkRow(b"h" * 16, 1, b"p", None)])
            raise error

    for error in (RuntimeError, asyncio.CancelledError):
        with pytest.raises(error):
            await fail(store, error)
    async with store.reading() as reader, store.writing(POOLS) as transaction:
        assert await reader.fact("a") is None
        assert await transaction.newest([b"h" * 16]) is None


async def test_a_transaction_sees_itself_and_readers_do_not(store: Store, reader: Reader) -> None:
    """A reader sees what was committed, a transaction what it wrote too; a fact has its latest value."""
    async with store.writing(POOLS) as transaction:
        await transaction.insert([])
        assert await transaction.fact("a") is None
        for value in (b"1", b"\x00\xff"):
            await transaction.set_fact("a", value)
            assert await transaction.fact("a") == value
        await transaction.set_fact("b", b"")
        assert await reader.fact("a") is None
    assert (await reader.fact("a"), await reader.fact("b")) == (b"\x00\xff", b"")


async def test_what_is_there_already_is_a_duplicate_and_ends_the_transaction(
    store: Store, reader: Reader
) -> None:
    """A second row under one key is an error of its own; even who goes on after it writes nothing."""
    row = idempotency_row()

    async def go_on(store: Store) -> None:
        async with store.writing(POOLS) as transaction:
            await transaction.set_fact("before", b"1")

            async def insert() -> None:
                await transaction.insert([row])
                await transaction.fact("at the latest when something is asked")

            with pytest.raises(Duplicate) as caught:
                await insert()
            assert row.digest.hex() not in str(caught.value)
            with pytest.raises(StoreUnavailable):
                await transaction.set_fact("after", b"1")

    await write(store, row)
    with pytest.raises(StoreUnavailable):
        await go_on(store)
    assert await reader.fact("before") is None
    assert await reader.fact("after") is None


async def test_a_mistake_is_not_taken_for_an_outage_and_repeats_no_value(store: Store) -> None:
    """A row that breaks the tables' rules is an error of its own, which does not show what is in the row."""

    async def fail(store: Store, row: Row) -> None:
        with pytest.raises((RuntimeError, sqlite3.Error)) as caught:
            await write(store, row)
        assert not isinstance(caught.value, StoreUnavailable | Duplicate)
        assert caught.value.__suppress_context__
        assert "canary" not in str(caught.value)

    await fail(store, client_row(client=1, client_id="canary", name=None))
    await fail(store, client_row(client=1, client_id="canary", quota=["canary"]))
    await write(store, FactRow("a", b"1"))


async def test_a_transaction_can_not_be_used_once_it_is_over(store: Store, reader: Reader) -> None:
    """A transaction that was kept beyond its context writes nothing."""
    async with store.writing(POOLS) as transaction:
        pass
    with pytest.raises(StoreUnavailable):
        await transaction.set_fact("late", b"1")
    assert await reader.fact("late") is None


async def test_what_was_inserted_is_seen_at_once(store: Store) -> None:
    """Rows of several kinds, inserted in any order and piece by piece, are there for whatever is asked next."""
    links = [LinkRow(b"h" * 16, t, b"p", None) for t in (1, 2, 3)]
    event, verification, key = event_row(), verification_row(), person_key_row()
    async with store.writing(POOLS) as transaction:
        await transaction.insert([links[0]])
        await transaction.insert([event])
        await transaction.insert(links[1:])
        await transaction.insert([verification])
        await transaction.insert([key])
        assert await transaction.newest([b"h" * 16]) == 3
        assert await transaction.verification(1, verification.id) == verification
        await transaction.insert([LinkRow(b"h" * 16, 4, b"p", None)])
    async with store.reading() as reader, store.writing(POOLS) as transaction:
        assert await reader.person_keys([key.key_id]) == {key.key_id: key}
        assert await transaction.newest([b"h" * 16]) == 4


async def test_history_scopes_in_any_order_never_block_each_other_for_good(
    store: Store, reader: Reader
) -> None:
    """Locks are taken in one order: transactions over the same history scopes in other orders all come through."""

    async def work(store: Store, scopes: list[str]) -> None:
        for _ in range(10):
            async with store.writing(scopes) as transaction:
                before = int.from_bytes(await transaction.fact("count") or b"", "big")
                await asyncio.sleep(0)
                await transaction.set_fact("count", (before + 1).to_bytes(4, "big"))

    await asyncio.gather(work(store, ["a", "b"]), work(store, ["b", "a"]), work(store, ["b", "c", "a", "b"]))
    assert await reader.fact("count") == (30).to_bytes(4, "big")


async def test_locks_that_others_hold_are_left_out(postgres_store: Store) -> None:
    """On a server a transaction that does not wait begins under the locks that are free: all, some or none."""
    async with postgres_store.writing(["a", "b"]):
        for scopes, free in (("cd", "cd"), ("ac", "c"), ("ab", ""), ("a", ""), ("c", "c"), ("", "")):
            async with postgres_store.writing([*scopes], wait=False) as transaction:
                assert transaction.locked == {*free}
                async with postgres_store.writing([*free], wait=False) as other:
                    assert other.locked == frozenset()
    async with postgres_store.writing(["a", "b"], wait=False) as transaction:
        assert transaction.locked == {"a", "b"}


async def test_more_tasks_than_connections_come_through(store: Store) -> None:
    """Readers and writers queue for what there is."""

    async def read(store: Store) -> None:
        async with store.reading() as reader:
            await reader.fact("a")

    async def work(store: Store, place: int) -> None:
        async with store.writing([str(place % 3)]) as transaction:
            await transaction.set_fact(str(place), b"")

    await asyncio.gather(*(read(store) for _ in range(50)), *(work(store, n) for n in range(50)))
    async with store.reading() as reader:
        assert [await reader.fact(str(place)) for place in range(50)] == [b""] * 50


def test_cancelling_leaves_nothing_behind(store_url: str) -> None:
    """A task that is cancelled at any point gives its lock back, and what it wrote is there whole or not at all."""

    async def work(store: Store, place: int) -> None:
        async with store.writing(POOLS) as transaction:
            await transaction.set_fact(f"a{place}", b"")
            await asyncio.sleep(0)
            await transaction.set_fact(f"b{place}", b"")

    async def story(store: Store) -> None:
        for place in range(40):
            task = asyncio.create_task(work(store, place))
            for _ in range(place):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait((task,))
        await work(store, 99)
        async with store.reading() as reader:
            for place in range(40):
                assert await reader.fact(f"a{place}") == await reader.fact(f"b{place}")
            assert await reader.fact("b99") == b""

    run_story(store_url, story)


def test_a_caller_that_is_cancelled_leaves_no_session_of_postgres(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session whose settings are being made when its caller is cancelled is closed at once."""
    opened: list[asyncpg.Connection] = []

    async def cancel_then(task: asyncio.Task[object]) -> None:
        await asyncio.sleep(0)
        task.cancel()

    async def opening(*arguments: Any, **named: Any) -> asyncpg.Connection:
        opened.append(await connect(*arguments, **named))
        cancelling.append(asyncio.create_task(cancel_then(cast(Any, asyncio.current_task()))))
        return opened[-1]

    async def run() -> None:
        with pytest.raises(asyncio.CancelledError):
            await asyncio.create_task(open_session(postgres_url, seconds=5.0))
        closed = [connection.is_closed() for connection in opened]
        opened[0].terminate()
        assert closed == [True]

    connect = asyncpg.connect
    cancelling: list[asyncio.Task[None]] = []
    monkeypatch.setattr(asyncpg, "connect", opening)
    asyncio.run(run())


def test_a_private_database_is_made_and_goes() -> None:
    """`sqlite://` has all tables, is nobody else's, and is gone when it is closed."""

    async def run() -> None:
        store, other = await open_store("sqlite://"), await open_store("sqlite://")
        async with store.writing(POOLS) as transaction:
            await transaction.set_fact("a", b"1")
        async with store.reading() as reader, other.reading() as stranger:
            assert (await reader.fact("a"), await stranger.fact("a")) == (b"1", None)
        await store.close()
        await other.close()

    asyncio.run(run())
