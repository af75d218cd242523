"""Group commit: the changes of many requests share few transactions.

One task takes the waiting jobs, runs them in one transaction under the locks of their history scopes, and answers
them after the commit. It never waits to fill a batch: while one batch commits, the next one gathers.
"""

import asyncio
from collections.abc import Collection, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from scoring_model.service.core.clock import Clock
from scoring_model.service.core.errors import Unavailable
from scoring_model.service.core.faults import log_fault
from scoring_model.service.core.rows import IdempotencyRow
from scoring_model.service.idempotency import IdempotencyRecord, find_answered
from scoring_model.service.scoring.admission import Admission
from scoring_model.service.scoring.fair_queue import FairQueue
from scoring_model.service.scoring.jobs import CHANGE, Change, Done, Job, JobKind, Owner, Run, Step
from scoring_model.service.store import Store, StoreUnavailable, Transaction

T = TypeVar("T")
Item = TypeVar("Item")

BACKGROUND_SHARE: Final = 10
"""While requests wait, every tenth place of a batch is for background jobs."""

_CONTENDED: Final = 4
"""The most history scopes whose lock is waited for at a time: each holds a connection. Others are retried."""

_RETRY_SECONDS: Final = 0.005


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueLimits:
    """Sizes and times of the queue.

    Parameters
    ----------
    batch : int
        The most jobs in one transaction, late ones aside.
    waiting : int
        The most requests ahead of a new one; above it the new one is rejected.
    wait_seconds : float
        Estimated wait above which a new request is rejected.
    scoring_seconds : float
        Wait after which a verification is kept as PENDING instead of being scored.
    commit_seconds : float
        Wait after which a request that is not committed is rejected.
    """

    batch: int = 32
    waiting: int = 2_000
    wait_seconds: float = 1.0
    scoring_seconds: float = 2.0
    commit_seconds: float = 5.0


