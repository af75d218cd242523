"""Labels that clients report: an answer for each, what is kept of a request that fails halfway, and whose they are."""

from collections.abc import Sequence
from typing import Any

import pytest

from scoring_model.contract.label import LabelReport
from scoring_model.contract.texts import to_text
from scoring_model.records import rfc3339
from scoring_model.service.clients import Caller
from scoring_model.service.core.errors import IdempotencyMismatch, Invalid, Unavailable
from scoring_model.service.core.rows import LabelRow
from scoring_model.service.idempotency import Answer
from scoring_model.service.labels import ROWS, LabelLine, import_labels
from service_use import HOUR, START, World, applicants, request_of, table, with_service

FRAUDS = "link_device_1d_frauds"
KNOWN = rfc3339(START)


def label(verification: bytes, label: str = "fraud", known_at: str = KNOWN) -> dict[str, Any]:
    """A label of a verification."""
    return {"verificationId": to_text(verification), "label": label, "knownAt": known_at}


async def answered(
    world: World, caller: Caller, rows: Sequence[object], key: str | None = None
) -> Answer[LabelReport]:
    """Report labels."""
    body = {"labels": list(rows)}
    request = None if key is None else request_of(key, body, "POST /scoring/v1/labels")
    return await world.service.labels.create(caller, body, request)


async def statuses(world: World, caller: Caller, *rows: object) -> list[str]:
    """The answers to some labels."""
    report = (await answered(world, caller, rows)).resource
    found = [result.status for result in report.results]
    counts = [found.count(name) for name in ("CREATED", "UNCHANGED", "REFUSED")]
    assert [report.created, report.unchanged, report.refused] == counts
    return found


async def on_device(world: World, caller: Caller) -> bytes:
    """A verification by one device."""
    return (await world.verify(caller, signals={"deviceId": "d"})).resource.id


@with_service
async def test_labels_of_a_request_are_stored_as_those_of_a_file(world: World) -> None:
    """The same labels by request and by file leave the same rows, links and events, and later rows see the same."""
    callers = [await world.client(), await world.client()]
    rows: list[tuple[str, int]] = [("fraud", 0), ("withdrawn", 1), ("fraud", 2), ("fraud", 2), ("genuine", 1)]
    seen = []
    for caller in callers:
        first = await on_device(world, caller)
        world.clock.at = START + HOUR
        if caller is callers[0]:
            sent = [label(first, said, rfc3339(START + at)) for said, at in rows]
            assert await statuses(world, caller, *sent) == [*3 * ["CREATED"], "UNCHANGED", "CREATED"]
        else:
            async with world.store.reading() as reader:
                clients = await reader.clients()
            lines = [LabelLine(first, None, said, START + at) for said, at in rows]
            await import_labels(world.store, clients, lines, world.clock)
        world.clock.at = START + 2 * HOUR
        after = await on_device(world, caller)
        stored = [row[2:] for row in await table(world.url, LabelRow) if row.client == caller.client]
        events = [row.data.replace(to_text(first), "") for row in await world.events(caller)]
        seen.append((stored, (await world.features(after))[FRAUDS], [e for e in events if "knownAt" in e]))
        world.clock.at = START
    assert seen[0] == seen[1]
    assert [len(part) for part in (seen[0][0], seen[0][2])] == [4, 4]


