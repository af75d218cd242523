"""Rules of operators in a service: who decided, what is stored, replays, and the switch of rules and bundles."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from scoring_model.contract.outcome import Outcome
from scoring_model.contract.texts import to_text
from scoring_model.contract.verification import Verification
from scoring_model.rules import InvalidRules
from scoring_model.scorer import Scorer
from scoring_model.service.activation.activating import ActivationRefused, activate
from scoring_model.service.activation.rules import (
    RulesRefused,
    activate_rules,
    list_rules,
    roll_back_rules,
)
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core.rows import RuleSetRow, VerificationRow
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.past.export import export_file
from scoring_model.service.past.inspection import inspect
from scoring_model.service.scoring.replaying import Replay, replay
from scoring_model.service.scoring.rulebook import Rulebook
from service_use import (
    HOUR,
    MASTERS,
    START,
    World,
    decider_of,
    id_of,
    opened,
    run_story,
    select,
    signals_of,
    table,
    verification_body,
)

FARM = "farm"


def rules_of(*rules: tuple[str, dict[str, Any], str], **further: Any) -> dict[str, Any]:
    """A file of rules: code, conditions and action of each."""
    return {
        "rules": [
            {"code": code, "title": "a rule", "when": when, "then": then, **further}
            for code, when, then in rules
        ]
    }


RULES = rules_of(
    ("ALL", {"score": {"at_least": 0}}, "OBSERVE"),
    ("FRIEND", {"signals.channel": {"is": "friend"}}, "PASSED"),
    ("FARM", {"signals.deviceId": {"is": FARM}}, "FAILED"),
    ("BUSY", {"link_device_30d_records": {"at_least": 2}}, "STEPPED_UP"),
)


async def activated(world: World, document: Any = RULES, *bundles: Path) -> RuleSetRow:
    """Activate rules as an operator."""
    scorers = [Scorer.load(bundle) for bundle in (world.bundle, *bundles)]
    return await activate_rules(world.store, document, scorers, by="ops", now=world.clock.now())


async def verified(world: World, caller: Caller, **signals: Any) -> Verification:
    """A new verification of signals alone."""
    answer = await world.service.verifications.create(caller, verification_body(signals=signals), None)
    return answer.resource


async def replays(world: World, found: Sequence[Verification]) -> list[Replay]:
    """Results of the replays of verifications."""
    decider = decider_of(world.bundle)
    return [await replay(world.store, MASTERS, id_of(one), find=lambda *_: decider) for one in found]


def test_the_first_rule_that_acts_decides(store_url: str, sealed: Path, tmp_path: Path) -> None:
    """Outcome, reasons, events, file and replay say who decided; every hit is stored with the rules that it saw."""

    async def story(world: World) -> None:
        caller = await world.client()
        bad, good = signals_of(world.bundle, Outcome.FAILED)[0], signals_of(world.bundle)[0]
        before = await verified(
            world,
            caller,
            **good,
        )
        assert (before.decided_by, before.policy_outcome, before.decided_by_code) == (None, None, None)
        rules = await activated(world)
        farm = await verified(world, caller, **{**good, "deviceId": FARM})
        friend = await verified(world, caller, **{**bad, "channel": "friend"})
        failed = await verified(world, caller, **{**bad, "deviceId": FARM})
        plain = await verified(world, caller, **{**good, "deviceId": "own"})
        assert (farm.scoring_outcome, farm.policy_outcome) == (Outcome.FAILED, Outcome.PASSED)
        assert (farm.decided_by, farm.decided_by_code) == ("rule", "FARM")
        assert [one.code for one in farm.reason_codes] == ["OPERATOR_RULE"]
        assert farm.reason_codes[0].description == "A rule of the operator stopped the applicant."
        assert (friend.scoring_outcome, friend.decided_by_code) == (Outcome.PASSED, "FRIEND")
        assert (friend.policy_outcome, friend.reason_codes) != (Outcome.PASSED, ())
        assert not friend.reason_codes
        assert (failed.scoring_outcome, failed.policy_outcome) == (Outcome.FAILED, Outcome.FAILED)
        codes = [one.code for one in failed.reason_codes]
        assert codes[0] == "OPERATOR_RULE"
        assert 2 <= len(codes) <= 5
        assert (plain.decided_by, plain.decided_by_code, plain.policy_outcome) == ("policy", None, "PASSED")
        rows = {row.id: row for row in await table(world.url, VerificationRow)}
        hits = ["ALL,FARM", "ALL,FRIEND", "ALL,FARM", "ALL"]
        found = [farm, friend, failed, plain]
        assert [rows[id_of(one)].rule_hits for one in found] == hits
        assert {rows[id_of(one)].rules for one in found} == {rules.number}
        assert await world.event_types(caller, id_of(farm)) == [
            "verification.completed",
            "verification.failed",
        ]
        assert not any("FARM" in event.data for event in await world.events(caller))
        assert (await inspect(world.store, MASTERS, id_of(farm)))["ruleHits"] == ["ALL", "FARM"]
        assert await replays(world, [before, *found]) == [Replay.SAME] * 5
        await check_file(world, found, tmp_path)
        shown = (await list_rules(world.store))[0]["rules"]
        assert {rule["code"]: rule["hits"] for rule in shown} == {"ALL": 4, "FRIEND": 1, "FARM": 2, "BUSY": 0}

    run_story(store_url, sealed, story)


async def check_file(world: World, found: Sequence[Verification], folder: Path) -> None:
    """An export knows a propensity where someone passed, and none where a rule stopped them."""
    async with world.store.reading() as reader:
        clients = await reader.clients()
    ends: dict[str, Any] = {"since": START - HOUR, "before": START + HOUR}
    types = world.service.scoring.scorer.contents.schema.signals
    await export_file(world.store, Vault(MASTERS), clients, folder / "out.parquet", signals=types, **ends)
    rows = {row["recordId"]: row for row in pq.read_table(folder / "out.parquet").to_pylist()}
    for one in found:
        row = rows[one.id]
        assert (row["decidedBy"], row["policyOutcome"]) == (one.decided_by, one.policy_outcome)
        assert row["propensity"] == (1.0 if one.scoring_outcome == Outcome.PASSED else None)


@pytest.mark.parametrize(
    "change",
    ["rule_hits = 'ALL'", "decided_by_code = 'BUSY'", "outcome = 'STEPPED_UP'", "rules = 2", "rules = NULL",
     "reasons = ''", "decided_by = 'policy'"],
)  # fmt: skip
def test_a_replay_finds_what_was_changed(sqlite_url: str, sealed: Path, change: str) -> None:
    """A verdict whose hits, code, outcome, reasons or rules were changed in the database is different."""

    async def story(world: World) -> None:
        caller = await world.client()
        await activated(world)
        one = await verified(world, caller, **{**signals_of(world.bundle)[0], "deviceId": FARM})
        await activated(world, rules_of(("FARM", {"signals.deviceId": {"is": "x"}}, "FAILED")))
        assert await replays(world, [one]) == [Replay.SAME]
        await select(world.url, f"UPDATE verifications SET {change}")
        assert await replays(world, [one]) == [Replay.DIFFERENT]

    run_story(sqlite_url, sealed, story)


def test_rules_switch_at_once_and_back(store_url: str, sealed: Path) -> None:
    """In every process with the commit; a rollback leads back, to none after the first; verdicts stay replayable."""

    async def story(world: World) -> None:
        signals = {**signals_of(world.bundle)[0], "deviceId": FARM}
        stepping = rules_of(("FARM", {"signals.deviceId": {"in": [FARM, "x"]}}, "STEPPED_UP"))
        with pytest.raises(RulesRefused, match="no rules were ever active"):
            await roll_back_rules(world.store, by="ops", now=START)
        async with opened(store_url, sealed) as other:
            caller, found = await world.client(), []

            async def outcomes() -> set[str | None]:
                found.extend([await verified(one, caller, **signals) for one in (world, other)])
                return {one.scoring_outcome for one in found[-2:]}

            await activated(world)
            assert await outcomes() == {"FAILED"}
            await activated(world, stepping)
            assert await outcomes() == {"STEPPED_UP"}
            await roll_back_rules(world.store, by="ops", now=START)
            assert await outcomes() == {"FAILED"}
            await roll_back_rules(world.store, by="ops", now=START)
            assert await outcomes() == {"STEPPED_UP"}
            assert set(await replays(world, found)) == {Replay.SAME}

    run_story(store_url, sealed, story)


def test_the_event_decides_when_a_rule_ends(sqlite_url: str, sealed: Path) -> None:
    """A rule holds until the end of its day by the time of the event; a replay years later says the same."""

    async def story(world: World) -> None:
        caller = await world.client()
        signals = {**signals_of(world.bundle)[0], "deviceId": FARM}
        await activated(
            world, rules_of(("FARM", {"signals.deviceId": {"is": FARM}}, "FAILED"), until="2026-06-01")
        )
        world.clock.at = START + 12 * HOUR - 10
        first = await verified(world, caller, **signals)
        world.clock.at = START + 12 * HOUR
        second = await verified(world, caller, **signals)
        assert [first.decided_by, second.decided_by] == ["rule", "policy"]
        world.clock.at = START + 20_000 * HOUR
        assert await replays(world, [first, second]) == [Replay.SAME, Replay.SAME]

    run_story(sqlite_url, sealed, story)


def test_only_who_reaches_the_policy_can_be_drawn(sqlite_url: str, controlling: Path) -> None:
    """Whom a rule stops is in no control group and counts in none of its days; others are drawn as before."""

    async def story(world: World) -> None:
        caller = await world.client()
        bad = signals_of(world.bundle, Outcome.FAILED)[0]
        await activated(world)
        body = verification_body(signals={**bad, "deviceId": FARM}, subject="a")
        stopped = (await world.service.verifications.create(caller, body, None)).resource
        body = verification_body(signals={**bad, "deviceId": "own"}, subject="b")
        drawn = (await world.service.verifications.create(caller, body, None)).resource
        assert (stopped.decided_by, stopped.scoring_outcome) == ("rule", Outcome.FAILED)
        assert (drawn.decided_by, drawn.scoring_outcome) == ("control", Outcome.PASSED)
        assert await select(world.url, "SELECT sum(drawn) FROM control_draws") == [(1,)]
        assert await replays(world, [stopped, drawn]) == [Replay.SAME, Replay.SAME]
        await select(world.url, "UPDATE verifications SET control_share = 0.5 WHERE decided_by = 'rule'")
        assert await replays(world, [stopped]) == [Replay.DIFFERENT]

    run_story(sqlite_url, controlling, story)


def test_rules_are_checked_against_every_bundle_that_may_serve(sqlite_url: str, sealed: Path) -> None:
    """Without a bundle that serves, with unknown names, or active already they are refused, and nothing changes."""

    async def story(world: World) -> None:
        await world.service.follower.step()
        with pytest.raises(RulesRefused, match="are checked against each bundle that may serve"):
            await activate_rules(world.store, RULES, [], by="ops", now=START)
        with pytest.raises(InvalidRules, match=r"did you mean signals\.vpn"):
            await activated(world, rules_of(("A", {"signals.vpm": {"is": True}}, "FAILED")))
        assert await table(world.url, RuleSetRow) == []
        await activated(world)
        with pytest.raises(RulesRefused, match="are active already"):
            await activated(world)
        assert len(await table(world.url, RuleSetRow)) == 1

    run_story(sqlite_url, sealed, story)


def test_a_bundle_without_a_name_is_refused(
    sqlite_url: str, sealed: Path, controlling: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`bundles activate` says what the active rules read and the bundle lacks."""

    async def story(world: World) -> None:
        await activated(world)
        names = {name: kind for name, kind in Scorer.load(sealed).rule_names.items() if "30d" not in name}
        monkeypatch.setattr(Scorer, "rule_names", names)
        with pytest.raises(ActivationRefused, match=r"the active rules read: .*link_device_30d_records"):
            await activate(world.store, controlling, by="ops", clock=world.clock, timeout=0)

    run_story(sqlite_url, sealed, story)


