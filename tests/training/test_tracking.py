import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import mlflow
import pytest
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException

from scoring_model.training import tracking
from scoring_model.training.tracking import TrackedData, TrackedRun, TrackingSettings, track

DATA = TrackedData(name="records", digest="ab" * 32, schema='{"dob": "date"}')
TRIALS: list[dict[str, object]] = [
    {"trial": 0, "value": 0.5, "rounds": 10},
    {"trial": 1, "value": 0.1234567891, "rounds": None},
]


def bundle_in(folder: Path, graph: bytes) -> Path:
    """Write a folder of files as a bundle has them."""
    folder.mkdir()
    (folder / "manifest.json").write_text('{"protocol": 1}\n')
    (folder / "model.onnx").write_bytes(graph)
    return folder


def tell(settings: TrackingSettings, bundle: Path) -> TrackedRun:
    """Track a training."""
    return track(
        settings,
        params={"learning_rate": 0.1 + 0.2, "seed": 7},
        metrics={"roc_auc": 0.91},
        tags={"use": "identities"},
        trials=TRIALS,
        bundle=bundle,
        data=DATA,
    )


@pytest.fixture(scope="module")
def tracked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Two trainings in one store."""
    folder = tmp_path_factory.mktemp("tracking")
    settings = TrackingSettings(folder=folder / "runs", experiment="tests", model_name="identities")
    bundles = [bundle_in(folder / name, name.encode() + bytes(range(256))) for name in ("one", "two")]
    runs = [tell(settings, bundle) for bundle in bundles]
    client = MlflowClient(tracking_uri=runs[0].uri, registry_uri=runs[0].uri)
    return {"folder": folder, "settings": settings, "bundles": bundles, "runs": runs, "client": client}


def contents(folder: Path) -> dict[str, bytes]:
    """Read all files below a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_the_alias_gives_the_bundle_byte_for_byte(
    tracked: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a user downloads as the challenger is the later bundle, with no file added."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", tracked["runs"][0].uri)
    fetched = mlflow.artifacts.download_artifacts("models:/identities@challenger", dst_path=str(tmp_path))
    assert contents(Path(fetched)) == contents(tracked["bundles"][1])


def test_each_training_is_a_version(tracked: dict[str, Any]) -> None:
    """Versions count up, name their run, and the alias moves to the last."""
    client, runs = tracked["client"], tracked["runs"]
    assert [run.model_version for run in runs] == ["1", "2"]
    for run in runs:
        assert client.get_model_version("identities", run.model_version).run_id == run.run_id
    assert str(client.get_model_version_by_alias("identities", "challenger").version) == "2"


def test_a_run_keeps_what_it_was_told(tracked: dict[str, Any]) -> None:
    """Parameters, metrics, tags and data are in one finished run."""
    run = tracked["client"].get_run(tracked["runs"][0].run_id)
    assert run.info.status == "FINISHED"
    assert {name: float(value) for name, value in run.data.params.items()} == {
        "learning_rate": 0.1 + 0.2,
        "seed": 7,
    }
    assert run.data.metrics == {"roc_auc": 0.91}
    assert {"use": "identities", "data.digest": DATA.digest}.items() <= run.data.tags.items()
    (told,) = run.inputs.dataset_inputs
    assert (told.dataset.name, told.dataset.schema) == (DATA.name, DATA.schema)
    assert DATA.digest.startswith(told.dataset.digest)
    assert len(tracked["client"].search_runs([run.info.experiment_id])) == 2


def test_trials_are_one_table(tracked: dict[str, Any], tmp_path: Path) -> None:
    """The table of the run has one row for each trial, to ten decimals."""
    client: MlflowClient = tracked["client"]
    path = client.download_artifacts(tracked["runs"][0].run_id, "trials.json", str(tmp_path))
    table = json.loads(Path(path).read_text())
    assert [dict(zip(table["columns"], row, strict=True)) for row in table["data"]] == TRIALS


def test_everything_is_kept_in_the_folder(tracked: dict[str, Any]) -> None:
    """Database and artifacts lie in the folder of the settings."""
    assert sorted(p.name for p in (tracked["folder"] / "runs").iterdir()) == ["artifacts", "mlflow.db"]
    run = tracked["client"].get_run(tracked["runs"][0].run_id)
    assert run.info.artifact_uri.startswith((tracked["folder"] / "runs" / "artifacts").as_uri())


def test_a_run_that_fails_is_marked(tracked: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """When the registry refuses, the run is failed and the alias stays where it was."""

    def refuse(*_: object, **__: object) -> None:
        raise MlflowException("no")

    client: MlflowClient = tracked["client"]
    monkeypatch.setattr(MlflowClient, "create_model_version", refuse)
    settings = TrackingSettings(uri=tracked["runs"][0].uri, experiment="failing", model_name="identities")
    folder = tracked["folder"] / "elsewhere"
    folder.mkdir()
    client.create_experiment("failing", artifact_location=folder.as_uri())
    with pytest.raises(MlflowException, match="no"):
        tell(settings, tracked["bundles"][0])
    experiment = client.get_experiment_by_name("failing")
    assert experiment is not None
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.status == "FAILED"
    assert str(client.get_model_version_by_alias("identities", "challenger").version) == "2"


OFFLINE = """
import socket, sys
from pathlib import Path

def refuse(*args, **options):
    raise SystemExit(f"tried to reach {args[1:]}")

socket.socket.connect = socket.getaddrinfo = refuse
from scoring_model.training import tracking
assert "mlflow" not in sys.modules
folder = Path(sys.argv[1])
(folder / "b").mkdir()
(folder / "b" / "m").write_bytes(b"1")
data = tracking.TrackedData(name="d", digest="0", schema="{}")
tracking.track(tracking.TrackingSettings(folder=folder), params={}, metrics={}, tags={}, trials=[],
               bundle=folder / "b", data=data)
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
    assert tracking.CHALLENGER == "challenger"
