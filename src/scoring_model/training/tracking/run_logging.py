"""Idempotent logging of runs: a run that exists is completed, never logged twice."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scoring_model.records import microseconds, rfc3339
from scoring_model.training.tracking.store import client_of, pages, without_credentials

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run
    from mlflow.entities.model_registry import ModelVersion
from collections.abc import Mapping
from pathlib import Path

BUNDLE: Final = "bundle"
"""Artifact folder that holds the sealed bundle."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRecord:
    """Everything that is logged of one training.

    Attributes
    ----------
    key : str
        Identifies the training in every store. Logging is idempotent by this key.
    use : str
        Name of the experiment and of the registered model.
    name : str
        Name of the run.
    started, ended : int
        Milliseconds since 1970-01-01 UTC.
    dataset : Mapping[str, str]
        Arguments of `mlflow.entities.Dataset`: name, hash, columns and number of rows of the training data.
    artifacts : Mapping[str, Path]
        Files by artifact name, such as ``bundle/model.onnx``. Those in the folder `BUNDLE` are registered.
    """

    key: str
    use: str
    name: str
    started: int
    ended: int
    params: Mapping[str, str]
    metrics: Mapping[str, float]
    tags: Mapping[str, str]
    dataset: Mapping[str, str]
    artifacts: Mapping[str, Path]


def files_below(folder: Path, prefix: str = "") -> dict[str, Path]:
    """Return all files below a folder by artifact name: the prefix and the path within the folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {prefix + path.relative_to(folder).as_posix(): path for path in files}


CHALLENGER: Final = "challenger"
"""Alias of the version whose training ended last."""

FINISHED: Final = "FINISHED"
"""Status of a run that is complete."""

KEY_TAG: Final = "training_key"
"""Tag of a run: the key of its record."""

_TRAINED_TAG: Final = "trained_at"
"""Tag of a version: the end of its training, RFC 3339. Versions are numbered by their registration."""

_VERSION_TAGS: Final = (
    "model_version",
    "policy_version",
    "bundle.seal",
    "data.digest",
    "test.from",
    "test.to",
)
"""Tags of a run that its version has too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackedRun:
    """A run in a store.

    Attributes
    ----------
    model_version : str or None
        Number of the registered version; None if it was deleted.
    uri : str
        Of tracking and registry, without credentials.
    existed : bool
        Whether the run was complete before.
    not_logged : str or None
        Why the server does not have the run, so that it is kept in the folder; else None.
    """

    run_id: str
    model_version: str | None
    uri: str
    existed: bool = False
    not_logged: str | None = None


def log_run(uri: str, record: RunRecord, *, artifacts: str | None = None) -> TrackedRun:
    """Log a run and register its bundle, or complete what an earlier attempt began.

    The run becomes FINISHED last of all. A finished run is therefore complete, and stays as it is, also if someone
    deleted it. An unfinished run is logged again: the same values in the same places. Duplicates, which a lost
    response can leave, are deleted.

    Parameters
    ----------
    uri : str
        Of tracking and registry.
    artifacts : str, optional
        URI below which a new experiment keeps its artifacts; by default the store decides.

    Raises
    ------
    mlflow.exceptions.MlflowException
        If the store refuses. The run then becomes FAILED, if the store accepts that.
    """
    client = client_of(uri)
    experiment = _experiment(client, record.use, artifacts)
    runs = _runs(client, experiment, record.key)
    run = runs[0] if runs else _create(client, experiment, record)
    existed = run.info.status == FINISHED
    if not existed:
        _delete_runs(client, runs[1:])
        _complete(client, run, record)
    versions = _versions(client, run)
    return TrackedRun(
        run_id=run.info.run_id,
        model_version=str(versions[0].version) if versions else None,
        uri=without_credentials(uri),
        existed=existed,
    )


def _experiment(client: "MlflowClient", name: str, artifacts: str | None) -> str:
    from mlflow.exceptions import MlflowException

    found = client.get_experiment_by_name(name)
    if found is None:
        try:
            return str(client.create_experiment(name, artifact_location=artifacts))
        except MlflowException:  # another process may have created it meanwhile
            found = client.get_experiment_by_name(name)
            if found is None:
                raise
    return str(found.experiment_id)


