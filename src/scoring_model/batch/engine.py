"""Runs tasks in processes, and reports progress."""

import gc
import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, Protocol, Self, TypeVar

import pyarrow as pa

from scoring_model.batch import process_settings
from scoring_model.worker_process import begin_work

T = TypeVar("T")
_REPORT_SECONDS: Final = 10.0
_OBJECTS_PER_COLLECTION: Final = 1_000_000


class LostWorker(ChildProcessError):
    """A worker process ended without a result, killed by a person or for want of memory."""


class Runner(Protocol):
    """Runs tasks in other processes; `processes` of them at once."""

    @property
    def processes(self) -> int:
        """Number of tasks that run at once."""
        ...

    def run(self, function: Callable[..., T], tasks: Sequence[tuple[Any, ...]]) -> Iterator[T]:
        """Call a function of a module with the items of each task; yield the results as they come, in any order."""
        ...


class Workers:
    """Runs tasks in processes, which live until the end of a ``with`` block.

    Parameters
    ----------
    processes : int
        With one, tasks run in this process; else in as many new ones, which share nothing. They are started by the
        first call with several tasks.
    """

    def __init__(self, processes: int) -> None:
        self.processes = processes
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def run(self, function: Callable[..., T], tasks: Sequence[tuple[Any, ...]]) -> Iterator[T]:
        """Call a function of a module with the items of each task; yield the results as they come, in any order.

        Raises
        ------
        LostWorker
            If a process ends. Tasks that are done stay done.
        """
        if self.processes == 1 or len(tasks) < 2:
            return (function(*task) for task in tasks)
        if self._pool is None:
            # Threads would take turns at the interpreter, and a forked process may inherit a lock that nobody releases.
            spawn = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.processes, mp_context=spawn, initializer=_prepare_worker)
        return _results(self._pool, function, tasks, ahead=2 * self.processes)


def _results(
    pool: ProcessPoolExecutor, function: Callable[..., T], tasks: Sequence[tuple[Any, ...]], *, ahead: int
) -> Iterator[T]:
    left = iter(tasks)
    try:
        waiting: set[Future[T]] = {pool.submit(function, *task) for task in islice(left, ahead)}
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            waiting |= {pool.submit(function, *task) for task in islice(left, len(done))}
            yield from (future.result() for future in done)
    except BrokenProcessPool as error:
        raise LostWorker(
            "a worker process ended: it was killed, or there was not enough memory (see --memory); "
            "run the same command again with --resume"
        ) from error


def _prepare_worker() -> None:
    """Set up a process for many tasks, and keep libraries from starting threads for every core in each process."""
    begin_work()
    process_settings.configure()
    # Unlike a process for one file it lives on, so it looks for cycles, though rarely.
    gc.enable()
    gc.set_threshold(_OBJECTS_PER_COLLECTION)
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)


@dataclass(kw_only=True)
class Progress:
    """Reports how far a stage is: records, records per second, and the time left.

    Parameters
    ----------
    name : str
        Name of the stage.
    total : int
        Records of all its tasks.
    done : int
        Records of the tasks that an earlier run finished.
    report : callable
        Takes a line of text, at most every ten seconds.
    """

    name: str
    total: int
    report: Callable[[str], None]
    done: int = 0
    clock: Callable[[], float] = time.monotonic
    _before: int = field(init=False)
    _started: float = field(init=False)
    _reported: float = field(init=False)

    def __post_init__(self) -> None:
        self._before = self.done
        self._started = self._reported = self.clock()

    def add(self, records: int) -> None:
        """Count records that are done."""
        self.done += records
        now = self.clock()
        if now - self._reported >= _REPORT_SECONDS or self.done >= self.total:
            self._reported = now
            self.report(self._line(now - self._started))

    def _line(self, seconds: float) -> str:
        rate = (self.done - self._before) / max(seconds, 1e-3)
        left = (self.total - self.done) / rate if rate else 0.0
        return (
            f"{self.name}: {self.done:,} of {self.total:,} records, {rate:,.0f} records/s, "
            f"{left / 60:,.1f} minutes left"
        )


def of_shard(tasks: Iterable[int], number: int, shards: int) -> list[int]:
    """Return the tasks of one of several shards, numbered from 1."""
    return [task for task in tasks if task % shards == number - 1]
