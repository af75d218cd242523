"""MLflow runs in the folder beside the bundles, and the description of a training."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import mlflow
import pytest
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException

from report_use import evaluated
from scoring_model.bundle import Bundle, read_bundle
from scoring_model.configuration import Configuration
from scoring_model.decision.rules import Policy
from scoring_model.training.mlflow_runs import MODEL, RunRecord, TrackedRun, client_of
from scoring_model.training.run import Training
from scoring_model.training.run_description import column_schema, describe, metrics, requirements, table
from scoring_model.training.tracking import TrackingError, track
from tracking_use import assert_logged_once, challenger, contents, record_of, runs_of

DAY = 86_400_000_000  # microseconds


@dataclass(frozen=True)
class Logged:
    """Two trainings in the store of one folder."""

    folder: Path
    bundles: Sequence[Path]
    records: Sequence[RunRecord]
    runs: Sequence[TrackedRun]

    @property
    def uri(self) -> str:
        """URI of the store."""
        return self.runs[0].uri


@pytest.fixture(scope="module")
def logged(tracking_folder: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory) -> Logged:
    """Two trainings, logged in order."""
    folder = tmp_path_factory.mktemp("tracking")
    tracking_folder(folder / "runs")
    records = [record_of(folder / str(number), number=number) for number in (1, 2)]
    runs = [track(record, folder=folder / "runs") for record in records]
    return Logged(folder / "runs", [folder / str(number) / MODEL for number in (1, 2)], records, runs)


def test_the_alias_gives_the_bundle_byte_for_byte(
    logged: Logged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The download of the challenger is the folder of the later bundle, without other files."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", logged.uri)
    fetched = mlflow.artifacts.download_artifacts("models:/identities@challenger", dst_path=str(tmp_path))
    assert contents(Path(fetched)) == contents(logged.bundles[1])


def test_each_training_is_a_run_and_a_version(logged: Logged, tmp_path: Path) -> None:
    """Each run has everything of its record; versions count up and have the time of their training."""
    assert [run.model_version for run in logged.runs] == ["1", "2"]
    assert challenger(logged.uri, "identities") == "2"
    for run, record in zip(logged.runs, logged.records, strict=True):
        assert assert_logged_once(logged.uri, record, tmp_path).info.run_id == run.run_id
    found = client_of(logged.uri).get_model_version("identities", "2")
    assert found.run_id == logged.runs[1].run_id
    assert found.tags == {**logged.records[1].tags, "trained_at": "2025-06-15T15:08:40.000000Z"}


def test_trials_are_a_table_of_mlflow(logged: Logged, monkeypatch: pytest.MonkeyPatch) -> None:
    """MLflow loads the trials as a table with one row per trial."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", logged.uri)
    client, run_id = client_of(logged.uri), logged.runs[0].run_id
    experiment = client.get_run(run_id).info.experiment_id
    assert client.load_table(experiment, "trials.json", [run_id])["trial"].tolist() == [0, 1]


def test_everything_is_in_the_folder(logged: Logged) -> None:
    """Database and artifacts are in the folder."""
    assert logged.uri == f"sqlite:///{logged.folder.resolve()}/mlflow.db"
    assert sorted(path.name for path in logged.folder.iterdir()) == ["artifacts", "mlflow.db"]
    ids = {path.name for path in (logged.folder / "artifacts").iterdir()}
    assert ids >= {run.run_id for run in logged.runs}


def test_a_run_that_fails_is_marked_and_completed_later(
    logged: Logged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the registry fails, the run is FAILED and the alias stays; the next attempt completes the same run."""

    def refuse(*_: object, **__: object) -> None:
        raise MlflowException("no, risk://me:s3cret@host")

    record = record_of(tmp_path, number=3)
    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, "create_model_version", refuse)
        with pytest.raises(TrackingError, match="no, risk://host"):
            track(record, folder=logged.folder)
    (run,) = runs_of(logged.uri, record)
    assert run.info.status == "FAILED"
    assert challenger(logged.uri, "identities") == "2"
    again = track(record, folder=logged.folder)
    assert (again.run_id, again.model_version) == (run.info.run_id, "3")
    assert challenger(logged.uri, "identities") == "3"


def test_trainings_that_end_together_share_an_experiment(
    logged: Logged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another process creates the experiment between the search and the creation, it is used."""
    find, asked = MlflowClient.get_experiment_by_name, []

    def late(client: MlflowClient, name: str) -> object:
        asked.append(name)
        return None if len(asked) == 1 else find(client, name)

    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, "get_experiment_by_name", late)
        run = track(record_of(tmp_path, number=4), folder=logged.folder)
    assert len(asked) == 2
    ids = [client_of(logged.uri).get_run(one.run_id).info.experiment_id for one in (run, *logged.runs)]
    assert len(set(ids)) == 1


