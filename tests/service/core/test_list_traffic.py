"""Lists under traffic: drawn histories with rules beside them, priced before and replayed after; a killed operator."""

import asyncio
import base64
import random
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import pytest

from scoring_model.contract.outcome import Outcome
from scoring_model.contract.verification import Verification
from scoring_model.rules import parse_rules
from scoring_model.scorer import Scorer
from scoring_model.service.activation.rules import RulesRefused, activate_rules, roll_back_rules
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core.rows import ListChangeRow, ListEntryRow, OperatorListRow, VerificationRow
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.operator_lists.files import FileList
from scoring_model.service.past.tried import Tried
from scoring_model.service.past.whatif import what_if
from scoring_model.service.requests.commit_queue import QueueLimits
from scoring_model.service.scoring.replaying import Replay, replay
from service_use import (
    HOUR,
    MASTERS,
    START,
    World,
    decider_of,
    id_of,
    opened,
    run_story,
    signals_of,
    table,
    verification_body,
)

SEEDS: Final = (1, 2)
HOURS: Final = 80
DEVICES: Final = ("d1", "d2", "d3", "d4", "d5", "d6")
LISTS: Final = {"bad": "FAILED", "good": "PASSED", "odd": "STEPPED_UP", "worse": "FAILED"}
ORDER: Final = ("good", "bad", "worse", "odd")
"""Pass lists, fail lists by name, step-up lists: the first of them decides."""
RULES: Final = (
    {"code": "D2", "title": "a", "when": {"signals.deviceId": {"is": "d2"}}, "then": "FAILED"},
    {"code": "ALL", "title": "a", "when": {"score": {"at_least": 0}}, "then": "OBSERVE"},
    {"code": "D34", "title": "a", "when": {"signals.deviceId": {"in": ["d3", "d4"]}}, "then": "STEPPED_UP"},
)
DEVICES_OF: Final = {"D2": ("d2",), "ALL": DEVICES, "D34": ("d3", "d4")}


@dataclass
class Drawn:
    """What is active: the end of each entry by list and device, and the rules; and those active before."""

    entries: dict[str, dict[str, int | None]] = field(default_factory=lambda: {name: {} for name in LISTS})
    used: bool = False
    rules: list[tuple[dict[str, Any], ...]] = field(default_factory=list)

    def verdict(
        self, device: str, at: int, policy: str
    ) -> tuple[str, str, str | None, str | None, str | None]:
        """Outcome, who decided, its code, and the hits of lists and rules, by the words of the pages."""
        held = [
            name
            for name in ORDER
            if device in self.entries[name]
            and (end := self.entries[name][device], end is None or at < end)[1]
        ]
        rules = [one for one in (self.rules[-1] if self.rules else ()) if device in DEVICES_OF[one["code"]]]
        acting = [one for one in rules if one["then"] != "OBSERVE"]
        hits = ",".join(held) or None, ",".join(one["code"] for one in rules) or None
        if held:
            return LISTS[held[0]], "list", held[0], *hits
        if acting:
            return acting[0]["then"], "rule", acting[0]["code"], *hits
        return policy, "policy", None, *hits


