"""Lists in a service: who decides, at once and exactly; what is stored, replayed, erased and never shown."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scoring_model.contract.outcome import Outcome
from scoring_model.contract.units import DAY
from scoring_model.contract.verification import Verification
from scoring_model.scorer import Scorer
from scoring_model.service.activation.rules import activate_rules
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core.errors import Invalid
from scoring_model.service.core.rows import (
    ListChangeRow,
    ListEntryRow,
    OperatorListRow,
    VerificationRow,
)
from scoring_model.service.operator_lists import changes, operating
from scoring_model.service.operator_lists.changes import (
    Addition,
    ListChange,
    add_entries,
    remove_entries,
    show_lists,
)
from scoring_model.service.operator_lists.operating import OperatedList, copy_lists, has_shared_lists
from scoring_model.service.past.inspection import inspect
from scoring_model.service.retention.sweeping import Ages, sweep
from scoring_model.service.scoring import listbook
from scoring_model.service.scoring.replaying import Replay, replay
from scoring_model.service.store import Reader
from service_use import (
    HOUR,
    MASTERS,
    START,
    World,
    decider_of,
    id_of,
    opened,
    request_of,
    run_story,
    select,
    signals_of,
    table,
    verification_body,
)

RULES = {
    "rules": [
        {"code": "FARM", "title": "a farm", "when": {"signals.deviceId": {"is": "farm"}}, "then": "FAILED"}
    ]
}


async def free(_tokens: int) -> None:
    """Spend nothing."""


async def listed(
    world: World,
    caller: Caller,
    name: str,
    outcome: str,
    *values: object,
    key: str = "device",
    **further: Any,
) -> int:
    """Add values to a list as a client; returns how many were new."""
    body = {"list": name, "key": key, "outcome": outcome, "values": list(values), **further}
    return (await world.service.lists.add(caller, body, None, free)).resource.changed


async def unlisted(world: World, caller: Caller, name: str, *values: object) -> int:
    """Remove values as a client; returns how many were on the list."""
    body = {"list": name, "values": list(values)}
    return (await world.service.lists.remove(caller, body, None, free)).resource.changed


async def verified(world: World, caller: Caller, device: str, **further: Any) -> Verification:
    """A verification that the model passes, of a device; `further` goes into its body."""
    place = further.pop("place", 0)
    signals = signals_of(world.bundle, further.pop("outcome", Outcome.PASSED))[place]
    signals = {**signals, "deviceId": device}
    body = verification_body(signals=signals, **further)
    return (await world.service.verifications.create(caller, body, None)).resource


async def replays(world: World, found: Sequence[Verification]) -> list[Replay]:
    """Results of the replays of verifications."""
    decider = decider_of(world.bundle)
    return [await replay(world.store, MASTERS, id_of(one), find=lambda *_: decider) for one in found]


def said(one: Verification) -> tuple[str | None, str | None, str | None]:
    """Outcome, who decided, and the name."""
    return one.scoring_outcome, one.decided_by, one.decided_by_code


def test_lists_decide_in_order_before_rules(store_url: str, sealed: Path) -> None:
    """Pass list, fail list, step-up list, rules, policy: outcome, reasons, events, hits and replay say who decided."""

    async def story(world: World) -> None:
        caller = await world.client()
        before = await verified(world, caller, "farm")
        await activate_rules(world.store, RULES, [Scorer.load(sealed)], by="ops", now=START)
        await listed(world, caller, "asked", "STEPPED_UP", "new", "farm", "both", "all")
        stepped = await verified(world, caller, "new", place=1)
        await listed(world, caller, "stopped", "FAILED", "both", "all")
        failed = await verified(world, caller, "both", outcome=Outcome.FAILED)
        await listed(world, caller, "known", "PASSED", "all")
        passed = await verified(world, caller, "all", outcome=Outcome.FAILED)
        assert await unlisted(world, caller, "asked", "farm", "other") == 1
        ruled = await verified(world, caller, "farm")
        plain = await verified(world, caller, "own", place=2)
        assert said(before) == ("PASSED", None, None)
        assert said(stepped) == ("STEPPED_UP", "list", "asked")
        assert [one.code for one in stepped.reason_codes] == ["OPERATOR_LIST"]
        assert stepped.reason_codes[0].description == "A list of the operator stopped the applicant."
        assert said(failed) == ("FAILED", "list", "stopped")
        assert [one.code for one in failed.reason_codes][:1] == ["OPERATOR_LIST"]
        assert 2 <= len(failed.reason_codes) <= 5
        assert (said(passed), passed.policy_outcome) == (("PASSED", "list", "known"), "FAILED")
        assert passed.reason_codes == ()
        assert said(ruled) == ("FAILED", "rule", "FARM")
        assert said(plain) == ("PASSED", "policy", None)
        rows = {row.id: row for row in await table(world.url, VerificationRow)}
        found = [stepped, failed, passed, ruled, plain]
        hits = [rows[id_of(one)].list_hits for one in found]
        assert hits == ["asked", "stopped,asked", "known,stopped,asked", None, None]
        assert [rows[id_of(one)].lists for one in found] == [1, 2, 3, 4, 4]
        assert await world.event_types(caller, id_of(failed)) == [
            "verification.completed",
            "verification.failed",
        ]
        assert not any("stopped" in event.data for event in await world.events(caller))
        assert (await inspect(world.store, MASTERS, id_of(failed)))["listHits"] == ["stopped", "asked"]
        assert await replays(world, [before, *found]) == [Replay.SAME] * 6
        shown = {one["list"]: one for one in await show_lists(world.store, caller.history_scope, None)}
        assert {name: (one["entries"], one["hits"]) for name, one in shown.items()} == {
            "asked": (3, 3), "stopped": (2, 2), "known": (1, 1)
        }  # fmt: skip

    run_story(store_url, sealed, story)


CHANGES = ["list_hits = NULL", "list_hits = 'b,a'", "decided_by_code = 'b'", "outcome = 'STEPPED_UP'", "lists = 1",
           "lists = NULL", "reasons = ''", "decided_by = 'policy'", "decided_by = 'rule'"]  # fmt: skip


def test_a_replay_finds_what_was_changed(sqlite_url: str, sealed: Path) -> None:
    """A verdict whose hits, name, outcome, reasons or lists were changed in the database is different."""

    async def story(world: World) -> None:
        caller = await world.client()
        for name in "ab":
            await listed(world, caller, name, "FAILED", "x")
        one = await verified(world, caller, "x")
        await unlisted(world, caller, "a", "x")
        await select(world.url, "CREATE TABLE kept AS SELECT * FROM verifications")
        for change in CHANGES:
            await select(world.url, f"UPDATE verifications SET {change}")
            assert await replays(world, [one]) == [Replay.DIFFERENT], change
            await select(world.url, "REPLACE INTO verifications SELECT * FROM kept")
            assert await replays(world, [one]) == [Replay.SAME]

    run_story(sqlite_url, sealed, story)


def test_entries_come_and_go(store_url: str, sealed: Path) -> None:
    """In every process with the commit; the end is decided by the event; every verdict replays, years later too."""

    async def story(world: World) -> None:
        async with opened(store_url, sealed) as other:
            caller, found, outcomes = await world.client(), [], []
            end = "2026-06-01T18:00:00Z"

            async def look() -> None:
                found.extend([await verified(one, caller, "x") for one in (world, other)])
                outcomes.append({one.decided_by for one in found[-2:]})

            assert await listed(world, caller, "a", "FAILED", "y") == 1
            await look()
            assert await listed(world, caller, "a", "FAILED", "x", until=end) == 1
            await look()
            assert await listed(world, caller, "a", "FAILED", "x", "y", until=end) == 1
            assert await unlisted(other, caller, "a", "x") == 1
            await look()
            assert await listed(other, caller, "a", "FAILED", "x", until=end) == 1
            await look()
            world.clock.at = other.clock.at = START + 6 * HOUR - 10
            await look()
            world.clock.at = other.clock.at = START + 6 * HOUR
            await look()
            assert outcomes == [{"policy"}, {"list"}, {"policy"}, {"list"}, {"list"}, {"policy"}]
            world.clock.at = START + 20_000 * HOUR
            assert set(await replays(world, found)) == {Replay.SAME}
            numbers = [row.number for row in await table(world.url, ListChangeRow)]
            assert sorted(numbers) == list(range(1, len(numbers) + 1))

    run_story(store_url, sealed, story)


def test_a_bitmap_that_is_behind_changes_nothing(
    sqlite_url: str, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries are found while the bitmap is read; afterwards it spares the query."""

    async def story(world: World) -> None:
        caller = await world.client()
        await listed(world, caller, "a", "FAILED", *(f"d{place}" for place in range(7)))
        monkeypatch.setattr(listbook, "READ_AT_ONCE", 2)
        for _ in range(5):
            assert said(await verified(world, caller, "d6"))[1:] == ("list", "a")
            assert said(await verified(world, caller, "free"))[1:] == ("policy", None)
        asked: list[int] = []

        async def count(_reader: Reader, hashes: Sequence[bytes]) -> list[ListEntryRow]:
            asked.append(len(hashes))
            return []

        monkeypatch.setattr(Reader, "list_entries", count)
        await verified(world, caller, "free")
        assert asked == []
        await verified(world, caller, "d6")
        assert asked == [1]

    run_story(sqlite_url, sealed, story)


