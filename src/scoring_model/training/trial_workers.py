"""Trial workers: run trials in this process, in several that share one study, or in workers of a Dask cluster.

One process owns the study and writes the journal; the others train and return results. If any process is killed, only
the trials under way are lost.
"""

import multiprocessing
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.configuration import TuningSettings
from scoring_model.training.fitting import import_lightgbm_alone
from scoring_model.training.folds import Fold, build_folds, cut_folds
from scoring_model.training.rungs import Rung, run_trial
from scoring_model.worker_process import begin_work

if TYPE_CHECKING:
    from scoring_model.cluster import Cluster, WorkerObject

RunTrial = Callable[[Mapping[str, float | int]], Generator[Rung, None, None]]
"""Runs a trial with some parameters; closing the generator ends it."""

_ROWS: Final = "rows.npy"
_TARGETS: Final = "targets.npy"
_TIMES: Final = "times.npy"


class TrialWorkerError(RuntimeError):
    """A process of a search ended before its trial."""


@dataclass(frozen=True, kw_only=True)
class SearchContext:
    """The data shared by all trials of a search."""

    feature_names: tuple[str, ...]
    categorical: tuple[int, ...]
    fixed: Mapping[str, object]
    settings: TuningSettings
    seed: int
    genuine_weight: float = 1.0

    def folds(self, rows: FloatArray, targets: NDArray[np.int8], event_times: IntArray) -> list[Fold]:
        """Cut and bin the rows."""
        return build_folds(
            rows,
            targets,
            cut_folds(event_times, targets, self.settings.folds),
            feature_names=self.feature_names,
            categorical=self.categorical,
            params=self.fixed,
            thinning=self.settings.thinning,
            seed=self.seed,
            genuine_weight=self.genuine_weight,
        )

    def run_trial(
        self, folds: Sequence[Fold], params: Mapping[str, float | int]
    ) -> Generator[Rung, None, None]:
        """Run a trial with some parameters."""
        return run_trial(folds, {**params, **self.fixed}, self.settings)


def trial_workers(
    search: SearchContext,
    rows: FloatArray,
    targets: NDArray[np.int8],
    event_times: IntArray,
    *,
    processes: int,
    cluster: "Cluster | None" = None,
    shared: Path | None = None,
) -> AbstractContextManager[list[RunTrial]]:
    """Start the workers of a search.

    Parameters
    ----------
    processes : int
        At least 1; with 1 this process does the work.
    cluster : Cluster, optional
        Runs the trials instead, one for each of its workers at once.
    shared : Path, optional
        Folder for the rows that other processes read. None: a temporary one of this machine.

    Returns
    -------
    context manager of a list of RunTrial
        One for each process. Each runs one trial at a time and may be called from a thread of its own; it raises
        `TrialWorkerError` when its process ends, `LostCluster` when its worker does.
    """
    if cluster is not None:
        return _on_cluster(search, _files(rows, targets, event_times, shared), cluster)
    if processes == 1:
        return _here(search, rows, targets, event_times)
    return _elsewhere(search, _files(rows, targets, event_times, shared), processes)


def cluster_at(dask: str | None) -> AbstractContextManager["Cluster | None"]:
    """Connect to a Dask cluster, whose workers need the libraries of training; without an address there is none."""
    if dask is None:
        return nullcontext()
    from scoring_model.cluster import connect  # imported here, since it needs an extra

    return connect(dask, extra="train")


@contextmanager
def _here(
    search: SearchContext, rows: FloatArray, targets: NDArray[np.int8], event_times: IntArray
) -> Iterator[list[RunTrial]]:
    folds = search.folds(rows, targets, event_times)
    yield [lambda params: search.run_trial(folds, params)]


@contextmanager
def _files(
    rows: FloatArray, targets: NDArray[np.int8], event_times: IntArray, shared: Path | None
) -> Iterator[Path]:
    """Write the rows, so that all processes of a machine share the pages of the files."""
    with TemporaryDirectory(dir=shared) as name:
        folder = Path(name).absolute()
        np.save(folder / _ROWS, rows)
        np.save(folder / _TARGETS, targets)
        np.save(folder / _TIMES, event_times)
        yield folder


def _folds_in(folder: Path, search: SearchContext) -> list[Fold]:
    rows, targets, times = (np.load(folder / name, mmap_mode="r") for name in (_ROWS, _TARGETS, _TIMES))
    return search.folds(rows, targets, times)


@contextmanager
def _elsewhere(
    search: SearchContext, files: AbstractContextManager[Path], processes: int
) -> Iterator[list[RunTrial]]:
    # Not forked, since LightGBM's threads do not survive that.
    context = multiprocessing.get_context("spawn")
    with files as folder:
        workers: list[tuple[SpawnProcess, Connection]] = []
        try:
            for _ in range(processes):
                ours, theirs = context.Pipe()
                worker = context.Process(target=_work, args=(theirs, folder, search), daemon=True)
                worker.start()
                theirs.close()  # so that the end of the process is detected
                workers.append((worker, ours))
            yield [_remote(worker, connection) for worker, connection in workers]
        finally:
            for worker, connection in workers:
                connection.close()
                worker.terminate()
                worker.join()


def _remote(worker: SpawnProcess, connection: Connection) -> RunTrial:
    """Run a trial in another process, which waits after each rung for the request to continue."""

    def run_trial(params: Mapping[str, float | int]) -> Generator[Rung, None, None]:
        try:
            connection.send(params)
            while True:
                rung: Rung = connection.recv()
                try:
                    yield rung
                except GeneratorExit:
                    if not rung.last:
                        connection.send(False)
                    raise
                if rung.last:
                    return
                connection.send(True)
        except (EOFError, OSError) as error:
            worker.join()
            raise TrialWorkerError(f"a process of the search ended with code {worker.exitcode}") from error

    return run_trial


def _work(connection: Connection, folder: Path, search: SearchContext) -> None:
    """Run trials on request, until the connection ends."""
    begin_work()
    import_lightgbm_alone()
    folds = _folds_in(folder, search)
    try:
        while True:
            for rung in search.run_trial(folds, connection.recv()):
                connection.send(rung)
                if not rung.last and not connection.recv():
                    break
    except (EOFError, OSError, KeyboardInterrupt):
        return  # the parent process is gone


class TrialRunner:
    """Runs one trial after the other, rung by rung."""

    def __init__(self, folder: Path, search: SearchContext) -> None:
        self._search, self._folds = search, _folds_in(folder, search)
        self._rungs: Iterator[Rung] = iter(())

    def begin(self, params: Mapping[str, float | int]) -> Rung:
        """Begin a trial, which ends the one before."""
        self._rungs = self._search.run_trial(self._folds, params)
        return next(self._rungs)

    def go_on(self) -> Rung:
        """Continue to the next rung."""
        return next(self._rungs)


@contextmanager
def _on_cluster(
    search: SearchContext, files: AbstractContextManager[Path], cluster: "Cluster"
) -> Iterator[list[RunTrial]]:
    with files as folder:
        yield list(map(_on_worker, cluster.create(TrialRunner, folder, search)))


def _on_worker(runner: "WorkerObject") -> RunTrial:
    def run_trial(params: Mapping[str, float | int]) -> Generator[Rung, None, None]:
        rung: Rung = runner.call("begin", params)
        yield rung
        while not rung.last:
            rung = runner.call("go_on")
            yield rung

    return run_trial
