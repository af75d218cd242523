"""What another policy would have decided, with its report; what can't be decided again; other link keys."""

import asyncio
import base64
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from program import Captured, refused, run
from scoring_model.cli import shared
from scoring_model.configuration.reading import read_yaml
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.texts import to_text
from scoring_model.contract.verification import Verification
from scoring_model.decision.flips import UNLABELLED, flip_codes
from scoring_model.decision.rules import Policy
from scoring_model.evaluation.grouping import OTHER
from scoring_model.records.times import DAY
from scoring_model.scorer import Scorer
from scoring_model.service.activation.links import LINKS_FACT
from scoring_model.service.activation.rules import activate_rules
from scoring_model.service.clients.clients import Caller
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.past.whatif import GroupTally, GroupTurns
from scoring_model.service.retention.kept import KEPT_SINCE
from scoring_model.service.retention.signals import remove_signals
from service_use import (
    HOUR,
    MASTERS,
    START,
    Made,
    World,
    applicants,
    opened,
    signals_of,
    verification_body,
    with_service,
)


async def set_fact(world: World, name: str, value: bytes) -> None:
    """Set a fact of the database."""
    async with world.store.writing([]) as transaction:
        await transaction.set_fact(name, value)


async def some_of_each(world: World) -> list[Made]:
    """Verifications of each outcome, on three days."""
    caller, made = await world.client(), []
    for place, outcome in enumerate(Outcome):
        world.clock.at = START + 24 * place * HOUR
        sent = [one.signals for one in applicants(world.bundle, outcome)[:3]]
        sent += signals_of(world.bundle, outcome)[:3]
        made += [(await world.verify(caller, signals=signals)).resource for signals in sent]
    return made


