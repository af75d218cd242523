"""Imported histories: nothing is scored before they are whole, labels by `recordId`, and when they expire."""

import asyncio
import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from program import Captured, refused, run
from scoring_model.contract.label import LabelReport
from scoring_model.contract.texts import to_text
from scoring_model.records import rfc3339
from scoring_model.records.reading import read_records
from scoring_model.service.clients.clients import Caller, Permission, create_client
from scoring_model.service.core.errors import Unavailable
from scoring_model.service.core.rows import (
    ClientRow,
    EventRow,
    IdempotencyRow,
    ImportedRow,
    LinkRow,
    VerificationRow,
)
from scoring_model.service.past import history_import
from scoring_model.service.past.history_import import HistoryImport, HistoryImported, ImportRefused
from scoring_model.service.retention.sweeping import Ages, sweep
from scoring_model.service.store import Transaction
from service_use import HOUR, START, World, table, together, with_service

DAY = 24 * HOUR
FRAUDS, RECORDS = "link_device_30d_frauds", "link_device_30d_records"
DEVICE = {"deviceId": "d"}


def record(name: str, at: int, **fields: Any) -> dict[str, Any]:
    """A record of one device."""
    return {"recordId": name, "eventTime": rfc3339(at), "signals": DEVICE, **fields}


async def importer(world: World, caller: Caller) -> HistoryImport:
    """An import into the history of a client."""
    async with world.store.reading() as reader:
        (client,) = [row for row in await reader.clients() if row.client == caller.client]
    matrix = world.service.scoring.scorer.matrix
    return HistoryImport(world.store, world.secrets, matrix, client, world.clock)


async def imported(world: World, caller: Caller, records: Sequence[dict[str, Any]]) -> HistoryImported:
    """Import records."""
    schema = world.service.scoring.scorer.contents.schema
    reading = read_records(pa.Table.from_pylist(list(records)), schema, labelled=False)
    assert reading.violations == ()
    return await (await importer(world, caller)).run(reading.table)


async def finished(world: World, caller: Caller) -> None:
    """Finish an import."""
    await (await importer(world, caller)).finish()


async def labelled(world: World, caller: Caller, *names: str, known_at: int = START) -> LabelReport:
    """Report records as fraud."""
    rows = [{"recordId": name, "label": "fraud", "knownAt": rfc3339(known_at)} for name in names]
    return (await world.service.labels.create(caller, {"labels": rows}, None)).resource


async def seen(world: World, caller: Caller) -> tuple[float, float]:
    """Records and frauds that a new verification by the device sees."""
    features = await world.features((await world.verify(caller, signals=DEVICE)).resource.id)
    return features[RECORDS], features[FRAUDS]


class Killed(BaseException):
    """Ends an import as a kill does: nothing handles it."""


@with_service
async def test_an_import_that_is_killed_goes_on(world: World) -> None:
    """Killed in a transaction or behind one, an import is run again: every record counts once, and every label."""
    caller = await world.client("new")
    records = [record(f"r-{n}", START - (9 - n) * DAY) for n in range(5)]
    records[0] |= {"label": "fraud", "labelKnownAt": rfc3339(START - DAY)}

    begun: list[int] = []
    begin = HistoryImport._begin

    def end(*_: object, **__: object) -> None:
        raise Killed

    async def end_third(work: HistoryImport, transaction: Transaction) -> None:
        begun.append(1)
        await begin(work, transaction)
        if len(begun) == 3:
            raise Killed

    for owner, name, killer in ((history_import, "ImportedRow", end), (HistoryImport, "_begin", end_third)):
        with pytest.MonkeyPatch.context() as killed:
            killed.setattr(history_import, "BATCH", 2)
            killed.setattr(owner, name, killer)
            with pytest.raises(Killed):
                await imported(world, caller, records)
    again = await imported(world, caller, records)
    assert (again.imported, again.repeated) == (1, 4)
    await finished(world, caller)
    assert await seen(world, caller) == (5.0, 1.0)


@with_service
async def test_nothing_is_scored_with_a_part_of_the_history(world: World) -> None:
    """From the first record until the end a client and those of its scope get 503, others do not."""
    caller, sharing, other = await world.client("two"), await world.client("two"), await world.client()
    await imported(world, caller, [record("a", START - DAY)])
    # Callers that were let in before the import began.
    for client in (caller, sharing):
        with pytest.raises(Unavailable) as caught:
            await world.verify(client, signals=DEVICE)
        assert caught.value.retry_after == 30
    made = await create_client(
        world.store, name="later", permissions=frozenset(Permission), history_scope="two", now=START
    )
    later = await world.service.credentials.authenticate(made.client_id, made.api_key)
    assert later is not None
    assert later.importing
    with pytest.raises(Unavailable):
        await world.verify(later, signals=DEVICE)
    assert await seen(world, other) == (0, 0)
    await imported(world, caller, [record("b", START - DAY), record("c", START - 2 * DAY)])
    assert {row.client for row in await table(world.url, VerificationRow)} == {other.client}
    await finished(world, caller)
    assert await seen(world, sharing) == (3, 0)
    with pytest.raises(ImportRefused, match="has verifications"):
        await imported(world, caller, [record("d", START - DAY)])
    assert len(await table(world.url, ImportedRow)) == 3


