"""The control group of a service: who passes, what clients and files see, and what a replay finds."""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from identity_use import shared
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.verification import Verification
from scoring_model.decision.control import Control, ControlArm
from scoring_model.scorer import Scorer
from scoring_model.service.activation.rules import activate_rules
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core.rows import ControlDayRow, VerificationRow
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.labels.imports import LabelLine, import_labels
from scoring_model.service.labels.report import label_delays
from scoring_model.service.past.export import export_file
from scoring_model.service.past.whatif import what_if
from scoring_model.service.scoring.replaying import Replay, replay
from scoring_model.training.run import Training
from service_use import (
    HOUR,
    MASTERS,
    START,
    World,
    decider_of,
    id_of,
    opened,
    run_story,
    save_under,
    select,
    signals_of,
    table,
    verification_body,
)

HALF = ControlArm(share=0.5, most_per_day=1_000)


def control_bundle(name: str, arm: ControlArm, request: Any, folders: Any, sealed: Path) -> Path:
    """The bundle of the core tests with a control group."""

    def make(out: Path) -> None:
        training: Training = request.getfixturevalue("training")
        policy = Scorer.load(sealed).rules.policy
        save_under(
            training.bundle,
            out,
            replace(policy, control=Control(failed=arm, stepped_up=arm, fraud_loss=10.0)),
        )

    return shared(folders, name, make)