def _runs(client: "MlflowClient", experiment: str, key: str) -> "list[Run]":
    """Return all runs of a record, a finished one first. A deleted run counts only if it was finished."""
    from mlflow.entities import ViewType

    wanted = f"tags.{KEY_TAG} = '{key}'"
    found = pages(client.search_runs, [experiment], wanted, run_view_type=ViewType.ALL)
    runs = [run for run in found if run.info.status == FINISHED or run.info.lifecycle_stage == "active"]
    return sorted(runs, key=lambda run: run.info.status != FINISHED)


def _create(client: "MlflowClient", experiment: str, record: RunRecord) -> "Run":
    tags = {KEY_TAG: record.key}
    return client.create_run(experiment, start_time=record.started, tags=tags, run_name=record.name)


def _complete(client: "MlflowClient", run: "Run", record: RunRecord) -> None:
    try:
        _log(client, run.info.run_id, record)
        _register(client, run, record)
    except BaseException:
        with suppress(Exception):
            client.set_terminated(run.info.run_id, status="FAILED", end_time=record.ended)
        raise
    client.set_terminated(run.info.run_id, status=FINISHED, end_time=record.ended)


def _log(client: "MlflowClient", run_id: str, record: RunRecord) -> None:
    from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param, RunTag

    client.log_batch(
        run_id,
        metrics=[Metric(name, value, record.ended, 0) for name, value in record.metrics.items()],
        params=[Param(name, value) for name, value in record.params.items()],
        tags=[RunTag(name, value) for name, value in record.tags.items()],
    )
    context = InputTag("mlflow.data.context", "training")
    client.log_inputs(run_id, datasets=[DatasetInput(Dataset(**record.dataset), tags=[context])])
    for name, path in record.artifacts.items():
        client.log_artifact(run_id, str(path), artifact_path=name.rpartition("/")[0] or None)


def _register(client: "MlflowClient", run: "Run", record: RunRecord) -> None:
    """Register the bundle as one version, and make it the challenger unless a later training has a version."""
    from mlflow.exceptions import MlflowException

    with suppress(MlflowException):  # it exists; any other failure recurs when the version is created
        client.create_registered_model(record.use)
    versions = _versions(client, run) or [_create_version(client, run, record)]
    _delete_versions(client, versions[1:])
    registered = pages(client.search_model_versions, f"name='{record.use}'")
    if all(_trained_at(version) <= record.ended for version in registered):
        client.set_registered_model_alias(record.use, CHALLENGER, versions[0].version)


def _create_version(client: "MlflowClient", run: "Run", record: RunRecord) -> "ModelVersion":
    tags = {name: record.tags[name] for name in _VERSION_TAGS if name in record.tags}
    return client.create_model_version(
        record.use,
        source=f"{run.info.artifact_uri}/{BUNDLE}",
        run_id=run.info.run_id,
        tags={**tags, _TRAINED_TAG: rfc3339(record.ended * 1000)},
        await_creation_for=0,
    )


def _trained_at(version: "ModelVersion") -> int:
    """When the training of a version ended, milliseconds; if another program registered it, when it did."""
    instant = version.tags.get(_TRAINED_TAG)
    return int(version.creation_timestamp) if instant is None else microseconds(instant) // 1000


def _versions(client: "MlflowClient", run: "Run") -> "list[ModelVersion]":
    """Return the versions of a run, the first one first."""
    found = client.search_model_versions(f"run_id='{run.info.run_id}'")
    return sorted(found, key=lambda version: int(version.version))


def _delete_versions(client: "MlflowClient", versions: "Sequence[ModelVersion]") -> None:
    for version in versions:
        client.delete_model_version(version.name, version.version)


def _delete_runs(client: "MlflowClient", runs: "Sequence[Run]") -> None:
    for run in runs:
        _delete_versions(client, _versions(client, run))
        client.delete_run(run.info.run_id)
