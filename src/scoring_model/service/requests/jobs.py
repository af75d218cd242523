"""Jobs of the commit queue: how they run, how they wait, and their results."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Container, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Protocol, TypeVar

from scoring_model.service.core.errors import RequestError
from scoring_model.service.requests.idempotency import IdempotencyRecord
from scoring_model.service.store import Transaction

T = TypeVar("T")
Item = TypeVar("Item")


@dataclass(slots=True)  # not frozen: one is created per request, in a third of the time
class Done(Generic[T]):
    """The result of a change.

    Parameters
    ----------
    value : T
        What the caller gets: a row, or the resource itself.
    resource : bytes
        Identifier of the changed resource.
    status : int
        201, 202 or 200; recorded for the answer to a repeated request.
    answer : bytes, optional
        Sealed answer, if it can't be rebuilt from the resource.
    """

    value: T
    resource: bytes
    status: int = 201
    answer: bytes | None = None


Change = Callable[[Transaction], Awaitable[Done[T]]]
"""Changes something in a transaction. It may raise a `RequestError` as long as it has written nothing."""

Run = Callable[[Transaction, Sequence[Item]], Awaitable[Sequence[Done[T] | Exception]]]
"""Runs the items of several jobs in a transaction and returns one result for each."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JobKind(Generic[Item, T]):
    """The functions that run jobs of one kind.

    Parameters
    ----------
    doing : str
        What a job does, for the log.
    run : Run
        All jobs of the kind in a batch share one call.
    late : Run, optional
        Replaces `run` for jobs that have waited longer than `QueueLimits.scoring_seconds`. A batch takes any number
        of them.
    failed : Run, optional
        Replaces `run` for a job whose transaction failed without other jobs in it; by default the error is returned.
    last : bool
        Run after the other jobs of a batch, so that it sees what they erase or add.
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
        """The number of the client, for round robin."""
        ...

    @property
    def history_scope(self) -> str:
        """The history scope to lock."""
        ...


@dataclass(
    eq=False, slots=True, kw_only=True
)  # not frozen: one is created per request, in a third of the time
class Job:
    """A queued item; `queued_at` is on the event loop's clock."""

    client: int
    history_scope: str
    record: IdempotencyRecord | None
    kind: JobKind[Any, Any]
    item: Any
    queued_at: float
    answer: "asyncio.Future[Done[Any]]" = field(repr=False)


class FairQueue:
    """Waiting jobs: round robin over clients, first in, first out within each one.

    Notes
    -----
    Last in, first out would keep the newest jobs fast under overload, but answer all older ones late.
    """

    def __init__(self) -> None:
        self._clients: dict[int, deque[Job]] = {}  # next turn first; all jobs of a client share a scope
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def push(self, job: Job) -> None:
        """Append a job to the queue of its client."""
        self._clients.setdefault(job.client, deque()).append(job)
        self._count += 1

    def scopes(self, most: int, *, without: Container[str] = ()) -> list[str]:
        """Return up to `most` history scopes of the clients whose turn is next, leaving out those in `without`."""
        found: dict[str, None] = {}
        for jobs in self._clients.values():
            if len(found) == most:
                break
            if jobs[0].history_scope not in without:
                found[jobs[0].history_scope] = None
        return list(found)

    def waits_in(self, scope: str) -> bool:
        """Return True if a job of the scope is waiting."""
        return any(jobs[0].history_scope == scope for jobs in self._clients.values())

    def pass_turn(self, scopes: Container[str]) -> None:
        """Move the clients of these scopes behind the others."""
        for client in [client for client, jobs in self._clients.items() if jobs[0].history_scope in scopes]:
            self._clients[client] = self._clients.pop(client)

    def take(self, scopes: Container[str]) -> Job | None:
        """Remove and return the next job of these scopes; None if there is none."""
        for client, jobs in self._clients.items():
            if jobs[0].history_scope in scopes:
                job = jobs.popleft()
                del self._clients[client]
                if jobs:
                    self._clients[client] = jobs  # behind the others
                self._count -= 1
                return job
        return None

    def take_late(self, scopes: Container[str], before: float) -> list[Job]:
        """Remove and return the jobs of these scopes that were queued before an instant and have a `late` handler."""
        found: list[Job] = []
        for client, jobs in list(self._clients.items()):
            if jobs[0].history_scope not in scopes or jobs[0].queued_at >= before:
                continue
            kept: list[Job] = []
            while jobs and jobs[0].queued_at < before:
                job = jobs.popleft()
                (kept if job.kind.late is None else found).append(job)
            jobs.extendleft(reversed(kept))
            if not jobs:
                del self._clients[client]
        self._count -= len(found)
        return found

    def waited(self, client: int, now: float) -> float:
        """Return the seconds that the oldest job of a client has waited; 0 if there is none."""
        jobs = self._clients.get(client)
        return now - jobs[0].queued_at if jobs else 0.0

    def longest_waited(self, now: float) -> float:
        """Return the seconds that the oldest job has waited; 0 if there is none."""
        return now - min((jobs[0].queued_at for jobs in self._clients.values()), default=now)


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