def test_few_hashes_are_looked_up_in_vain() -> None:
    """With 300,000 entries the filter has every one of them, and about one in 43,000 of the others."""
    drawn = np.random.default_rng(7).bytes(16 * 340_000)
    hashes = [drawn[at : at + 16] for at in range(0, len(drawn), 16)]
    book = listbook.Listbook()
    book._bitmap = bytearray(listbook._BITMAP_BYTES)
    for first in range(0, 300_000, 10_000):
        book._set(hashes[first : first + 10_000])
    assert all(map(book._may_hold, hashes[:300_000:100]))
    assert sum(map(book._may_hold, hashes[300_000:])) <= 5


def test_a_list_is_that_of_one_history_scope(sqlite_url: str, sealed: Path) -> None:
    """Clients of a scope share it; another client neither sees nor feels it, and its answers have no new field."""

    async def story(world: World) -> None:
        one, two, stranger = [await world.client(scope) for scope in ("shared", "shared", None)]
        await listed(world, one, "a", "FAILED", "x")
        assert said(await verified(world, two, "x")) == ("FAILED", "list", "a")
        assert said(await verified(world, stranger, "x")) == ("PASSED", None, None)
        assert [found.list for found in (await world.service.lists.list_all(two)).lists] == ["a"]
        assert (await world.service.lists.list_all(stranger)).lists == ()
        with pytest.raises(Invalid, match="no list"):
            await unlisted(world, stranger, "a", "x")

    run_story(sqlite_url, sealed, story)


