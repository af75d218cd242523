"""Lists: combinations of filters against a loop over all rows, whatever is written meanwhile, and whose they are."""

import random
from collections.abc import Callable, Sequence
from itertools import count, product
from typing import Any

import pytest

from scoring_model.contract.delivery import DELIVERY_STATUSES
from scoring_model.contract.texts import to_text
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core.errors import NotFound
from scoring_model.service.core.rows import DeliveryRow, Row, VerificationRow
from scoring_model.service.requests.lists import Cursors, ListFilter, merged
from scoring_model.service.store import Page, Position, Reader, lists
from service_use import START, World, applicants, table, with_service
from stored_rows import event_row, new_id, verification_row, webhook_row

SECOND = 1_000_000


@pytest.fixture(autouse=True)
def few_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page checks three rows at most, two at a time, so that few rows reach every case."""
    monkeypatch.setattr(lists, "SCAN", 3)
    monkeypatch.setattr(lists, "STEP", 2)


@with_service(url="sqlite_url")
async def test_others_get_a_turn_between_steps_of_a_page(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that finds nothing checks its rows a step at a time, and holds no connection in between."""
    caller = await world.client()
    monkeypatch.setattr(lists, "SCAN", 5)
    await write(world, verifications(caller.client, [], []))
    seen: list[int | None] = []
    check, lull = Reader.check, world.service.queue.lull

    async def checked(reader: Reader, page: Page, rows: int) -> Any:
        seen.append(rows)
        return await check(reader, page, rows)

    async def noted() -> None:
        seen.append(None)
        await lull()

    monkeypatch.setattr(Reader, "check", checked)
    monkeypatch.setattr(world.service.queue, "lull", noted)
    wanted = ListFilter(model_version="none")
    rows, end = await world.service.verifications.page(caller, wanted, after=None, limit=9)
    assert (rows, end is None, seen) == ([], False, [None, 2, None, 2, None, 1])


async def write(world: World, rows: Sequence[Row]) -> None:
    """Insert rows of one kind."""
    async with world.store.writing([]) as transaction:
        await transaction.insert(rows)


async def pages(
    read: Callable[[Position | None, int], Any], limit: int, between: Callable[[], Any] | None = None
) -> list[str]:
    """The ids of all pages, none longer than the limit, with something done between them."""
    found: list[str] = []
    after: Position | None = None
    for number in count():
        shown, after = await read(after, limit)
        assert len(shown) <= limit
        found += [one.id for one in shown]
        if after is None:
            return found
        if between is not None:
            await between()
        assert number < 1_000
    raise AssertionError


def verifications(
    client: int, key_ids: Sequence[bytes], identities: Sequence[bytes]
) -> list[VerificationRow]:
    """Verifications of every kind, some created at the same instant."""
    rng = random.Random(client)
    rows = []
    for _ in range(60):
        place = rng.randrange(len(identities) + 2)
        status = rng.choice(("COMPLETED", "COMPLETED", "COMPLETED", "PENDING", "ERROR"))
        done = status == "COMPLETED"
        rows.append(
            verification_row(
                id=new_id(),
                client=client,
                key_id=key_ids[place] if place < len(identities) else new_id(),
                identity_id=identities[place] if place < len(identities) else None,
                created_at=START + rng.randrange(20),
                status=status,
                outcome=rng.choice(("PASSED", "PASSED", "STEPPED_UP", "FAILED")) if done else None,
                model_version=rng.choice(("m1", "m2")) if done else None,
                payload=None,
                reasons=None,
            )
        )
    return rows


def kept(row: VerificationRow, wanted: ListFilter) -> bool:
    """Whether a list holds a row."""
    return (
        (wanted.created_after is None or row.created_at > wanted.created_after)
        and (wanted.created_before is None or row.created_at < wanted.created_before)
        and wanted.outcome in (None, row.outcome)
        and wanted.status in (None, row.status)
        and wanted.identity_id in (None, row.identity_id)
        and wanted.model_version in (None, row.model_version)
    )


