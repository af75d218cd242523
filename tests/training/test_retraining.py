"""Retraining a service from its own database, with interruptions, and what is refused."""

import asyncio
import base64
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import killed_retraining
from identity_use import relaxed, with_thresholds, write_configuration
from program import Captured, run
from scoring_model.bundle import read_bundle
from scoring_model.configuration import load_configuration
from scoring_model.evaluation.sequential import Answer
from scoring_model.records import microseconds
from scoring_model.records.file_format import FileFormat
from scoring_model.records.layout import MissingColumns
from scoring_model.records.observation import observed
from scoring_model.records.reading import read_records
from scoring_model.records.sheet import UnreadableSource
from scoring_model.retraining import Retraining, RetrainingError, retrain
from scoring_model.retraining.challenger import Challenger
from scoring_model.retraining.records import _with_propensities, collect_records, contract_table
from scoring_model.scorer import Scorer
from scoring_model.service.activation.activating import activate
from scoring_model.service.activation.rules import activate_rules
from scoring_model.service.store import migrate, with_store
from scoring_model.training.boundaries import SplitError
from scoring_model.training.mlflow_runs import BUNDLE, MODEL, RunRecord, client_of, files_below
from scoring_model.training.registry import fetch_bundle
from scoring_model.training.run import Training
from scoring_model.training.tracking import track
from service_use import MASTERS, SetClock, World, opened

pytestmark = pytest.mark.usefixtures("undrawn")

NAME = "identity"
NOW = microseconds("2026-02-15T12:00:00Z")
AS_OF = "2026-02-15T125950.000000Z"
LOOKS = "looks: {figure: roc_auc, gain: 0.11, error: 0.2}\n"
RULE = {
    "code": "RING",
    "title": "Ring",
    "when": {"link_device_1d_frauds": {"at_least": 1}},
    "then": "OBSERVE",
}
"""Reads what is constant in these records."""
LOOSE = "gates: {ranking: {difference: roc_auc, above: -0.9}}\n" + LOOKS
CLOSED = "gates: {ranking: {difference: roc_auc, above: 0.9}}\n" + LOOKS
"""No challenger is that much better at ranking."""


@dataclass(frozen=True)
class Site:
    """A database whose service has decided a few times, and everything that its retraining is given."""

    given: Retraining
    bundle: Path
    clock: SetClock

    def gated(self, gates: str) -> Retraining:
        """The same with other gates."""
        self.given.gates.write_text(gates, encoding="utf-8")
        return self.given

    def activate_rules(self) -> None:
        """Make a rule active that reads a feature which a training would leave out."""
        scorers, now = [Scorer.load(self.bundle)], self.clock.now()
        asked = partial(activate_rules, document={"rules": [RULE]}, scorers=scorers, by="ops", now=now)
        with_store(self.given.database, asked)

    def options(self) -> list[object]:
        """The same for the command line."""
        key = self.given.work.with_name("master.key")
        key.touch(mode=0o600)
        key.write_text(base64.b64encode(bytes(range(32))).decode() + "\n", encoding="utf-8")
        named = {
            "--database": self.given.database,
            "--config": self.given.configuration,
            "--gate": self.given.gates,
            "--tracking-uri": self.given.uri,
            "--work": self.given.work,
            "--past": self.given.past[0],
            "--master-key": f"file:{key}",
            "--threads": 1,
        }
        return [word for pair in named.items() for word in pair]

    def serve(self, work: Callable[[World], Coroutine[Any, Any, None]]) -> None:
        """Run the service."""

        async def story() -> None:
            async with opened(self.given.database, self.bundle, clock=self.clock) as world:
                await work(world)

        asyncio.run(story())

    def served_by(self) -> str:
        """The model version that decides about a new verification."""
        self.clock.advance(60)  # processes that ended are not waited for
        found = []

        async def ask(world: World) -> None:
            for _ in range(3):
                await world.service.follower.step()
            made = await world.verify(await world.client(NAME), signals={"vpn": True, "deviceId": "d-2"})
            found.append(str(made.resource.model_version))

        self.serve(ask)
        return found[0]


