"""Processes that train folds; a process whose parent is gone ends. Or workers of a Dask cluster."""

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import TYPE_CHECKING

from scoring_model.training.backtest.calendar import BacktestError
from scoring_model.training.backtest.fold import FoldOutcome, FoldTask, Shared, train_fold
from scoring_model.training.fitting import import_lightgbm_alone
from scoring_model.worker_process import begin_work

if TYPE_CHECKING:
    from scoring_model.cluster import Cluster

TrainFold = Callable[[FoldTask], FoldOutcome]


@contextmanager
def fold_workers(
    shared: Shared, processes: int, cluster: "Cluster | None" = None
) -> Iterator[list[TrainFold]]:
    """Start the workers of a backtest.

    Parameters
    ----------
    processes : int
        At least 1; with 1 this process does the work.
    cluster : Cluster, optional
        Trains the folds, so many at once.

    Yields
    ------
    list of callable
        One for each process; each trains one fold at a time and may be called from a thread of its own.
    """
    if cluster is not None:
        yield [lambda task: next(cluster.run(train_fold, [(task, shared)]))] * processes
        return
    if processes == 1:
        yield [lambda task: train_fold(task, shared)]
        return
    # Not forked, since LightGBM's threads do not survive that. All processes share the pages of the matrix.
    context = multiprocessing.get_context("spawn")
    workers: list[tuple[SpawnProcess, Connection]] = []
    try:
        for _ in range(processes):
            ours, theirs = context.Pipe()
            worker = context.Process(target=_work, args=(theirs, shared), daemon=True)
            worker.start()
            theirs.close()  # so that the end of the process is detected
            workers.append((worker, ours))
        yield [_remote(worker, connection) for worker, connection in workers]
    finally:
        for worker, connection in workers:
            connection.close()
            worker.terminate()
            worker.join()


def _remote(worker: SpawnProcess, connection: Connection) -> TrainFold:
    def train(task: FoldTask) -> FoldOutcome:
        try:
            connection.send(task)
            found: FoldOutcome = connection.recv()
        except (EOFError, OSError) as error:
            worker.join()
            raise BacktestError(f"a process of the backtest ended with code {worker.exitcode}") from error
        return found

    return train


def _work(connection: Connection, shared: Shared) -> None:
    """Train folds on request, until the connection ends."""
    begin_work()  # a search under way would keep its journal from a resumed run
    import_lightgbm_alone()
    try:
        while True:
            connection.send(train_fold(connection.recv(), shared))
    except (EOFError, OSError, KeyboardInterrupt):
        return  # the parent process is gone
