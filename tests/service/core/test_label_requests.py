"""Labels that clients report: an answer for each, what is kept of a request that fails halfway, and whose they are."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from scoring_model.contract.label import LabelInput, LabelReport
from scoring_model.contract.texts import to_text
from scoring_model.contract.violation import MOST_ERRORS
from scoring_model.records import rfc3339
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core.errors import IdempotencyMismatch, Invalid, Unavailable
from scoring_model.service.core.ids import new_id
from scoring_model.service.core.rows import LabelRow, VerificationRow
from scoring_model.service.labels import requests
from scoring_model.service.labels.imports import LabelLine, import_labels
from scoring_model.service.labels.requests import AT_ONCE, IDS_AT_ONCE, Visit
from scoring_model.service.labels.rows import MOST_KEPT, ROWS
from scoring_model.service.requests.idempotency import Answer
from scoring_model.service.store import Reader
from service_use import HOUR, START, World, applicants, request_of, table, with_service

FRAUDS = "link_device_1d_frauds"
KNOWN = rfc3339(START)


def label(verification: bytes, label: str = "fraud", known_at: str = KNOWN) -> dict[str, Any]:
    """A label of a verification."""
    return {"verificationId": to_text(verification), "label": label, "knownAt": known_at}


def about(row: VerificationRow, known_at: str = KNOWN) -> dict[str, Any]:
    """A label of the identity of a verification."""
    assert row.identity_id is not None
    return {"identityId": to_text(row.identity_id), "label": "fraud", "knownAt": known_at}


class Spent:
    """Notes the tokens that a request asks for, and refuses them with an error."""

    def __init__(self, error: Exception | None = None) -> None:
        self.tokens: list[int] = []
        self._error = error

    async def __call__(self, tokens: int) -> None:
        """Ask for tokens."""
        self.tokens.append(tokens)
        if self._error is not None:
            raise self._error


async def identified(world: World, caller: Caller) -> VerificationRow:
    """A verification of a new identity."""
    identity = await world.identity(caller, applicants(world.bundle)[0].identity)
    return await world.row((await world.verify(caller, identity=identity)).resource.id)


async def many(world: World, row: VerificationRow, count: int) -> list[VerificationRow]:
    """Further verifications like one, written at once."""
    rows = [row._replace(id=new_id(START)) for _ in range(count)]
    async with world.store.writing([]) as transaction:
        await transaction.insert(rows)
    return rows


async def answered(
    world: World,
    caller: Caller,
    rows: Sequence[object],
    key: str | None = None,
    visit: Visit = Visit(),  # noqa: B008 - frozen
) -> Answer[LabelReport]:
    """Report labels."""
    body = {"labels": list(rows)}
    request = None if key is None else request_of(key, body, "POST /scoring/v1/labels")
    return await world.service.labels.create(caller, body, request, visit)


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
    """A transaction has few labels; when the third fails, the same request does the rest and then replays."""
    caller = await world.client()
    made = await many(world, await identified(world, caller), 2 * AT_ONCE + 50)
    rows = [label(one.id) for one in made]
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
    assert (at_work, sizes[:3]) == (0, [0, AT_ONCE, 2 * AT_ONCE])
    again = (await answered(world, caller, rows, "k")).resource
    assert (again.created, again.unchanged) == (50, 2 * AT_ONCE)
    replayed = await answered(world, caller, rows, "k")
    assert replayed.replayed
    assert replayed.resource == again
    with pytest.raises(IdempotencyMismatch):
        await answered(world, caller, [label(made[0].id, "genuine")], "k")
    assert len(await table(world.url, LabelRow)) == len(rows)
    assert {row.label for row in await table(world.url, LabelRow)} == {"fraud"}


@with_service(url="sqlite_url")
async def test_pairs_are_counted_before_anything_is_kept(world: World) -> None:
    """101 labels of an identity with 100 verifications are 10,100 pairs: nothing is written or stored."""
    caller = await world.client()
    first = await identified(world, caller)
    await many(world, first, ROWS - 1)
    written = len(world.store.history_scopes)
    rows = [about(first, rfc3339(START - at)) for at in range(101)]
    spent = Spent()
    with pytest.raises(Invalid) as caught:
        await answered(world, caller, rows, visit=Visit(spend=spent))
    assert [(error.pointer, error.code) for error in caught.value.errors] == [("/labels", "too_many_pairs")]
    assert (spent.tokens, len(world.store.history_scopes) - written) == ([1], 0)  # for reading 101 labels
    report = (await answered(world, caller, rows[:100], visit=Visit(spend=spent))).resource
    assert (report.created, spent.tokens) == (100, [1, 99])  # the request has paid for the first hundred


@with_service(url="sqlite_url")
async def test_a_request_that_cannot_pay_does_no_work(world: World) -> None:
    """It is refused before the first transaction; a full bucket suffices, however small the quota."""
    caller = await world.client()
    first = await identified(world, caller)
    await many(world, first, 2 * ROWS - 1)
    written = len(world.store.history_scopes)
    poor = Spent(error=Unavailable())
    with pytest.raises(Unavailable):
        await answered(world, caller, [about(first)] * 50, visit=Visit(spend=poor))
    assert (poor.tokens, len(world.store.history_scopes) - written) == ([99], 0)
    small, spent = replace(caller, quota=5), Spent()
    await answered(world, small, [about(first)] * 50, visit=Visit(spend=spent))
    assert spent.tokens == [4]


@with_service(url="sqlite_url")
async def test_others_get_a_turn_between_slices_of_a_request(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two turns of others few labels are checked, few ids are counted and few pairs are stored."""
    caller = await world.client()
    first = await identified(world, caller)
    await many(world, first, 2 * IDS_AT_ONCE)
    slices: list[Counter[str]] = [Counter()]

    def counted(name: str, owner: Any, attribute: str, size: Callable[..., int]) -> None:
        usual = getattr(owner, attribute)

        def call(*arguments: Any, **named: Any) -> Any:
            slices[-1][name] += size(*arguments)
            return usual(*arguments, **named)

        monkeypatch.setattr(owner, attribute, call)

    usual = world.service.queue.lull

    async def lull() -> None:
        await usual()
        slices.append(Counter())

    counted("checked", LabelInput, "parse", lambda *_: 1)
    counted("ids", Reader, "ids_of_identity", lambda _reader, _identity, limit, _after: limit)
    counted("stored", requests, "append_all", lambda _transaction, batch, _clock: len(batch))
    monkeypatch.setattr(world.service.queue, "lull", lull)
    rows = [about(first, rfc3339(START - at)) for at in range(4)] + [label(first.id)] * 96
    report = (await answered(world, caller, rows)).resource
    assert report.refused == 0
    most = {name: max(part[name] for part in slices) for name in ("checked", "ids", "stored")}
    assert most == {"checked": AT_ONCE, "ids": IDS_AT_ONCE, "stored": AT_ONCE}
    assert all(len(part) == 1 or "stored" not in part for part in slices)


