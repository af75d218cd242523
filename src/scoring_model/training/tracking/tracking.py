"""Tell a store of a training, or keep what was to be told."""

from dataclasses import dataclass, replace

from scoring_model.training.tracking.errors import TrackingError, masked, reason
from scoring_model.training.tracking.patience import patiently
from scoring_model.training.tracking.settings import TrackingSettings
from scoring_model.training.tracking.store import open_folder, open_uri
from scoring_model.training.tracking.telling import MEANT_TAG, Telling
from scoring_model.training.tracking.writing import write


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackedRun:
    """Where to find what was told.

    Attributes
    ----------
    run_id : str
    model_version : str or None
        Number of the registered version; None when somebody deleted it.
    uri : str
        Of tracking and registry, without user and password.
    untold : str or None
        Why the server that was meant could not be told, so that the run is kept in the folder; else None.
    """

    run_id: str
    model_version: str | None
    uri: str
    untold: str | None = None


def track(settings: TrackingSettings, telling: Telling) -> TrackedRun:
    """Tell of one training and make its bundle the challenger, or keep it all in the folder for `sync`.

    What is registered is the bundle as it was sealed, byte for byte. An MLflow flavour around it would add
    files that no seal covers, and its `predict` on a frame would score records without their history. Whoever
    serves it fetches `models:/<model_name>@challenger` with `mlflow.artifacts.download_artifacts` and opens
    the folder like any bundle.

    Parameters
    ----------
    settings : TrackingSettings
    telling : Telling

    Returns
    -------
    TrackedRun

    Raises
    ------
    TrackingError
        When the folder can't keep it either.
    """
    if settings.uri is None:
        return _keep(settings, telling)
    uri = settings.uri
    try:
        written = patiently(lambda: write(open_uri(uri), telling), settings.patience)
    except TrackingError as error:
        meant = replace(telling, tags={**telling.tags, MEANT_TAG: masked(uri)})
        return replace(_keep(settings, meant), untold=str(error))
    return TrackedRun(run_id=written.run_id, model_version=written.model_version, uri=masked(uri))


def _keep(settings: TrackingSettings, telling: Telling) -> TrackedRun:
    try:
        store = open_folder(settings.folder, create=True)
        written = write(store, telling)
    except Exception as error:  # of MLflow, the database or the disk
        raise TrackingError(f"{settings.folder}: {reason(error)}") from error
    return TrackedRun(run_id=written.run_id, model_version=written.model_version, uri=store.uri)
