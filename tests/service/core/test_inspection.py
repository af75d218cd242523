"""What operators see: lists, one verification with all that belongs to it, and the report of labels."""

import pytest

from scoring_model.contract.texts import to_text
from scoring_model.records import rfc3339
from scoring_model.records.times import DAY
from scoring_model.service.clients.clients import Caller
from scoring_model.service.labels.report import label_delays
from scoring_model.service.past.inspection import inspect, list_verifications
from service_use import HOUR, MASTERS, START, World, applicants, with_service
from stored_rows import webhook_row


async def label(world: World, caller: Caller, verification: bytes, said: str, known_at: int) -> None:
    """Report a label of a verification."""
    row = {"verificationId": to_text(verification), "label": said, "knownAt": rfc3339(known_at)}
    report = (await world.service.labels.create(caller, {"labels": [row]}, None)).resource
    assert report.created == 1


@with_service
async def test_a_verification_is_shown_with_all_that_belongs_to_it(world: World) -> None:
    """Verdict, label, events, and under each link key by its name the others that share it, also once erased."""
    caller, neighbour = await world.client("pool"), await world.client("pool")
    async with world.store.writing([]) as transaction:
        await transaction.insert([webhook_row(client=caller.client)])
    one, two = (applicant.identity for applicant in applicants(world.bundle)[:2])
    identity, other = await world.identity(caller, one), await world.identity(caller, two)
    first = (await world.verify(caller, identity=identity, signals={"deviceId": "d"}, subject="s")).resource
    world.clock.at += HOUR
    foreign = (await world.verify(neighbour, signals={"deviceId": "d"})).resource
    world.clock.at += HOUR
    third = (await world.verify(caller, identity=other, signals={"deviceId": "d"})).resource
    await label(world, caller, first.id, "fraud", START + HOUR)
    found = await inspect(world.store, MASTERS, first.id)
    assert (found["id"], found["scoringOutcome"], found["erased"]) == (
        to_text(first.id),
        first.outcome,
        False,
    )
    assert [reason["code"] for reason in found["reasons"]] == [code for code, _ in first.reasons]
    assert [one["label"] for one in found["labels"]] == ["fraud"]
    assert [one["type"] for one in found["events"]][-1] == "label.received"
    assert len(found["events"]) == 3
    keys = {one["key"]: one for one in found["links"]}
    assert "unknown" not in keys
    assert {"person", "device"} <= keys.keys()
    assert (keys["device"]["records"], keys["person"]["records"]) == (3, 1)
    sharing = [(one["verificationId"], one["fraud"], one["this"]) for one in keys["device"]["latest"]]
    assert sharing == [
        (to_text(third.id), False, False),
        (to_text(foreign.id), False, False),
        (to_text(first.id), True, True),
    ]
    assert "deviceId" not in str(found)
    await world.erase_signals(caller, first.id)
    erased = await inspect(world.store, MASTERS, first.id)
    assert (erased["erased"], erased["links"]) == (True, [])
    kept = await inspect(world.store, MASTERS, third.id)
    (device,) = [one for one in kept["links"] if one["key"] == "device"]
    assert [one["verificationId"] for one in device["latest"]][-1] is None
    with pytest.raises(ValueError, match="no such verification"):
        await inspect(world.store, MASTERS, bytes(16))


@with_service
async def test_verifications_are_listed_for_all_clients_or_one(world: World) -> None:
    """The latest first, by client, before an instant and with a value of a column."""
    callers = [await world.client(), await world.client()]
    made = []
    for place in range(4):
        world.clock.at = START + place * HOUR
        made.append(to_text((await world.verify(callers[place % 2], signals={})).resource.id))

    async def listed(client: Caller | None = None, before: int | None = None, **filters: str) -> list[str]:
        name = None if client is None else client.client_id
        found = await list_verifications(world.store, client_id=name, filters=filters, before=before, limit=3)
        return [one["id"] for one in found]

    assert await listed() == made[:0:-1]
    assert await listed(callers[0]) == [made[2], made[0]]
    assert await listed(before=START + 2 * HOUR) == [made[1], made[0]]
    assert await listed(status="ERROR") == []
    assert await listed(callers[1], status="COMPLETED") == [made[3], made[1]]
    with pytest.raises(ValueError, match="no such client"):
        await list_verifications(world.store, client_id="cl", filters={}, before=None, limit=1)


@with_service
async def test_labels_are_reported_with_their_delays_and_contradictions(world: World) -> None:
    """Delays of what is fraud now, labels by outcome, contradictions that no withdrawal ended."""
    caller = await world.client()
    made = [(await world.verify(caller, signals={"deviceId": f"{n}"})).resource for n in range(6)]
    for days, place, said in (
        (1, 0, "fraud"),
        (2, 1, "fraud"),
        (5, 2, "genuine"),
        (5, 1, "genuine"),
        (20, 3, "fraud"),
        (21, 4, "fraud"),
        (22, 4, "withdrawn"),
        (23, 2, "withdrawn"),
        (24, 2, "fraud"),
    ):
        world.clock.at = START + days * DAY
        await label(world, caller, made[place].id, said, world.clock.at)
    world.clock.at = START + 40 * DAY
    found = await label_delays(world.store, world.clock)
    assert (found.frauds, found.conflicts, found.withdrawn) == (3, 1, 1)
    assert found.maturity_days == pytest.approx(24, abs=0.01)
    assert found.observed_days == pytest.approx(40, abs=0.01)
    assert found.curve == pytest.approx({1: 1 / 3, 3: 1 / 3, 7: 1 / 3, 14: 1 / 3, 30: 1})
    outcomes = [str(one.outcome) for one in made]
    totals = {outcome: covered.verifications for outcome, covered in found.coverage.items()}
    assert totals == {outcome: outcomes.count(outcome) for outcome in totals}
    assert sum(covered.fraud for covered in found.coverage.values()) == 3
    assert sum(covered.genuine for covered in found.coverage.values()) == 1