@with_service(url="sqlite_url")
async def test_requests_take_turns(world: World) -> None:
    """A small request waits for one batch of a large one that came before."""
    caller, neighbour = await world.client(), await world.client()
    made = await many(world, await identified(world, caller), 3 * AT_ONCE)
    other = await on_device(world, neighbour)
    world.store.gate.clear()
    first = asyncio.create_task(answered(world, caller, [label(one.id) for one in made]))
    second = asyncio.create_task(answered(world, neighbour, [label(other)]))
    await asyncio.sleep(0.1)
    world.store.gate.set()
    assert (await second).resource.created == 1
    assert not first.done()
    assert (await first).resource.created == len(made)


@with_service(url="sqlite_url")
async def test_work_stops_when_the_caller_has_gone(world: World) -> None:
    """Nothing is stored after the batch that is under way, and the client may ask again at once."""
    caller = await world.client()
    made = await many(world, await identified(world, caller), 3 * AT_ONCE)
    rows = [label(one.id) for one in made]
    asked: list[None] = []

    def stay() -> None:
        asked.append(None)
        if len(asked) == 3:
            raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await answered(world, caller, rows, visit=Visit(stay=stay))
    assert len(await table(world.url, LabelRow)) == AT_ONCE
    assert (await answered(world, caller, rows)).resource.created == 2 * AT_ONCE


