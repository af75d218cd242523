"""What MLflow is told of a training: one run, its trials as one table, its bundle, one registered version."""

import os
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import DatasetInput

CHALLENGER = "challenger"
"""Alias of the version that wants to serve."""

BUNDLE = "bundle"
"""Artifact folder of the run that holds the bundle."""

_TRIALS = "trials.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackingSettings:
    """Where trainings are told of.

    Attributes
    ----------
    uri : str or None
        Tracking and registry server or database; None: SQLite in `folder`.
    folder : Path
        Holds 'mlflow.db' and 'artifacts/' where `uri` is None.
    experiment : str
        Made if absent.
    model_name : str
        Registered model, made if absent.
    """

    uri: str | None = None
    folder: Path = Path("runs")
    experiment: str = "scoring-model"
    model_name: str = "scoring-model"


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackedData:
    """What the training learnt from.

    Attributes
    ----------
    name : str
        For people.
    digest : str
        Hash of the content; MLflow keeps its first 36 characters here, and all of it among the run's tags.
    schema : str
        JSON text that describes the columns.
    """

    name: str
    digest: str
    schema: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackedRun:
    """Where to find what was told.

    Attributes
    ----------
    run_id : str
    model_version : str
        Version of the registered model, '1' for the first.
    uri : str
        Tracking server or database.
    """

    run_id: str
    model_version: str
    uri: str


def track(
    settings: TrackingSettings,
    *,
    params: Mapping[str, object],
    metrics: Mapping[str, float],
    tags: Mapping[str, str],
    trials: Sequence[Mapping[str, object]],
    bundle: Path,
    data: TrackedData,
) -> TrackedRun:
    """Tell MLflow of one training and make its bundle the challenger.

    What is registered is the bundle as it was sealed, byte for byte. An MLflow flavour around it would add
    files that no seal covers, and its `predict` on a frame would score records without their history. Whoever
    serves it fetches `models:/<model_name>@challenger` with `mlflow.artifacts.download_artifacts` and opens
    the folder like any bundle. No requirements are recorded, given or inferred: MLflow runs nothing of it.

    Parameters
    ----------
    settings : TrackingSettings
    params : Mapping
        Resolved parameters of the training, written as text.
    metrics : Mapping[str, float]
    tags : Mapping[str, str]
    trials : sequence of Mapping
        Rows of one table, with the same keys; MLflow keeps ten decimals of its numbers.
    bundle : Path
        Folder of the bundle.
    data : TrackedData

    Returns
    -------
    TrackedRun

    Raises
    ------
    mlflow.exceptions.MlflowException
        If the server or database refuses; the run is then marked as failed.
    """
    client, uri = _client(settings)
    run = client.create_run(_experiment(client, settings), tags=dict(tags))
    run_id = run.info.run_id
    try:
        _log(client, run_id, params=params, metrics=metrics, trials=trials, bundle=bundle, data=data)
        version = _register(client, settings.model_name, run_id, f"{run.info.artifact_uri}/{BUNDLE}")
    except BaseException:
        client.set_terminated(run_id, status="FAILED")
        raise
    client.set_terminated(run_id)
    return TrackedRun(run_id=run_id, model_version=version, uri=uri)


def _client(settings: TrackingSettings) -> "tuple[MlflowClient, str]":
    """Connect without touching MLflow's globals; it takes seconds to import, and reports its use if let."""
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    os.environ["DO_NOT_TRACK"] = "true"
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
    from mlflow import MlflowClient

    if settings.uri is None:
        settings.folder.mkdir(parents=True, exist_ok=True)
    uri = settings.uri or f"sqlite:///{settings.folder.resolve() / 'mlflow.db'}"
    with warnings.catch_warnings():
        # MLflow's own tables use an option that SQLAlchemy 2.1 deprecates.
        warnings.filterwarnings("ignore", message="The ``noload`` loader strategy is deprecated")
        return MlflowClient(tracking_uri=uri, registry_uri=uri), uri


def _experiment(client: "MlflowClient", settings: TrackingSettings) -> str:
    found = client.get_experiment_by_name(settings.experiment)
    if found is not None:
        return str(found.experiment_id)
    # A database without a server would put artifacts into the working directory.
    artifacts = (settings.folder.resolve() / "artifacts").as_uri() if settings.uri is None else None
    return str(client.create_experiment(settings.experiment, artifact_location=artifacts))


def _log(
    client: "MlflowClient",
    run_id: str,
    *,
    params: Mapping[str, object],
    metrics: Mapping[str, float],
    trials: Sequence[Mapping[str, object]],
    bundle: Path,
    data: TrackedData,
) -> None:
    from mlflow.entities import Metric, Param, RunTag

    now = int(time.time() * 1000)
    client.log_batch(
        run_id,
        metrics=[Metric(name, float(value), now, 0) for name, value in metrics.items()],
        params=[Param(name, str(value)) for name, value in params.items()],
        tags=[RunTag("data.digest", data.digest)],
    )
    client.log_inputs(run_id, datasets=[_dataset(data)])
    if trials:
        with warnings.catch_warnings():
            # MLflow selects columns in a way that pandas 3 deprecates.
            warnings.filterwarnings("ignore", message="For backward compatibility, 'str' dtypes are included")
            client.log_table(run_id, {name: [row[name] for row in trials] for name in trials[0]}, _TRIALS)
    client.log_artifacts(run_id, str(bundle), artifact_path=BUNDLE)


def _dataset(data: TrackedData) -> "DatasetInput":
    from mlflow.entities import Dataset, DatasetInput, InputTag
    from mlflow.utils.mlflow_tags import MLFLOW_DATASET_CONTEXT

    dataset = Dataset(
        name=data.name, digest=data.digest[:36], source_type="table", source="{}", schema=data.schema
    )
    return DatasetInput(dataset, tags=[InputTag(MLFLOW_DATASET_CONTEXT, "training")])


def _register(client: "MlflowClient", name: str, run_id: str, source: str) -> str:
    if not client.search_registered_models(f"name = '{name}'"):
        client.create_registered_model(name)
    version = client.create_model_version(name, source=source, run_id=run_id)
    client.set_registered_model_alias(name, CHALLENGER, version.version)
    return str(version.version)
