"""Records of runs for tests of tracking, and checks of the tracking store."""

import json
from pathlib import Path
from typing import Final

from mlflow.entities import Run, ViewType

from scoring_model.training.mlflow_runs import BUNDLE, MODEL, RunRecord, client_of, files_below

TABLE: Final = {
    "columns": ["trial", "value", "rounds"],
    "data": [[0, 0.5, 10], [1, 0.12345678912345678, None]],
}
_SOME_DAY: Final = 1_750_000_000_000  # milliseconds: long before any of these tests
_MINUTE: Final = 60_000


def record_of(folder: Path, *, number: int = 1, use: str = "identities") -> RunRecord:
    """Make the record of a numbered training: a later number ended later, equal ones are equal in every folder."""
    bundle = folder / MODEL / BUNDLE
    bundle.mkdir(parents=True)
    (bundle / "manifest.json").write_text(json.dumps({"protocol": 1, "number": number}))
    (bundle / "model.onnx").write_bytes(bytes(range(256)) * 50 + str(number).encode())
    (folder / "trials.json").write_text(json.dumps(TABLE))
    ended = _SOME_DAY + number * _MINUTE
    return RunRecord(
        key=f"{use}-{number}",
        use=use,
        name=f"{use} {number}",
        started=ended - _MINUTE // 2,
        ended=ended,
        params={"learning_rate": str(0.1 + 0.2), "seed": "7"},
        metrics={"roc_auc": 0.9 + number / 1000, "step_up_low": 1 / 3},
        tags={
            "model_version": f"{use}-of-{number}",
            "library.numpy": "1",
            "mlflow.loggedArtifacts": json.dumps([{"path": "trials.json", "type": "table"}]),
        },
        dataset={
            "name": "records",
            "digest": "ab" * 18,
            "source_type": "table",
            "source": "{}",
            "schema": '{"mlflow_colspec": [{"name": "dob", "type": "string", "required": false}]}',
            "profile": '{"num_rows": 3}',
        },
        artifacts=files_below(folder),
    )


def contents(folder: Path) -> dict[str, bytes]:
    """Read all files below a folder."""
    return {name: path.read_bytes() for name, path in files_below(folder).items()}


def runs_of(uri: str, record: RunRecord) -> list[Run]:
    """Every run of a record in a store, deleted ones too."""
    client = client_of(uri)
    experiment = client.get_experiment_by_name(record.use)
    if experiment is None:
        return []
    wanted = f"tags.training_key = '{record.key}'"
    return list(client.search_runs([experiment.experiment_id], wanted, run_view_type=ViewType.ALL))


def challenger(uri: str, use: str) -> str:
    """The number of the version with the alias."""
    return str(client_of(uri).get_model_version_by_alias(use, "challenger").version)


def assert_logged_once(uri: str, record: RunRecord, scratch: Path) -> Run:
    """Check that a store has one run of a record with everything in it, and one version; return the run."""
    client = client_of(uri)
    (run,) = [run for run in runs_of(uri, record) if run.info.lifecycle_stage == "active"]
    assert (run.info.status, run.info.run_name) == ("FINISHED", record.name)
    assert (run.info.start_time, run.info.end_time) == (record.started, record.ended)
    assert run.data.params == record.params
    assert run.data.metrics == record.metrics
    for name in record.metrics:
        (metric,) = client.get_metric_history(run.info.run_id, name)
        assert metric.timestamp == record.ended
    assert record.tags.items() <= run.data.tags.items()
    assert run.inputs is not None
    assert [dict(data.dataset) for data in run.inputs.dataset_inputs] == [record.dataset]
    fetched = scratch / f"fetched-{record.key}"
    fetched.mkdir()
    client.download_artifacts(run.info.run_id, "", str(fetched))
    assert contents(fetched) == {name: path.read_bytes() for name, path in record.artifacts.items()}
    (version,) = client.search_model_versions(f"run_id='{run.info.run_id}'")
    assert (version.name, version.tags["model_version"]) == (record.use, record.tags["model_version"])
    return run
