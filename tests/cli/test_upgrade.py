"""Committed bundles of older protocols through the public commands: inspect, score, upgrade, serve and replay."""

import asyncio
import json
import shutil
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow.parquet as pq
import pytest

from program import Captured, refused, run
from scoring_model.bundle import read_bundle
from scoring_model.bundle.codec import read_json
from scoring_model.bundle.contents import VERSIONED
from scoring_model.bundle.golden import Golden
from scoring_model.cli import main
from scoring_model.contract.outcome import OUTCOMES
from scoring_model.records import RecordTable
from scoring_model.records.reading import read_records
from scoring_model.scorer import Scorer
from scoring_model.scorer.decider import Decider
from scoring_model.service.identities import Persons
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.keys.keyring import add_master_key, load_master_keys
from scoring_model.service.keys.secrets import Purpose
from scoring_model.service.scoring.payload import pack_stored
from scoring_model.service.store import open_store
from service_use import blob, opened

BUNDLES: Final = Path(__file__).parents[1] / "bundle"
FIRST, SECOND = BUNDLES / "protocol_1", BUNDLES / "protocol_2"
REASONS: Final = json.loads((BUNDLES / "old_reasons.json").read_text())


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of protocol 2, sealed again."""
    out = tmp_path_factory.mktemp("upgraded") / "new"
    assert main(["upgrade", str(SECOND), "--out", str(out)]) == 0
    return out


def test_inspect_shows_bundles_of_every_protocol(capsys: Captured, new: Path) -> None:
    """Manifest and card of each, and whether it scores new records, or what to do."""
    for bundle, scores, text in (
        (FIRST, False, "train a model with this version"),
        (SECOND, False, "scoring-model upgrade"),
        (new, True, "yes"),
    ):
        code, said, _ = run(capsys, "inspect", bundle)
        assert code == 0
        assert text in said
        assert "## Policy" in said
        found = json.loads(run(capsys, "inspect", bundle, "--json")[1])
        assert found["scores_new_records"] is scores


@pytest.mark.parametrize("bundle", [FIRST, SECOND])
def test_an_old_bundle_is_not_served(bundle: Path, capsys: Captured, tmp_path: Path) -> None:
    """The service does not start, says what to do, and makes neither database nor key."""
    database = f"sqlite:///{tmp_path / 'scoring.db'}"
    shelf = tmp_path / "shelf"
    assert "scoring-model upgrade" in refused(
        capsys, "serve", "--bundle", bundle, "--bundles", shelf, "--database", database, "--port", 0
    )
    assert {path.name for path in tmp_path.iterdir()} <= {"scoring.db.lock"}


def test_what_can_not_be_upgraded_is_refused(capsys: Captured, new: Path, tmp_path: Path) -> None:
    """Features of another version, a present bundle, a place that is taken; words that break their rule."""
    out = tmp_path / "out"
    assert "does not compute the features" in refused(capsys, "upgrade", FIRST, "--out", out)
    assert "nothing to upgrade" in refused(capsys, "upgrade", new, "--out", out)
    assert "event: must be" in refused(capsys, "upgrade", SECOND, "--out", out, "--event", "A")
    assert not out.exists()
    assert "exists" in refused(capsys, "upgrade", SECOND, "--out", new)
    assert run(capsys, "upgrade", SECOND, "--out", new, "--replace")[0] == 0


def test_an_upgrade_keeps_the_model_and_changes_what_is_said(
    capsys: Captured, new: Path, invented: Path, tmp_path: Path
) -> None:
    """The model's files and version stay, and so do scores and outcomes to the bit; the policy's version is new."""
    old, upgraded = read_bundle(SECOND), read_bundle(new)
    assert {name: upgraded.files[name] for name in (*VERSIONED, "policy.json", "golden.npz")} == {
        name: old.files[name] for name in (*VERSIONED, "policy.json", "golden.npz")
    }
    assert upgraded.manifest.model_version == old.manifest.model_version
    assert upgraded.manifest.policy_version != old.manifest.policy_version
    assert f"policy `{upgraded.manifest.policy_version}`" in upgraded.files["card.md"].decode()
    few, out = tmp_path / "few.parquet", tmp_path / "out.parquet"
    pq.write_table(pq.read_table(invented).slice(0, 400), few)
    assert run(capsys, "score", new, few, "--out", out, "--reasons")[0] == 0
    rows = Scorer.load(new).matrix.rows(read_table(new, few))
    decisions = Decider.load(SECOND).decide(rows)
    scored = pq.read_table(out)
    assert scored.column("scoringScore").to_pylist() == decisions.scores.tolist()
    assert scored.column("margin").to_numpy().tobytes() == decisions.margins.tobytes()
    assert scored.column("scoringOutcome").to_pylist() == [str(OUTCOMES[code]) for code in decisions.outcomes]


def test_words_and_share_of_an_upgrade_are_those_asked_for(capsys: Captured, tmp_path: Path) -> None:
    """Another word or share is another policy's version, of the same model."""
    seen = set()
    for place, options in enumerate(([], ["--event", "payment"], ["--reason-share", "0.2"])):
        out = tmp_path / str(place)
        assert run(capsys, "upgrade", SECOND, "--out", out, *options)[0] == 0
        seen.add(read_bundle(out).manifest.policy_version)
    assert len(seen) == 3
    said = read_bundle(tmp_path / "1").files["reasons.json"].decode()
    assert "counted against the payment." in said
    assert "application" not in said
    assert read_json(read_bundle(tmp_path / "2").files["reasons.json"])["share"] == 0.2