@with_service
async def test_a_list_of_verifications_holds_what_its_filters_say(world: World) -> None:
    """Each combination of filters gives each client its own rows once, latest first, while others are created."""
    callers = [await world.client(), await world.client()]
    rows: dict[int, list[VerificationRow]] = {}
    known: dict[int, list[bytes]] = {}
    for caller in callers:
        bodies = [applicant.identity for applicant in applicants(world.bundle)[:2]]
        known[caller.client] = [await world.identity(caller, body) for body in bodies]
        async with world.store.reading() as reader:
            found = [await reader.identity(caller.client, one) for one in known[caller.client]]
        key_ids = [row.key_id for row in found if row is not None]
        rows[caller.client] = verifications(caller.client, key_ids, known[caller.client])
        await write(world, rows[caller.client])
    rng = random.Random(1)
    choices = list(
        product(
            (None, START + 4),
            (None, START + 15),
            (None, "PASSED", "FAILED", "STEPPED_UP"),
            (None, "COMPLETED", "PENDING", "ERROR"),
            (None, 0),
            (None, "m1", "none"),
        )
    )
    later = [verification_row(client=c.client, created_at=START + 99, payload=None) for c in callers]

    async def insert() -> None:
        # Later ones, which the pages that follow must not show.
        await write(world, [row._replace(id=new_id(), reasons=None) for row in later])

    for after, before, outcome, status, place, model in rng.sample(choices, 40) + choices[:1]:
        caller = rng.choice(callers)
        identity = None if place is None else known[caller.client][place]
        wanted = ListFilter(
            created_after=after,
            created_before=before or START + 90,
            outcome=outcome,
            status=status,
            identity_id=identity,
            model_version=model,
        )

        async def read(
            position: Position | None, limit: int, caller: Caller = caller, wanted: ListFilter = wanted
        ) -> Any:
            return await world.service.verifications.page(caller, wanted, after=position, limit=limit)

        shown = await pages(read, rng.choice((1, 2, 7, 100)), insert)
        mine = [row for row in rows[caller.client] if kept(row, wanted)]
        mine.sort(key=lambda row: (row.created_at, row.id), reverse=True)
        assert shown == [to_text(row.id) for row in mine], wanted
    foreign = ListFilter(identity_id=known[callers[0].client][0])
    assert await world.service.verifications.page(callers[1], foreign, after=None, limit=9) == ([], None)


async def by_subject(world: World, caller: Caller, subject: str, limit: int = 1) -> list[str]:
    """The ids of the verifications with a subject."""

    async def read(after: Position | None, limit: int) -> Any:
        wanted = ListFilter(subject_id=subject)
        return await world.service.verifications.page(caller, wanted, after=after, limit=limit)

    return await pages(read, limit)


async def by_external(world: World, caller: Caller, external: str) -> list[str]:
    """The ids of the identities with a reference."""

    async def read(after: Position | None, limit: int) -> Any:
        wanted = ListFilter(external_id=external)
        return await world.service.identities.page(caller, wanted, after=after, limit=limit)

    return await pages(read, 1)


@with_service
async def test_references_find_what_is_sealed_until_an_erasure(world: World) -> None:
    """A subject is found with an identity and without, an external id too; only by its client; not once erased."""
    caller, neighbour = await world.client("pool"), await world.client("pool")
    made: dict[int, list[str]] = {}
    for client in (caller, neighbour):
        one, other = (applicant.identity for applicant in applicants(world.bundle)[:2])
        identity = await world.identity(client, {**one, "externalId": "e"})
        await world.identity(client, {**other, "externalId": "f"})
        ids = []
        for signals, named, subject in (
            ({"deviceId": "d"}, None, "s"),
            ({"deviceId": "d"}, identity, "s"),
            ({"deviceId": "d"}, identity, "t"),
            ({"deviceId": "d"}, None, None),
            ({}, None, "s"),
        ):
            world.clock.at += 1
            answer = await world.verify(client, signals=signals, identity=named, subject=subject)
            ids.append(to_text(answer.resource.id))
        made[client.client] = ids
        assert await by_external(world, client, "e") == [to_text(identity)]
    for client in (caller, neighbour):
        first, second, third, _, last = made[client.client]
        for limit in (1, 2, 9):
            assert await by_subject(world, client, "s", limit) == [last, second, first]
        assert await by_subject(world, client, "t") == [third]
        assert await by_subject(world, client, "S") == []
    first, second, _, _, last = made[caller.client]
    erased = await world.service.verifications.erase_signals(caller, bytes.fromhex(second.replace("-", "")))
    assert erased.identity_id is not None
    assert await by_subject(world, caller, "s") == [last, first]
    assert await by_external(world, caller, "e") == []
    await world.service.verifications.erase_signals(caller, bytes.fromhex(last.replace("-", "")))
    assert await by_subject(world, caller, "s") == []
    assert len(await by_subject(world, neighbour, "s")) == 3
    columns = [row.subject for row in await table(world.url, VerificationRow) if row.client == caller.client]
    assert columns == [None] * 5


