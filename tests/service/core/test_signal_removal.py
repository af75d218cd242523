"""Removal of old signals leaves verdict, subject and replay unchanged, and no partial data."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scoring_model.contract.outcome import Outcome
from scoring_model.contract.texts import to_text
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core import ids
from scoring_model.service.core.rows import VerificationRow
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.keys.keyring import KeyEncryptionKey, Keyring, UnknownMasterKey
from scoring_model.service.past.export import export_pages
from scoring_model.service.retention import signals
from scoring_model.service.retention.prune import Pruned, prune
from scoring_model.service.retention.signals import OldSignals, Removed, remove_signals
from scoring_model.service.retention.sweeping import Ages
from scoring_model.service.scoring.replaying import Replay, replay
from service_use import (
    HOUR,
    MASTERS,
    SECOND,
    START,
    World,
    applicants,
    blob,
    decider_of,
    eventually,
    file_of,
    run_story,
    select,
    signals_of,
    table,
)
from stored_rows import broken

pytestmark = pytest.mark.anyio

AGE = 365 * 24 * HOUR


@pytest.fixture(autouse=True)
def from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Identifiers are of the instants of these tests: others of the process may have been in later years."""
    monkeypatch.setattr(ids, "new_id", ids.Identifiers().new_id)


async def removed(world: World, *, before: int | None = None, dry: bool = False) -> Removed:
    """Remove the old signals."""
    before = world.clock.now() - AGE if before is None else before
    return await remove_signals(world.store, Vault(MASTERS), before=before, dry=dry)


async def opened(world: World, resource: bytes) -> tuple[dict[str, object], str | None, bytes | None]:
    """Signals, subject and feature row of a verification."""
    row = await world.row(resource)
    async with world.store.reading() as reader:
        key = await world.persons.key_of(reader, row.key_id)
    assert key is not None
    return world.persons.verification_payload(row, key)


async def rows(world: World) -> set[VerificationRow]:
    """All verifications."""
    return set(await table(world.url, VerificationRow))


async def exported(world: World, caller: Caller) -> list[dict[str, Any]]:
    """All records of a client."""
    pages = export_pages(world.store, Vault(MASTERS), [caller.client])
    return [dict(one.record) async for page in pages for one in page.verifications]


@pytest.mark.parametrize("outcome", [Outcome.PASSED, Outcome.FAILED])
async def test_a_verdict_is_the_same_after_its_signals_went(
    world: World, sealed: Path, outcome: Outcome
) -> None:
    """Replay gives the same bits, resource and subject are unchanged, and only the payload differs."""
    caller = await world.client()
    person = applicants(sealed, outcome)[0]
    identity = await world.identity(caller, person.identity)
    made = [
        (await world.verify(caller, identity=identity, signals=person.signals)).resource,
        (await world.verify(caller, signals=signals_of(sealed, outcome)[0], subject="s")).resource,
    ]
    before = [(await opened(world, one.id), await world.row(one.id)) for one in made]
    world.clock.at += AGE + 1
    assert await removed(world) == Removed(signals=2, unreadable=0)
    for one, ((_, subject, packed), row) in zip(made, before, strict=True):
        assert await opened(world, one.id) == ({}, subject, packed)
        now = await world.row(one.id)
        assert now.payload != row.payload
        assert now._replace(payload=row.payload) == row
        assert await world.verification(caller, one.id) == one
        found = await replay(world.store, MASTERS, one.id, find=lambda *_: decider_of(sealed))
        assert found is Replay.SAME


async def test_signals_that_are_as_old_as_the_age_stay(world: World) -> None:
    """A microsecond later they go; a second removal finds nothing, and later ones go on from there."""
    caller = await world.client()
    first = (await world.verify(caller, signals={"vpn": True})).resource
    world.clock.advance(1)
    second = (await world.verify(caller, signals={"vpn": False})).resource
    assert (await removed(world, before=START)).signals == 0
    assert (await opened(world, first.id))[0] == {"vpn": True}
    assert (await removed(world, before=START + 1)).signals == 1
    assert (await removed(world, before=START + 1)).signals == 0
    assert [(await opened(world, one.id))[0] for one in (first, second)] == [{}, {"vpn": False}]
    assert (await removed(world, before=START + SECOND + 1)).signals == 1
    assert (await opened(world, second.id))[0] == {}


