"""Trial workers: run trials in this process, or in several that share one study.

One process owns the study and writes the journal; the others train and return results. If any process is killed, only
the trials under way are lost.
"""

import multiprocessing
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.configuration import TuningSettings
from scoring_model.training.folds import Fold, build_folds, cut_folds
from scoring_model.training.rungs import Rung, run_trial

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
) -> AbstractContextManager[list[RunTrial]]:
    """Start the workers of a search.

    Parameters
    ----------
    processes : int
        At least 1; with 1 this process does the work.

    Returns
    -------
    context manager of a list of RunTrial
        One for each process. Each runs one trial at a time and may be called from a thread of its own; it raises
        `TrialWorkerError` when its process ends.
    """
    if processes == 1:
        return _here(search, rows, targets, event_times)
    return _elsewhere(search, rows, targets, event_times, processes)


@contextmanager
def _here(
    search: SearchContext, rows: FloatArray, targets: NDArray[np.int8], event_times: IntArray
) -> Iterator[list[RunTrial]]:
    folds = search.folds(rows, targets, event_times)
    yield [lambda params: search.run_trial(folds, params)]


@contextmanager
def _elsewhere(
    search: SearchContext, rows: FloatArray, targets: NDArray[np.int8], event_times: IntArray, processes: int
) -> Iterator[list[RunTrial]]:
    # Not forked, since LightGBM's threads do not survive that. All processes share the pages of the files.
    context = multiprocessing.get_context("spawn")
    with TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / _ROWS, rows)
        np.save(folder / _TARGETS, targets)
        np.save(folder / _TIMES, event_times)
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
    rows, targets, times = (np.load(folder / name, mmap_mode="r") for name in (_ROWS, _TARGETS, _TIMES))
    folds = search.folds(rows, targets, times)
    try:
        while True:
            for rung in search.run_trial(folds, connection.recv()):
                connection.send(rung)
                if not rung.last and not connection.recv():
                    break
    except (EOFError, OSError, KeyboardInterrupt):
        return  # the parent process is gone
