"""Log a training to a server, or to the folder beside its bundle."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from scoring_model.training.tracking.errors import TrackingError, summary_of, without_credentials
from scoring_model.training.tracking.record import RunRecord
from scoring_model.training.tracking.run_logging import TrackedRun, log_run
from scoring_model.training.tracking.store import ARTIFACTS, uri_of
from scoring_model.training.tracking.timeout import call_within

SERVER_TAG: Final = "meant_for"
"""Tag of a run in the folder: the server that does not have it yet, without credentials."""


def track(record: RunRecord, *, folder: Path, uri: str | None = None, timeout: float = 30.0) -> TrackedRun:
    """Log a training and make its bundle the challenger.

    The bundle is registered as it was sealed, byte for byte. An MLflow flavour would add files that no seal covers,
    and its `predict` on a frame would score records without their history. To serve a version, fetch
    ``models:/<use>@challenger`` with `mlflow.artifacts.download_artifacts` and open the folder like any bundle.

    Parameters
    ----------
    record
    folder : Path
        SQLite database and artifacts: the store if `uri` is None. Otherwise it keeps the run, for `sync`, if the
        server does not accept it in time, or if Ctrl-C ends the wait.
    uri : str, optional
        Server or database for tracking and registry.
    timeout : float
        Seconds to wait for `uri`.

    Raises
    ------
    TrackingError
        If the run cannot be logged to the folder either.
    """
    if uri is None:
        return _log_to_folder(folder, record)
    try:
        return call_within(timeout, partial(log_run, uri, record))
    except (TrackingError, KeyboardInterrupt) as error:
        tags = {**record.tags, SERVER_TAG: without_credentials(uri)}
        kept = _log_to_folder(folder, replace(record, tags=tags))
        return replace(kept, not_logged=str(error) or "interrupted")


def _log_to_folder(folder: Path, record: RunRecord) -> TrackedRun:
    # Without a location, the artifacts of a database would go to the working directory.
    artifacts = (folder.resolve() / ARTIFACTS).as_uri()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return log_run(uri_of(folder), record, artifacts=artifacts)
    except Exception as error:  # of MLflow, the database or the disk
        raise TrackingError(f"{folder}: {summary_of(error)}") from error
