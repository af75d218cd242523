"""Runs in MLflow: one per training, with its sealed bundle as artifact and registered version.

Decision record: docs/adr/0017-mlflow.md.
"""

import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scoring_model.records import microseconds, rfc3339

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run
    from mlflow.entities.model_registry import ModelVersion

MODEL: Final = "model"
"""Artifact folder that is registered: the sealed bundle in `BUNDLE`, and beside it what MLflow needs to load it."""

BUNDLE: Final = "bundle"
"""Folder in it that holds the sealed bundle."""

FINISHED: Final = "FINISHED"
"""Status of a run that is complete."""

KEY_TAG: Final = "training_key"
"""Tag of a run: the key of its record."""

_CHALLENGER: Final = "challenger"
"""Alias of the version with the latest end of training."""

_TRAINED_TAG: Final = "trained_at"
"""Tag of a version: the end of its training, RFC 3339. Versions are numbered by their registration."""

_USERINFO: Final = re.compile(r"(?<=://)[^/@\s]+@")


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRecord:
    """Everything that is logged of one training.

    Attributes
    ----------
    key : str
        Identifies the training in every store.
    use : str
        Name of the experiment and of the registered model.
    started, ended : int
        Milliseconds since 1970-01-01 UTC.
    dataset : Mapping[str, str]
        Arguments of `mlflow.entities.Dataset`: name, hash, columns and number of rows of the training data.
    artifacts : Mapping[str, Path]
        Files by artifact name, such as ``model/bundle/model.onnx``. Those in the folder `MODEL` are registered.
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


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackedRun:
    """A run in a store.

    Attributes
    ----------
    model_version : str or None
        Number of the registered version; None if it was deleted.
    uri : str
        URI of tracking and registry, without credentials.
    existed : bool
        Whether the run was already complete.
    not_logged : str or None
        Reason why the run is kept in the folder instead of on the server; else None.
    """

    run_id: str
    model_version: str | None
    uri: str
    existed: bool = False
    not_logged: str | None = None


def files_below(folder: Path, prefix: str = "") -> dict[str, Path]:
    """Return all files below a folder by artifact name: the prefix and the path within the folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {prefix + path.relative_to(folder).as_posix(): path for path in files}


def without_credentials(text: str) -> str:
    """Remove user and password from every URL in a text.

    Examples
    --------
    >>> without_credentials("https://risk:s3cret@mlflow.example/api")
    'https://mlflow.example/api'
    """
    return _USERINFO.sub("", text)


def client_of(uri: str) -> "MlflowClient":
    """Make a client for tracking and registry; a server gets no request yet, a database is created if missing.

    MLflow is imported here because that takes seconds. Its telemetry and the messages that it prints are disabled.
    """
    for name in ("MLFLOW_DISABLE_TELEMETRY", "DO_NOT_TRACK", "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"):
        os.environ[name] = "true"
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    from mlflow import MlflowClient

    with warnings.catch_warnings():
        # MLflow's own tables use an option that SQLAlchemy 2.1 deprecates.
        warnings.filterwarnings("ignore", message="The ``noload`` loader strategy is deprecated")
        return MlflowClient(tracking_uri=uri, registry_uri=uri)


def pages(search: Callable[..., Any], *arguments: Any, **options: Any) -> Iterator[Any]:
    """Yield the results of all pages of one of the client's search methods."""
    token: str | None = ""
    while token is not None:
        page = search(*arguments, page_token=token or None, **options)
        yield from page
        token = page.token or None


def log_run(uri: str, record: RunRecord, *, artifacts: str | None = None) -> TrackedRun:
    """Log a run and register its bundle, or complete what an earlier attempt began.

    The run becomes FINISHED in the last step. A finished run is therefore complete and is never changed, even if
    deleted. An unfinished run is logged again with the same values. Duplicates caused by lost responses are deleted.
    """
    client = client_of(uri)
    experiment = _experiment(client, record.use, artifacts)
    run, *duplicates = _runs(client, experiment, record.key) or [
        client.create_run(
            experiment, start_time=record.started, tags={KEY_TAG: record.key}, run_name=record.name
        )
    ]
    existed = run.info.status == FINISHED
    if not existed:
        for duplicate in duplicates:
            _delete_versions(client, _versions(client, duplicate))
            client.delete_run(duplicate.info.run_id)
        _complete(client, run, record)
    versions = _versions(client, run)
    return TrackedRun(
        run_id=run.info.run_id,
        model_version=str(versions[0].version) if versions else None,
        uri=without_credentials(uri),
        existed=existed,
    )


def _experiment(client: "MlflowClient", name: str, artifacts: str | None) -> str:
    """Find or create an experiment; a new one stores its artifacts below a URI, by default chosen by the store."""
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

    found = pages(client.search_runs, [experiment], f"tags.{KEY_TAG} = '{key}'", run_view_type=ViewType.ALL)
    runs = [run for run in found if run.info.status == FINISHED or run.info.lifecycle_stage == "active"]
    return sorted(runs, key=lambda run: run.info.status != FINISHED)


def _complete(client: "MlflowClient", run: "Run", record: RunRecord) -> None:
    """Log and register a run. If the store refuses, the run becomes FAILED, if the store accepts that."""
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
    """Register the bundle as one version with the run's tags.

    It becomes the challenger unless a later training has a version.
    """
    from mlflow.exceptions import MlflowException

    with suppress(MlflowException):  # it exists; any other failure recurs when the version is created
        client.create_registered_model(record.use)
    version, *duplicates = _versions(client, run) or [
        client.create_model_version(
            record.use,
            source=f"{run.info.artifact_uri}/{MODEL}",
            run_id=run.info.run_id,
            tags={**record.tags, _TRAINED_TAG: rfc3339(record.ended * 1000)},
            await_creation_for=0,
        )
    ]
    _delete_versions(client, duplicates)
    registered = pages(client.search_model_versions, f"name='{record.use}'")
    if all(_trained_at(other) <= record.ended for other in registered):
        client.set_registered_model_alias(record.use, _CHALLENGER, version.version)


def _trained_at(version: "ModelVersion") -> int:
    """Return the end of a version's training, milliseconds; its registration if another program registered it."""
    instant = version.tags.get(_TRAINED_TAG)
    return int(version.creation_timestamp) if instant is None else microseconds(instant) // 1000


def _versions(client: "MlflowClient", run: "Run") -> "list[ModelVersion]":
    """Return the versions of a run, oldest first."""
    found = client.search_model_versions(f"run_id='{run.info.run_id}'")
    return sorted(found, key=lambda version: int(version.version))


def _delete_versions(client: "MlflowClient", versions: "list[ModelVersion]") -> None:
    for version in versions:
        client.delete_model_version(version.name, version.version)
