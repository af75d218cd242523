"""Export of scored records: everything that a client sent, its labels, and no erased person."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from program import Captured, refused, run
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.texts import to_text
from scoring_model.records import parse_record, rfc3339
from scoring_model.scorer import Scorer
from scoring_model.service.clients.clients import Caller
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.labels.imports import LabelLine, import_labels
from scoring_model.service.past import pages
from scoring_model.service.past.export import export_pages
from scoring_model.service.requests.commit_queue import QueueLimits
from service_use import (
    HOUR,
    MASTERS,
    SECOND,
    START,
    World,
    applicants,
    blob,
    opened,
    select,
    signals_of,
    with_service,
)


async def exported(world: World, caller: Caller) -> list[dict[str, Any]]:
    """All records of a client."""
    pages = export_pages(world.store, Vault(MASTERS), [caller.client])
    return [dict(one.record) async for page in pages for one in page.verifications]


async def report_label(world: World, verification: bytes, label: str, known_at: int) -> None:
    """Report a label."""
    async with world.store.reading() as reader:
        clients = await reader.clients()
    await import_labels(world.store, clients, [LabelLine(verification, None, label, known_at)], world.clock)


def nested(record: dict[str, Any]) -> dict[str, Any]:
    """A record with dotted names as the body of a request has it."""
    body: dict[str, Any] = {}
    for name, value in record.items():
        part, _, leaf = name.rpartition(".")
        (body.setdefault(part, {}) if part else body)[leaf] = value
    return body


@with_service
async def test_a_record_is_what_was_sent(world: World) -> None:
    """An exported record parses to the values of the body: identity, all signals, reference and instant."""
    schema = Scorer.load(world.bundle).contents.schema
    caller = await world.client()
    person = applicants(world.bundle, Outcome.STEPPED_UP)[0]
    body = {**person.identity, "externalId": "mine"}
    signals = {**person.signals, "ours": "kept", "number": 0.1, "truth": False}
    identity = await world.identity(caller, body)
    made = (await world.verify(caller, identity=identity, signals=signals, subject=" s ")).resource
    (record,) = await exported(world, caller)
    assert record["recordId"] == to_text(made.id)
    assert record["eventTime"] == rfc3339(START)
    assert record["subjectId"] == "s"
    assert {name: record[f"signals.{name}"] for name in signals} == signals
    again = {name: value for name, value in nested(record).items() if name != "recordId"}
    sent = {**body, "signals": signals, "subjectId": "s", "eventTime": rfc3339(START)}
    sent["identityId"] = to_text(identity)
    assert parse_record(again, schema) == parse_record(sent, schema)


@with_service
async def test_a_record_has_the_label_that_was_reported_last(world: World) -> None:
    """A label has its known and reported times; there is none if never reported or withdrawn."""
    caller = await world.client()
    one, two, three, four = [
        (await world.verify(caller, signals={"deviceId": f"{number}"})).resource.id for number in range(4)
    ]
    world.clock.at += HOUR
    await report_label(world, one, "fraud", START)
    await report_label(world, two, "fraud", START)
    await report_label(world, three, "fraud", START)
    world.clock.at += HOUR
    await report_label(world, two, "genuine", START - HOUR)
    await report_label(world, three, "withdrawn", START)
    records = {record["recordId"]: record for record in await exported(world, caller)}
    labels = [
        tuple(records[to_text(id_)].get(name) for name in ("label", "labelKnownAt", "labelReportedAt"))
        for id_ in (one, two, three, four)
    ]
    assert labels == [
        ("fraud", rfc3339(START), rfc3339(START + HOUR)),
        ("genuine", rfc3339(START - HOUR), rfc3339(START + 2 * HOUR)),
        (None, None, None),
        (None, None, None),
    ]


@with_service
async def test_records_are_those_of_one_client_in_the_order_of_their_events(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages cover all records of only one client, also when equal instants meet at the end of a page."""
    monkeypatch.setattr(pages, "PAGE", 3)
    caller, mate = await world.client("bank"), await world.client("bank")
    made = []
    for number in range(9):
        # Some at one instant, since nothing ties them together, and one with a clock that went back.
        world.clock.at = START + (number // 4) * SECOND - (SECOND // 2 if number == 8 else 0)
        made.append((await world.verify(caller, signals={"deviceId": f"{number}"})).resource)
        await world.verify(mate, signals={"deviceId": f"mate {number}"})
    wanted = sorted(made, key=lambda one: (one.completed_at or 0, one.id))
    records = await exported(world, caller)
    assert [record["recordId"] for record in records] == [to_text(one.id) for one in wanted]
    assert [record["eventTime"] for record in records] == sorted(record["eventTime"] for record in records)


@with_service
async def test_privacy_erased_persons_are_left_out(world: World) -> None:
    """The export omits all records of erased persons and all uncompleted verifications, and no others."""
    caller = await world.client()
    persons, alone = applicants(world.bundle)[:2], signals_of(world.bundle)
    gone, kept = [await world.identity(caller, one.identity) for one in persons]
    for identity in (gone, gone, kept):
        await world.verify(caller, identity=identity, signals=persons[0].signals)
    erased = (await world.verify(caller, signals=alone[0], subject="s")).resource.id
    await world.verify(caller, signals=alone[1], subject="s")
    other = (await world.verify(caller, signals=alone[1], subject="t")).resource.id
    async with opened(world.url, world.bundle, limits=QueueLimits(scoring_seconds=-1.0)) as busy:
        failed = (await busy.verify(caller, identity=kept)).resource.id
        await busy.verify(caller, identity=kept)
    where = f"WHERE id = {blob(world.url, failed)}"
    await select(world.url, f"UPDATE verifications SET status = 'ERROR', completed_at = {START} {where}")
    assert len(await exported(world, caller)) == 6
    await world.service.identities.erase(caller, gone)
    await world.erase_signals(caller, erased)
    records = await exported(world, caller)
    assert len(records) == 2
    assert records[0]["firstName"] == persons[1].identity["firstName"]
    assert records[1]["recordId"] == to_text(other)
    text = repr(records)
    assert persons[0].identity["address"]["line1"] not in text


@with_service
async def test_the_program_writes_what_is_left_and_counts_the_rest(
    world: World, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns have the types of the configuration; what is erased, pruned or of another type is counted."""
    monkeypatch.setenv("MASTERS", base64.b64encode(bytes(range(32))).decode())
    words = ["--database", world.url, "--master-key", "env:MASTERS"]
    config, out = tmp_path / "next.yaml", tmp_path / "out.parquet"
    signals = "{vpn: {type: boolean}, deviceId: {type: identifier}, cart: {type: number}}"
    config.write_text(f"name: next\nsignals: {signals}\npolicy: {{}}\n", encoding="utf-8")
    caller, mate = await world.client("bank"), await world.client("bank")
    await world.verify(caller, signals={"vpn": False}, subject="before")
    world.clock.at += HOUR
    sent = {"vpn": True, "deviceId": 7, "cart": "two", "note": "é"}
    one = (await world.verify(caller, signals=sent, subject="s")).resource
    two = (await world.verify(mate, signals={"cart": 2}, subject="s")).resource
    gone = (await world.verify(caller, signals={"vpn": True}, subject="gone")).resource
    await world.verify(caller, signals={}, subject="empty")
    await world.verify(caller, signals={"note": "nobody knows it", "vpn": None}, subject="unknown")
    world.clock.at += HOUR
    await report_label(world, one.id, "fraud", START)
    await world.erase_signals(caller, gone.id)
    asked = ("data", "export", *words, "--config", config, "--since", rfc3339(START + HOUR), "--out")
    code, said, error = await asyncio.to_thread(run, capsys, *asked, out, "--json")
    assert code == 0, error
    done = json.loads(said)
    assert (done["records"], done["labelled"], done["otherTypes"]) == (2, 1, {"cart": 1})
    assert done["leftOut"] == {"erased": 1, "pruned": 0, "empty": 2, "unreadable": 0}
    assert out.stat().st_mode & 0o777 == 0o600
    rows = {row["recordId"]: row for row in pq.read_table(out).to_pylist()}
    first, second = rows[to_text(one.id)], rows[to_text(two.id)]
    assert (first["signals.vpn"], first["signals.deviceId"], first["signals.cart"]) == (True, "7", None)
    assert json.loads(first["otherSignals"]) == {"cart": "two", "note": "é"}
    assert (second["signals.cart"], second["otherSignals"], second["label"]) == (2.0, None, None)
    assert first["subjectId"] != second["subjectId"]
    assert (first["label"], rfc3339(round(first["labelKnownAt"].timestamp()) * SECOND)) == (
        "fraud",
        rfc3339(START),
    )
    assert (first["scoringScore"], first["modelVersion"]) == (one.score, one.model_version)
    # A failed export leaves the file as it was.
    written = out.read_bytes()
    await world.client()
    assert "2 histories" in await asyncio.to_thread(refused, capsys, *asked, out)
    assert "no such client" in await asyncio.to_thread(refused, capsys, *asked, out, "--client", "cl_none")
    assert "must end in .parquet" in await asyncio.to_thread(
        refused, capsys, *asked, tmp_path / "out.csv", "--client", caller.client_id
    )
    monkeypatch.setenv("MASTERS", base64.b64encode(bytes(32)).decode())
    code, _, error = await asyncio.to_thread(run, capsys, *asked, out, "--client", caller.client_id)
    assert (code, "Traceback" in error) == (1, False)
    assert out.read_bytes() == written
    assert sorted(path.name for path in tmp_path.glob("*.parquet")) == ["out.parquet"]
