"""Runs tasks in this process, in processes of this machine, or on the workers of a Dask cluster: with one interface."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from scoring_model.parallel.processes import HERE, Processes
from scoring_model.parallel.workers import LostWorker, WorkerObject, Workers, in_order

__all__ = ["HERE", "LostWorker", "Processes", "WorkerObject", "Workers", "in_order", "open_workers"]


def open_workers(
    processes: int,
    dask: str | None = None,
    *,
    extra: str | None = None,
    prepare: Callable[[], object] | None = None,
) -> AbstractContextManager[Workers]:
    """Return workers that end with a ``with`` block.

    Parameters
    ----------
    processes : int
        As for `Processes`, without `dask`.
    dask : str, optional
        Address of a Dask scheduler, or ``local:N``: its workers run the tasks instead (`cluster.connect`).
    extra : str, optional
        Extra of this package that the workers of a cluster need.
    prepare : callable, optional
        Function of a module that each process calls first; not the workers of a cluster.

    Raises
    ------
    ValueError
        If the address has another form.
    LostWorker
        If the scheduler cannot be reached, or has no workers.
    DifferentVersions
        If the scheduler or a worker has other versions of packages.
    """
    if dask is None:
        return Processes(processes, prepare=prepare)
    from scoring_model.parallel.cluster import connect  # imported here, since it needs an extra

    return connect(dask, extra=extra)
