"""Jobs of the commit queue: items, how they are carried out, and their results."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Protocol, TypeVar

from scoring_model.service.core.errors import RequestError
from scoring_model.service.idempotency import IdempotencyRecord
from scoring_model.service.store import Transaction

T = TypeVar("T")
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """The result of a change.

    Parameters
    ----------
    value : T
        What the caller gets: a row, or the resource itself.
    resource : bytes
        Identifier of what was changed.
    status : int
        201, 202 or 200; recorded for the answer to a repeated request.
    answer : bytes, optional
        Sealed answer, where it can't be made again from the resource.
    """

    value: T
    resource: bytes
    status: int = 201
    answer: bytes | None = None


Change = Callable[[Transaction], Awaitable[Done[T]]]
"""Changes something in a transaction. It may raise a `RequestError` as long as it has written nothing."""

Run = Callable[[Transaction, Sequence[Item]], Awaitable[Sequence[Done[T] | Exception]]]
"""Carries out the items of several jobs in a transaction; one result for each."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JobKind(Generic[Item, T]):
    """How the jobs of one kind are carried out.

    Parameters
    ----------
    doing : str
        What a job does, for the log.
    run : Run
        All jobs of the kind in a batch share one call.
    late : Run, optional
        Replaces `run` for jobs that have waited for longer than `QueueLimits.scoring_seconds`. Any number of them
        fits into a batch.
    failed : Run, optional
        Replaces `run` for a job whose transaction failed although it was alone; without it the error is the answer.
    last : bool
        Whether the other jobs of a batch come first: what they erase or add is known then.
    """

    doing: str
    run: Run[Item, T]
    late: Run[Item, T] | None = None
    failed: Run[Item, T] | None = None
    last: bool = False


class Owner(Protocol):
    """The client for whom a job is done."""

    @property
    def client(self) -> int:
        """Clients take turns."""
        ...

    @property
    def history_scope(self) -> str:
        """The history scope whose lock is needed."""
        ...


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Job:
    """An item that waits to be carried out."""

    client: int
    history_scope: str
    record: IdempotencyRecord | None
    kind: JobKind[Any, Any]
    item: Any
    queued_at: float
    answer: "asyncio.Future[Done[Any]]" = field(repr=False)


Step = tuple[Job, Run[Any, Any]]
"""A job and how it is carried out this time."""


async def _run_changes(
    transaction: Transaction, changes: Sequence[Change[Any]]
) -> list[Done[Any] | Exception]:
    results: list[Done[Any] | Exception] = []
    for change in changes:
        try:
            results.append(await change(transaction))
        except RequestError as error:
            results.append(error)
    return results


CHANGE: Final[JobKind[Change[Any], Any]] = JobKind(doing="making a change", run=_run_changes)
"""A single change in a transaction."""