@with_service
async def test_link_records_get_what_changes_a_verification_alone(world: World) -> None:
    """Of a transaction the last value, and none that is in force; all changes are stored for what-if and replay."""
    caller = await world.client()
    first = await on_device(world, caller)
    words = ("fraud", "genuine", "fraud", "withdrawn", "fraud")
    sent = [label(first, said, rfc3339(START + at)) for at, said in enumerate(words)]
    lengths = []
    for rows in (sent, [label(first, "fraud", rfc3339(START + 9))], [label(first, "genuine", KNOWN)], sent):
        world.clock.at += HOUR
        await answered(world, caller, rows)
        lengths.append([len(link.labels or b"") for link in await world.link_rows()])
    assert lengths == [[9], [9], [18], [18]]
    assert len(await table(world.url, LabelRow)) == 7


@with_service(url="sqlite_url")
async def test_a_verification_has_at_most_a_hundred_labels(world: World) -> None:
    """The next is refused, also by identity and from a file; those that are there stay unchanged."""
    caller = await world.client()
    first = await identified(world, caller)
    said = [label(first.id, "fraud", rfc3339(START - at)) for at in range(MOST_KEPT + 2)]
    report = (await answered(world, caller, said)).resource
    assert (report.created, report.refused) == (MOST_KEPT, 2)
    assert [error.code for error in report.results[-1].errors] == ["too_many_labels"]
    (second,) = await many(world, first, 1)
    assert await statuses(world, caller, said[0], about(first, rfc3339(START - 500))) == [
        "UNCHANGED",
        "REFUSED",
    ]
    async with world.store.reading() as reader:
        clients = await reader.clients()
    lines = [LabelLine(id_, None, "genuine", START) for id_ in (first.id, second.id)]
    found = await import_labels(world.store, clients, lines, world.clock)
    assert (found.imported, found.too_many, found.unknown) == (1, (first.id,), ())
    assert len(await table(world.url, LabelRow)) == MOST_KEPT + 2


@with_service(url="sqlite_url")
async def test_an_answer_lists_a_hundred_errors(world: World) -> None:
    """1,000 bad labels with 100 errors each are 1,000 refusals, 100 errors and the number of the others."""
    caller = await world.client()
    rows: list[object] = [dict.fromkeys(map(str, range(200))) for _ in range(1_000)]
    report = (await answered(world, caller, rows, "k")).resource
    assert report.refused == 1_000
    assert sum(len(result.errors) for result in report.results) == MOST_ERRORS
    assert report.errors_omitted == 1_000 * 203 - MOST_ERRORS
    assert (await answered(world, caller, rows, "k")).resource == report


@with_service(url="sqlite_url")
async def test_files_of_many_labels_of_large_identities_are_imported(world: World) -> None:
    """Every verification is reached in the order of the lines, over pages of lines and of verifications."""
    caller = await world.client()
    first = await identified(world, caller)
    await many(world, first, 2 * ROWS)
    async with world.store.reading() as reader:
        clients = await reader.clients()
    lines = [LabelLine(first.id, None, said, START) for said in ("fraud", "genuine")]
    lines += [
        LabelLine(None, first.identity_id, "withdrawn", START),
        LabelLine(bytes(16), None, "fraud", START),
    ]
    lines += [LabelLine(first.id, None, "genuine", START)] * ROWS
    found = await import_labels(world.store, clients, iter(lines), world.clock)
    assert (found.imported, found.repeated, found.unknown) == (2 * ROWS + 3, ROWS, (bytes(16),))
    assert [row.label for row in await table(world.url, LabelRow) if row.verification_id == first.id] == [
        "fraud",
        "genuine",
        "withdrawn",
    ]


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