@pytest.fixture(scope="session")
def controlled(
    sealed: Path, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Half of all persons whom the policy would stop pass."""
    return control_bundle("controlled", HALF, request, tmp_path_factory, sealed)


@pytest.fixture(scope="session")
def capped(sealed: Path, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, at most three on a day for each outcome."""
    return control_bundle("capped", replace(HALF, most_per_day=3), request, tmp_path_factory, sealed)


async def verified(world: World, caller: Caller, signals: Any, subject: str | None) -> Verification:
    """A new verification as its client sees it."""
    body = verification_body(signals=signals, subject=subject)
    return (await world.service.verifications.create(caller, body, None)).resource


async def stopped(world: World, caller: Caller, count: int, *, day: str = "") -> list[Verification]:
    """Verifications of persons whom the policy would fail at first."""
    signals = signals_of(world.bundle, Outcome.FAILED)
    return [
        await verified(world, caller, {**signals[at % len(signals)], "deviceId": f"{day}{at}"}, f"{day}{at}")
        for at in range(count)
    ]


async def replays(world: World, found: Sequence[Verification]) -> set[Replay]:
    """Results of the replays of verifications."""
    decider = decider_of(world.bundle)
    return {await replay(world.store, MASTERS, id_of(one), find=lambda *_: decider) for one in found}


def test_some_of_those_who_would_be_stopped_pass(store_url: str, controlled: Path, tmp_path: Path) -> None:
    """Half of them, once: a retry is a repeat; policy, file and what-if say what score and thresholds decide."""

    async def story(world: World) -> None:
        caller = await world.client()
        policy = Scorer.load(world.bundle).rules.policy
        found = await stopped(world, caller, 24)
        passed = [await verified(world, caller, signals_of(world.bundle)[0], "someone")]
        for one in (*found, *passed):
            assert one.policy_outcome == policy.outcome(one.scoring_score or 0)
            is_controlled = one.scoring_outcome != one.policy_outcome
            assert one.decided_by == ("control" if is_controlled else "policy")
            assert not is_controlled or one.scoring_outcome == Outcome.PASSED
        drawn = {one.subject_id for one in found if one.decided_by == "control"}
        assert 3 <= len(drawn) <= 21
        again = [await verified(world, caller, {"deviceId": "another"}, one.subject_id) for one in found]
        assert {one.decided_by for one in again if stops(one)} == {"policy"}
        rows = {row.id: row for row in await table(world.url, VerificationRow)}
        for one in (*found, *again):
            row = rows[id_of(one)]
            assert not stops(one) or (row.control_drawn == 1) == (one.subject_id in drawn)
            assert row.control_repeat == (int(one in again) if row.control_drawn else None)
        repeats = [one for one in again if rows[id_of(one)].control_repeat]
        assert len(repeats) >= 3
        assert await world.event_types(
            caller, id_of(next(one for one in found if one.subject_id in drawn))
        ) == [
            "verification.completed",
            "verification.passed",
        ]
        every = [*found, *passed, *again]
        assert await replays(world, every) == {Replay.SAME}
        await check_file(world, every, repeats, tmp_path)
        await check_labels(world, every)

    run_story(store_url, controlled, story)


def stops(one: Verification) -> bool:
    """Whether the policy would stop it."""
    return one.policy_outcome != Outcome.PASSED


async def check_file(
    world: World, every: Sequence[Verification], repeats: Sequence[Verification], folder: Path
) -> None:
    """An export and a what-if of all verifications; a repeat is marked and has no propensity."""
    async with world.store.reading() as reader:
        clients = await reader.clients()
    ends: dict[str, Any] = {"since": START - HOUR, "before": START + HOUR}
    file = folder / "exported.parquet"
    types = world.service.scoring.scorer.contents.schema.signals
    await export_file(world.store, Vault(MASTERS), clients, file, signals=types, **ends)
    rows = {row["recordId"]: row for row in pq.read_table(file).to_pylist()}
    for one in every:
        row = rows[one.id]
        assert (row["scoringOutcome"], row["policyOutcome"]) == (one.scoring_outcome, one.policy_outcome)
        assert row["decidedBy"] == one.decided_by
        observed = 0.5 if one.decided_by == "control" else None if stops(one) else 1.0
        assert row["propensity"] == observed
        assert row["controlRepeat"] == (one in repeats)
    scorer = Scorer.load(world.bundle)
    found = await what_if(
        world.store, Vault(MASTERS), world.secrets, scorer, folder / "whatif.parquet", **ends
    )
    assert (found.own, found.own_differ, found.differ) == (len(every), 0, 0)


async def check_labels(world: World, every: Sequence[Verification]) -> None:
    """A known fraud of the control group is counted with its outcome, and apart."""
    controlled = [one for one in every if one.decided_by == "control"]
    async with world.store.reading() as reader:
        clients = await reader.clients()
    lines = [LabelLine(id_of(one), None, "fraud", START) for one in every if stops(one)]
    await import_labels(world.store, clients, lines, world.clock)
    found = await label_delays(world.store, world.clock)
    assert sum(one.verifications for one in found.control.values()) == len(controlled)
    assert sum(one.fraud for one in found.control.values()) == len(controlled)
    assert found.coverage[Outcome.PASSED].fraud == len(controlled)
    rows = await table(world.url, VerificationRow)
    assert json.loads(json.dumps(asdict(found)))["control_repeats"] == found.control_repeats
    assert sum(found.control_repeats.values()) == sum(row.control_repeat or 0 for row in rows) >= 3


def test_a_client_spends_only_the_caps_of_its_own_history(store_url: str, capped: Path) -> None:
    """Another client's draws, repeats among them, leave a client its three; clients of one history share them."""

    async def story(world: World) -> None:
        greedy, other = await world.client(), await world.client()
        many = await stopped(world, greedy, 24)
        few = await stopped(world, other, 24)
        for found in (many, few):
            assert (
                max(Counter(one.policy_outcome for one in found if one.decided_by == "control").values()) == 3
            )
        first = next(one for one in many if one.decided_by == "control")
        signals = signals_of(world.bundle, Outcome.FAILED)[0]
        again = [await verified(world, greedy, signals, first.subject_id) for _ in range(3)]
        assert {one.decided_by for one in again} == {"policy"}
        days = await table(world.url, ControlDayRow)
        rows = await table(world.url, VerificationRow)
        assert len({day.history_scope for day in days}) == 2
        assert sum(day.drawn for day in days) == sum(row.control_drawn or 0 for row in rows)
        assert sum(day.repeats for day in days) == sum(row.control_repeat or 0 for row in rows)
        assert await replays(world, [*many, *few, *again]) == {Replay.SAME}

    run_story(store_url, capped, story)


def test_of_requests_at_once_a_person_passes_once(store_url: str, controlled: Path) -> None:
    """Of eight persons with six requests each, in any order of two processes, nobody passes twice by control."""

    async def story(world: World) -> None:
        caller = await world.client()
        signals = signals_of(world.bundle, Outcome.FAILED)[0]
        async with opened(store_url, controlled, clock=world.clock) as other:
            services = [world, world if store_url.startswith("sqlite") else other]
            found = await asyncio.gather(
                *(
                    verified(services[at % 2], caller, {**signals, "deviceId": f"{at}"}, f"{at % 8}")
                    for at in range(48)
                )
            )
        passed = Counter(one.subject_id for one in found if one.decided_by == "control")
        assert set(passed.values()) == {1}
        assert await replays(world, found) == {Replay.SAME}

    run_story(store_url, controlled, story)


def test_caps_hold_for_a_day_and_for_all_processes(store_url: str, capped: Path, tmp_path: Path) -> None:
    """Two services let three of a day pass together; the draws go on, and the propensity is what came of them."""

    async def story(world: World) -> None:
        caller = await world.client(history_scope="both")
        async with opened(store_url, capped, clock=world.clock) as other:
            callers = [caller, await world.client(history_scope="both")]
            services = [world, other] if not store_url.startswith("sqlite") else [world, world]
            first = await asyncio.gather(
                *(stopped(one, each, 16) for one, each in zip(services, callers, strict=True))
            )
        found = [one for part in first for one in part]
        days = {row.policy_outcome: row for row in await table(world.url, ControlDayRow)}
        for outcome, day in days.items():
            here = [one for one in found if one.policy_outcome == outcome]
            assert sum(one.decided_by == "control" for one in here) == day.passed == min(day.drawn, 3)
        assert any(day.drawn > 3 for day in days.values())
        assert sum(day.drawn for day in days.values()) == sum(
            row.control_drawn or 0 for row in await table(world.url, VerificationRow)
        )
        assert await replays(world, found) == {Replay.SAME}
        world.clock.at += 24 * HOUR
        later = await stopped(world, caller, 16, day="next")
        assert sum(one.decided_by == "control" for one in later) >= 1
        async with world.store.reading() as reader:
            clients = await reader.clients()
        file = tmp_path / "exported.parquet"
        ends: dict[str, Any] = {"since": START - HOUR, "before": START + HOUR}
        types = world.service.scoring.scorer.contents.schema.signals
        await export_file(world.store, Vault(MASTERS), clients, file, signals=types, **ends)
        shares = {
            (row["policyOutcome"], row["propensity"])
            for row in pq.read_table(file).to_pylist()
            if row["decidedBy"] == "control"
        }
        assert shares
        assert shares <= {(name, 0.5 * (day.passed / day.drawn)) for name, day in days.items()}

    run_story(store_url, capped, story)


def test_rules_from_before_a_control_group_give_no_propensities(
    sqlite_url: str, sealed: Path, controlled: Path, tmp_path: Path
) -> None:
    """Nobody was drawn then for those who were stopped, so those who passed stand for nobody; from then on they do."""

    async def story(world: World) -> None:
        caller, signals = await world.client(), signals_of(world.bundle)[0]
        rules = {"rules": [{"code": "A", "title": "a", "when": {"score": {"below": 0}}, "then": "OBSERVE"}]}
        await activate_rules(
            world.store, rules, [Scorer.load(one) for one in (sealed, controlled)], by="ops", now=START
        )
        before = [await verified(world, caller, signals, "early"), *await stopped(world, caller, 4)]
        world.clock.at += 48 * HOUR
        async with opened(sqlite_url, controlled, clock=world.clock) as later:
            first = await verified(later, caller, signals_of(later.bundle)[1], "first")
            drawn = await stopped(later, caller, 24, day="later")
        async with world.store.reading() as reader:
            clients = await reader.clients()
        file = tmp_path / "exported.parquet"
        ends: dict[str, Any] = {"since": START - HOUR, "before": START + 72 * HOUR}
        types = world.service.scoring.scorer.contents.schema.signals
        await export_file(world.store, Vault(MASTERS), clients, file, signals=types, **ends)
        rows = {row["recordId"]: row for row in pq.read_table(file).to_pylist()}
        assert {one.decided_by for one in before} == {"policy"}
        assert [rows[one.id]["propensity"] for one in before] == [None] * len(before)
        assert (stops(first), rows[first.id]["propensity"]) == (False, 1.0)
        assert {rows[one.id]["propensity"] for one in drawn if stops(one)} == {None, 0.5}

    run_story(sqlite_url, sealed, story)


def test_a_person_who_is_not_known_is_never_drawn(sqlite_url: str, controlled: Path) -> None:
    """A verification of signals alone has what the policy decides, and no share."""

    async def story(world: World) -> None:
        caller = await world.client()
        found = [
            await verified(world, caller, {**one, "deviceId": f"{at}"}, None)
            for at, one in enumerate(signals_of(world.bundle, Outcome.FAILED))
        ]
        assert {(one.decided_by, one.scoring_outcome == one.policy_outcome) for one in found} == {
            ("policy", True)
        }
        rows = await table(world.url, VerificationRow)
        assert {(row.control_share, row.control_drawn) for row in rows} == {(None, None)}
        assert await replays(world, found) == {Replay.SAME}

    run_story(sqlite_url, controlled, story)


@pytest.mark.parametrize(
    "change",
    [
        "outcome = 'PASSED'",
        "control_drawn = 1 - control_drawn",
        "control_repeat = 1",
        "control_share = 0.25",
        "policy_outcome = NULL",
    ],
)
def test_a_replay_finds_a_changed_draw(sqlite_url: str, controlled: Path, change: str) -> None:
    """Nobody joins or leaves the control group afterwards."""

    async def story(world: World) -> None:
        caller = await world.client()
        found = next(
            one for one in await stopped(world, caller, 12) if stops(one) and one.decided_by == "policy"
        )
        await select(world.url, f"UPDATE verifications SET {change} WHERE id = x'{id_of(found).hex()}'")
        assert await replays(world, [found]) == {Replay.DIFFERENT}

    run_story(sqlite_url, controlled, story)


def test_without_a_control_group_nothing_is_shown(sqlite_url: str, sealed: Path) -> None:
    """The answer has the fields that it always had."""

    async def story(world: World) -> None:
        found = await verified(world, await world.client(), signals_of(world.bundle)[0], "someone")
        assert b"decidedBy" not in found.to_json()
        assert b"policyOutcome" not in found.to_json()
        assert await table(world.url, ControlDayRow) == []

    run_story(sqlite_url, sealed, story)