async def test_a_dry_run_counts_the_same_and_changes_nothing_of_it(
    world: World, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several stretches; those without signals do not count."""
    monkeypatch.setattr(signals, "SIGNALS_BATCH", 2)
    reported: list[int] = []
    caller = await world.client()
    identity = await world.identity(caller, applicants(sealed)[0].identity)
    await world.verify(caller, identity=identity)
    for _ in range(4):
        await world.verify(caller, signals={"vpn": True})
    world.clock.at += AGE + 1
    before = await rows(world)
    foretold = await removed(world, dry=True)
    assert foretold == Removed(signals=4, unreadable=0)
    assert await rows(world) == before
    done = await remove_signals(
        world.store,
        Vault(MASTERS),
        before=world.clock.now() - AGE,
        progress=lambda _, count: reported.append(count),
    )
    assert done == foretold
    assert reported == [1, 3, 4]
    assert len(await rows(world) & before) == 1


async def test_what_waits_keeps_its_signals_until_it_is_over(world: World) -> None:
    """They are needed to score it; the next removal after that finds it, however old it is by then."""
    caller = await world.client()
    waits = (await world.verify(caller, signals={"vpn": True})).resource
    await world.verify(caller, signals={"vpn": True})
    where = f"WHERE id = {blob(world.url, waits.id)}"
    await select(world.url, f"UPDATE verifications SET status = 'PENDING' {where}")
    world.clock.at += AGE + HOUR
    assert (await removed(world)).signals == 1
    assert (await opened(world, waits.id))[0] == {"vpn": True}
    # One that failed in the end is over too.
    await select(world.url, f"UPDATE verifications SET status = 'ERROR' {where}")
    assert (await removed(world)).signals == 1
    assert (await opened(world, waits.id))[0] == {}


async def test_who_was_erased_stays_erased(world: World) -> None:
    """Erased before, or between the look and the writing: nothing is written for that person."""
    caller = await world.client()
    made = [(await world.verify(caller, signals={"vpn": True})).resource for _ in range(3)]
    await world.erase_signals(caller, made[0].id)
    world.clock.at += AGE + 1
    meanwhile = [made[1].id]

    async def erase() -> None:
        while meanwhile:
            await world.erase_signals(caller, meanwhile.pop())

    world.store.before_each = erase
    assert (await removed(world)).signals == 1
    world.store.before_each = None
    assert [(await world.row(one.id)).payload is None for one in made] == [True, True, False]
    assert (await removed(world)).signals == 0


async def test_an_export_leaves_out_what_lost_its_signals(world: World, sealed: Path) -> None:
    """The export omits records with removed signals, which would train as missing; those without signals stay."""
    caller = await world.client()
    person = applicants(sealed)[0]
    identity = await world.identity(caller, person.identity)
    await world.verify(caller, identity=identity, signals=person.signals)
    whole = (await world.verify(caller, identity=identity)).resource
    await world.verify(caller, signals={"vpn": True})
    world.clock.at += AGE + 1
    later = (await world.verify(caller, signals={"vpn": True})).resource
    before = await exported(world, caller)
    assert len(before) == 4
    await removed(world)
    left = await exported(world, caller)
    kept = {to_text(one.id) for one in (whole, later)}
    assert left == [record for record in before if record["recordId"] in kept]
    assert len(left) == 2


@pytest.mark.parametrize("place", ["payload", "key"])
async def test_what_does_not_open_is_left_and_reported(world: World, place: str) -> None:
    """It holds up nobody else's."""
    caller = await world.client()
    made = [(await world.verify(caller, signals={"vpn": True})).resource for _ in range(2)]
    row = await world.row(made[0].id)
    async with world.store.reading() as reader:
        key = (await reader.person_keys([row.key_id]))[row.key_id]
    change: dict[str, Callable[[], str]] = {
        "payload": lambda: (
            f"UPDATE verifications SET payload = {blob(world.url, broken(row.payload))} "
            f"WHERE id = {blob(world.url, row.id)}"
        ),
        "key": lambda: (
            f"UPDATE person_keys SET wrapped = {blob(world.url, broken(key.wrapped))} "
            f"WHERE key_id = {blob(world.url, row.key_id)}"
        ),
    }
    await select(world.url, change[place]())
    damaged = await world.row(row.id)
    world.clock.at += AGE + 1
    assert await removed(world) == Removed(signals=1, unreadable=1)
    assert await world.row(row.id) == damaged


async def test_a_master_key_that_is_missing_stops_the_removal(world: World) -> None:
    """Nothing is skipped silently: the removal succeeds once the key is available."""
    caller = await world.client()
    await world.verify(caller, signals={"vpn": True})
    world.clock.at += AGE + 1
    foreign = Vault(Keyring(KeyEncryptionKey(bytes(32))))
    with pytest.raises(UnknownMasterKey):
        await remove_signals(world.store, foreign, before=world.clock.now() - AGE)
    assert (await removed(world)).signals == 1


def test_on_sqlite_the_old_bytes_are_gone_from_the_files(sqlite_url: str, sealed: Path) -> None:
    """Privacy: from the database and from its log, with which anybody who has the key could read them."""

    async def story(world: World) -> None:
        caller = await world.client()
        made = [(await world.verify(caller, signals={"ours": "x" * 200})).resource for _ in range(3)]
        old = [(await world.row(one.id)).payload or b"" for one in made]

        def there() -> list[bool]:
            path = file_of(world.url)
            # Its end, as where a row is cut into pages is not known.
            held = path.read_bytes() + path.with_name(path.name + "-wal").read_bytes()
            return [payload[-64:] in held for payload in old]

        assert there() == [True] * 3
        world.clock.at += AGE + 1
        assert (await removed(world)).signals == 3
        await eventually(lambda: there() == [False] * 3)

    run_story(sqlite_url, sealed, story)


async def test_signals_stay_unless_an_operator_wants_it_otherwise(world: World) -> None:
    """Neither servers nor a walk without the option to take them out."""
    caller = await world.client()
    made = (await world.verify(caller, signals={"vpn": True})).resource
    world.clock.at += 20 * AGE
    row = await world.row(made.id)
    await world.service.housekeeping.walk()
    plain: Pruned = await prune(world.store, Ages(), now=world.clock.now())
    assert plain.signals is None
    assert await world.row(made.id) == row
    reported: list[str] = []
    pruned = await prune(
        world.store,
        Ages(),
        now=world.clock.now(),
        signals=OldSignals(age=AGE, keyring=MASTERS),
        progress=lambda kind, _: reported.append(kind),
    )
    assert pruned.signals == Removed(signals=1, unreadable=0)
    assert {"links", "events", "signals"} <= set(reported)
