"""A company with its own column names, words, dates and numbers goes the whole way round, and half of it in ours."""

import asyncio
import base64
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

from german_file import DOCUMENTS, GAP, ZONE, write_german
from identity_use import RELAXED_POLICY, YAML
from program import Captured, run
from replay_verdicts import Stored, stored
from scoring_model.scorer import Scorer
from scoring_model.service.clients.clients import Caller
from scoring_model.service.labels.imports import LabelLine, import_labels
from scoring_model.training.mlflow_runs import client_of
from service_use import SetClock, World, opened

T = TypeVar("T")

GATES: Final = (
    "gates: {ranking: {difference: roc_auc, above: -0.9}}\nlooks: {figure: roc_auc, gain: 0.5, error: 0.49}\n"
)
DAY: Final = 86_400_000_000
NEEDED: Final = ("firstName", "lastName", "dob", "documentType", "address.country")


def decided(proposed: Path, out: Path, *, rounds: int) -> Path:
    """The configuration that `init` proposed, with the decisions that it leaves to a person."""
    found = yaml.safe_load(proposed.read_text(encoding="utf-8"))
    assert found["use"]["identity_requires"] == [*NEEDED]
    records = found["records"]
    mapped = {"documentType": "Ausweis", "labelKnownAt": "bekannt am"}
    assert {name: records["columns"][name] for name in mapped} == mapped
    assert records["format"]["values"] == {"documentType": DOCUMENTS}
    assert records["format"]["nulls"] == [GAP]
    records["labels"] = {"fraud": ["ja"], "genuine": ["nein"]}
    records["format"] |= {"timezone": ZONE}
    found["signals"]["VPN"] = {"type": "boolean"}
    found["links"] = {"keys": found["links"]["keys"], "windows": ["24h", "30d"]}
    found["training"] = yaml.safe_load(YAML)["training"] | {"leakage_checks": {"run": False}}
    found["training"]["tuned"]["rounds"] = rounds
    found["policy"] = yaml.safe_load(RELAXED_POLICY)["policy"]
    out.write_text(yaml.safe_dump(found, allow_unicode=True), encoding="utf-8")
    return out