class Interrupted(BaseException):
    """Ends a run as a signal does: nothing handles it."""


def until(words: str) -> Callable[[str], None]:
    """A report that ends the run at a step."""

    def report(text: str) -> None:
        if words in text:
            raise Interrupted

    return report


@pytest.fixture
def site(
    training: Training, frame: pa.Table, weak: Path, tracking_folder: Callable[[Path], Path], tmp_path: Path
) -> Site:
    """A service with a registered bundle that knows dates alone."""
    bundle = tmp_path / "shelf" / "first"
    bundle.parent.mkdir()
    past = tmp_path / "past.parquet"
    pq.write_table(frame.slice(12_000).take(list(range(0, 12_000, 2))), past)
    shutil.copytree(weak, bundle)
    manifest = read_bundle(bundle).manifest
    runs = tracking_folder(tmp_path / "runs")
    tags = {"model_version": manifest.model_version, "policy_version": manifest.policy_version}
    record = RunRecord(
        key="first",
        use=NAME,
        name="first",
        started=1,
        ended=2,
        params={},
        metrics={},
        tags={"bundle.seal": manifest.seal, **tags},
        dataset={"name": "records", "digest": "ab", "source_type": "table", "source": "{}"},
        artifacts=files_below(bundle, f"{MODEL}/{BUNDLE}/"),
    )
    database = f"sqlite:///{tmp_path}/service.db"
    asyncio.run(migrate(database))
    given = Retraining(
        database=database,
        keyring=MASTERS,
        configuration=write_configuration(tmp_path, relaxed()),
        gates=tmp_path / "gates.yaml",
        uri=track(record, folder=runs).uri,
        work=tmp_path / "work",
        past=[past],
        threads=1,
    )
    site = Site(given, bundle, SetClock(NOW))

    async def decide(world: World) -> None:
        caller = await world.client(NAME)
        for number in range(3):
            await world.verify(caller, signals={"deviceId": f"{number}"})

    site.serve(decide)
    site.clock.advance(3600)
    return site


def test_a_challenger_is_trained_once_however_often_runs_end(site: Site, capsys: Captured) -> None:
    """A run ends after the training, the next waits for a gate, one ends before the activation, the last finishes.

    The challenger keeps what an active rule reads, and leaves out its like.
    """
    given, work = site.gated(CLOSED), site.given.work
    text = given.configuration.read_text(encoding="utf-8")
    given.configuration.write_text(
        text.replace("drop_useless: false", "drop_useless: true"), encoding="utf-8"
    )
    site.activate_rules()
    with pytest.raises(Interrupted):
        retrain(given, clock=site.clock, report=until("which neither model was trained on"))
    challenger = work / f"challenger-{AS_OF}"
    sealed = read_bundle(challenger / "bundle").manifest
    kept = {"link_device_1d_frauds", "link_person_1d_frauds"} & {
        *Scorer.load(challenger / "bundle").matrix.names
    }
    assert kept == {"link_device_1d_frauds"}
    assert (work / "records.parquet").stat().st_mode & 0o777 == 0o600
    # As kills leave them: a challenger half removed.
    (work / "challenger-2026-01-15T125950.000000Z" / "bundle").mkdir(parents=True)

    waiting = retrain(given, clock=site.clock)
    assert (waiting.answer, waiting.trained, waiting.exported) == (Answer.WAIT, False, 3)
    assert waiting.text == "wait: significantly better, but some gate does not pass yet"
    assert waiting.champion == read_bundle(site.bundle).manifest.model_version
    assert [path.name for path in work.iterdir()] == [challenger.name]
    assert site.served_by() == waiting.champion

    given = site.gated(LOOSE)
    with pytest.raises(Interrupted):
        retrain(given, clock=site.clock, report=until("the service activates it"))
    code, said, error = run(capsys, "retrain", *site.options())
    assert code == 0, error
    answer = json.loads(said.splitlines()[-1])
    assert (answer["answer"], answer["trained"], answer["exported"]) == ("promote", False, None)
    assert (answer["champion"], answer["challenger"]) == (waiting.champion, sealed.model_version)
    assert json.loads((challenger / "decision.json").read_text())["answer"] == "promote"
    assert len(json.loads((challenger / "looks.json").read_text())["looks"]) == 2
    assert [path.name for path in work.iterdir()] == [challenger.name]
    assert read_bundle(challenger / "bundle").manifest == sealed
    assert site.served_by() == sealed.model_version
    assert str(client_of(given.uri).get_model_version_by_alias(NAME, "champion").version) == "2"