async def change(world: World, caller: Caller, draw: random.Random, drawn: Drawn) -> None:
    """Change one list, or the rules."""
    now, kind = world.clock.at, draw.choice(("add", "remove", "remove", "rules", "rules", "back"))
    name, devices = draw.choice(list(LISTS)), draw.sample(DEVICES, 2)
    if kind == "add":
        until = draw.choice((None, now + 5 * HOUR))
        body: dict[str, Any] = {"list": name, "key": "device", "outcome": LISTS[name], "values": devices}
        if until is not None:
            day, hour = divmod((until - START) // HOUR + 12, 24)
            body["until"] = f"2026-06-{1 + day:02}T{hour:02}:00:00Z"
        await world.service.lists.add(caller, body, None, free)
        drawn.entries[name].update(dict.fromkeys(devices, until))
        drawn.used = True
    elif kind == "remove" and drawn.entries[name]:
        await world.service.lists.remove(caller, {"list": name, "values": devices}, None, free)
        for device in devices:
            drawn.entries[name].pop(device, None)
    elif kind == "rules":
        chosen = tuple(draw.sample(RULES, draw.randint(0, 3)))
        with suppress(RulesRefused):
            await activate_rules(
                world.store, {"rules": list(chosen)}, [Scorer.load(world.bundle)], by="ops", now=now
            )
            drawn.rules.append(chosen)
    elif kind == "back" and drawn.rules:
        await roll_back_rules(world.store, by="ops", now=now)
        drawn.rules.append(drawn.rules[-2] if len(drawn.rules) > 1 else ())


async def free(_tokens: int) -> None:
    """Spend nothing."""


def said(one: Verification, row: VerificationRow) -> tuple[str | None, ...]:
    """Outcome, who decided, its code, and the hits."""
    by = one.decided_by or "policy"
    return one.scoring_outcome, by, one.decided_by_code, row.list_hits, row.rule_hits


async def sent(world: World, caller: Caller, draw: random.Random) -> tuple[Verification, str]:
    """A verification of a drawn device."""
    device = draw.choice(DEVICES)
    signals = {**draw.choice(signals_of(world.bundle, draw.choice(list(Outcome)))[:3]), "deviceId": device}
    body = verification_body(signals=signals)
    return (await world.service.verifications.create(caller, body, None)).resource, device


@pytest.mark.parametrize("seed", SEEDS)
def test_drawn_histories_with_lists_and_rules(
    store_url: str, sealed: Path, tmp_path: Path, seed: int
) -> None:
    """Each verdict is that of its time, and replays; a what-if with what is active at the end says what it would do."""
    draw = random.Random(seed)

    async def story(world: World) -> None:
        caller, drawn = await world.client(), Drawn()
        made: list[tuple[Verification, str]] = []
        for hour in range(HOURS):
            world.clock.at = START + hour * HOUR
            if draw.random() < 0.5:
                await change(world, caller, draw, drawn)
            one, device = await sent(world, caller, draw)
            row, policy = await world.row(id_of(one)), one.policy_outcome or one.scoring_outcome
            assert said(one, row) == drawn.verdict(device, row.completed_at or 0, policy or ""), hour
            stopped = one.decided_by in ("list", "rule") and one.scoring_outcome != "PASSED"
            first = one.reason_codes[0].code if one.reason_codes else ""
            assert first.startswith("OPERATOR_") == stopped
            assert stopped <= ((len(one.reason_codes) > 1) == (policy != "PASSED"))
            made.append((one, device))
        for one, _ in made:
            found = await replay(world.store, MASTERS, id_of(one), find=lambda *_: decider_of(world.bundle))
            assert found is Replay.SAME, one.id
        assert {one.decided_by for one, _ in made} >= {"list", "rule", "policy"}
        await check_price(world, drawn, made, tmp_path / "whatif.parquet")

    run_story(store_url, sealed, story)


async def check_price(world: World, drawn: Drawn, made: list[tuple[Verification, str]], out: Path) -> None:
    """What-if with the lists and rules of the end, over all verifications."""
    scorer = Scorer.load(world.bundle)
    chosen = drawn.rules[-1] if drawn.rules else ()
    lists = [
        FileList(
            name=f"{name}-{end}",
            key="device",
            outcome=Outcome(LISTS[name]),
            until=end,
            values=[(0, device) for device in devices],
            source="",
        )
        for name, entries in drawn.entries.items()
        for end in {*entries.values()}
        if (devices := [device for device, until in entries.items() if until == end])
    ]
    tried = Tried(
        parse_rules({"rules": list(chosen)}, scorer.rule_names),
        lists,
        columns=scorer.matrix.names,
        link_keys=scorer.matrix.link_keys,
        secrets=world.secrets,
        step_ups="not_observed",
    )
    period: dict[str, Any] = {"since": START - HOUR, "before": START + HOURS * HOUR}
    found = await what_if(world.store, Vault(MASTERS), world.secrets, scorer, out, tried=tried, **period)
    assert (found.own, found.own_differ) == (len(made), 0)
    rows = {row["verificationId"]: row for row in pq.read_table(out).to_pylist()}
    hits = 0
    for one, device in made:
        row, at = rows[one.id], (await world.row(id_of(one))).completed_at or 0
        outcome, by, code, *held = drawn.verdict(device, at, row["policyOutcome"])
        assert (row["whatifOutcome"], row["whatifDecidedBy"]) == (outcome, by)
        assert (row["whatifDecidedByCode"] or "").partition("-")[0] == (code or "")
        assert row["flipped"] == (outcome != row["policyOutcome"])
        hits += sum(len((one or "").split(",")) for one in held if one)
    assert sum(one.hits for one in found.hits) == hits


def test_lists_and_rules_of_the_scoring_decide(store_url: str, sealed: Path) -> None:
    """Not those of the time when a PENDING one was accepted, nor those of the time when a request is repeated."""
    document = {"rules": [RULES[0]]}

    async def story(world: World) -> None:
        caller, signals = await world.client(), signals_of(world.bundle)[0]
        body: dict[str, Any] = {"list": "bad", "key": "device", "outcome": "FAILED"}
        ending = {**body, "values": ["d3"], "until": "2026-06-01T13:00:00Z"}
        await world.service.lists.add(caller, ending, None, free)
        once = await world.verify(caller, signals={**signals, "deviceId": "d2"}, key="once")
        async with opened(store_url, sealed, limits=QueueLimits(scoring_seconds=-1.0)) as busy:
            waiting = [
                (await busy.verify(caller, signals={**signals, "deviceId": device})).resource
                for device in ("d1", "d2", "d3")
            ]
        await world.service.lists.add(caller, {**body, "values": ["d1"]}, None, free)
        await activate_rules(
            world.store, document, [Scorer.load(world.bundle)], by="ops", now=world.clock.now()
        )
        world.clock.at = START + 2 * HOUR
        assert await world.pending.step() == 3
        rows = [await world.row(one.id) for one in waiting]
        assert [row.decided_by for row in rows] == ["list", "rule", "policy"]
        again = await world.verify(caller, signals={**signals, "deviceId": "d2"}, key="once")
        assert (again.replayed, again.resource) == (True, once.resource)
        assert once.resource.outcome is Outcome.PASSED

    run_story(store_url, sealed, story)


PART: Final = 20
COUNT: Final = 2_000
OPERATOR: Final = f"""
from scoring_model.cli.app import main
from scoring_model.service.operator_lists import changes

whole, changes.AT_ONCE = changes.add_part, {PART}

async def add_part(*given, **further):
    done = await whole(*given, **further)
    print(done.changed, flush=True)
    return done

changes.add_part = add_part
main()
"""


def killed(words: list[str], parts: int) -> int:
    """Run an operator until it has said so many parts, and kill it; returns how many it said."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as operator:
        assert operator.stdout is not None
        said = [operator.stdout.readline() for _ in range(parts)]
        operator.send_signal(signal.SIGKILL)
        said += operator.stdout.readlines()
    return sum(line.endswith("\n") for line in said)


def test_a_killed_operator_leaves_the_first_values_and_can_go_on(
    store_url: str, sealed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole changes alone are there, in order; the same command adds the rest."""
    monkeypatch.setenv("MASTERS", base64.b64encode(bytes(range(32))).decode())
    values = tmp_path / "values.txt"
    values.write_text("".join(f"v{place}\n" for place in range(COUNT)))

    async def story(world: World) -> None:
        caller = await world.client()
        of = ("--client", caller.client_id, "--database", world.url, "--master-key", "env:MASTERS")
        words = ("lists", "add", "farm", "--key", "device", "--action", "fail", "--values", str(values), *of)
        command = [sys.executable, "-c", OPERATOR, *words]
        said = await asyncio.to_thread(killed, command, 7)
        (row,) = await table(world.url, OperatorListRow)
        entries = await table(world.url, ListEntryRow)
        assert row.entries == len(entries) == sum(one.added for one in await table(world.url, ListChangeRow))
        assert row.entries // PART - said in (-1, 0, 1)
        assert row.entries % PART == 0
        assert [await outcome_of(world, caller, place) for place in (0, row.entries - 1)] == ["list"] * 2
        assert await outcome_of(world, caller, row.entries) == "policy"
        again = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=True)
        assert f"{COUNT - row.entries:,} added" in again.stdout
        assert await outcome_of(world, caller, COUNT - 1) == "list"

    run_story(store_url, sealed, story)


async def outcome_of(world: World, caller: Caller, place: int) -> str | None:
    """Who decides about a device of the file."""
    body = verification_body(signals={**signals_of(world.bundle)[0], "deviceId": f"v{place}"})
    return (await world.service.verifications.create(caller, body, None)).resource.decided_by