def test_runs_name_model_policy_and_test_period(
    training: Training, identity: Configuration, sealed: Path, tmp_path: Path
) -> None:
    """Runs that differ only in their policy, or only in their test period, have different names and tags."""
    training = replace(training, evaluation=evaluated(genuine=50, frauds=0, days=3))  # little to draw

    def described(name: str, trained: Training, bundle: Path) -> RunRecord:
        (tmp_path / name).mkdir()
        return describe(
            trained, identity, bundle=bundle, source="a", started=1, ended=2, scratch=tmp_path / name
        )

    boundaries = training.split.boundaries
    later = replace(training.split, boundaries=replace(boundaries, test_from=boundaries.test_from + DAY))
    first = described("first", training, sealed)
    policy = described("policy", training, _with_policy(training).save(tmp_path / "other"))
    period = described("period", replace(training, split=later), sealed)
    assert len({first.name, policy.name, period.name}) == 3
    assert first.name.startswith(read_bundle(sealed).manifest.model_version)
    assert _differing(first, policy) == {"policy_version", "bundle.seal"}
    assert _differing(first, period) == {"test.from"}
    assert first.tags["test.from"] < first.tags["test.to"]
    assert first.tags["test.from"][:16] in first.name
    assert first.tags["test.to"][:16] in first.name
    assert {name for name in first.artifacts if not name.startswith(("model/", "plots/"))} == {
        "requirements.txt"
    }


def _with_policy(training: Training) -> Bundle:
    """Return the same model with other thresholds."""
    contents = training.bundle.contents
    rules = replace(contents.rules, policy=Policy(step_up_from=1001, fail_from=1001))
    return replace(training.bundle, contents=replace(contents, rules=rules))


def _differing(one: RunRecord, other: RunRecord) -> set[str]:
    """Return the names of the tags that differ."""
    return {name for name, value in one.tags.items() if other.tags[name] != value}


def test_a_table_has_every_column_and_digit() -> None:
    """Columns are the union over the rows; numbers read back exactly; missing values and NaN are null."""
    rows: list[dict[str, object]] = [
        {"trial": 0, "value": 0.1 + 0.2},
        {"trial": 1, "state": "pruned", "value": float("nan")},
    ]
    assert json.loads(table(rows)) == {
        "columns": ["trial", "value", "state"],
        "data": [[0, 0.1 + 0.2, None], [1, None, "pruned"]],
    }


def test_all_numbers_of_an_evaluation_are_metrics(training: Training) -> None:
    """Metrics are the numbers of the evaluation, with the ends of their intervals; all are finite."""
    found = dict(metrics(training.evaluation))
    overall = training.evaluation.overall
    assert found["roc_auc"] == overall.figures["roc_auc"].value
    assert found["recall_at_fpr_0.01"] == overall.figures["recall_at_fpr_0.01"].value
    for name in ("roc_auc", "average_precision", "brier", "log_loss", "recall_at_fpr_0.01"):
        assert found[f"{name}_low"] <= found[name] <= found[f"{name}_high"]
    for name in ("false_reject", "step_up", "missed_fraud"):
        share = overall.errors[name]
        ends = (found[f"{name}_low"], found[f"{name}_share"], found[f"{name}_high"])
        assert ends == (share.low, share.value, share.high)
        assert found[f"{name}_independent"] >= 10
        assert f"{name}_worst_window_share" in found
    assert found["fraud_outcomes_PASSED_share"] == found["missed_fraud_share"]
    assert found["score_500_low"] <= found["score_500_share"] <= found["score_500_high"]
    assert all(abs(value) < float("inf") for value in found.values())


def test_columns_are_described_as_mlflow_reads_them(identity: Configuration) -> None:
    """MLflow's own reader accepts the schema: names, types, and that only the event time is required."""
    from mlflow.types import Schema

    columns = json.loads(column_schema(identity.schema))["mlflow_colspec"]
    schema = Schema.from_json(json.dumps(columns))
    kinds = {column["name"]: column["type"] for column in columns}
    assert len(schema.inputs) == len(kinds) == len(columns)
    assert kinds["signals.vpn"] == "boolean"
    assert kinds["signals.emailAgeDays"] == "double"
    assert (kinds["dob"], kinds["eventTime"], kinds["imageUrls"]) == ("string", "datetime", "array")
    assert [column.name for column in schema.inputs if column.required] == ["eventTime"]


def test_requirements_are_what_is_installed() -> None:
    """The file pins every training library to its installed version and names the Python version."""
    first, *pins = requirements().splitlines()
    found = dict(pin.split("==") for pin in pins)
    assert first.startswith(f"# Python {sys.version_info.major}.{sys.version_info.minor}.")
    assert len(found) == len(pins)
    for name in ("lightgbm", "mlflow", "numpy", "onnx", "onnxruntime", "optuna", "scipy", "scoring-model"):
        assert found[name] == version(name)


OFFLINE = """
import socket, sys
from pathlib import Path

def refuse(*args, **options):
    raise SystemExit(f"tried to reach {args[1:]}")

socket.socket.connect = socket.getaddrinfo = refuse
from scoring_model.training import mlflow_runs, tracking
assert "mlflow" not in sys.modules
folder = Path(sys.argv[1])
(folder / "m").write_bytes(b"1")
dataset = dict(name="d", digest="0", source_type="table", source="{}")
tracking.track(mlflow_runs.RunRecord(
    key="k", use="e", name="r", started=1, ended=2, params={}, metrics={}, tags={}, dataset=dataset,
    artifacts={"model/bundle/m": folder / "m"},
), folder=folder)
from mlflow.telemetry import get_telemetry_client
assert get_telemetry_client() is None
"""


def test_nothing_is_sent_without_a_server(tmp_path: Path) -> None:
    """In a new process outside of tests, MLflow is imported late, sends no telemetry and prints nothing."""
    marks = ("CI", "PYTEST", "GITHUB", "MLFLOW", "DO_NOT_TRACK", "BUILD", "JENKINS", "TF_", "GITLAB")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(marks)}
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE, str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
