"""Group commit: the changes of many requests share a transaction.

One task takes the waiting jobs, runs them in one transaction under the locks of their history scopes, and answers
them after the commit. It never waits to fill a batch: jobs for the next batch arrive while one commits.

Decision record: docs/adr/0027-commit-queue.md.
"""

import asyncio
import math
from collections.abc import Collection, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from scoring_model.service.core.clock import Clock
from scoring_model.service.core.errors import Overloaded, RequestError, Unavailable
from scoring_model.service.core.faults import log_fault
from scoring_model.service.core.metrics import QUEUE, STEP_SECONDS, Steps
from scoring_model.service.core.rows import IdempotencyRow
from scoring_model.service.requests.idempotency import IdempotencyRecord, find_answered
from scoring_model.service.requests.jobs import CHANGE, Change, Done, FairQueue, Job, JobKind, Owner, Run
from scoring_model.service.store import Store, StoreUnavailable, Transaction

T = TypeVar("T")
Item = TypeVar("Item")
Step = tuple[Job, Run[Any, Any]]
"""A job and the function that runs it this time."""

BACKGROUND_SHARE: Final = 10
"""While requests wait, every tenth place of a batch is for background jobs."""

_CONTENDED: Final = 4
"""Maximum number of history scopes that wait for a lock: each holds a connection. Others are retried."""

_RETRY_SECONDS: Final = 0.005

LONGEST_RETRY: Final = 10
"""Maximum `Retry-After` in seconds of a request rejected at arrival."""

LULL_SECONDS: Final = 0.01
"""Seconds that a slice of large work waits at most until no request is under way."""

_LOOK_SECONDS: Final = 0.001

_FIRST_GUESS: Final = 0.001
"""Initial estimate of seconds per job: may admit too many requests until a full batch was measured."""

