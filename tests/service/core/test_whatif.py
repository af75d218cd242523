"""Verifications that can't be decided again are counted by their reason, and other link keys are refused."""

import asyncio
import base64
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from program import Captured, refused, run
from scoring_model.contract.texts import to_text
from scoring_model.scorer import Scorer
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.retention import KEPT_SINCE, remove_signals
from scoring_model.service.service import LINKS_FACT
from service_use import HOUR, MASTERS, START, World, with_service


async def set_fact(world: World, name: str, value: bytes) -> None:
    """Set a fact of the database."""
    async with world.store.writing([]) as transaction:
        await transaction.set_fact(name, value)


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