def read_table(bundle: Path, path: Path) -> RecordTable:
    """The records of a file."""
    return read_records(path, Scorer.load(bundle).contents.schema, labelled=False).table


async def past_verdicts(url: str, bundle: Path, key: Path) -> list[bytes]:
    """Give a new database verdicts that the old bundles made, three each; their ids."""
    await (await open_store(url, create=True)).close()
    keyring = load_master_keys(f"file:{key}")
    made = []
    async with opened(url, bundle, keyring=lambda: keyring) as world:
        caller = await world.client()
        for protocol, old in ((1, FIRST), (2, SECOND)):
            sealed = read_bundle(old)
            golden = Golden.from_bytes(sealed.files["golden.npz"])
            decided = [place for place, codes in enumerate(REASONS[str(protocol)]) if len(codes) > 1]
            for place in decided[:3]:
                found = (await world.verify(caller, signals={"vpn": True})).resource
                row = await world.row(found.id)
                async with world.store.reading() as reader:
                    person = await Persons(Vault(keyring)).key_of(reader, row.key_id)
                assert person is not None
                packed = golden.rows[place].tobytes()
                payload = person.seal(
                    pack_stored({"vpn": True}, None, packed),
                    table="verifications",
                    column="payload",
                    row=row.id,
                )
                values = {
                    "payload": blob(url, payload),
                    "row_digest": blob(url, world.secrets.digest(Purpose.ROW, packed)),
                    "score": str(golden.decisions.scores[place]),
                    "outcome": f"'{OUTCOMES[golden.decisions.outcomes[place]]}'",
                    "reasons": f"'{','.join(REASONS[str(protocol)][place])}'",
                    "model_version": f"'{sealed.manifest.model_version}'",
                    "policy_version": f"'{sealed.manifest.policy_version}'",
                }
                changes = ", ".join(f"{name} = {value}" for name, value in values.items())
                _write(url, f"UPDATE verifications SET {changes} WHERE id = {blob(url, row.id)}")
                made.append(found.id)
    return made


def _write(url: str, statement: str) -> None:
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as connection:
        assert connection.execute(statement).rowcount == 1


def test_verdicts_of_old_bundles_are_replayed(capsys: Captured, new: Path, tmp_path: Path) -> None:
    """`verifications replay` gives score, outcome and reasons of either protocol; with other reasons they differ."""
    database, key, shelf = tmp_path / "scoring.db", tmp_path / "scoring.db.key", tmp_path / "shelf"
    url = f"sqlite:///{database}"
    add_master_key(key)
    for name, path in {"a": FIRST, "b": SECOND, "c": new}.items():
        shutil.copytree(path, shelf / name)
    made = asyncio.run(past_verdicts(url, new, key))
    assert len(made) == 6
    replay = ["--database", url, "--bundles", shelf]
    for found in made:
        assert run(capsys, "verifications", "replay", uuid.UUID(bytes=found), *replay)[:2] == (0, "same\n")
    _write(url, f"UPDATE verifications SET reasons = 'NO_NAME' WHERE id = {blob(url, made[0])}")
    assert run(capsys, "verifications", "replay", uuid.UUID(bytes=made[0]), *replay)[:2] == (3, "different\n")


def test_reasons_of_the_upgraded_bundle_are_others(new: Path) -> None:
    """The old rule said of golden rows what the new one does not, or the tests above would show nothing."""
    golden = Golden.from_bytes(read_bundle(SECOND).files["golden.npz"])
    scorer = Scorer.load(new)
    assert np.array_equal(scorer.decide(golden.rows).scores, golden.decisions.scores)
    found = [[reason.code for reason in scorer.decide_row(row).reasons] for row in golden.rows]
    assert [bool(codes) for codes in found] == [bool(outcome) for outcome in golden.decisions.outcomes]
    assert found != REASONS["2"]
