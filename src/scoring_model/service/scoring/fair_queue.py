"""Waiting jobs: clients take turns, and the jobs of one client keep their order."""

from collections import deque
from collections.abc import Callable, Container
from typing import Generic, Protocol, TypeVar


class Waiting(Protocol):
    """A job that waits."""

    @property
    def client(self) -> int:
        """Its owner."""
        ...

    @property
    def history_scope(self) -> str:
        """The history scope whose lock it needs, the same for all jobs of a client."""
        ...

    @property
    def queued_at(self) -> float:
        """When it was pushed, in seconds of the event loop's clock."""
        ...


J = TypeVar("J", bound=Waiting)


class FairQueue(Generic[J]):
    """Round robin over clients, first in, first out within each one.

    Notes
    -----
    Not last in, first out, which keeps the newest jobs fresh under overload: the old ones would all be answered late.
    """

    def __init__(self) -> None:
        self._clients: dict[int, deque[J]] = {}  # in the order of their turns
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def push(self, job: J) -> None:
        """Put a job behind the others of its client."""
        self._clients.setdefault(job.client, deque()).append(job)
        self._count += 1

    def scopes(self, most: int, *, without: Container[str] = ()) -> list[str]:
        """The history scopes of the clients whose turn comes first, at most `most`."""
        found: dict[str, None] = {}
        for jobs in self._clients.values():
            if len(found) == most:
                break
            if jobs[0].history_scope not in without:
                found[jobs[0].history_scope] = None
        return list(found)

    def waits_in(self, scope: str) -> bool:
        """Whether a job of a scope waits."""
        return any(jobs[0].history_scope == scope for jobs in self._clients.values())

    def pass_turn(self, scopes: Container[str]) -> None:
        """Put the clients of some scopes behind the others."""
        for client in [client for client, jobs in self._clients.items() if jobs[0].history_scope in scopes]:
            self._clients[client] = self._clients.pop(client)

    def take(self, scopes: Container[str]) -> J | None:
        """Remove the job whose turn it is among those of some scopes; None where none waits."""
        for client, jobs in self._clients.items():
            if jobs[0].history_scope in scopes:
                job = jobs.popleft()
                del self._clients[client]
                if jobs:
                    self._clients[client] = jobs  # behind the others
                self._count -= 1
                return job
        return None

    def take_older(self, scopes: Container[str], before: float, wanted: Callable[[J], bool]) -> list[J]:
        """Remove all wanted jobs of some scopes that were pushed before an instant."""
        found: list[J] = []
        for client, jobs in list(self._clients.items()):
            if jobs[0].history_scope not in scopes:
                continue
            kept: list[J] = []
            while jobs and jobs[0].queued_at < before:
                job = jobs.popleft()
                (found if wanted(job) else kept).append(job)
            jobs.extendleft(reversed(kept))
            if not jobs:
                del self._clients[client]
        self._count -= len(found)
        return found

    def head(self, client: int) -> J | None:
        """The job of a client that has waited longest."""
        jobs = self._clients.get(client)
        return jobs[0] if jobs else None

    def oldest(self) -> J | None:
        """The job that has waited longest."""
        heads = [jobs[0] for jobs in self._clients.values()]
        return min(heads, key=lambda job: job.queued_at, default=None)