def test_a_rule_never_blocks_a_rollback(
    sqlite_url: str, sealed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A bundle without a feature that a rule reads decides by the other rules, and the log names the one left out."""

    async def story(world: World) -> None:
        row = await activated(world)
        columns = [name for name in Scorer.load(sealed).matrix.names if name != "link_device_30d_records"]
        async with world.store.reading() as reader:
            found = await Rulebook(columns).active(reader, row.number)
        assert found is not None
        assert found.number == row.number
        assert [rule.code for rule in found.evaluator.rules.rules] == ["ALL", "FRIEND", "FARM"]
        assert "these are left out: BUSY" in caplog.text

    run_story(sqlite_url, sealed, story)


def test_a_history_is_decided_as_its_file_is(store_url: str, sealed: Path, tmp_path: Path) -> None:
    """Law 3 with rules: verifications that share devices, exported and scored as a file, have the same verdicts."""

    async def story(world: World) -> None:
        caller = await world.client()
        await activated(world)
        pool = [*signals_of(world.bundle)[:12], *signals_of(world.bundle, Outcome.FAILED)[:12]]
        for at in range(36):
            world.clock.at = START + at * HOUR
            signals = {**pool[at % len(pool)], "deviceId": (FARM, "d1", "d2", "d3", "d4")[at % 5]}
            await verified(world, caller, **signals | ({"channel": "friend"} if at % 7 == 0 else {}))
        scorer, file = Scorer.load(world.bundle), tmp_path / "out.parquet"
        async with world.store.reading() as reader:
            clients = await reader.clients()
        ends: dict[str, Any] = {"since": START - HOUR, "before": START + 100 * HOUR}
        kinds = scorer.contents.schema.signals
        await export_file(world.store, Vault(MASTERS), clients, file, signals=kinds, **ends)
        scored = {row["recordId"]: row for row in scorer.score(file, rules=RULES).to_pylist()}
        rows = await table(world.url, VerificationRow)
        assert {row.decided_by_code for row in rows} == {None, "FRIEND", "FARM", "BUSY"}
        for row in rows:
            one = scored[to_text(row.id)]
            assert (one["scoringOutcome"], one["policyOutcome"]) == (row.outcome, row.policy_outcome)
            assert (one["decidedBy"], one["decidedByCode"]) == (row.decided_by, row.decided_by_code)
            assert ",".join(one["ruleHits"]) == row.rule_hits
            assert ",".join(one["reasonCodes"]) == row.reasons

    run_story(store_url, sealed, story)


def test_identifiers_of_numbers_are_their_digits(sqlite_url: str, sealed: Path) -> None:
    """A device that is sent as a number, and a blank one, which is missing, are read as files have them."""

    async def story(world: World) -> None:
        caller, good = await world.client(), signals_of(world.bundle)[0]
        await activated(
            world,
            rules_of(
                ("NUMBER", {"signals.deviceId": {"is": 12}}, "FAILED"),
                ("NONE", {"signals.deviceId": {"is_missing": True}}, "STEPPED_UP"),
            ),
        )
        found = [
            await verified(world, caller, **{**good, "deviceId": value}) for value in (12, "12 ", " ", "a")
        ]
        assert [one.decided_by_code for one in found] == ["NUMBER", "NUMBER", "NONE", None]
        assert set(await replays(world, found)) == {Replay.SAME}

    run_story(sqlite_url, sealed, story)
