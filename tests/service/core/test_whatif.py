"""What another policy would have decided, with its report; what can't be decided again; other link keys."""

import asyncio
import base64
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from program import Captured, refused, run
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.texts import to_text
from scoring_model.decision.flips import UNLABELLED, flip_codes
from scoring_model.decision.rules import Policy
from scoring_model.evaluation.grouping import OTHER
from scoring_model.scorer import Scorer
from scoring_model.service.activation.links import LINKS_FACT
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.past.whatif import GroupTally, GroupTurns
from scoring_model.service.retention.kept import KEPT_SINCE
from scoring_model.service.retention.signals import remove_signals
from service_use import HOUR, MASTERS, START, Made, World, applicants, signals_of, with_service


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
    assert len(expected) > 3
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