@pytest.fixture
def done(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Run a command that must succeed; its standard output."""
    monkeypatch.setenv("MASTERS", base64.b64encode(bytes(range(32))).decode())
    monkeypatch.setenv("SCORING_MODEL_MASTER_KEY", "env:MASTERS")

    def command(*words: object) -> str:
        code, said, error = run(capsys, *words)
        assert code == 0, error + said
        return said

    return command


async def decide(world: World, caller: Caller, rows: list[dict[str, Any]]) -> dict[str, Stored]:
    """Verify applicants without citizenship and photos, and label them; the stored verdicts."""
    async with world.store.reading() as reader:
        clients = await reader.clients()
    for place, row in enumerate(rows):
        body = {
            name: row[name]
            for name in ("firstName", "lastName", "dob", "documentType")
            if row[name] is not None
        }
        address = {name: row[f"address.{name}"] for name in ("line1", "city", "postalCode", "country")}
        body["address"] = {name: value for name, value in address.items() if value is not None}
        signals = {
            "gerat": row["signals.deviceId"],
            "Mailalter": row["signals.emailAgeDays"],
            "VPN": row["signals.vpn"],
            "Kanal": row["signals.channel"],
        }
        signals = {name: value for name, value in signals.items() if value is not None}
        identity = await world.identity(caller, body)
        made = (await world.verify(caller, identity=identity, signals=signals)).resource
        world.clock.advance(60)
        word = "genuine" if place % 4 else "fraud"
        line = LabelLine(made.id, None, word, world.clock.at)
        await import_labels(world.store, clients, [line], world.clock)
    return await stored(world.store, clients[0].client)


@pytest.mark.usefixtures("undrawn")
def test_the_whole_loop_in_a_companys_own_names(
    small: Path,
    done: Callable[..., str],
    tracking_folder: Callable[[Path], Path],
    migrated: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Exports score as served, bit for bit; a challenger is trained on both kinds of names, promoted and activated."""
    table = pq.read_table(small)
    clock = SetClock(table.column("eventTime")[-1].value + 20 * DAY)
    own, proposed, bundle = tmp_path / "antraege.csv", tmp_path / "betrug.yaml", tmp_path / "first"
    write_german(own, table, until=clock.at)
    done("init", own, "--out", proposed)
    first = decided(proposed, tmp_path / "first.yaml", rounds=3)
    better = decided(proposed, tmp_path / "better.yaml", rounds=60)
    assert json.loads(done("check", own, "--config", better, "--json"))["bad"] == 0
    uri = f"sqlite:///{tracking_folder(tmp_path / 'runs')}/mlflow.db"
    done("train", own, "--config", first, "--out", bundle, "--tracking-uri", uri, "--threads", 1)

    (tmp_path / "scoring.db").write_bytes(migrated.read_bytes())
    database = f"sqlite:///{tmp_path / 'scoring.db'}"
    monkeypatch.setattr("scoring_model.service.core.clock.SystemClock", lambda: clock)

    def serve(story: Callable[[World], Coroutine[Any, Any, T]]) -> T:
        async def opening() -> T:
            async with opened(database, bundle, clock=clock) as world:
                return await story(world)

        clock.advance(60)  # processes that ended are not waited for
        return asyncio.run(opening())

    caller = serve(lambda world: world.client())
    named = ("--client", caller.client_id, "--database", database)
    imported = json.loads(done("history", "import", own, *named, "--bundle", bundle, "--finish", "--json"))
    assert (imported["imported"] > 100, imported["rejected"]) == (True, 0)
    rows = [row for row in table.to_pylist()[-60:] if all(row[name] for name in NEEDED)][:20]
    verdicts = serve(lambda world: decide(world, caller, rows))
    assert len(verdicts) == len(rows)

    export = tmp_path / "export.parquet"
    clock.advance(3600)
    done("data", "export", "--database", database, "--bundle", bundle, "--out", export)
    for out in (tmp_path / "scored.parquet", tmp_path / "scored"):
        done("score", bundle, export, "--history", own, "--out", out, "--reasons", "--threads", 1)
        parts = [out] if out.is_file() else sorted(out.glob("part-*.parquet"))
        scored = [row for part in parts for row in pq.read_table(part).to_pylist()]
        assert {
            row["recordId"]: (row["scoringScore"], row["scoringOutcome"], tuple(row["reasonCodes"]))
            for row in scored
        } == {name: tuple(one.verdict[1:]) for name, one in verdicts.items()}
    features = Scorer.load(bundle).features(export, history=own)
    matrix = np.column_stack([features.column(name) for name in Scorer.load(bundle).matrix.names])
    assert [row.tobytes() for row in matrix] == [
        verdicts[name].verdict.row for name in features["recordId"].to_pylist()
    ]
    assert json.loads(done("check", export, "--config", better, "--json"))["frauds"] == 5

    gates, work = tmp_path / "gates.yaml", tmp_path / "work"
    gates.write_text(GATES, encoding="utf-8")
    given = ("--config", better, "--gate", gates, "--tracking-uri", uri, "--work", work, "--threads", 1)
    answer = json.loads(done("retrain", "--database", database, *given, "--past", own).splitlines()[-1])
    assert (answer["answer"], answer["exported"]) == ("promote", len(rows))
    assert str(client_of(uri).get_model_version_by_alias("betrug", "champion").version) == "2"
    challenger = next(work.glob("challenger-*")) / "bundle"

    async def served(world: World) -> tuple[str, str]:
        for _ in range(3):
            await world.service.follower.step()
        last = (await world.verify(caller, signals={"gerat": "g-1"})).resource
        return str(last.model_version), str(last.outcome)

    model, outcome = serve(served)
    assert model == answer["challenger"]
    clock.advance(3600)
    found = tmp_path / "found.json"
    done("monitor", challenger, "--database", database, "--json", found)
    assert json.loads(found.read_text())["records"] == len(rows) + 1
    past = ("--label-maturity", "1s", "--json", found)
    done("compare", bundle, challenger, "--database", database, *past)
    compared = json.loads(found.read_text())
    stopped = compared["champion"]["stopped"]["records"]
    outcomes = [outcome, *(one.verdict[2] for one in verdicts.values())]
    assert 0 < stopped == sum(one != "PASSED" for one in outcomes)
    assert compared["records"] == len(rows) + 1 - stopped
    done("compare", bundle, challenger, own, export, "--matured-only", "--json", found)
    assert json.loads(found.read_text())["records"] > len(table) / 2