@with_service
async def test_a_bad_label_keeps_out_no_other(world: World) -> None:
    """Each refused label has the pointer and code of everything that is wrong with it; the good ones are stored."""
    caller, neighbour = await world.client(), await world.client()
    first, foreign = await on_device(world, caller), await on_device(world, neighbour)
    erased = (await world.verify(caller, signals={"deviceId": "e"})).resource.id
    await world.erase_signals(caller, erased)
    bare = await world.identity(caller, applicants(world.bundle)[0].identity)
    later = rfc3339(START + 1)
    cases: list[tuple[object, list[tuple[str, str]]]] = [
        (7, [("", "wrong_type")]),
        ({}, [("/label", "missing"), ("/knownAt", "missing"), ("", "one_identifier")]),
        (
            {**label(first), "identityId": to_text(bare), "note": 1},
            [("/note", "unknown_field"), ("", "one_identifier")],
        ),
        (label(first, "Fraud"), [("/label", "not_listed")]),
        (label(first, "fraud", later), [("/knownAt", "in_future")]),
        (label(first, "fraud", KNOWN[:-1]), [("/knownAt", "not_a_time")]),
        ({**label(first), "verificationId": "x"}, [("/verificationId", "not_a_uuid")]),
        (label(bytes(16)), [("/verificationId", "not_found")]),
        (label(foreign), [("/verificationId", "not_found")]),
        (label(erased), [("", "erased")]),
        ({"identityId": to_text(bare), "label": "fraud", "knownAt": KNOWN}, [("", "not_completed")]),
        ({"identityId": to_text(first), "label": "fraud", "knownAt": KNOWN}, [("/identityId", "not_found")]),
    ]
    rows = [label(first), *(row for row, _ in cases), label(first, "genuine")]
    report = (await answered(world, caller, rows)).resource
    assert (report.created, report.unchanged, report.refused) == (2, 0, len(cases))
    for place, (_, errors) in enumerate(cases, 1):
        found = [(error.pointer, error.code) for error in report.results[place].errors]
        assert found == [(f"/labels/{place}{pointer}", code) for pointer, code in errors]
    assert [row.label for row in await table(world.url, LabelRow)] == ["fraud", "genuine"]


@with_service
async def test_a_label_of_an_identity_is_of_all_its_verifications(world: World) -> None:
    """One label reaches each, and again only a verification that was made since."""
    caller = await world.client()
    identity = await world.identity(caller, applicants(world.bundle)[0].identity)
    for _ in range(3):
        await world.verify(caller, identity=identity)
    row = {"identityId": to_text(identity), "label": "genuine", "knownAt": KNOWN}
    assert await statuses(world, caller, row, row) == ["CREATED", "UNCHANGED"]
    await world.verify(caller, identity=identity)
    assert await statuses(world, caller, row) == ["CREATED"]
    assert len(await table(world.url, LabelRow)) == 4


@with_service
async def test_transactions_of_labels_are_short_and_a_failure_is_repeated(world: World) -> None:
    """250 labels are three transactions; when the last fails, the same request does the rest and then replays."""
    caller = await world.client()
    first = await on_device(world, caller)
    rows = [label(first, "fraud", rfc3339(START - 1 - at)) for at in range(2 * ROWS + 50)]
    at_work = world.store.knocking
    sizes: list[int] = []

    async def count() -> None:
        sizes.append(len(await table(world.url, LabelRow)))
        if len(sizes) == 3:
            raise Unavailable

    world.store.before_each = count
    with pytest.raises(Unavailable):
        await answered(world, caller, rows, "k")
    world.store.before_each = None
    assert (at_work, sizes[:3]) == (0, [0, ROWS, 2 * ROWS])
    again = (await answered(world, caller, rows, "k")).resource
    assert (again.created, again.unchanged) == (50, 2 * ROWS)
    replayed = await answered(world, caller, rows, "k")
    assert replayed.replayed
    assert replayed.resource == again
    with pytest.raises(IdempotencyMismatch):
        await answered(world, caller, [label(first, "genuine")], "k")
    assert len(await table(world.url, LabelRow)) == len(rows)
    assert {row.label for row in await table(world.url, LabelRow)} == {"fraud"}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "missing"),
        ({"labels": None}, "missing"),
        ({"labels": {}}, "wrong_type"),
        ({"labels": []}, "too_few"),
        ({"labels": [{}] * 1_001}, "too_many"),
    ],
)
@with_service(url="sqlite_url")
async def test_no_list_of_labels_is_refused_as_a_whole(
    world: World, body: dict[str, object], code: str
) -> None:
    """Without a list of 1 to 1,000 labels there is no answer for each, but one 422."""
    with pytest.raises(Invalid) as caught:
        await world.service.labels.create(await world.client(), body, None)
    assert [(error.pointer, error.code) for error in caught.value.errors] == [("/labels", code)]