def test_only_who_reaches_the_policy_can_be_drawn(sqlite_url: str, controlling: Path) -> None:
    """Whom a list stops is in no control group and counts in none of its days."""

    async def story(world: World) -> None:
        caller = await world.client()
        await listed(world, caller, "a", "FAILED", "x")
        stopped = await verified(world, caller, "x", outcome=Outcome.FAILED, subject="a")
        drawn = await verified(world, caller, "own", outcome=Outcome.FAILED, subject="b")
        assert (said(stopped)[1], said(drawn)[1]) == ("list", "control")
        assert await select(world.url, "SELECT sum(drawn) FROM control_draws") == [(1,)]
        assert await replays(world, [stopped, drawn]) == [Replay.SAME, Replay.SAME]

    run_story(sqlite_url, controlling, story)


PERSON = {"firstName": "Ann", "lastName": "Lee", "dob": "1990-02-01"}


def test_an_entry_on_a_person_ends_with_the_person(store_url: str, sealed: Path) -> None:
    """An erasure deletes it, unless another client of the scope knows the person, whose verdicts are replayed."""

    async def story(world: World) -> None:
        one, two = await world.client("shared"), await world.client("shared")
        await listed(world, one, "persons", "FAILED", PERSON, key="person")
        body: dict[str, object] = {**PERSON, "citizenship": "GB", "documentType": "PASSPORT"}
        body |= {"imageUrls": ["https://img.example/1"], "address": {"country": "GB"}}
        identities = {caller.client: await world.identity(caller, body) for caller in (one, two)}

        async def verify(caller: Caller) -> Verification:
            sent = verification_body(identity=identities[caller.client])
            return (await world.service.verifications.create(caller, sent, None)).resource

        ours, theirs = await verify(one), await verify(two)
        assert said(ours) == said(theirs) == ("FAILED", "list", "persons")
        await world.erase_signals(one, id_of(ours))
        assert len(await table(world.url, ListEntryRow)) == 1
        assert await replays(world, [ours, theirs]) == [Replay.ERASED, Replay.SAME]
        await world.erase_signals(two, id_of(theirs))
        assert await table(world.url, ListEntryRow) == []
        assert [row.entries for row in await table(world.url, OperatorListRow)] == [0]

    run_story(store_url, sealed, story)


