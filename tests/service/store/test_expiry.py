"""Only expired rows are found and deleted, one key range at a time, on both databases."""

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scoring_model.service.core import ids
from scoring_model.service.core.rows import DeliveryRow, DeliveryStatus, EventRow, LinkRow
from scoring_model.service.store import Cutoffs, Expiring, Key, Reader, Store
from service_use import select, table
from store_story import write
from stored_rows import (
    delivery_row,
    event_row,
    idempotency_row,
    link_labels,
    packed,
    pending_row,
    verification_row,
)

pytestmark = pytest.mark.anyio

SETTLED = (DeliveryStatus.DELIVERED, DeliveryStatus.DROPPED, DeliveryStatus.DEAD)


async def walk(
    store: Store, kind: Expiring, limit: int = 100, dry: bool = False, /, **cutoffs: int
) -> tuple[int, int, int]:
    """Walk through a kind: how many ranges that took, and how many rows it found and deleted."""
    instants = cutoffs_of(**cutoffs)
    after: Key | None = None
    walked = found = deleted = 0
    while True:
        async with store.reading() as reader:
            key_range = await reader.key_range(kind, instants, after, limit)
        if not dry:
            async with store.writing([]) as transaction:
                deleted += await transaction.drop(key_range, instants)
        walked, found = walked + 1, found + key_range.old
        if key_range.last:
            return walked, found, deleted
        after = key_range.through


def cutoffs_of(**cutoffs: int) -> Cutoffs:
    """Cutoffs by the names of their kinds in lower case."""
    return {Expiring[name.upper()]: instant for name, instant in cutoffs.items()}


