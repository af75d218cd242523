"""Labels reported later: which are new, which records they reach, and from when they count."""

import struct
from collections.abc import Sequence

from scoring_model.contract.outcome import Outcome
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core import ids
from scoring_model.service.core.rows import LabelRow, LinkRow
from scoring_model.service.labels.imports import Imported, LabelLine, import_labels
from scoring_model.service.requests.commit_queue import QueueLimits
from service_use import HOUR, START, World, applicants, opened, table, with_service

FRAUDS = "link_device_1d_frauds"


def of(verification: bytes, label: str = "fraud", known_at: int = START) -> LabelLine:
    """A label of a verification."""
    return LabelLine(verification, None, label, known_at)


async def imported(world: World, lines: Sequence[LabelLine]) -> Imported:
    """Report labels."""
    async with world.store.reading() as reader:
        clients = await reader.clients()
    return await import_labels(world.store, clients, lines, world.clock)


async def on_device(world: World, caller: Caller) -> bytes:
    """A verification by one device."""
    return (await world.verify(caller, signals={"deviceId": "d"})).resource.id


async def frauds_seen(world: World, caller: Caller) -> float:
    """How many frauds a new verification by that device sees."""
    return (await world.features(await on_device(world, caller)))[FRAUDS]


def labels_of(row: LinkRow) -> list[tuple[int, int]]:
    """Instants and values of the labels of a link row."""
    return [(at, said) for at, said in struct.iter_unpack("<qb", row.labels or b"")]


@with_service
async def test_labels_count_from_their_telling(world: World) -> None:
    """A label affects only verifications after its report, whenever it became known."""
    caller = await world.client()
    first = await on_device(world, caller)
    world.clock.at += HOUR
    before = await frauds_seen(world, caller)
    world.clock.at += HOUR
    assert await imported(world, [of(first)]) == Imported(1, 0, ())
    world.clock.at += HOUR
    assert (before, await frauds_seen(world, caller)) == (0, 1)
    (row,) = await table(world.url, LabelRow)
    assert row == LabelRow(caller.client, first, "fraud", START, START + 2 * HOUR)
    reported = [labels_of(link) for link in await world.link_rows() if link.labels]
    assert reported == [[(START + 2 * HOUR, 1)]]


@with_service
async def test_labels_are_reported_later_than_every_event_that_did_not_see_them(world: World) -> None:
    """With a clock that is behind the report is a microsecond after the newest event under the same keys."""
    caller = await world.client()
    first = await on_device(world, caller)
    world.clock.at += HOUR
    newest = (await world.row(await on_device(world, caller))).completed_at or 0
    world.clock.at -= 4_000_000
    await imported(world, [of(first)])
    (label,) = await table(world.url, LabelRow)
    assert label.told_at == newest + 1
    second = await imported(world, [of(first, "genuine")])
    assert second.imported == 1
    assert (await table(world.url, LabelRow))[-1].told_at == newest + 2
    after = await world.row(await on_device(world, caller))
    assert after.completed_at == newest + 1  # at the very instant of the label: not seen, here or in a file
    assert (await world.features(after.id))[FRAUDS] == 0


@with_service
async def test_labels_reported_again_change_nothing(world: World) -> None:
    """The same label known at the same instant is counted as repeated, within one import and from one to the next."""
    caller = await world.client()
    first = await on_device(world, caller)
    assert await imported(world, [of(first), of(first)]) == Imported(1, 1, ())
    links = await world.link_rows()
    world.clock.at += HOUR
    assert await imported(world, [of(first)]) == Imported(0, 1, ())
    assert await world.link_rows() == links
    assert len(await table(world.url, LabelRow)) == 1
    assert await imported(world, [of(first, known_at=START + 1)]) == Imported(1, 0, ())


@with_service
async def test_labels_the_latest_decides(world: World) -> None:
    """Fraud, withdrawn, fraud again, genuine: each append counts from its report until the next."""
    caller = await world.client()
    first = await on_device(world, caller)
    seen = []
    for number, label in enumerate(("fraud", "withdrawn", "fraud", "genuine")):
        world.clock.at += 60_000_000
        await imported(world, [of(first, label, START + number)])
        world.clock.at += 60_000_000
        seen.append(await frauds_seen(world, caller))
    assert seen == [1, 0, 1, 0]
    rows = await table(world.url, LabelRow)
    assert [row.label for row in rows] == ["fraud", "withdrawn", "fraud", "genuine"]
    # Of two reported at one instant the last one decides.
    world.clock.at += 60_000_000
    await imported(world, [of(first, "genuine", START + 8), of(first, "fraud", START + 7)])
    world.clock.at += 60_000_000
    assert await frauds_seen(world, caller) == 1


@with_service
async def test_labels_of_an_identity_reach_all_its_verifications(world: World) -> None:
    """A label of an identity reaches all its completed verifications, and none of another identity of the person."""
    caller = await world.client()
    body = applicants(world.bundle)[0].identity
    identity, twin = [await world.identity(caller, body) for _ in range(2)]
    mine = [(await world.verify(caller, identity=identity)).resource.id for _ in range(3)]
    await world.verify(caller, identity=twin)
    async with opened(world.url, world.bundle, limits=QueueLimits(scoring_seconds=-1.0)) as busy:
        assert (await busy.verify(caller, identity=identity)).pending
    line = LabelLine(None, identity, "fraud", START)
    assert await imported(world, [line]) == Imported(3, 0, ())
    assert [row.verification_id for row in await table(world.url, LabelRow)] == mine
    labelled = [link for link in await world.link_rows() if link.labels]
    assert len(labelled) == 9  # person, address and image of three events


@with_service
async def test_labels_of_what_is_not_there_are_unknown(world: World) -> None:
    """Unknown, uncompleted and erased ids are returned, and the other labels are imported."""
    caller = await world.client()
    nobody, nothing = ids.new_id(0), ids.new_id(1)
    bare = await world.identity(caller, applicants(world.bundle)[0].identity)
    good, erased = [await on_device(world, caller) for _ in range(2)]
    await world.erase_signals(caller, erased)
    async with opened(world.url, world.bundle, limits=QueueLimits(scoring_seconds=-1.0)) as busy:
        pending = (await busy.verify(caller, signals={"vpn": True})).resource.id
    lines = [
        of(nobody),
        LabelLine(None, nothing, "fraud", START),
        LabelLine(None, bare, "fraud", START),
        of(good),
        of(erased),
        of(pending),
    ]
    found = await imported(world, lines)
    assert found == Imported(1, 0, (nobody, nothing, bare, erased, pending))
    assert [row.verification_id for row in await table(world.url, LabelRow)] == [good]


@with_service
async def test_labels_of_many_clients_are_reported_in_one_import(world: World) -> None:
    """Labels of several clients over several transactions change only their own histories."""
    callers = [await world.client() for _ in range(3)]
    lines = []
    for caller in callers[:2]:
        lines += [of((await world.verify(caller, signals={"deviceId": "d"})).resource.id) for _ in range(120)]
    assert await imported(world, lines * 2) == Imported(240, 240, ())
    world.clock.at += HOUR
    assert [await frauds_seen(world, caller) for caller in callers] == [120, 120, 0]


@with_service
async def test_labels_of_a_verification_without_links_are_kept(world: World) -> None:
    """A verification without links can be labelled for training."""
    caller = await world.client()
    found = (await world.verify(caller, signals={"vpn": True})).resource
    assert isinstance(found.outcome, Outcome)
    assert await imported(world, [of(found.id)]) == Imported(1, 0, ())