@with_service(url="sqlite_url")
async def test_another_policy_shows_who_would_have_got_another_outcome(
    world: World, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thresholds of a file decide on the same scores; counts, groups and report agree with them."""
    monkeypatch.setenv("MASTERS", base64.b64encode(bytes(range(32))).decode())
    made = await some_of_each(world)
    other = tmp_path / "policy.yaml"
    other.write_text("thresholds: {step_up_from: 450, fail_from: 850}\n")
    out, report = tmp_path / "whatif.parquet", tmp_path / "whatif.html"
    words: tuple[str | Path, ...] = (
        *("whatif", "--database", world.url, "--master-key", "env:MASTERS", "--bundle", world.bundle),
        *("--policy", other, "--out", out, "--report", report, "--by", "citizenship", "--by", "ageBand"),
    )

    async def done() -> dict[str, Any]:
        code, said, error = await asyncio.to_thread(run, capsys, *words, "--json")
        assert code == 0, error
        return dict(json.loads(said))

    found = await done()
    policy = Policy(step_up_from=450, fail_from=850)
    expected = Counter((str(one.outcome), str(policy.outcome(one.score or 0))) for one in made)
    assert {then for then, _ in expected} == {*map(str, Outcome)}
    shown = {(one["then"], one["whatif"]): one["verifications"] for one in found["outcomes"]}
    assert shown == expected
    flips = {(one["then"], one["whatif"]): one for one in found["flips"]}
    assert {pair: one["verifications"] for pair, one in flips.items()} == {
        pair: count for pair, count in expected.items() if pair[0] != pair[1]
    }
    assert all(one["reasons"] for one in flips.values())
    assert (found["days"], found["replayed"], found["sameBundle"]["replayed"]) == (3, len(made), 0)
    (client,) = found["groups"]["clientId"]
    flipped = sum(one["verifications"] for one in flips.values())
    assert client["verifications"] == len(made)
    assert client["stricter"] + client["milder"] == flipped
    assert [one["verifications"] for one in found["groups"]["ageBand"]] == [len(made)]
    html = report.read_text(encoding="utf-8")
    assert f"{len(made)} of {len(made)} completed verifications were decided again" in html
    assert f"{flipped} verifications (" in html
    assert f"policy {found['policyVersion']}" in html
    assert '<h2 id="group-1-title">Who gets another outcome by citizenship</h2>' in html
    for broken, problem in (
        ("thresholds: {step_up_from: 450}", "fail_from"),
        ("max_step_up: 2", "max_step_up"),
        ("thresholds: {step_up_from: 1, fail_from: 2}", "not certified"),
    ):
        other.write_text(broken)
        assert problem in await asyncio.to_thread(refused, capsys, *words)


@with_service
async def test_what_cannot_be_decided_again_is_named(
    world: World, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An erased person, deleted signals and deleted link records; the other verdict is the same."""
    monkeypatch.setenv("MASTERS", base64.b64encode(bytes(range(32))).decode())
    caller, reach = await world.client(), Scorer.load(world.bundle).matrix.reach
    await world.verify(caller, signals={}, subject="before the link records that are kept")
    world.clock.at += 2 * HOUR
    await world.verify(caller, signals={"vpn": True})
    await remove_signals(world.store, Vault(MASTERS), before=world.clock.at + HOUR)
    world.clock.at += 2 * HOUR
    gone = (await world.verify(caller, signals={"vpn": True}, subject="gone")).resource
    kept = (await world.verify(caller, signals={"vpn": True}, subject="kept")).resource
    await world.erase_signals(caller, gone.id)
    await set_fact(world, KEPT_SINCE, b"%d" % (START + HOUR - reach))
    out = tmp_path / "whatif.parquet"
    words = ("whatif", "--database", world.url, "--master-key", "env:MASTERS", "--bundle", world.bundle)
    code, said, error = await asyncio.to_thread(run, capsys, *words, "--out", out, "--json")
    assert code == 0, error
    found = json.loads(said)
    assert (found["verifications"], found["replayed"], found["differ"]) == (4, 1, 0)
    reasons = {"erased": 1, "pruned": 1, "unreadable": 0, "tooOld": 1, "refused": 0}
    assert found["notReplayed"] == reasons
    (row,) = pq.read_table(out).to_pylist()
    assert (row["verificationId"], row["flipped"]) == (to_text(kept.id), False)
    assert (row["scoringScore"], row["whatifScore"]) == (kept.score, kept.score)
    await set_fact(world, LINKS_FACT, b"{}")
    assert "link keys" in await asyncio.to_thread(refused, capsys, *words, "--out", tmp_path / "b.parquet")
    assert not (tmp_path / "b.parquet").exists()


def test_groups_of_pages_add_up_and_values_of_few_persons_are_one_group() -> None:
    """Counts are those of a loop over all pages; a value of fewer than five persons is not named."""
    rng = np.random.default_rng(0)
    values = ["large"] * 30 + ["few"] * 30 + ["rare"] * 2
    persons = [b"%d" % (row % (4 if value == "few" else 30)) for row, value in enumerate(values)]
    before, after = rng.integers(0, 3, (2, len(values)))
    codes = flip_codes(np.full(len(values), UNLABELLED), before, after)
    tally = GroupTally()
    for rows in np.array_split(rng.permutation(len(values)), 4):
        tally.add([values[row] for row in rows], [persons[row] for row in rows], codes[rows])
    large = np.array(values) == "large"
    assert tally.result() == {
        name: GroupTurns(
            int(rows.sum()), int((after > before)[rows].sum()), int((after < before)[rows].sum())
        )
        for name, rows in (("large", large), (OTHER, ~large))
    }


RULES = """
rules:
  - {code: SEEN, title: all, when: {score: {at_least: 0}}, then: OBSERVE}
  - {code: BUSY, title: busy devices, when: {link_device_30d_records: {at_least: 2}}, then: STEPPED_UP}
  - {code: ENDED, title: over, when: {score: {at_least: 0}}, then: FAILED, until: 2026-05-31}
"""
LISTS = """
lists:
  - {name: farm, key: device, action: fail, values: devices.txt}
  - {name: friends, key: device, action: pass, values: [d1, d7], until: 2026-06-02}
"""


async def some_devices(world: World, caller: Caller) -> list[Verification]:
    """Verifications of a few devices on two days, some of them labelled, stopped and resolved."""
    made = []
    for place in range(12):
        world.clock.at = START + 4 * place * HOUR
        signals = signals_of(world.bundle, list(Outcome)[place % 3])[place // 3 % 3]
        body = verification_body(signals={**signals, "deviceId": f"d{place % 4}"})
        made.append((await world.service.verifications.create(caller, body, None)).resource)
    labels = {1: "fraud", 4: "genuine"}
    told = [
        {"verificationId": made[at].id, "label": label, "knownAt": "2026-06-01T12:00:00Z"}
        for at, label in labels.items()
    ]
    world.clock.at += HOUR
    await world.service.labels.create(caller, {"labels": told}, None)
    return made


@with_service(url="sqlite_url")
async def test_lists_and_rules_are_priced_as_a_service_with_them_decides(
    world: World, migrated: Path, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outcomes equal those of a twin that had them all along; hits are counted by what is known of them."""
    monkeypatch.setenv("MASTERS", base64.b64encode(bytes(range(32))).decode())
    (tmp_path / "rules.yaml").write_text(RULES)
    (tmp_path / "lists.yaml").write_text(LISTS)
    (tmp_path / "devices.txt").write_text("d0\nd1\n")
    made = await some_devices(world, await world.client())
    out, report = tmp_path / "whatif.parquet", tmp_path / "whatif.html"
    words: tuple[str | Path, ...] = (
        *("whatif", "--database", world.url, "--master-key", "env:MASTERS", "--bundle", world.bundle),
        *("--rules", tmp_path / "rules.yaml", "--lists", tmp_path / "lists.yaml", "--out", out),
    )
    code, said, error = await asyncio.to_thread(run, capsys, *words, "--report", report, "--json")
    assert code == 0, error
    rows = pq.read_table(out).to_pylist()
    shutil.copy(migrated, tmp_path / "twin.db")
    async with opened(f"sqlite:///{tmp_path / 'twin.db'}", world.bundle) as twin:
        caller = await twin.client()
        base = ("--database", twin.url, "--client", caller.client_id, "--master-key", "env:MASTERS")
        with monkeypatch.context() as patched:  # an end that has passed is refused
            patched.setattr(shared, "now", lambda: START)
            code, told, error = await asyncio.to_thread(
                run, capsys, "lists", "import", tmp_path / "lists.yaml", *base
            )
        assert (code, told.splitlines()[0]) == (
            0,
            "farm: 2 added or given another end, 0 unchanged; 2 in all",
        ), error
        document = read_yaml(tmp_path / "rules.yaml")
        await activate_rules(twin.store, document, [Scorer.load(world.bundle)], by="ops", now=START)
        others = await some_devices(twin, caller)
    final = [(one.scoring_outcome, one.decided_by, one.decided_by_code) for one in others]
    assert final == [
        (row["whatifOutcome"], row["whatifDecidedBy"], row["whatifDecidedByCode"]) for row in rows
    ]
    assert {by for _, by, _ in final} == {"list", "rule", "policy"}
    hits = {one["name"]: one for one in json.loads(said)["hits"]}
    assert list(hits) == ["friends", "farm", "SEEN", "BUSY", "ENDED"]
    assert [one["hits"] for one in hits.values()] == [2, 6, 12, 4, 0]  # the third of each device is busy
    for name, one in hits.items():
        decided = [place for place, found in enumerate(final) if found[2] == name]
        assert one["decided"] == len(decided)
        assert one["changed"] == sum(final[at][0] != others[at].policy_outcome for at in decided)
    stopped = sum(one.scoring_outcome != "PASSED" for at, one in enumerate(made) if at not in (1, 4))
    counts = [hits["SEEN"][name] for name in ("frauds", "genuine", "observed", "notObserved")]
    assert counts == [1, 1, 10 - stopped, stopped]
    html = report.read_text(encoding="utf-8")
    assert "Whom the lists and rules would have hit" in html
    assert "A list of the operator stopped the applicant." in html
    (tmp_path / "lists.yaml").write_text(LISTS.replace("action: fail", "action: stop"))
    assert "lists.0.action" in await asyncio.to_thread(refused, capsys, *words)


@with_service(url="sqlite_url")
async def test_a_night_is_one_day(
    world: World, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hits a day are those of 24 hours, also where these touch two calendar days; a few in many days are not none."""
    monkeypatch.setenv("MASTERS", base64.b64encode(bytes(range(32))).decode())
    (tmp_path / "rules.yaml").write_text(RULES.replace("2026-05-31", "2026-06-01"))
    caller, sent = await world.client(), signals_of(world.bundle)[0]
    words = (
        *("whatif", "--database", world.url, "--master-key", "env:MASTERS", "--bundle", world.bundle),
        *("--rules", tmp_path / "rules.yaml", "--out", tmp_path / "o.parquet"),
    )
    world.clock.at = START - START % DAY + DAY - 5 * HOUR
    for _ in range(3):
        await world.verify(caller, signals=sent)
        world.clock.at += 5 * HOUR
    code, said, error = await asyncio.to_thread(run, capsys, *words, "--json")
    assert code == 0, error
    found = json.loads(said)
    assert found["days"] == 1
    assert {one["perDay"] == one["hits"] for one in found["hits"]} == {True}
    for _ in range(30):
        world.clock.at += DAY
        await world.verify(caller, signals=sent)
    assert "1 hit, 0.032 a day" in (await asyncio.to_thread(run, capsys, *words))[1]


@with_service(url="sqlite_url")
async def test_verdicts_that_rules_made_are_the_same_by_the_same_bundle(
    world: World, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their reasons begin with those of the rules, which the bundle does not give; the file has both outcomes."""
    monkeypatch.setenv("MASTERS", base64.b64encode(bytes(range(32))).decode())
    (tmp_path / "rules.yaml").write_text(RULES)
    document = read_yaml(tmp_path / "rules.yaml")
    await activate_rules(world.store, document, [Scorer.load(world.bundle)], by="ops", now=START)
    made = await some_devices(world, await world.client())
    assert any(one.decided_by == "rule" and one.policy_outcome != "PASSED" for one in made)
    words = ("whatif", "--database", world.url, "--master-key", "env:MASTERS", "--bundle", world.bundle)
    code, said, error = await asyncio.to_thread(
        run, capsys, *words, "--out", tmp_path / "o.parquet", "--json"
    )
    assert code == 0, error
    assert json.loads(said)["sameBundle"] == {"replayed": 12, "differ": 0}
    rows = pq.read_table(tmp_path / "o.parquet").to_pylist()
    verdicts = [(one.scoring_outcome, one.policy_outcome) for one in made]
    assert [(row["scoringOutcome"], row["policyOutcome"]) for row in rows] == verdicts
    assert [row["whatifOutcome"] for row in rows] == [one.policy_outcome for one in made]
    assert not any(row["flipped"] for row in rows)
