"""Logs a training to a server, or to the folder next to its bundle, and copies the runs of a folder later."""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from scoring_model.locks import locked
from scoring_model.parallel.progress import Report
from scoring_model.training.mlflow_runs import (
    FINISHED,
    KEY_TAG,
    RunRecord,
    TrackedRun,
    client_of,
    files_below,
    log_run,
    pages,
    without_credentials,
)

T = TypeVar("T")

_SERVER_TAG: Final = "meant_for"
"""Tag of a run in the folder: the server that does not have it yet, without credentials."""

_FOLDER_TAGS: Final = {KEY_TAG, _SERVER_TAG, "mlflow.runName"}
"""Tags that are not copied unchanged."""

_DATABASE: Final = "mlflow.db"
_ARTIFACTS: Final = "artifacts"
_HALF: Final = 120
_REQUEST_TIMEOUT: Final = "MLFLOW_HTTP_REQUEST_TIMEOUT"
_MAX_RETRIES: Final = "MLFLOW_HTTP_REQUEST_MAX_RETRIES"
_MAX_REQUEST_SECONDS: Final = 60


class TrackingError(ValueError):
    """A run could not be logged, or a store could not be read. The bundle is not affected."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Synced:
    """The result of a sync.

    Attributes
    ----------
    copied : tuple of TrackedRun
        Runs that were logged or completed, at their new location.
    present : int
        Runs that were already present.
    unaddressed : int
        Runs without a server, if the caller names none.
    incomplete : int
        Runs whose logging to the folder was interrupted.
    """

    copied: tuple[TrackedRun, ...]
    present: int
    unaddressed: int
    incomplete: int


def track(record: RunRecord, *, folder: Path, uri: str | None = None, timeout: float = 30.0) -> TrackedRun:
    """Log a training and make its bundle the challenger.

    The registered version holds the sealed bundle byte for byte, in the folder ``bundle``, and beside it what
    `mlflow.pyfunc.load_model` needs. To serve a version, fetch ``models:/<use>@challenger`` with
    `mlflow.artifacts.download_artifacts` and open its folder ``bundle`` like any bundle.

    Parameters
    ----------
    folder : Path
        SQLite database and artifacts: the store if `uri` is None. Otherwise it keeps the run, for `sync`, if the
        server does not accept it in time, or if Ctrl-C ends the wait.
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
        tags = {**record.tags, _SERVER_TAG: without_credentials(uri)}
        kept = _log_to_folder(folder, replace(record, tags=tags))
        return replace(kept, not_logged=str(error) or "interrupted")


def sync(
    folder: Path,
    *,
    uri: str | None = None,
    timeout: float = 600.0,
    report: Report = lambda text: None,
) -> Synced:
    """Copy each run of a folder to its server, unless it is there already; the folder does not change.

    Parameters
    ----------
    folder : Path
        Folder written by `track`, here or on another machine.
    uri : str, optional
        Server or database for all runs; by default each goes to the server that did not accept it.
    timeout : float
        Seconds to wait for each run.

    Raises
    ------
    TrackingError
        If the folder cannot be read, or, after all other runs are copied, if a server did not accept one.
    """
    done: list[TrackedRun] = []
    failures: dict[str, str] = {}
    if not (folder / _DATABASE).is_file():
        raise TrackingError(f"{folder}: holds no {_DATABASE}")
    with locked(folder):  # concurrent syncs would copy each run twice
        complete, incomplete = _read(folder)
        addressed = [(target, record) for server, record in complete if (target := uri or server)]
        for target, record in addressed:
            if target in failures:
                continue
            try:
                run = call_within(timeout, partial(log_run, target, record))
            except TrackingError as error:
                failures[target] = f"{without_credentials(target)}: {error}"
                continue
            done.append(run)
            if not run.existed:
                report(f"run {run.run_id}, version {run.model_version}: {run.uri}")
    copied = tuple(run for run in done if not run.existed)
    present = len(done) - len(copied)
    if failures:
        counts = f"{len(copied)} runs copied, {present} were there"
        raise TrackingError("; ".join([counts, *failures.values()]))
    unaddressed = len(complete) - len(addressed)
    return Synced(copied=copied, present=present, unaddressed=unaddressed, incomplete=incomplete)