STEPS = {
    "/export.parquet appears": None,
    "/records.parquet appears": None,
    "/run.json appears": None,
    "/parameters.yaml appears": None,
    "/bundle appears": None,
    "create_model_version": None,
    "which neither model was trained on": None,
    "it is the champion now": "1",
    "/looks.json appears": "1",
    "set_registered_model_alias ('champion', '2')": "1",
    "the service activates it": "2",
    "/decision.json appears": "2",
}
"""Where processes are killed, each behind the one before, and the champion that is registered then."""


def test_a_run_may_be_killed_at_each_step(site: Site) -> None:
    """Each run goes on where the one before was killed: one challenger, no wrong champion, nothing half written."""
    given, client = site.gated(LOOSE), client_of(site.given.uri)
    words = [str(site.clock.now()), "retrain", *map(str, site.options())]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(Path(killed_retraining.__file__)), *words]
    ended, champions = [], []
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for step in (*STEPS, ""):
            process.stdin.write(f"{step}\n")
            process.stdin.flush()
            ended.append(int(process.stdout.readline()))
            version = client.get_registered_model(NAME).aliases.get("champion")
            champions.append(None if version is None else str(version))
    assert dict(zip(STEPS, ended, strict=False)) == dict.fromkeys(STEPS, signal.SIGKILL)
    assert ended[-1] == 0
    assert champions == [*STEPS.values(), "2"]
    challenger = given.work / f"challenger-{AS_OF}"
    assert [*given.work.iterdir()] == [challenger]
    assert list(challenger.rglob(".*")) == []
    assert json.loads((challenger / "decision.json").read_text())["trained"] is False
    looks = json.loads((challenger / "looks.json").read_text())["looks"]
    assert [look["answer"] for look in looks] == ["promote"] * 2
    assert site.served_by() == read_bundle(challenger / "bundle").manifest.model_version
    runs = client.search_runs([one.experiment_id for one in client.search_experiments()])
    assert [run.info.status for run in runs] == ["FINISHED"] * 2
    assert len(client.search_model_versions(f"name='{NAME}'")) == 2


def test_what_serves_is_registered_by_the_run(site: Site, training: Training, tmp_path: Path) -> None:
    """A bundle and then its other policy become the champion; of another model the alias is for people to move.

    Version 3 is the challenger of the first run.
    """
    client = client_of(site.given.uri)
    for number, (step_up_from, fail_from) in {"2": (1000, 1001), "4": (990, 1001)}.items():
        other = site.bundle.parent / number
        with_thresholds(training.bundle, step_up_from=step_up_from, fail_from=fail_from).save(other)
        asked = partial(activate, bundle=other, by="ops", clock=site.clock, timeout=0)
        with_store(site.given.database, asked)
        with pytest.raises(Interrupted):
            retrain(site.gated(LOOSE), clock=site.clock, report=until("it is the champion now"))
        version = client.get_model_version_by_alias(NAME, "champion")
        assert str(version.version) == number
        (tmp_path / number).mkdir()
        fetched = fetch_bundle(f"models:/{NAME}@champion", uri=site.given.uri, folder=tmp_path / number)
        assert read_bundle(fetched).manifest == read_bundle(other).manifest
    client.set_registered_model_alias(NAME, "champion", "1")
    before = sorted(site.given.work.iterdir())
    with pytest.raises(RetrainingError, match="version 1 is the champion, and version 4 serves"):
        retrain(site.gated(LOOSE), clock=site.clock)
    assert sorted(site.given.work.iterdir()) == before