_WEIGHT: Final = 0.2
"""Weight of one full batch in the moving average of seconds per job."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueLimits:
    """Sizes and times of the queue.

    Parameters
    ----------
    batch : int
        Maximum number of jobs in one transaction, not counting late ones.
    waiting : int
        Maximum number of requests ahead of a new one; above it the new one is rejected.
    wait_seconds : float
        Estimated wait above which a new request is rejected.
    scoring_seconds : float
        Wait after which a verification is stored as PENDING instead of being scored.
    commit_seconds : float
        Wait after which a request that is not committed is rejected.
    """

    batch: int = 32
    waiting: int = 2_000
    wait_seconds: float = 1.0
    scoring_seconds: float = 2.0
    commit_seconds: float = 5.0


class Admission:
    """Counts the open requests of each client and rejects those that would wait too long.

    With round robin, a client's next request waits for at most as many requests of each other client as the client
    has itself, so that a flood of one client does not get the requests of others rejected.

    Parameters
    ----------
    most : int
        Number of requests ahead at which a request is rejected, however fast they are.
    wait_seconds : float
        Estimated wait above which a request is rejected.
    """

    def __init__(self, *, most: int, wait_seconds: float) -> None:
        self._most = most
        self._wait_seconds = wait_seconds
        self._under_way: dict[int, int] = {}
        self._count = 0
        self._job_seconds = _FIRST_GUESS
        self._next_retry = 0.0

    @property
    def under_way(self) -> int:
        """Number of admitted requests."""
        return self._count

    def enter(self, client: int, *, waited: float, now: float) -> None:
        """Admit a request, or raise `Overloaded`; `leave` must follow.

        Parameters
        ----------
        waited : float
            Seconds that the client's oldest request has waited: a lower bound for the next one, whatever the estimate.
        now : float
            Monotonic clock, seconds.
        """
        own = self._under_way.get(client, 0)
        clients = len(self._under_way) + (own == 0)
        ahead = min(self._count, (own + 1) * clients)
        if ahead >= self._most or max(ahead * self._job_seconds, waited) > self._wait_seconds:
            raise Overloaded(self._retry_after(now))
        self._under_way[client] = own + 1
        self._count += 1

    def leave(self, client: int) -> None:
        """Release an admitted request."""
        self._count -= 1
        self._under_way[client] -= 1
        if not self._under_way[client]:
            del self._under_way[client]

    def measured(self, seconds: float, jobs: int, *, full: bool) -> None:
        """Update the estimate from the duration of a batch.

        A partial batch takes longer per job than a full one, so it can only lower the estimate.
        """
        if not jobs:
            return
        sample = seconds / jobs
        if full:
            self._job_seconds += _WEIGHT * (sample - self._job_seconds)
        else:
            self._job_seconds = min(self._job_seconds, sample)

    def _retry_after(self, now: float) -> int:
        """Return seconds until a retry, such that rejected requests return at the rate at which jobs end."""
        self._next_retry = min(max(self._next_retry, now) + self._job_seconds, now + LONGEST_RETRY)
        return max(1, math.ceil(self._next_retry - now))


class CommitQueue:
    """Serialises all changes of a process.

    Clients take turns. The queue's task never waits for the lock of a history scope: a scope that another process has
    locked gets its own task, which waits for the lock and runs until the scope has no jobs.
    """

    def __init__(self, store: Store, clock: Clock, limits: QueueLimits) -> None:
        self._store = store
        self._clock = clock
        self._limits = limits
        self._admission = Admission(most=limits.waiting, wait_seconds=limits.wait_seconds)
        self._requests = FairQueue()
        self._background = FairQueue()
        self._place = 0
        self._running = False
        self._contended: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._committed_at = 0.0
        self._aside = 0
        self._slices = asyncio.Lock()

    def enter(self, client: int) -> None:
        """Admit a request that will change something; call `leave` once it is answered.

        Raises
        ------
        Overloaded
            If its estimated wait is too long.
        """
        now = asyncio.get_running_loop().time()
        self._admission.enter(client, waited=self._requests.waited(client, now), now=now)

    def leave(self, client: int) -> None:
        """Release an admitted request."""
        self._admission.leave(client)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Make an admitted request one that lets others go first: no `lull` waits for it."""
        self._aside += 1
        try:
            yield
        finally:
            self._aside -= 1

    async def lull(self) -> None:
        """Wait for a turn before a slice of large work, so that other requests wait for one slice at most.

        Returns while no admitted request is under way, except those aside, or `LULL_SECONDS` after the call. At most
        one caller returns in an iteration of the event loop.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + LULL_SECONDS
        async with self._slices:
            await asyncio.sleep(0)
            while self._admission.under_way > self._aside and loop.time() < end:
                await asyncio.sleep(_LOOK_SECONDS)

    async def change(
        self, owner: Owner, change: Change[T], record: IdempotencyRecord | None = None
    ) -> Done[T]:
        """Apply a single change; see `submit`."""
        return await self.submit(owner, CHANGE, change, record)

    async def submit(
        self,
        owner: Owner,
        kind: JobKind[Item, T],
        item: Item,
        record: IdempotencyRecord | None = None,
        *,
        background: bool = False,
    ) -> Done[T]:
        """Run a job in a transaction under the lock of its owner's history scope.

        Parameters
        ----------
        item : Item
            Passed to `kind.run`.
        record : IdempotencyRecord, optional
            Records the answer, so that a repeated request does not run again.
        background : bool
            Limit the job to the background share of a batch while requests wait.

        Raises
        ------
        AlreadyAnswered
            If the record is in the database.
        RequestError
            Raised by the job, or `Unavailable` if nothing was committed in time.
        StoreUnavailable
            If the database can't be written.
        """
        loop = asyncio.get_running_loop()
        job = Job(
            client=owner.client,
            history_scope=owner.history_scope,
            record=record,
            kind=kind,
            item=item,
            queued_at=loop.time(),
            answer=loop.create_future(),
        )
        (self._background if background else self._requests).push(job)
        QUEUE.set(self.waiting)
        if not self._running:
            self._running = True
            self._spawn(self._run())
        deadline = loop.call_later(self._limits.commit_seconds, _give_up, job)
        try:
            return await job.answer
        finally:
            deadline.cancel()

    async def close(self) -> None:
        """Wait until every job is answered."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    @property
    def waiting(self) -> int:
        """Number of requests waiting for a transaction."""
        return len(self._requests)

    @property
    def oldest_waits(self) -> float:
        """Seconds that the oldest request has waited for a transaction; 0 if none waits."""
        return self._requests.longest_waited(asyncio.get_running_loop().time())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self) -> None:
        """Commit batches until none is left, except those of contended scopes."""
        without = self._contended
        try:
            while scopes := dict.fromkeys(
                self._requests.scopes(self._limits.batch, without=without)
                + self._background.scopes(1, without=without)
            ):
                if not await self._commit_next(list(scopes), wait=False):
                    await asyncio.sleep(_RETRY_SECONDS)
        finally:
            self._running = False

    async def _run_contended(self, scope: str) -> None:
        """Commit batches of one scope until none is left, waiting for its lock each time."""
        try:
            while self._requests.waits_in(scope) or self._background.waits_in(scope):
                await self._commit_next([scope], wait=True)
        finally:
            self._contended.discard(scope)

    async def _commit_next(self, scopes: Sequence[str], *, wait: bool) -> bool:
        """Commit and answer a batch; returns False if other processes hold the locks of all scopes.

        Jobs are taken once the locks are held: until then they can become late or be cancelled.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        steps: list[Step] = []
        # Let requests that have arrived be read, so that they join this batch.
        await asyncio.sleep(0)
        try:
            async with self._store.writing(scopes, wait=wait) as transaction:
                if wait:
                    began = loop.time()
                if locked_elsewhere := [scope for scope in scopes if scope not in transaction.locked]:
                    self._set_aside(locked_elsewhere)
                steps = self._take(transaction.locked)
                results = await self._apply(transaction, steps)
                commit = Steps()
        except Exception as error:
            self._spawn(self._bisect(steps or self._take(scopes), error))
            return True
        commit.end("commit")
        _answer(steps, results)
        now = loop.time()
        seconds, self._committed_at = now - max(began, self._committed_at), now
        due = sum(run is job.kind.run for job, run in steps)
        self._admission.measured(seconds, due, full=due == self._limits.batch)
        return bool(transaction.locked)

    def _set_aside(self, scopes: Sequence[str]) -> None:
        """Give scopes that other processes have locked their own tasks, or move them to the end."""
        free = _CONTENDED - len(self._contended)
        for scope in scopes[:free]:
            self._contended.add(scope)
            self._spawn(self._run_contended(scope))
        self._requests.pass_turn(scopes[free:])

    def _take(self, scopes: Collection[str]) -> list[Step]:
        """Take all late jobs, then a batch of others; drops those whose callers gave up.

        Background jobs may fill a batch only while no requests wait.
        """
        now = asyncio.get_running_loop().time()
        before = now - self._limits.scoring_seconds
        late = [(job, job.kind.late) for job in self._requests.take_late(scopes, before)]
        steps: list[Step] = [(job, run) for job, run in late if run is not None and not job.answer.done()]
        most, has_requests = len(steps) + self._limits.batch, False
        while len(steps) < most:
            self._place = (self._place + 1) % BACKGROUND_SHARE
            job = self._background.take(scopes) if self._place == 0 else None
            if job is None:
                job = self._requests.take(scopes)
                has_requests = has_requests or job is not None
            if job is None and not has_requests:
                job = self._background.take(scopes)
            if job is None:
                break
            if not job.answer.done():
                steps.append((job, job.kind.run))
        for job, _ in steps:
            STEP_SECONDS.observe(now - job.queued_at, "queue")
        QUEUE.set(self.waiting)
        return steps

    async def _bisect(self, steps: Sequence[Step], error: Exception) -> None:
        """Split a batch whose transaction failed, so that one bad job does not fail the rest."""
        if isinstance(error, StoreUnavailable):
            _answer(steps, [error] * len(steps))
        elif len(steps) == 1:
            job, run = steps[0]
            if isinstance(error, RequestError):
                _answer(steps, [error])
                return
            log_fault(job.kind.doing, error)
            if job.kind.failed is None or job.kind.failed == run:
                _answer(steps, [error])
            else:
                await self._commit([(job, job.kind.failed)])
        elif steps:
            middle = len(steps) // 2
            await self._commit(steps[:middle])
            await self._commit(steps[middle:])

    async def _commit(self, steps: Sequence[Step]) -> None:
        steps = [(job, run) for job, run in steps if not job.answer.done()]
        if not steps:
            return
        try:
            async with self._store.writing(sorted({job.history_scope for job, _ in steps})) as transaction:
                results = await self._apply(transaction, steps)
        except Exception as error:
            await self._bisect(steps, error)
        else:
            _answer(steps, results)

    async def _apply(self, transaction: Transaction, steps: Sequence[Step]) -> list[Done[Any] | Exception]:
        """Run jobs, one call for all that share a function, and record their answers."""
        now = self._clock.now()
        recorded = {job.record.digest: job for job, _ in steps if job.record is not None}
        answered = await find_answered(transaction, list(recorded), now) if recorded else {}
        results: dict[Job, Done[Any] | Exception] = {
            recorded[digest]: error for digest, error in answered.items()
        }
        groups: dict[Run[Any, Any], list[Job]] = {}
        for job, run in steps:
            if job not in results:
                groups.setdefault(run, []).append(job)
        for run, jobs in sorted(groups.items(), key=lambda group: group[1][0].kind.last):
            found = await run(transaction, [job.item for job in jobs])
            results.update(zip(jobs, found, strict=True))
        await transaction.insert(
            [
                _row(job.record, done, now)
                for job in recorded.values()
                if job.record is not None and isinstance(done := results[job], Done)
            ]
        )
        return [results[job] for job, _ in steps]


def _row(record: IdempotencyRecord, done: Done[Any], now: int) -> IdempotencyRow:
    return IdempotencyRow(
        digest=record.digest,
        client=record.client,
        status=done.status,
        resource=done.resource,
        body_digest=record.body_digest,
        answer=done.answer,
        created_at=now,
    )


def _answer(steps: Sequence[Step], results: Sequence[Done[Any] | Exception]) -> None:
    for (job, _), result in zip(steps, results, strict=True):
        if job.answer.done():
            continue
        if isinstance(result, Exception):
            job.answer.set_exception(result)
        else:
            job.answer.set_result(result)


def _give_up(job: Job) -> None:
    if not job.answer.done():
        job.answer.set_exception(Unavailable())