def over(event: EventRow, status: str, at: int) -> DeliveryRow:
    """A delivery that was settled at an instant."""
    return delivery_row(event=event.id, status=status, attempts=3, finished_at=at)


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8, 100])
async def test_old_links_go_range_by_range(store: Store, limit: int) -> None:
    """Whatever the size of the ranges, what is before the instant is deleted, labels too, and nothing else."""
    hashes = [bytes([h]) * 16 for h in (1, 2, 3)]
    links = [
        LinkRow(value, t, b"p", packed((t, 1)) if t == 5 else None) for value in hashes for t in (1, 5, 9)
    ]
    await write(store, *links)
    assert await walk(store, Expiring.LINKS, limit, links=9) == (9 // limit + 1, 6, 6)
    assert await walk(store, Expiring.LABEL_TIMES, limit, label_times=9) == (3 // limit + 1, 3, 3)
    async with store.writing([]) as transaction:
        found = await transaction.histories(hashes, since=0, cap=10)
        assert found == [[(9, b"p", None)]] * 3
        await link_labels(transaction, hashes[:1], 5, packed((20, 1)))  # deleted ones get no labels
        assert await transaction.newest(hashes[:1]) == 9
    assert (await walk(store, Expiring.LINKS, limit, links=100))[2] == 3
    async with store.writing([]) as transaction:
        assert await transaction.newest(hashes) is None


async def test_label_times_stay_as_long_as_they_count(store: Store) -> None:
    """A newest label goes when it is old, and with the last link record of its hash: that may be an erased person's."""
    await write(store, LinkRow(b"h" * 16, 5, b"p", packed((50, 1))), LinkRow(b"h" * 16, 8, b"p", None))
    await write(store, LinkRow(b"o" * 16, 60, b"p", packed((55, 1))))
    assert await walk(store, Expiring.LINKS, links=7) == (1, 1, 1)
    assert await walk(store, Expiring.LABEL_TIMES, label_times=7) == (1, 0, 0)
    async with store.writing([]) as transaction:
        assert await transaction.newest([b"h" * 16]) == 50
    assert await walk(store, Expiring.LINKS, links=9) == (1, 1, 1)
    assert await walk(store, Expiring.LABEL_TIMES, label_times=9) == (1, 1, 1)
    assert await walk(store, Expiring.LABEL_TIMES, label_times=56) == (1, 1, 1)


@pytest.mark.parametrize("limit", [1, 2, 5, 6, 100])
async def test_old_answers_go_range_by_range(store: Store, reader: Reader, limit: int) -> None:
    """Whatever the size of the ranges, answers from before the instant are deleted and no others."""
    rows = [idempotency_row(digest=bytes([n]) * 32, created_at=n) for n in range(1, 7)]
    await write(store, *rows)
    assert await walk(store, Expiring.ANSWERS, limit, answers=4) == (6 // limit + 1, 3, 3)
    assert set(await reader.idempotency([row.digest for row in rows])) == {row.digest for row in rows[3:]}


@pytest.mark.parametrize("limit", [1, 2, 100])
async def test_an_event_stays_as_long_as_a_delivery_of_it(store: Store, store_url: str, limit: int) -> None:
    """Old, handed to all webhooks, and without deliveries: only then it goes. It is known before that it will."""
    alone, young, unreported, waited, dead = (
        event_row(waiting=0, created_at=at) for at in (19, 20, 19, 19, 19)
    )
    unreported = unreported._replace(waiting=1)
    deliveries = [delivery_row(event=waited.id), over(dead, "DEAD", 30), over(dead, "DELIVERED", 25)]
    await write(store, alone, young, unreported, waited, dead, *deliveries)
    cutoffs = {"events": 20, "deliveries": 31, "dead_letters": 30}
    assert (await walk(store, Expiring.EVENTS, limit, **cutoffs))[1:] == (1, 1)
    assert {row.id for row in await table(store_url, EventRow)} == {
        row.id for row in (young, unreported, waited, dead)
    }
    # Once both of its deliveries are old enough it counts as old, but is not deleted before them.
    cutoffs["dead_letters"] = 31
    assert (await walk(store, Expiring.EVENTS, limit, **cutoffs))[1:] == (1, 0)
    for kind in (Expiring.DELIVERIES, Expiring.DEAD_LETTERS):
        assert (await walk(store, kind, limit, **cutoffs))[1:] == (1, 1)
    assert (await walk(store, Expiring.EVENTS, limit, **cutoffs))[1:] == (1, 1)
    assert {row.id for row in await table(store_url, EventRow)} == {
        row.id for row in (young, unreported, waited)
    }


EVENT = st.tuples(
    st.integers(0, 40),
    st.booleans(),
    st.lists(st.tuples(st.sampled_from(list(DeliveryStatus)), st.integers(0, 40)), max_size=3),
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    drawn=st.lists(EVENT, max_size=8),
    cutoffs=st.tuples(*[st.integers(0, 40)] * 3),
    limit=st.integers(1, 5),
)
async def test_any_outbox_is_left_with_what_the_rules_keep(
    store: Store,
    store_url: str,
    drawn: list[tuple[int, bool, list[tuple[DeliveryStatus, int]]]],
    cutoffs: tuple[int, int, int],
    limit: int,
) -> None:
    """Events and deliveries of any ages and states: what is left is what a list of Python leaves, and was foretold."""
    limits = dict(zip(("deliveries", "dead_letters", "events"), cutoffs, strict=True))
    events: list[EventRow] = []
    deliveries: list[DeliveryRow] = []
    for at, waits, of in drawn:
        events.append(event_row(created_at=at, waiting=int(waits)))
        for status, finished in of:
            row = delivery_row(event=events[-1].id, status=status.value, finished_at=finished)
            deliveries.append(row._replace(finished_at=None) if status == "WAITING" else row)

    def kept(row: DeliveryRow) -> bool:
        name = "dead_letters" if row.status == "DEAD" else "deliveries"
        return row.finished_at is None or row.finished_at >= limits[name]

    left = {row.id for row in deliveries if kept(row)}
    held = {row.event for row in deliveries if row.id in left}
    left |= {row.id for row in events if row.waiting or row.created_at >= limits["events"] or row.id in held}
    await write(store, *events, *deliveries)
    _, foretold, _ = await walk(store, Expiring.EVENTS, limit, True, **limits)
    done = 0
    for kind in (Expiring.DELIVERIES, Expiring.DEAD_LETTERS, Expiring.EVENTS):
        _, found, deleted = await walk(store, kind, limit, **limits)
        assert found == deleted
        done = deleted
    assert done == foretold
    there = {row.id for row in await table(store_url, EventRow)}
    there |= {row.id for row in await table(store_url, DeliveryRow)}
    assert there == left
    for name in ("events", "deliveries"):
        await select(store_url, f"DELETE FROM {name}")


async def test_a_walk_ends_where_nothing_can_be_old(store: Store, store_url: str) -> None:
    """Identifiers show when they were made: what came long after the instant is not looked at, what came soon is."""
    before = 1_780_315_200_000_000
    old, soon, late = (
        event_row(id=ids.first_of(before + ahead)[:-1] + b"\1", waiting=0, created_at=before - 1)
        for ahead in (-1, ids.AHEAD - 1_000, ids.AHEAD + 1_000)
    )
    await write(store, late, soon, old)
    assert await walk(store, Expiring.EVENTS, 1, events=before) == (3, 2, 2)
    assert [row.id for row in await table(store_url, EventRow)] == [late.id]


async def test_what_never_expires_is_not_swept(store: Store) -> None:
    """Without a cutoff there is no range: an error, and never everything."""
    for kind in Expiring:
        async with store.reading() as reader:
            with pytest.raises(KeyError):
                await reader.key_range(kind, {}, None, 10)


async def test_what_others_hold_is_left_to_them(postgres_store: Store, postgres_url: str) -> None:
    """On a server nobody is waited for, so that no circle of waiting can come about; the rest goes, they later."""
    events = [event_row(waiting=0) for _ in range(3)]
    rows = [over(event, "DELIVERED", 15) for event in events]
    await write(postgres_store, *events, *rows)
    other = await asyncpg.connect(postgres_url)
    holding = other.transaction()
    await holding.start()
    await other.execute("SELECT 1 FROM deliveries WHERE id = $1 FOR UPDATE", rows[1].id)
    await other.execute("SELECT 1 FROM events WHERE id = $1 FOR UPDATE", events[2].id)
    assert await walk(postgres_store, Expiring.DELIVERIES, deliveries=20) == (1, 3, 2)
    assert await walk(postgres_store, Expiring.EVENTS, events=20) == (1, 2, 1)
    await holding.rollback()
    await other.close()
    assert await walk(postgres_store, Expiring.DELIVERIES, deliveries=20) == (1, 1, 1)
    assert await walk(postgres_store, Expiring.EVENTS, events=20) == (1, 2, 2)


async def test_what_was_taken_up_meanwhile_stays(store: Store, reader: Reader) -> None:
    """A delivery that an operator lets wait again between the look and the deletion is not deleted, nor its event."""
    event = event_row(waiting=0)
    row = over(event, "DEAD", 15)
    cutoffs = cutoffs_of(dead_letters=20, events=20, deliveries=20)
    await write(store, event, row)
    dead = await reader.key_range(Expiring.DEAD_LETTERS, cutoffs, None, 10)
    events = await reader.key_range(Expiring.EVENTS, cutoffs, None, 10)
    assert (dead.old, events.old) == (1, 1)
    async with store.writing([]) as transaction:
        assert await transaction.deliver_again(row.id, 16)
    async with store.writing([]) as transaction:
        assert await transaction.drop(dead, cutoffs) == 0
        assert await transaction.drop(events, cutoffs) == 0
    assert await reader.delivery(row.id) is not None


async def test_payloads_are_replaced_where_they_are_what_they_were(store: Store, reader: Reader) -> None:
    """Who was erased meanwhile stays erased, and what another has replaced is not replaced again."""
    first, erased, other = verification_row(), verification_row(), verification_row(payload=b"another's")
    await write(store, first, erased, other)
    async with store.writing([]) as transaction:
        await transaction.erase(erased.key_id, 50)
    async with store.writing([]) as transaction:
        done = await transaction.reseal(
            [(row.id, b"sealed", b"new %d" % place) for place, row in enumerate((first, erased, other))]
        )
        assert done == {first.id}
        assert await transaction.reseal([]) == frozenset()
    assert await reader.verifications(b"", 10) == [
        first._replace(payload=b"new 0"),
        erased._replace(payload=None, links=None),
        other,
    ]


async def test_payloads_that_somebody_is_erasing_are_left_alone(postgres_store: Store) -> None:
    """On a server an erasure under way is not waited for."""
    rows = [verification_row() for _ in range(2)]
    await write(postgres_store, *rows)
    async with postgres_store.writing([]) as erasing, postgres_store.writing([]) as transaction:
        await erasing.erase(rows[0].key_id, 50)
        done = await transaction.reseal([(row.id, b"sealed", b"new") for row in rows])
        assert done == {rows[1].id}


async def test_verifications_are_walked_in_the_order_of_their_ids(store: Store, reader: Reader) -> None:
    """Everybody's, whatever their state, a page at a time."""
    rows = [verification_row(client=2), pending_row(), verification_row(status="ERROR")]
    await write(store, *reversed(rows))
    assert await reader.verifications(b"", 2) == rows[:2]
    assert await reader.verifications(rows[1].id, 2) == rows[2:]
    assert await reader.verifications(rows[2].id, 2) == []