def test_what_serves_elsewhere_is_not_registered(site: Site, training: Training) -> None:
    """The error says where its files would be found; nothing is exported."""
    other = site.bundle.with_name("other")
    with_thresholds(training.bundle, step_up_from=1000, fail_from=1001).save(other)
    replace(site, bundle=other).served_by()
    shutil.rmtree(other)
    with pytest.raises(RetrainingError, match="run this where the service runs"):
        retrain(site.gated(LOOSE), clock=site.clock)
    assert list(site.given.work.iterdir()) == []


def test_records_that_failed_are_not_observed(site: Site, training: Training) -> None:
    """All others are, also those of the past, of which no outcome is known; a killed run leaves them to the next."""
    strict = site.bundle.with_name("strict")
    with_thresholds(training.bundle, step_up_from=1, fail_from=2).save(strict)
    replace(site, bundle=strict).served_by()
    site.clock.advance(60)
    site.given.work.mkdir()
    schema = training.bundle.contents.schema
    records = collect_records(
        site.given, schema, by=(), max_bad_share=0, now=site.clock.now(), report=lambda text: None
    )
    table = read_records(records.file, schema, labelled=False).table
    outcomes = pq.read_table(records.file, columns=["scoringOutcome"]).column(0).to_pylist()
    seen = observed(table, 0).tolist()
    assert {one for one, outcome in zip(seen, outcomes, strict=True) if outcome in (None, "PASSED")} == {True}
    assert [one for one, outcome in zip(seen, outcomes, strict=True) if outcome == "FAILED"] == [False]
    assert (len(table), records.exported) == (6_004, 4)

    decided = Challenger.trained_as_of(site.given.work, records.as_of)
    for decision, again in ((None, records.as_of), ({"answer": "keep"}, records.as_of + 60_000_000)):
        decided.folder.mkdir(exist_ok=True)
        if decision is not None:
            decided.decide(decision)
        site.clock.advance(60 * (decision is not None))
        found = collect_records(
            site.given, schema, by=(), max_bad_share=0, now=site.clock.now(), report=lambda text: None
        )
        assert found.as_of == again, decision


def test_a_past_that_cannot_be_read_is_refused(site: Site, tmp_path: Path) -> None:
    """Before anything is exported, and no version has become the champion."""
    past = tmp_path / "past.csv"
    past.write_text("recordId,dob\n1,1980-01-01\n", encoding="utf-8")
    with pytest.raises(MissingColumns, match=r"past\.csv: the column 'eventTime' is not in the source"):
        retrain(replace(site.gated(LOOSE), past=[past]), clock=site.clock)
    assert list(site.given.work.iterdir()) == []
    assert "champion" not in client_of(site.given.uri).get_registered_model(NAME).aliases


def test_too_few_records_without_a_past_name_the_option(site: Site) -> None:
    """The service alone has three records: the error says how to give earlier ones."""
    with pytest.raises(SplitError, match=r"3 records of the service.*--past"):
        retrain(replace(site.gated(LOOSE), past=[]), clock=site.clock)


def test_a_training_without_what_a_rule_reads_is_refused(site: Site) -> None:
    """Before anything is exported, with the name."""
    text = site.given.configuration.read_text(encoding="utf-8")
    site.given.configuration.write_text(
        text.replace("    device: [signals.deviceId]\n", ""), encoding="utf-8"
    )
    site.activate_rules()
    with pytest.raises(RetrainingError, match=r"rules\.0\.when\.link_device_1d_frauds: nothing has"):
        retrain(site.gated(LOOSE), clock=site.clock)
    assert list(site.given.work.iterdir()) == []