def test_ended_entries_go_with_link_records(sqlite_url: str, sealed: Path) -> None:
    """Living ones stay; a verdict from before replays with the lists that are stored."""

    async def story(world: World) -> None:
        caller = await world.client()
        await listed(world, caller, "a", "FAILED", "x", "y", "z", until="2026-06-02T00:00:00Z")
        await listed(world, caller, "b", "FAILED", "w")
        await listed(world, caller, "b", "FAILED", "v")
        await unlisted(world, caller, "b", "v")
        old = await verified(world, caller, "x")
        cutoff = START + 30 * DAY
        cutoffs = Ages().cutoffs(now=cutoff, longest=DAY)
        await sweep(world.store, cutoffs)
        assert [row.ended_at for row in await table(world.url, ListEntryRow)] == [None]
        assert [(row.name, row.entries) for row in await table(world.url, OperatorListRow)] == [
            ("a", 0),
            ("b", 1),
        ]
        assert await replays(world, [old]) == [Replay.SAME]
        await select(world.url, "UPDATE verifications SET decided_by_code = 'b'")
        assert await replays(world, [old]) == [Replay.DIFFERENT]

    run_story(sqlite_url, sealed, story)


REFUSED: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "nothing": ({}, {"/list": "missing", "/key": "missing", "/outcome": "missing", "/values": "missing"}),
    "no name": ({"list": "a b", "outcome": "STOP"}, {"/list": "malformed", "/outcome": "not_listed"}),
    "no key": ({"key": "devise"}, {"/key": "unknown_key"}),
    "no outcome": ({"outcome": "STOP"}, {"/outcome": "not_listed"}),
    "an end in the past": ({"until": "2026-06-01T00:00:00Z"}, {"/until": "too_early"}),
    "no end": ({"until": "soon"}, {"/until": "not_a_time"}),
    "too many": ({"values": ["x"] * 1_001}, {"/values": "too_many"}),
    "none": ({"values": []}, {"/values": "too_few"}),
    "no text": ({"values": ["x", ["y"], "", 1]}, {"/values/1": "wrong_type", "/values/2": "blank",
                                                  "/values/3": "wrong_type"}),
    "fields": (
        {"key": "person", "values": ["Ann", {"firstName": 1, "dob": "x", "nick": "y"}, {"dob": "1990-02-01"}]},
        {"/values/0": "wrong_type", "/values/1/firstName": "wrong_type", "/values/1/dob": "not_a_date",
         "/values/1": "unknown_field", "/values/2": "blank"},
    ),
}  # fmt: skip


