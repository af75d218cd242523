"""A bundle of an older protocol through the public commands: inspect, upgrade, score, serve and replay."""

import asyncio
import json
import shutil
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from older_protocol import OLDER, SHARE, older_bundle, register, with_protocol
from program import Captured, refused, run
from scoring_model.bundle import read_bundle
from scoring_model.bundle.codec import read_json
from scoring_model.bundle.contents import VERSIONED
from scoring_model.bundle.manifest import PROTOCOL
from scoring_model.cli import main
from scoring_model.service.keys.keyring import add_master_key, load_master_keys
from scoring_model.service.store import open_store
from service_use import blob, opened


@pytest.fixture
def old(sealed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bundle of an older protocol, whose reader is registered."""
    register(monkeypatch)
    return older_bundle(sealed, tmp_path / "old")


@pytest.fixture
def new(old: Path, tmp_path: Path) -> Path:
    """The bundle, sealed again."""
    out = tmp_path / "new"
    assert main(["upgrade", str(old), "--out", str(out)]) == 0
    return out


def test_inspect_shows_bundles_of_every_protocol(capsys: Captured, old: Path, new: Path) -> None:
    """Manifest and card of each, and whether it scores new records, or what to do."""
    for bundle, scores, text in ((old, False, "scoring-model upgrade"), (new, True, "yes")):
        code, said, _ = run(capsys, "inspect", bundle)
        assert code == 0
        assert text in said
        assert "## Policy" in said
        found = json.loads(run(capsys, "inspect", bundle, "--json")[1])
        assert found["scores_new_records"] is scores


@pytest.mark.parametrize(("protocol", "text"), [(OLDER, "scoring-model upgrade"), (5, "make it anew")])
def test_an_older_bundle_is_not_served(
    protocol: int, text: str, old: Path, capsys: Captured, tmp_path: Path
) -> None:
    """The service does not start, says what to do, and makes neither database nor key."""
    with_protocol(old, protocol)
    home = tmp_path / "home"
    home.mkdir()
    database = f"sqlite:///{home / 'scoring.db'}"
    assert text in refused(
        capsys, "serve", "--bundle", old, "--bundles", home / "shelf", "--database", database, "--port", 0
    )
    assert {path.name for path in home.iterdir()} <= {"scoring.db.lock"}


def test_what_can_not_be_upgraded_is_refused(capsys: Captured, old: Path, new: Path, tmp_path: Path) -> None:
    """A present bundle, a place that is taken, and what was made before the first release."""
    out = tmp_path / "out"
    assert "nothing to upgrade" in refused(capsys, "upgrade", new, "--out", out)
    assert "exists" in refused(capsys, "upgrade", old, "--out", new)
    assert run(capsys, "upgrade", old, "--out", new, "--replace")[0] == 0
    with_protocol(old, 5)
    assert "was made before the first release; make it anew" in refused(capsys, "upgrade", old, "--out", out)
    assert not out.exists()


def test_an_upgrade_keeps_the_model_and_scores_new_records(
    capsys: Captured, sealed: Path, old: Path, new: Path, invented: Path, tmp_path: Path
) -> None:
    """The model's files and version stay; the policy's files are those of the present protocol, and it scores."""
    before, upgraded = read_bundle(old), read_bundle(new)
    assert upgraded.manifest.protocol == PROTOCOL
    assert {name: upgraded.files[name] for name in (*VERSIONED, "policy.json", "golden.npz")} == {
        name: before.files[name] for name in (*VERSIONED, "policy.json", "golden.npz")
    }
    assert upgraded.manifest.model_version == before.manifest.model_version
    assert "share" not in read_json(before.files["reasons.json"])
    assert read_json(upgraded.files["reasons.json"])["share"] == SHARE
    card = upgraded.files["card.md"].decode()
    assert f"policy `{upgraded.manifest.policy_version}`" in card
    assert f"Sealed again from protocol {OLDER}" in card
    few = tmp_path / "few.parquet"
    pq.write_table(pq.read_table(invented).slice(0, 400), few)
    outs = [tmp_path / "out.parquet", tmp_path / "present.parquet"]
    for bundle, out in zip((new, sealed), outs, strict=True):
        assert run(capsys, "score", bundle, few, "--out", out, "--reasons")[0] == 0
    assert outs[0].read_bytes() == outs[1].read_bytes()


async def past_verdict(url: str, bundle: Path, key: Path) -> bytes:
    """Give a new database a verdict of a bundle; its id."""
    await (await open_store(url, create=True)).close()
    keyring = load_master_keys(f"file:{key}")
    async with opened(url, bundle, keyring=lambda: keyring) as world:
        return (await world.verify(await world.client(), signals={"vpn": True})).resource.id


def _write(url: str, statement: str) -> None:
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as connection:
        assert connection.execute(statement).rowcount == 1


def test_verdicts_of_older_bundles_are_replayed(
    capsys: Captured, sealed: Path, old: Path, tmp_path: Path
) -> None:
    """`verifications replay` gives score, outcome and reasons by the older protocol; other reasons differ."""
    database, key, shelf = tmp_path / "scoring.db", tmp_path / "scoring.db.key", tmp_path / "shelf"
    url = f"sqlite:///{database}"
    add_master_key(key)
    shutil.copytree(old, shelf / "a")  # the only one with the versions of the verdict
    found = asyncio.run(past_verdict(url, sealed, key))
    replay = ["verifications", "replay", uuid.UUID(bytes=found), "--database", url, "--bundles", shelf]
    assert run(capsys, *replay)[:2] == (0, "same\n")
    _write(url, f"UPDATE verifications SET reasons = 'NO_NAME' WHERE id = {blob(url, found)}")
    assert run(capsys, *replay)[:2] == (3, "different\n")
