"""Write a telling into a store, so that it may be written again: what stands is found and finished."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from scoring_model.records import microseconds, rfc3339
from scoring_model.training.tracking.store import Store, pages
from scoring_model.training.tracking.telling import BUNDLE, KEY_TAG, TRAINED_TAG, Telling, TrackedData

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import DatasetInput, Run
    from mlflow.entities.model_registry import ModelVersion

CHALLENGER: Final = "challenger"
"""Alias of the version that wants to serve: that of the newest training."""

_FINISHED: Final = "FINISHED"


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """Where a telling stands in a store.

    Attributes
    ----------
    run_id : str
    model_version : str or None
        None when somebody deleted it there.
    was_there : bool
        Whether nothing had to be written.
    """

    run_id: str
    model_version: str | None
    was_there: bool


def write(store: Store, telling: Telling) -> Written:
    """Write a telling, or finish what was begun of it.

    A run is finished last of all, so that one that is finished is whole, and is never touched again, also when
    somebody has deleted it. One that is not is written over: the same values in the same places. Two that were
    begun, since an answer was lost, become one.

    The alias `challenger` moves to its bundle unless a version of a later training is registered, so that a training
    that is told late does not take its place.

    Parameters
    ----------
    store : Store
    telling : Telling

    Returns
    -------
    Written

    Raises
    ------
    mlflow.exceptions.MlflowException
        If the server or database refuses; the run is then marked as failed, if that can still be said.
    """
    client = store.client
    experiment = _experiment(store, telling.experiment)
    standing = _standing(client, experiment, telling.key)
    for run in standing:
        if run.info.status == _FINISHED:
            return Written(run_id=run.info.run_id, model_version=_version_of(client, run), was_there=True)
    run = _begun(client, experiment, telling, standing)
    try:
        _log(client, run.info.run_id, telling)
        version = _register(client, run, telling)
    except BaseException:
        with suppress(Exception):
            client.set_terminated(run.info.run_id, status="FAILED", end_time=telling.ended)
        raise
    client.set_terminated(run.info.run_id, status=_FINISHED, end_time=telling.ended)
    return Written(run_id=run.info.run_id, model_version=version, was_there=False)


def _experiment(store: Store, name: str) -> str:
    from mlflow.exceptions import MlflowException

    found = store.client.get_experiment_by_name(name)
    if found is None:
        # Somebody else may make it in this moment: then it is found, or the first error stands.
        with suppress(MlflowException):
            return str(store.client.create_experiment(name, artifact_location=store.artifacts))
        found = store.client.get_experiment_by_name(name)
    if found is None:
        raise MlflowException(f"the experiment '{name}' can't be made")
    return str(found.experiment_id)


def _standing(client: "MlflowClient", experiment: str, key: str) -> "list[Run]":
    """Every run of this telling, deleted ones included."""
    from mlflow.entities import ViewType

    wanted = f"tags.{KEY_TAG} = '{key}'"
    return list(
        pages(
            lambda token: client.search_runs(
                [experiment], filter_string=wanted, run_view_type=ViewType.ALL, page_token=token
            )
        )
    )


def _begun(client: "MlflowClient", experiment: str, telling: Telling, standing: "Sequence[Run]") -> "Run":
    """The run to go on with: one that was begun, and no second one, or a new one."""
    begun = [run for run in standing if run.info.lifecycle_stage == "active"]
    if not begun:
        return client.create_run(
            experiment,
            start_time=telling.started,
            tags={**telling.tags, KEY_TAG: telling.key},
            run_name=telling.name,
        )
    for other in begun[1:]:
        _delete_versions(client, _versions(client, other))
        client.delete_run(other.info.run_id)
    return begun[0]


def _log(client: "MlflowClient", run_id: str, telling: Telling) -> None:
    from mlflow.entities import Metric, Param, RunTag

    client.log_batch(
        run_id,
        metrics=[Metric(metric.name, metric.value, metric.time, 0) for metric in telling.metrics],
        params=[Param(name, value) for name, value in telling.params.items()],
        tags=[RunTag(name, value) for name, value in telling.tags.items()],
        synchronous=True,
    )
    client.log_inputs(run_id, datasets=[_dataset(telling.data)])
    for name, path in telling.files.items():
        folder = str(PurePosixPath(name).parent)
        client.log_artifact(run_id, str(path), artifact_path=None if folder == "." else folder)


def _dataset(data: TrackedData) -> "DatasetInput":
    from mlflow.entities import Dataset, DatasetInput, InputTag
    from mlflow.utils.mlflow_tags import MLFLOW_DATASET_CONTEXT

    dataset = Dataset(
        name=data.name,
        digest=data.digest[:36],
        source_type="table",
        source="{}",
        schema=data.schema,
        profile=data.profile,
    )
    return DatasetInput(dataset, tags=[InputTag(MLFLOW_DATASET_CONTEXT, "training")])


def _register(client: "MlflowClient", run: "Run", telling: Telling) -> str:
    from mlflow.exceptions import MlflowException

    # Refused where it exists; whatever else is wrong shows when the version is made.
    with suppress(MlflowException):
        client.create_registered_model(telling.model_name)
    versions = _versions(client, run)
    if versions:
        _delete_versions(client, versions[1:])
        version = versions[0]
    else:
        version = client.create_model_version(
            telling.model_name,
            source=f"{run.info.artifact_uri}/{BUNDLE}",
            run_id=run.info.run_id,
            tags={**telling.version_tags, TRAINED_TAG: rfc3339(telling.ended * 1000)},
            await_creation_for=0,
        )
    registered = pages(
        lambda token: client.search_model_versions(f"name='{telling.model_name}'", page_token=token)
    )
    if all(_trained(other) <= telling.ended for other in registered):
        client.set_registered_model_alias(telling.model_name, CHALLENGER, version.version)
    return str(version.version)


def _trained(version: "ModelVersion") -> int:
    """When the training of a version ended, milliseconds; of a version by another hand, when it was registered."""
    told = version.tags.get(TRAINED_TAG)
    return int(version.creation_timestamp) if told is None else microseconds(told) // 1000


def _versions(client: "MlflowClient", run: "Run") -> "list[ModelVersion]":
    """The versions of a run, the first one first."""
    found = client.search_model_versions(f"run_id='{run.info.run_id}'")
    return sorted(found, key=lambda version: int(version.version))


def _version_of(client: "MlflowClient", run: "Run") -> str | None:
    versions = _versions(client, run)
    return str(versions[0].version) if versions else None


def _delete_versions(client: "MlflowClient", versions: "Sequence[ModelVersion]") -> None:
    for version in versions:
        client.delete_model_version(version.name, version.version)