@with_service
async def test_deliveries_are_listed_by_webhook(world: World) -> None:
    """A webhook's deliveries by status, latest first; a webhook of another client is unknown."""
    caller, neighbour = await world.client(), await world.client()
    hooks = [webhook_row(client=caller.client) for _ in range(2)]
    await write(world, hooks)
    event = event_row(client=caller.client, waiting=0)
    rows = [
        DeliveryRow(
            id=new_id(),
            event=event.id if place == 0 else event_row().id,
            webhook=hook.id,
            client=caller.client,
            status=status,
            attempts=place,
            due_at=START + 1,
            leased_until=None,
            created_at=START + place // 2,
            finished_at=None if status == "WAITING" else START + 9,
            answered=None,
            excerpt=None,
        )
        for hook in hooks
        for place, status in enumerate(2 * DELIVERY_STATUSES)
    ]
    events = [
        event_row(id=row.event, client=caller.client, waiting=0) for row in rows if row.event != event.id
    ]
    await write(world, [event, *events])
    await write(world, rows)
    webhooks = world.service.webhooks
    for status in (None, *DELIVERY_STATUSES):

        async def read(after: Position | None, limit: int, status: str | None = status) -> Any:
            return await webhooks.deliveries(caller, hooks[0].id, status=status, after=after, limit=limit)

        mine = [row for row in rows if row.webhook == hooks[0].id and status in (None, row.status)]
        mine.sort(key=lambda row: (row.created_at, row.id), reverse=True)
        assert await pages(read, 2) == [f"msg_{row.id.hex()}" for row in mine]
    shown, _ = await webhooks.deliveries(caller, hooks[0].id, status="DEAD", after=None, limit=1)
    assert (shown[0].status, shown[0].due_at is None) == ("DEAD", True)
    with pytest.raises(NotFound):
        await webhooks.deliveries(neighbour, hooks[0].id, status=None, after=None, limit=1)


@with_service(url="sqlite_url")
async def test_a_cursor_is_of_one_client_list_and_filter(world: World) -> None:
    """It is read where it was written and nowhere else, and no changed character is accepted."""
    cursors, place = Cursors(world.secrets), Position(START, new_id())
    text = cursors.write(1, "/a", {"status": "ERROR"}, place)
    assert cursors.read(1, "/a", {"status": "ERROR"}, text) == place
    others: list[tuple[int, str, dict[str, str]]] = [
        (2, "/a", {"status": "ERROR"}),
        (1, "/b", {"status": "ERROR"}),
        (1, "/a", {"status": "PENDING"}),
        (1, "/a", {}),
    ]
    for client, path, query in others:
        assert cursors.read(client, path, query, text) is None
    for at in range(len(text)):
        changed = text[:at] + ("A" if text[at] != "A" else "B") + text[at + 1 :]
        assert cursors.read(1, "/a", {"status": "ERROR"}, changed) is None
    assert cursors.read(1, "/a", {"status": "ERROR"}, "\u00e9" * len(text)) is None


def test_pages_of_two_lists_are_merged_as_far_as_both_are_known() -> None:
    """Rows beyond the end of either page wait for the next one."""
    rows = [verification_row(created_at=at) for at in (9, 8, 7, 6, 5)]
    ends = [Position(row.created_at, row.id) for row in rows]
    one, other = [rows[0], rows[3]], [rows[1], rows[2]]
    assert merged([(one, None), (other, None)], 9) == ([rows[0], rows[1], rows[2], rows[3]], None)
    assert merged([(one, None), (other, ends[2])], 9) == (rows[:3], ends[2])
    assert merged([(one, None), (other, None)], 2) == (rows[:2], ends[1])
    assert merged([([], ends[4]), (other, None)], 9) == (other, ends[4])
    assert merged([], 9) == ([], None)