def test_the_past_may_be_a_csv_file(site: Site, frame: pa.Table, tmp_path: Path) -> None:
    """It becomes the same records as its Parquet file, with the names of the contract, whatever its own are."""
    given = load_configuration(site.given.configuration).schema
    names = {"eventTime": "Eingang", "lastName": "Name", "label": "Betrug", "labelKnownAt": "bekannt"}
    schema = replace(given, columns=names, format=FileFormat(separator=";", dates=("%d.%m.%Y %H:%M:%S",)))
    rows = frame.slice(23_000).to_pandas().rename(columns=names)
    for name in ("Eingang", "bekannt"):
        rows[name] = rows[name].dt.strftime("%d.%m.%Y %H:%M:%S")
    rows.drop(columns="imageUrls").to_csv(tmp_path / "past.csv", sep=";", index=False)
    parsed = read_records(tmp_path / "past.csv", schema, labelled=True).table
    assert len(parsed) == 1000
    assert read_records(contract_table(parsed, given.signals), given, labelled=True).table == parsed


def test_a_run_takes_a_past_of_csv(site: Site, tmp_path: Path) -> None:
    """The records of a run are those of the same past as Parquet; another kind of file is refused before the export."""
    schema = load_configuration(site.given.configuration).schema
    few = pq.read_table(site.given.past[0]).slice(0, 400).drop_columns("imageUrls")
    pq.write_table(few, tmp_path / "few.parquet")
    few.to_pandas().to_csv(tmp_path / "few.csv", index=False)
    tables = []
    for name in ("few.parquet", "few.csv"):
        work = tmp_path / name.replace(".", "-")
        work.mkdir()
        given = replace(site.given, past=[tmp_path / name], work=work)
        records = collect_records(
            given, schema, by=(), max_bad_share=0, now=site.clock.now(), report=lambda text: None
        )
        tables.append(read_records(records.file, schema, labelled=True).table)
    assert tables[0] == tables[1]
    with pytest.raises(UnreadableSource, match=r"got '\.xlsx'"):
        retrain(replace(site.gated(LOOSE), past=[tmp_path / "past.xlsx"]), clock=site.clock)
    assert not site.given.work.exists()


def test_one_who_passed_by_a_list_is_no_control_group() -> None:
    """Propensities of which none is below 1 leave the records, so that all others are observed as before."""
    past = pa.table({"recordId": ["p"]})
    outcomes = ["PASSED", "PASSED", "FAILED"]
    ended = pa.array([None] * 3, pa.string())

    def joined(propensities: list[float | None]) -> list[pa.Table]:
        columns = {"scoringOutcome": outcomes, "resolution": ended}
        ours = pa.table({**columns, "propensity": pa.array(propensities, pa.float64())})
        return _with_propensities([past], ours, lambda text: None)

    for nobody in ([None] * 3, [1.0, None, None]):
        assert not any("propensity" in table.column_names for table in joined(list(nobody)))
    assert [table.column("propensity").to_pylist() for table in joined([1.0, None, 0.05])] == [
        [1.0],
        [1.0, None, 0.05],
    ]


def test_who_was_approved_after_a_step_up_is_observed() -> None:
    """Of the others who did not pass nobody knows what they were."""
    ours = pa.table(
        {
            "scoringOutcome": ["PASSED", "STEPPED_UP", "STEPPED_UP", "STEPPED_UP", "FAILED"],
            "resolution": [None, "APPROVED", "DECLINED", None, None],
            "propensity": pa.array([None] * 5, pa.float64()),
        }
    )
    said: list[str] = []
    _with_propensities([], ours, said.append)
    assert said[0].startswith("3 applicants were stopped, or stepped up and not approved: without a label")