class CommitQueue:
    """Serialises all changes of a process.

    Clients take turns. The task of the queue never waits for the lock of a history scope: a scope that another process
    has locked gets a task of its own, which waits for the lock until no job of the scope is left.

    Parameters
    ----------
    store : Store
    clock : Clock
    limits : QueueLimits
    """

    def __init__(self, store: Store, clock: Clock, limits: QueueLimits) -> None:
        self._store = store
        self._clock = clock
        self._limits = limits
        self._admission = Admission(most=limits.waiting, wait_seconds=limits.wait_seconds)
        self._requests: FairQueue[Job] = FairQueue()
        self._background: FairQueue[Job] = FairQueue()
        self._place = 0
        self._running = False
        self._contended: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._committed_at = 0.0

    def enter(self, client: int) -> None:
        """Admit a request that will change something; `leave` must follow when it was answered.

        Raises
        ------
        Overloaded
            When its estimated wait is too long.
        """
        now = asyncio.get_running_loop().time()
        oldest = self._requests.head(client)
        waited = 0.0 if oldest is None else now - oldest.queued_at
        self._admission.enter(client, waited=waited, now=now)

    def leave(self, client: int) -> None:
        """End a request that was admitted."""
        self._admission.leave(client)

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
        """Carry out a job in a transaction under the lock of its owner's history scope.

        Parameters
        ----------
        owner : Owner
        kind : JobKind
        item : Item
            What `kind` carries out.
        record : IdempotencyRecord, optional
            Under which the answer is recorded, so that a repeated request is not carried out again.
        background : bool
            Whether the job takes only the background share of a batch while requests wait.

        Raises
        ------
        AlreadyAnswered
            When the record is in the database.
        RequestError
            What the job raised, or `Unavailable` when nothing was committed in time.
        StoreUnavailable
            When the database can't be written.
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
        if not self._running:
            self._running = True
            self._spawn(self._run())
        deadline = loop.call_later(self._limits.commit_seconds, _give_up, job)
        try:
            return await job.answer
        finally:
            deadline.cancel()

    async def close(self) -> None:
        """Wait until every job was answered."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    @property
    def waiting(self) -> int:
        """How many requests wait for a transaction."""
        return len(self._requests)

    @property
    def oldest_waits(self) -> float:
        """For how many seconds the oldest request has waited for a transaction; 0 when none waits."""
        oldest = self._requests.oldest()
        return 0.0 if oldest is None else asyncio.get_running_loop().time() - oldest.queued_at

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self) -> None:
        """Commit batch after batch, except those of contended scopes."""
        try:
            while scopes := self._next_scopes():
                if not await self._commit_next(scopes, wait=False):
                    await asyncio.sleep(_RETRY_SECONDS)
        finally:
            self._running = False

    async def _run_contended(self, scope: str) -> None:
        """Commit batch after batch of one scope, waiting for its lock each time."""
        try:
            while self._requests.waits_in(scope) or self._background.waits_in(scope):
                await self._commit_next([scope], wait=True)
        finally:
            self._contended.discard(scope)

    def _next_scopes(self) -> list[str]:
        most, without = self._limits.batch, self._contended
        scopes = self._requests.scopes(most, without=without) + self._background.scopes(1, without=without)
        return list(dict.fromkeys(scopes))

    async def _commit_next(self, scopes: Sequence[str], *, wait: bool) -> bool:
        """Commit and answer a batch; returns False where other processes hold the locks of all scopes.

        Jobs are taken when the locks are held: until then they can become late, or be given up.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        late: list[Step] = []
        due: list[Step] = []
        # Requests that have arrived but were not read yet come into this batch rather than the next.
        await asyncio.sleep(0)
        try:
            async with self._store.writing(scopes, wait=wait) as transaction:
                if wait:
                    began = loop.time()
                if locked_elsewhere := [scope for scope in scopes if scope not in transaction.locked]:
                    self._set_aside(locked_elsewhere)
                late, due = self._take_late(transaction.locked), self._take(transaction.locked)
                results = await self._apply(transaction, late + due)
        except Exception as error:
            self._spawn(self._bisect(late + due or self._take(scopes), error))
            return True
        _answer(late + due, results)
        now = loop.time()
        seconds, self._committed_at = now - max(began, self._committed_at), now
        self._admission.measured(seconds, len(due), full=len(due) == self._limits.batch)
        return bool(transaction.locked)

    def _set_aside(self, scopes: Sequence[str]) -> None:
        """Give scopes that other processes have locked a task of their own, or their next turn."""
        free = _CONTENDED - len(self._contended)
        for scope in scopes[:free]:
            self._contended.add(scope)
            self._spawn(self._run_contended(scope))
        self._requests.pass_turn(scopes[free:])

    def _take_late(self, scopes: Collection[str]) -> list[Step]:
        before = asyncio.get_running_loop().time() - self._limits.scoring_seconds
        jobs = self._requests.take_older(scopes, before, lambda job: job.kind.late is not None)
        return [(job, job.kind.late) for job in jobs if job.kind.late is not None and not job.answer.done()]

    def _take(self, scopes: Collection[str]) -> list[Step]:
        steps: list[Step] = []
        for take in (self._take_next, self._background.take):
            while len(steps) < self._limits.batch and (job := take(scopes)) is not None:
                if not job.answer.done():  # else its caller gave up
                    steps.append((job, job.kind.run))
            if steps:
                break  # a whole batch is for background jobs only while no requests wait
        return steps

    def _take_next(self, scopes: Collection[str]) -> Job | None:
        self._place = (self._place + 1) % BACKGROUND_SHARE
        if self._place == 0 and (job := self._background.take(scopes)) is not None:
            return job
        return self._requests.take(scopes)

    async def _bisect(self, steps: Sequence[Step], error: Exception) -> None:
        """Halve a batch whose transaction failed, so that one bad job does not fail the rest."""
        if isinstance(error, StoreUnavailable):
            _answer(steps, [error] * len(steps))
        elif len(steps) == 1:
            await self._fail(*steps[0], error)
        elif steps:
            middle = len(steps) // 2
            await self._commit(steps[:middle])
            await self._commit(steps[middle:])

    async def _fail(self, job: Job, run: Run[Any, Any], error: Exception) -> None:
        log_fault(job.kind.doing, error)
        failed = job.kind.failed
        if failed is None or failed == run:
            _answer([(job, run)], [error])
        else:
            await self._commit([(job, failed)])

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
        """Carry out jobs, those that are carried out alike in one call, and record their answers."""
        recorded = {job.record.digest: job for job, _ in steps if job.record is not None}
        answered = await find_answered(transaction, list(recorded), self._clock.now())
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
        await self._record(transaction, results)
        return [results[job] for job, _ in steps]

    async def _record(self, transaction: Transaction, results: dict[Job, Done[Any] | Exception]) -> None:
        now = self._clock.now()
        rows = [
            IdempotencyRow(
                digest=job.record.digest,
                client=job.record.client,
                status=done.status,
                resource=done.resource,
                body_digest=job.record.body_digest,
                answer=done.answer,
                created_at=now,
            )
            for job, done in results.items()
            if job.record is not None and isinstance(done, Done)
        ]
        if rows:
            await transaction.insert(rows)


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
