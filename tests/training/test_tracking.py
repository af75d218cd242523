"""Tracking in a folder: what MLflow is told of a training, and what a training has to tell."""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mlflow
import pytest
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException

from scoring_model.configuration import Configuration
from scoring_model.training.run import Training
from scoring_model.training.tracking import TrackingError, TrackingSettings, track
from scoring_model.training.tracking.description import column_schema, metrics, table
from scoring_model.training.tracking.environment import requirements
from scoring_model.training.tracking.writing import CHALLENGER
from tracking_use import DATA, TABLE, contents, runs_of, telling_of


@pytest.fixture(scope="module")
def tracked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Two trainings in one store."""
    folder = tmp_path_factory.mktemp("tracking")
    settings = TrackingSettings(folder=folder / "runs")
    tellings = [telling_of(folder / str(number), number=number) for number in (1, 2)]
    runs = [track(settings, telling) for telling in tellings]
    client = MlflowClient(tracking_uri=runs[0].uri, registry_uri=runs[0].uri)
    return {"folder": folder, "settings": settings, "tellings": tellings, "runs": runs, "client": client}


def test_the_alias_gives_the_bundle_byte_for_byte(
    tracked: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a user downloads as the challenger is the later bundle, with no file added."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", tracked["runs"][0].uri)
    fetched = mlflow.artifacts.download_artifacts("models:/identities@challenger", dst_path=str(tmp_path))
    assert contents(Path(fetched)) == contents(tracked["folder"] / "2" / "bundle")


def test_each_training_is_a_version(tracked: dict[str, Any]) -> None:
    """Versions count up, name their run and when they were trained, and the alias moves to the last."""
    client, runs = tracked["client"], tracked["runs"]
    assert [run.model_version for run in runs] == ["1", "2"]
    for run, telling in zip(runs, tracked["tellings"], strict=True):
        found = client.get_model_version("identities", run.model_version)
        assert found.run_id == run.run_id
        assert telling.version_tags.items() <= found.tags.items()
    assert found.tags["trained_at"] == "2025-06-15T15:08:40.000000Z"
    assert str(client.get_model_version_by_alias("identities", CHALLENGER).version) == "2"


def test_a_run_keeps_what_it_was_told(tracked: dict[str, Any]) -> None:
    """Times, parameters, metrics, tags and data are in one finished run."""
    client, telling = tracked["client"], tracked["tellings"][0]
    run = client.get_run(tracked["runs"][0].run_id)
    assert (run.info.status, run.info.run_name) == ("FINISHED", telling.name)
    assert (run.info.start_time, run.info.end_time) == (telling.started, telling.ended)
    assert {name: float(value) for name, value in run.data.params.items()} == {
        "learning_rate": 0.1 + 0.2,
        "seed": 7,
    }
    assert run.data.metrics == {metric.name: metric.value for metric in telling.metrics}
    assert {"use": "identities", "training_key": telling.key}.items() <= run.data.tags.items()
    (told,) = run.inputs.dataset_inputs
    assert (told.dataset.name, told.dataset.schema, told.dataset.profile) == (
        DATA.name,
        DATA.schema,
        DATA.profile,
    )
    assert told.dataset.digest == DATA.digest[:36]


def test_trials_are_a_table_of_mlflow(tracked: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """What MLflow loads as a table has one row for each trial."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", tracked["runs"][0].uri)
    run = tracked["client"].get_run(tracked["runs"][0].run_id)
    frame = tracked["client"].load_table(run.info.experiment_id, "trials.json", [run.info.run_id])
    assert frame["trial"].tolist() == [0, 1]
    assert json.loads(contents(tracked["folder"] / "1")["trials.json"]) == TABLE


def test_rows_are_written_in_full() -> None:
    """Every column of any row is there, numbers read back as they were, and what is absent or no number is null."""
    rows: list[dict[str, object]] = [
        {"trial": 0, "value": 0.1 + 0.2},
        {"trial": 1, "state": "pruned", "value": float("nan")},
    ]
    assert json.loads(table(rows)) == {
        "columns": ["trial", "value", "state"],
        "data": [[0, 0.1 + 0.2, None], [1, None, "pruned"]],
    }


