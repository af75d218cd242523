"""What runs tasks, wherever they run, and how errors come back."""

import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")


class LostWorker(ChildProcessError):
    """A worker process, or a cluster of them, is lost; finished tasks stay done."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}; run the same command again with --resume")


class WorkerObject(Protocol):
    """An object in a worker, whose methods run there one after the other."""

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method and return its result.

        Raises
        ------
        LostWorker
            If its process ends.
        """
        ...


class Workers(Protocol):
    """Runs tasks, and keeps objects between calls.

    Attributes
    ----------
    processes : int
        Number of tasks that run at once.
    objects : int
        Number of objects that `create` makes.
    is_here : bool
        Whether tasks run in this process, so that they share its memory.
    """

    processes: int
    objects: int
    is_here: bool

    def run(self, function: Callable[..., T], tasks: Iterable[tuple[Any, ...]]) -> Iterator[tuple[int, T]]:
        """Call a function of a module with the items of each task.

        No more tasks are drawn than run at once: the next one when the result of another has been used.

        Yields
        ------
        tuple of int and result
            Place of the task and what it returned, in the order in which tasks end.

        Raises
        ------
        LostWorker
            If a process ends, or a cluster cannot be reached.
        """
        ...

    def create(
        self, made: Callable[..., object], *arguments: Any
    ) -> AbstractContextManager[list[WorkerObject]]:
        """Create an object in each worker, which keeps it until the end of the block.

        Each may be called from a thread of its own.
        """
        ...


def in_order(results: Iterable[tuple[int, T]]) -> list[T]:
    """Return all results in the order of their tasks."""
    found = dict(results)
    return [found[place] for place in range(len(found))]


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """What a task returned or raised, to be sent to another process.

    Errors are rebuilt from what they hold: pickle would call their classes with other arguments than their own.
    """

    value: T | None = None
    failure: tuple[Any, tuple[Any, ...], Mapping[str, Any]] | None = None

    @classmethod
    def of(cls, function: Callable[..., T], arguments: tuple[Any, ...]) -> "Outcome[T]":
        """Call a function. An error gets a note that names it, with the lines of code of this process."""
        try:
            return cls(value=function(*arguments))
        except Exception as error:
            error.add_note(f"in the task {function.__qualname__} of a worker:\n{traceback.format_exc()}")
            reduced: Any = error.__reduce__()
            kind, held, *_ = reduced
            return cls(failure=(kind, held, vars(error)))

    def result(self) -> T:
        """Return the value, or raise the error."""
        if self.failure is not None:
            kind, held, state = self.failure
            error = kind.__new__(kind, *held)
            error.args = error.args or held
            error.__dict__.update(state)
            raise error
        return self.value  # type: ignore[return-value]  # None is a value too
