"""Runs tasks in processes, and reports progress."""

import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, TypeVar

import pyarrow as pa

T = TypeVar("T")
_REPORT_SECONDS: Final = 10.0


class LostWorker(ChildProcessError):
    """A worker process ended without a result, killed by a person or for want of memory."""


def run_tasks(run: Callable[..., T], tasks: Sequence[tuple[Any, ...]], *, processes: int) -> Iterator[T]:
    """Run tasks and yield their results as they are done, in any order.

    Parameters
    ----------
    run : callable
        A function of a module, called with the items of each task.
    processes : int
        With one, tasks run in this process; else in as many new processes, which share nothing.

    Raises
    ------
    LostWorker
        If a process ends. Tasks that are done stay done.
    """
    if processes == 1 or len(tasks) == 1:
        yield from (run(*task) for task in tasks)
        return
    if not tasks:
        return
    # Threads would take turns at the interpreter, and a forked process may inherit a lock that nobody releases.
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(processes, len(tasks)), mp_context=spawn, initializer=_one_thread)
    waiting: set[Future[T]] = set()
    left = iter(tasks)
    try:
        waiting = {pool.submit(run, *task) for task in islice(left, 2 * processes)}
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
            waiting |= {pool.submit(run, *task) for task in islice(left, len(done))}
    except BrokenProcessPool as error:
        raise LostWorker(
            "a worker process ended: it was killed, or there was not enough memory (see --memory); "
            "run the same command again with --resume"
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _one_thread() -> None:
    """Keep libraries from starting threads for every core in every process."""
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
