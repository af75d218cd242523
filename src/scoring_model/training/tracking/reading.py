"""Read the tellings that a folder keeps."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scoring_model.training.tracking.errors import TrackingError
from scoring_model.training.tracking.store import ARTIFACTS, Store, open_folder, pages
from scoring_model.training.tracking.telling import (
    KEY_TAG,
    MEANT_TAG,
    TRAINED_TAG,
    Measured,
    Telling,
    TrackedData,
    files_below,
)

if TYPE_CHECKING:
    from mlflow.entities import Experiment, Run

_OF_THE_STORE: Final = {KEY_TAG, MEANT_TAG, "mlflow.runName"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """A run that a folder keeps.

    Attributes
    ----------
    telling : Telling
    meant_for : str or None
        The server that was away, without user and password.
    """

    telling: Telling
    meant_for: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Keeping:
    """What a folder keeps.

    Attributes
    ----------
    runs : tuple of Kept
        Whole ones, in the order in which they ended.
    incomplete : int
        Runs that broke off while they were written here.
    """

    runs: tuple[Kept, ...]
    incomplete: int


def read_folder(folder: Path) -> Keeping:
    """Read every run of the package's own that a folder keeps.

    Artifacts are looked for in the folder, wherever it was when they were written.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    Keeping

    Raises
    ------
    TrackingError
        When the folder is no store, or lacks files of its runs, naming all such runs.
    """
    store = open_folder(folder, create=False)
    runs = [(experiment, run) for experiment in _experiments(store) for run in _runs(store, experiment)]
    whole = [(experiment, run) for experiment, run in runs if run.info.status == "FINISHED"]
    whole.sort(key=lambda pair: (pair[1].info.end_time, pair[1].info.run_id))
    if lost := [run.info.run_id for _, run in whole if not _artifacts(folder, run).is_dir()]:
        raise TrackingError(f"{folder}: holds no artifacts of the runs {', '.join(lost)}")
    return Keeping(
        runs=tuple(_kept(store, folder, experiment, run) for experiment, run in whole),
        incomplete=len(runs) - len(whole),
    )


def _experiments(store: Store) -> "Iterator[Experiment]":
    return pages(lambda token: store.client.search_experiments(page_token=token))


def _runs(store: Store, experiment: "Experiment") -> "Iterator[Run]":
    found = pages(lambda token: store.client.search_runs([experiment.experiment_id], page_token=token))
    return (run for run in found if KEY_TAG in run.data.tags)


def _artifacts(folder: Path, run: "Run") -> Path:
    return folder / ARTIFACTS / str(run.info.run_id) / "artifacts"


def _kept(store: Store, folder: Path, experiment: "Experiment", run: "Run") -> Kept:
    (version,) = store.client.search_model_versions(f"run_id='{run.info.run_id}'")
    tags = run.data.tags
    telling = Telling(
        key=tags[KEY_TAG],
        experiment=experiment.name,
        name=run.info.run_name,
        model_name=version.name,
        started=run.info.start_time,
        ended=run.info.end_time,
        params=run.data.params,
        metrics=tuple(_metrics(store, run)),
        tags={name: value for name, value in tags.items() if name not in _OF_THE_STORE},
        version_tags={name: value for name, value in version.tags.items() if name != TRAINED_TAG},
        data=_data(run),
        files=files_below(_artifacts(folder, run)),
    )
    return Kept(telling=telling, meant_for=tags.get(MEANT_TAG))


def _metrics(store: Store, run: "Run") -> Iterator[Measured]:
    for name in sorted(run.data.metrics):
        for metric in store.client.get_metric_history(run.info.run_id, name):
            yield Measured(name=name, value=metric.value, time=metric.timestamp)


def _data(run: Any) -> TrackedData:  # the types of MLflow's entities allow for what no store gives
    (told,) = run.inputs.dataset_inputs
    data = told.dataset
    return TrackedData(name=data.name, digest=data.digest, schema=data.schema, profile=data.profile)