def test_what_a_list_does_not_take_is_refused_with_all_problems(sqlite_url: str, sealed: Path) -> None:
    """By field, place and rule, never by the value; nothing is added."""

    async def story(world: World) -> None:
        caller = await world.client()
        base = {"list": "a", "key": "device", "outcome": "FAILED", "values": ["x"]}
        for case, (change, problems) in REFUSED.items():
            with pytest.raises(Invalid) as refused:
                await world.service.lists.add(caller, {**base, **change} if change else {}, None, free)
            assert {one.pointer: one.code for one in refused.value.errors} == problems, case
        assert await table(world.url, OperatorListRow) == []

    run_story(sqlite_url, sealed, story)


def test_lists_have_limits(sqlite_url: str, sealed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So many lists and entries; ended entries make room; key and outcome never change; values cost tokens."""

    async def story(world: World) -> None:
        monkeypatch.setattr(changes, "MOST_LISTS", 2)
        monkeypatch.setattr(changes, "MOST_ENTRIES", 3)
        caller, spent = await world.client(), []

        async def spend(tokens: int) -> None:
            spent.append(tokens)

        await listed(world, caller, "a", "FAILED", "x")
        for change in ({"key": "address"}, {"outcome": "PASSED"}):
            body: dict[str, Any] = {
                "list": "a",
                "key": "device",
                "outcome": "FAILED",
                "values": ["x"],
                **change,
            }
            if "key" in change:
                body["key"], body["values"] = "person", [PERSON]
            with pytest.raises(Invalid, match="which never change"):
                await world.service.lists.add(caller, body, None, free)
        await listed(world, caller, "b", "FAILED", "x")
        with pytest.raises(Invalid, match="one list more than 2"):
            await listed(world, caller, "c", "FAILED", "x")
        assert await listed(world, caller, "a", "FAILED", "y", "z", until="2026-06-01T13:00:00Z") == 2
        with pytest.raises(Invalid, match="would have 4 entries; a list takes 3"):
            await listed(world, caller, "a", "FAILED", "w")
        world.clock.at += 2 * HOUR
        assert await listed(world, caller, "a", "FAILED", "w", "y") == 2  # the end of y has passed
        shown = (await world.service.lists.list_all(caller)).lists[0]
        assert (shown.entries, shown.outcome, shown.key) == (3, "FAILED", "device")
        body = {"list": "a", "values": [f"d{place}" for place in range(1_000)]}
        await world.service.lists.remove(caller, body, None, spend)
        assert spent == [9]
        answers = [
            await world.service.lists.remove(caller, body, request_of("once", body), free)
            for body in [body] * 2
        ]
        assert [one.replayed for one in answers] == [False, True]
        assert answers[0].resource == answers[1].resource

    run_story(sqlite_url, sealed, story)


def test_operators_change_lists_at_once(store_url: str, sealed: Path) -> None:
    """Two at a time: each change has its own number, and none is lost."""

    async def story(world: World) -> None:
        change = ListChange(history_scope="x", name="a", by="ops")
        addition = Addition(key="device", outcome=Outcome.FAILED, until=None)
        hashes = [place.to_bytes(16) for place in range(40)]
        await add_entries(world.store, change, addition, hashes[:1], now=START)
        await asyncio.gather(
            *(
                add_entries(
                    world.store,
                    replace(change, by=str(place)),
                    addition,
                    hashes[place : place + 4],
                    now=START,
                )
                for place in range(0, 40, 4)
            )
        )
        rows = await table(world.url, ListChangeRow)
        assert sorted(row.number for row in rows) == list(range(1, 12))
        (row,) = await table(world.url, OperatorListRow)
        assert row.entries == len(await table(world.url, ListEntryRow)) == 40
        done = await remove_entries(world.store, change, None, now=START)
        assert (done.changed, done.entries) == (40, 0)

    run_story(store_url, sealed, story)


def test_a_list_of_all_scopes_is_in_each(sqlite_url: str, sealed: Path) -> None:
    """Those of today and of new clients, but not of one that joins a scope; removal ends it everywhere."""

    async def story(world: World) -> None:
        old = await world.client("shared")
        assert not await has_shared_lists(world.store)
        every = await OperatedList.open(world.store, MASTERS, "farms", key="device", client_id=None, by="ops")
        addition = Addition(key="device", outcome=Outcome.FAILED, until=None)
        values = {every.hasher().hash(text): text for text in ("x", "y")}
        await every.add(addition, values, now=world.clock.now())
        assert await has_shared_lists(world.store)
        assert said(await verified(world, old, "x")) == ("FAILED", "list", "farms")
        new = await world.client()
        assert await copied(world, new) == 2
        assert said(await verified(world, new, "y")) == ("FAILED", "list", "farms")
        assert await copied(world, await world.client(old.history_scope)) == 0
        again = await OperatedList.open(world.store, MASTERS, "farms", key=None, client_id=None, by="ops")
        await again.remove({again.hasher().hash("y"): "y"}, now=world.clock.now())
        assert [said(await verified(world, one, "y"))[1] for one in (old, new)] == ["policy", "policy"]
        with pytest.raises(ValueError, match="add its values for one client"):
            await OperatedList.open(world.store, MASTERS, "p", key="person", client_id=None, by="ops")

    run_story(sqlite_url, sealed, story)


def test_lists_of_a_client_leave_room_for_those_of_all_scopes(
    sqlite_url: str, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many a client has, an operator's list of all scopes gets in; each kind has its own limit."""

    async def story(world: World) -> None:
        monkeypatch.setattr(changes, "MOST_LISTS", 2)
        caller = await world.client()
        for name in ("a", "b"):
            await listed(world, caller, name, "PASSED", "x")
        addition = Addition(key="device", outcome=Outcome.FAILED, until=None)

        async def everywhere(name: str, client_id: str | None = None) -> None:
            of = await OperatedList.open(
                world.store, MASTERS, name, key="device", client_id=client_id, by="ops"
            )
            await of.add(addition, {of.hasher().hash(name): name}, now=world.clock.now())

        for name in ("farm", "ring"):
            await everywhere(name)
            assert said(await verified(world, caller, name)) == ("FAILED", "list", name)
        for name, client_id in (("third", None), ("c", caller.client_id)):
            with pytest.raises(ValueError, match="one list more than 2"):
                await everywhere(name, client_id)
        assert await listed(world, caller, "farm", "FAILED", "y") == 1
        new = await world.client()
        assert await copied(world, new) == 2
        for name in ("a", "b"):
            await listed(world, new, name, "PASSED", "x")
        with pytest.raises(Invalid, match="one list more than 2"):
            await listed(world, new, "c", "PASSED", "x")

    run_story(sqlite_url, sealed, story)


def test_clients_that_are_made_during_a_change_miss_nothing(
    store_url: str, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While values are added to all scopes, and while some are removed, each new client gets just what is listed."""
    for module in (changes, operating):
        monkeypatch.setattr(module, "AT_ONCE", 2)

    async def story(world: World) -> None:
        every = await OperatedList.open(world.store, MASTERS, "farms", key="device", client_id=None, by="ops")
        addition = Addition(key="device", outcome=Outcome.FAILED, until=None)
        values = {every.hasher().hash(text): text for text in map(str, range(12))}
        gone = dict(list(values.items())[:6])
        now = world.clock.now()

        async def made(count: int) -> None:
            for _ in range(count):
                await copied(world, await world.client())

        await asyncio.gather(every.add(addition, values, now=now), made(4))
        rows = await table(world.url, OperatorListRow)
        assert sorted(row.entries for row in rows) == [12] * 5
        await asyncio.gather(every.remove(gone, now=now), made(4))
        rows = await table(world.url, OperatorListRow)
        assert sorted(row.entries for row in rows) == [6] * 9

    run_story(store_url, sealed, story)


async def copied(world: World, caller: Caller) -> int:
    """Entries that a new client gets of the lists of all scopes."""
    return await copy_lists(world.store, MASTERS, caller.client_id, by="ops", now=world.clock.now())