@with_service
async def test_a_request_in_the_queue_when_an_import_begins_fails_alone(world: World) -> None:
    """A verification that shares a transaction with others is refused with 503; they are answered, once each."""
    caller, other = await world.client(), await world.client()
    await imported(world, caller, [record("a", START - DAY)])
    works = [world.verify(one, signals=DEVICE, key=f"k{one.client}") for one in (other, caller)]
    first, second = await together(world, *works)
    assert first.resource.status == "COMPLETED"
    assert isinstance(second, Unavailable)
    rows = await table(world.url, VerificationRow)
    assert [row.client for row in rows] == [other.client]
    assert [row.client for row in await table(world.url, IdempotencyRow)] == [other.client]
    assert {row.client for row in await table(world.url, EventRow)} == {other.client}


@with_service
async def test_a_label_reaches_every_link_record_of_its_record_and_no_tie(world: World) -> None:
    """By `recordId`: counted once, repeated without effect, unknown to other clients, gone with its link records."""
    caller, neighbour = await world.client(), await world.client()
    records = [record(name, START - DAY) for name in "abc"]
    await imported(world, caller, [*records, record("old", START - 29 * DAY)])
    await finished(world, caller)
    report = await labelled(world, caller, "a", "a", "unknown", "b", known_at=START - HOUR)
    assert [one.status for one in report.results] == ["CREATED", "UNCHANGED", "REFUSED", "CREATED"]
    assert [(e.pointer, e.code) for e in report.results[2].errors] == [("/labels/2/recordId", "not_found")]
    assert (await labelled(world, neighbour, "a")).refused == 1
    assert (await labelled(world, caller, "a", known_at=START - HOUR)).unchanged == 1
    links = await table(world.url, LinkRow)
    assert sorted(row.tie for row in links if row.labels) == [0, 1]
    assert len({row.person for row in links}) == 4
    world.clock.at += HOUR
    assert await seen(world, caller) == (4, 2)
    cutoffs = Ages().cutoffs(now=START + 2 * DAY, longest=30 * DAY)
    await sweep(world.store, cutoffs)
    assert len(await table(world.url, ImportedRow)) == 3
    assert (await labelled(world, caller, "old", "c")).refused == 1


@with_service
async def test_a_file_labels_imported_records_and_verifications(
    world: World, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command stores what the API stores: new, repeated, and unknown to another client; it needs the client."""
    monkeypatch.setenv("MASTERS", base64.b64encode(bytes(range(32))).decode())
    caller, neighbour = await world.client(), await world.client()
    await imported(world, caller, [record("a", START - DAY), record("b", START - DAY)])
    await finished(world, caller)
    made = (await world.verify(caller, signals=DEVICE)).resource
    world.clock.at += HOUR
    rows = [{"recordId": "a"}, {"recordId": "unknown"}, {"verificationId": to_text(made.id)}]
    facts = {"label": "fraud", "knownAt": rfc3339(START - HOUR)}
    file = tmp_path / "labels.jsonl"
    file.write_text("\n".join(json.dumps({**row, **facts}) for row in rows))
    words = ("labels", "import", file, "--database", world.url)
    assert "--client" in await asyncio.to_thread(refused, capsys, *words)

    async def of(client: Caller) -> dict[str, Any]:
        named = ("--client", client.client_id, "--master-key", "env:MASTERS", "--json")
        code, said, error = await asyncio.to_thread(run, capsys, *words, *named)
        assert code == 0, error
        return dict(json.loads(said))

    bounds = {"tooMany": [], "omitted": 0}
    assert await of(caller) == {"imported": 2, "repeated": 0, "unknown": ["unknown"], **bounds}
    assert await of(neighbour) == {"imported": 0, "repeated": 1, "unknown": ["a", "unknown"], **bounds}
    assert (await labelled(world, caller, "a", known_at=START - HOUR)).unchanged == 1
    assert len([row for row in await table(world.url, LinkRow) if row.labels]) == 2


@with_service
async def test_what_no_window_sees_is_left_out_and_counted(world: World) -> None:
    """Records older than the longest window, and without a link key; records of the future are refused."""
    caller = await world.client()
    reach = world.service.scoring.scorer.matrix.reach
    alone = {"recordId": "alone", "eventTime": rfc3339(START - DAY), "signals": {"vpn": True}}
    found = await imported(world, caller, [record("a", START - DAY), record("b", START - reach - DAY), alone])
    assert (found.imported, found.too_old, found.unlinked) == (1, 1, 1)
    with pytest.raises(ImportRefused, match="1 records and 0 labels are later than now"):
        await imported(world, caller, [record("c", START + 1)])
    clients = {row.client: row.importing for row in await table(world.url, ClientRow)}
    assert clients[caller.client] == 1