def test_everything_is_kept_in_the_folder(tracked: dict[str, Any]) -> None:
    """Database and artifacts lie in the folder of the settings."""
    assert sorted(p.name for p in (tracked["folder"] / "runs").iterdir()) == ["artifacts", "mlflow.db"]
    run = tracked["client"].get_run(tracked["runs"][0].run_id)
    assert run.info.artifact_uri.startswith((tracked["folder"] / "runs" / "artifacts").as_uri())


def test_a_run_that_fails_is_marked_and_finished_later(
    tracked: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the registry refuses, the run is failed and the alias stays; told again it is the same run, finished."""

    def refuse(*_: object, **__: object) -> None:
        raise MlflowException("no, risk://me:s3cret@host")

    client, telling = tracked["client"], telling_of(tmp_path, number=3)
    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, "create_model_version", refuse)
        with pytest.raises(TrackingError, match="no, risk://host"):
            track(tracked["settings"], telling)
    (run,) = runs_of(client, telling)
    assert run.info.status == "FAILED"
    assert str(client.get_model_version_by_alias("identities", CHALLENGER).version) == "2"
    again = track(tracked["settings"], telling)
    assert (again.run_id, again.model_version) == (run.info.run_id, "3")
    assert str(client.get_model_version_by_alias("identities", CHALLENGER).version) == "3"


def test_all_numbers_of_an_evaluation_are_metrics(training: Training) -> None:
    """Metrics are the evaluation's numbers, each with the ends of its interval, and all are finite."""
    found = dict(metrics(training.evaluation))
    overall = training.evaluation.overall
    assert found["roc_auc"] == overall.roc_auc
    assert found["recall_at_fpr_0.01"] == overall.recalls[0.01]
    for name in ("roc_auc", "average_precision", "brier", "log_loss", "recall_at_fpr_0.01"):
        assert found[f"{name}_low"] <= found[name] <= found[f"{name}_high"]
    for name in ("false_reject", "step_up", "missed_fraud"):
        share = getattr(overall, name)
        ends = (found[f"{name}_low"], found[f"{name}_share"], found[f"{name}_high"])
        assert ends == (share.low, share.share, share.high)
        assert found[f"{name}_days_low"] <= found[f"{name}_days_high"]
        assert f"{name}_worst_window_share" in found
    assert found["fraud_outcomes_PASSED_share"] == found["missed_fraud_share"]
    assert found["score_500_low"] <= found["score_500_share"] <= found["score_500_high"]
    assert all(abs(value) < float("inf") for value in found.values())


def test_columns_are_described_as_mlflow_reads_them(identity: Configuration) -> None:
    """MLflow's own reader takes the schema: names, kinds, and that an event needs its time alone."""
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
    """The file pins every library that trains, and theirs, to the version that is here, and no tool of the tests."""
    first, *pins = requirements().splitlines()
    found = dict(pin.split("==") for pin in pins)
    assert first.startswith(f"# Python {sys.version_info.major}.{sys.version_info.minor}.")
    assert list(found) == sorted(found)
    assert len(found) == len(pins)
    for name in ("lightgbm", "mlflow", "numpy", "onnx", "onnxruntime", "optuna", "scipy", "scoring-model"):
        assert found[name] == version(name)
    assert not {"pytest", "mypy", "starlette-testclient", "asyncpg"} & found.keys()


OFFLINE = """
import socket, sys
from pathlib import Path

def refuse(*args, **options):
    raise SystemExit(f"tried to reach {args[1:]}")

socket.socket.connect = socket.getaddrinfo = refuse
from scoring_model.training import tracking
assert "mlflow" not in sys.modules
folder = Path(sys.argv[1])
(folder / "m").write_bytes(b"1")
tracking.track(tracking.TrackingSettings(folder=folder), tracking.Telling(
    key="k", experiment="e", name="r", model_name="m", started=1, ended=2, params={}, metrics=(), tags={},
    version_tags={}, data=tracking.TrackedData(name="d", digest="0", schema="{}"), files={"bundle/m": folder / "m"},
))
from mlflow.telemetry import get_telemetry_client
assert get_telemetry_client() is None
"""


def test_nobody_is_called(tmp_path: Path) -> None:
    """In a fresh process that is no test, mlflow is imported late, nothing is reported or connected to."""
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