def call_within(seconds: float, call: Callable[[], T]) -> T:
    """Call a function with a time limit.

    The call runs in a daemon thread, which is abandoned after the limit, because request timeouts do not bound name
    resolution, databases, or responses that arrive byte by byte. Later writes of an abandoned call are found by their
    key. A single request may take a third of the time, at most one minute, unless ``MLFLOW_HTTP_REQUEST_TIMEOUT`` is
    set.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except Exception as error:
            future.set_exception(error)

    with _request_limits(min(seconds / 3, _MAX_REQUEST_SECONDS)):
        threading.Thread(target=run, name="tracking", daemon=True).start()
        if not wait([future], timeout=seconds).done:
            raise TrackingError(f"it took longer than {seconds:g} s")
    try:
        return future.result()
    except Exception as error:
        # The cause would show the credentials of the URI in a traceback.
        raise TrackingError(_summary_of(error)) from None


@contextmanager
def _request_limits(seconds: float) -> Iterator[None]:
    """Limit the time of each request, and disable MLflow's retries.

    By default MLflow waits two minutes for a response and retries seven times. A retry after a lost response creates
    a second run.
    """
    before = {name: os.environ.get(name) for name in (_REQUEST_TIMEOUT, _MAX_RETRIES)}
    os.environ.setdefault(_REQUEST_TIMEOUT, str(max(1, int(seconds))))
    os.environ[_MAX_RETRIES] = "0"
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _summary_of(error: Exception) -> str:
    """Summarise an error in one line without credentials.

    A long text, such as a server's error page, is cut in the middle, because its cause is often at the end.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = without_credentials(lines[0] if lines else type(error).__name__)
    return text if len(text) <= 2 * _HALF else f"{text[:_HALF]} ... {text[-_HALF:]}"


def _uri_of(folder: Path) -> str:
    return f"sqlite:///{folder.resolve() / _DATABASE}"


def _log_to_folder(folder: Path, record: RunRecord) -> TrackedRun:
    # Without a location, the artifacts of a database would go to the working directory.
    artifacts = (folder.resolve() / _ARTIFACTS).as_uri()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return log_run(_uri_of(folder), record, artifacts=artifacts)
    except Exception as error:  # from MLflow, the database or the disk
        raise TrackingError(f"{folder}: {_summary_of(error)}") from error


def _read(folder: Path) -> tuple[list[tuple[str | None, RunRecord]], int]:
    """Read the complete runs of a folder, each with its server, by the end of their training; count the others."""
    try:
        client = client_of(_uri_of(folder))
        uses = {found.experiment_id: found.name for found in pages(client.search_experiments)}
        runs = [run for run in pages(client.search_runs, list(uses)) if KEY_TAG in run.data.tags]
    except Exception as error:  # from MLflow, the database or the disk
        raise TrackingError(f"{folder}: {_summary_of(error)}") from error
    complete = [
        (run, _record(folder, uses[run.info.experiment_id], run))
        for run in runs
        if run.info.status == FINISHED
    ]
    if lost := [run.info.run_id for run, record in complete if not record.artifacts]:
        raise TrackingError(f"{folder}: holds no artifacts of the runs {', '.join(lost)}")
    complete.sort(key=lambda pair: (pair[1].ended, pair[1].key))
    return [(run.data.tags.get(_SERVER_TAG), record) for run, record in complete], len(runs) - len(complete)


def _record(folder: Path, use: str, run: Any) -> RunRecord:  # MLflow types parts as optional that runs have
    tags = run.data.tags
    return RunRecord(
        key=tags[KEY_TAG],
        use=use,
        name=run.info.run_name,
        started=run.info.start_time,
        ended=run.info.end_time,
        params=run.data.params,
        metrics=run.data.metrics,
        tags={name: value for name, value in tags.items() if name not in _FOLDER_TAGS},
        dataset=dict(run.inputs.dataset_inputs[0].dataset),
        # The folder may have been moved, so the location in the database is ignored.
        artifacts=files_below(folder / _ARTIFACTS / run.info.run_id / "artifacts"),
    )
