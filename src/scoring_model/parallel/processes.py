"""Runs tasks in processes of this machine, which end with this one, however it ends."""

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import chain, islice
from multiprocessing.connection import Connection, wait
from typing import Any, Final, Self, TypeVar

from scoring_model.parallel.workers import LostWorker, Outcome, WorkerObject
from scoring_model.worker_process import show_faults

T = TypeVar("T")

Prepare = Callable[[], object] | None


class Processes:
    """Runs tasks in processes, which live until the end of a ``with`` block.

    Parameters
    ----------
    processes : int
        At least 1. With one, tasks run in this process, and so does a single task; others run in new processes, which
        share nothing. They are started when they are needed first.
    prepare : callable, optional
        Function of a module that each new process calls first.
    """

    def __init__(self, processes: int, *, prepare: Prepare = None) -> None:
        self.processes = self.objects = processes
        self.is_here = processes == 1
        self._prepare = prepare
        self._pool: list[_Process] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self._pool:
            self._pool.pop().close()

    def run(self, function: Callable[..., T], tasks: Iterable[tuple[Any, ...]]) -> Iterator[tuple[int, T]]:
        """Call a function with the items of each task; see `Workers.run`."""
        left = enumerate(tasks)
        first = list(islice(left, self.processes))
        if len(first) < 2:
            for place, task in chain(first, left):
                yield place, function(*task)
            return
        while len(self._pool) < len(first):
            self._pool.append(_Process(self._prepare))
        free = list(self._pool)
        busy: dict[object, tuple[_Process, int]] = {}
        following = chain(first, left)
        try:
            while True:
                for place, task in islice(following, len(free)):
                    process = free.pop()
                    busy[process.connection] = process, place
                    process.ask(function, task)
                if not busy:
                    return
                for connection in wait([process.connection for process, _ in busy.values()]):
                    process, place = busy.pop(connection)
                    free.append(process)
                    yield place, process.answer()
        finally:
            for process, _ in busy.values():  # nobody waits for their results
                self._pool.remove(process)
                process.close()

    @contextmanager
    def create(self, made: Callable[..., object], *arguments: Any) -> Iterator[list[WorkerObject]]:
        """Create an object in each of as many new processes; see `Workers.create`."""
        if self.is_here:
            yield [_ObjectHere(made(*arguments))]
            return
        with ExitStack() as stack:
            started = [stack.enter_context(closing(_Process(self._prepare))) for _ in range(self.processes)]
            for process in started:
                process.ask(_create, (made, *arguments))
            for process in started:
                process.answer()
            yield list(started)


HERE: Final = Processes(1)
"""Runs tasks in this process."""


class _ObjectHere:
    """An object in this process."""

    def __init__(self, created: object) -> None:
        self._created = created

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method."""
        return getattr(self._created, method)(*arguments)


class _Process:
    """A process that calls functions on request; and the object in it, if one was created."""

    def __init__(self, prepare: Prepare) -> None:
        # Threads would take turns at the interpreter. A forked process may inherit a lock that nobody releases, and
        # LightGBM's threads do not survive a fork.
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, prepare), daemon=True)
        self._process.start()
        theirs.close()  # so that the end of the process is detected

    def ask(self, function: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        """Begin a task."""
        with self._watched():
            self.connection.send((function, arguments))

    def answer(self) -> Any:
        """Return what the task returned, or raise its error."""
        with self._watched():
            outcome: Outcome[Any] = self.connection.recv()
        return outcome.result()

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method of the object."""
        self.ask(_call, (method, *arguments))
        return self.answer()

    def close(self) -> None:
        """End the process, also in the middle of a task."""
        self.connection.close()
        self._process.terminate()
        self._process.join()

    @contextmanager
    def _watched(self) -> Iterator[None]:
        try:
            yield
        except (EOFError, OSError) as error:
            self._process.join()
            raise LostWorker(
                f"a worker process ended with code {self._process.exitcode}: it was killed, or there was not enough "
                "memory (see --memory)"
            ) from error


_created: Any = None
"""The object of this process."""


def _create(made: Callable[..., object], *arguments: Any) -> None:
    global _created
    _created = made(*arguments)


def _call(method: str, *arguments: Any) -> Any:
    return getattr(_created, method)(*arguments)


def _serve(connection: Connection, prepare: Prepare) -> None:
    """Run tasks on request, until the connection ends."""
    show_faults()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(KeyboardInterrupt):
        if prepare is not None:
            prepare()
        with suppress(EOFError, OSError):  # the parent process is gone
            while True:
                connection.send(Outcome.of(*connection.recv()))


def _end_with_parent() -> None:
    """End this process at once when its parent is gone: one that trains would notice a closed pipe late or never."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
