"""Group commit: what many clients want changed is gathered into few transactions.

One task of a process takes what waits, applies it in one transaction under the locks of the history scopes it
touches, and answers when that is committed. Nobody waits to fill a batch: while one commits, the next gathers.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

from scoring_model.service.core.clock import Clock
from scoring_model.service.core.errors import RequestError, Unavailable
from scoring_model.service.core.faults import log_fault
from scoring_model.service.core.idempotency import LIFETIME, IdempotencyRecord
from scoring_model.service.core.rows import IdempotencyRow, VerificationRow
from scoring_model.service.core.store import Store, StoreUnavailable, Transaction
from scoring_model.service.scoring.admission import Admission
from scoring_model.service.scoring.fair_queue import FairQueue
from scoring_model.service.scoring.verdicts import Candidate, Done, Verdicts

T = TypeVar("T")
Change = Callable[[Transaction], Awaitable[Done[T]]]
"""Something to do in a transaction. It may raise a `RequestError` as long as it has written nothing."""


class AlreadyDone(Exception):
    """The request was answered before, under the same idempotency key.

    Parameters
    ----------
    row : IdempotencyRow
        What was kept of it.
    """

    def __init__(self, row: IdempotencyRow) -> None:
        super().__init__("answered before")
        self.row = row


PENDING_SHARE: Final = 10
"""While requests wait, one in so many places of a batch is for work on PENDING verifications."""

_CONTENDED: Final = 4
"""The most scopes whose lock is waited for at a time: each holds a connection. Others are tried again."""

_TRY_AGAIN_SECONDS: Final = 0.005


class Owner(Protocol):
    """Whose a change is: a caller, a candidate."""

    @property
    def client(self) -> int:
        """Clients take turns."""
        ...

    @property
    def pool(self) -> str:
        """The history scope whose lock is needed."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueLimits:
    """How much is gathered, and how long anything waits.

    Parameters
    ----------
    batch : int
        The most verifications that one transaction scores.
    waiting : int
        The most requests that one may have before it at arrival; else it is refused.
    wait_seconds : float
        Estimated wait above which a request is refused at arrival.
    scoring_seconds : float
        After which a verification that still waits is kept as PENDING.
    commit_seconds : float
        After which a request that is not committed is refused.
    """

    batch: int = 32
    waiting: int = 2_000
    wait_seconds: float = 1.0
    scoring_seconds: float = 2.0
    commit_seconds: float = 5.0


@dataclass(eq=False, slots=True, kw_only=True)
class _Job:
    client: int
    scope: str
    mark: IdempotencyRecord | None
    what: Change[Any] | Candidate
    queued_at: float
    answer: "asyncio.Future[Done[Any]]" = field(repr=False)


class CommitQueue:
    """The one way to change anything.

    Clients take turns. The batches of one task follow each other; it never waits for the lock of a scope. A scope whose
    lock another process holds gets a task of its own, which waits for it, until nothing of that scope waits any more.

    Parameters
    ----------
    store : Store
    verdicts : Verdicts
        Scores candidates inside a transaction.
    clock : Clock
    limits : QueueLimits
    """

    def __init__(self, store: Store, verdicts: Verdicts, clock: Clock, limits: QueueLimits) -> None:
        self._store = store
        self._verdicts = verdicts
        self._clock = clock
        self._limits = limits
        self._admission = Admission(most=limits.waiting, wait_seconds=limits.wait_seconds)
        self._requests: FairQueue[_Job] = FairQueue()
        self._pending: FairQueue[_Job] = FairQueue()
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

    async def change(self, owner: Owner, mark: IdempotencyRecord | None, apply: Change[T]) -> Done[T]:
        """Apply a change in a transaction under the lock of its owner's scope.

        Parameters
        ----------
        owner : Owner
        mark : Mark or None
            Under which the answer is kept, so that the same request is not done twice.
        apply : callable

        Raises
        ------
        AlreadyDone
            When the mark is known.
        RequestError
            What `apply` raised, or `Unavailable` when nothing was committed in time.
        StoreUnavailable
            When the database can't be written.
        """
        return await self._submit(owner, mark, apply, self._requests)

    async def score(self, candidate: Candidate, mark: IdempotencyRecord | None) -> Done[VerificationRow]:
        """Score a candidate in a transaction; raises as `change` does."""
        return await self._submit(candidate, mark, candidate, self._requests)

    async def finish(self, candidate: Candidate) -> Done[VerificationRow]:
        """Score a candidate that is PENDING, in the share of such ones; raises as `change` does."""
        return await self._submit(candidate, None, candidate, self._pending)

    async def close(self) -> None:
        """Wait until everything that was taken has been answered."""
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

    async def _submit(
        self,
        owner: Owner,
        mark: IdempotencyRecord | None,
        what: Change[Any] | Candidate,
        queue: FairQueue[_Job],
    ) -> Done[Any]:
        loop = asyncio.get_running_loop()
        job = _Job(
            client=owner.client,
            scope=owner.pool,
            mark=mark,
            what=what,
            queued_at=loop.time(),
            answer=loop.create_future(),
        )
        queue.push(job)
        self._start()
        deadline = loop.call_later(self._limits.commit_seconds, _give_up, job)
        try:
            return await job.answer
        finally:
            deadline.cancel()

    def _start(self) -> None:
        if not self._running:
            self._running = True
            self._spawn(self._run())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self) -> None:
        """Commit what waits, batch after batch, but that of contended scopes."""
        try:
            while scopes := self._next_scopes():
                if not await self._commit_next(scopes, wait=False):
                    await asyncio.sleep(_TRY_AGAIN_SECONDS)
        finally:
            self._running = False

    async def _run_contended(self, scope: str) -> None:
        """Commit what waits in one scope, batch after batch, waiting for its lock each time."""
        try:
            while self._requests.waits_in(scope) or self._pending.waits_in(scope):
                await self._commit_next([scope], wait=True)
        finally:
            self._contended.discard(scope)

    def _next_scopes(self) -> list[str]:
        most, without = self._limits.batch, self._contended
        scopes = self._requests.scopes(most, without=without) + self._pending.scopes(1, without=without)
        return list(dict.fromkeys(scopes))

    async def _commit_next(self, scopes: Sequence[str], *, wait: bool) -> bool:
        """Commit and answer a batch; returns False where others hold the locks of all scopes.

        What waits is taken when the locks are held: until then it can become late, or be given up.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        late: list[_Job] = []
        jobs: list[_Job] = []
        # Requests that have arrived but were not read yet come into this batch rather than the next.
        await asyncio.sleep(0)
        try:
            async with self._store.writing(scopes, wait=wait) as transaction:
                if wait:
                    began = loop.time()
                self._set_aside([scope for scope in scopes if scope not in transaction.locked])
                late, jobs = self._take(transaction.locked)
                results = await self._apply(transaction, late + jobs)
        except Exception as error:
            self._spawn(self._failed(late + jobs or self._fill(scopes), error))
            return True
        _answer(late + jobs, results)
        now = loop.time()
        seconds, self._committed_at = now - max(began, self._committed_at), now
        self._admission.measured(seconds, len(jobs), full=len(jobs) == self._limits.batch)
        return bool(transaction.locked)

    def _set_aside(self, scopes: Sequence[str]) -> None:
        """Let what waits in scopes that others have locked wait for its lock alone, or for its next turn."""
        room = _CONTENDED - len(self._contended)
        for scope in scopes[:room]:
            self._contended.add(scope)
            self._spawn(self._run_contended(scope))
        self._requests.pass_turn(scopes[room:])

    def _take(self, scopes: Collection[str]) -> tuple[list[_Job], list[_Job]]:
        """The next batch: verifications that are late, and jobs to be done, at most a batch of them.

        Those that have waited too long to be scored now only leave a row, of which any number fits.
        """
        before = asyncio.get_running_loop().time() - self._limits.scoring_seconds
        late = self._requests.take_older(scopes, before, lambda job: isinstance(job.what, Candidate))
        late = [job for job in late if not job.answer.done()]
        for job in late:
            job.what.late = True  # type: ignore[union-attr]
        return late, self._fill(scopes)

    def _fill(self, scopes: Collection[str]) -> list[_Job]:
        jobs: list[_Job] = []
        for take in (self._take_next, self._pending.take):
            while len(jobs) < self._limits.batch and (job := take(scopes)) is not None:
                if not job.answer.done():  # else its caller gave up
                    jobs.append(job)
            if jobs:
                break  # all of the capacity is for PENDING verifications only while no requests wait
        return jobs

    def _take_next(self, scopes: Collection[str]) -> _Job | None:
        self._place = (self._place + 1) % PENDING_SHARE
        if self._place == 0 and (job := self._pending.take(scopes)) is not None:
            return job
        return self._requests.take(scopes)

    async def _failed(self, jobs: Sequence[_Job], error: Exception) -> None:
        """Answer jobs whose transaction failed: one that breaks it must not fail the others."""
        if isinstance(error, StoreUnavailable):
            _answer(jobs, [error] * len(jobs))
        elif len(jobs) == 1:
            log_fault("making a change", error)
            _answer(jobs, [error])
        elif jobs:
            middle = len(jobs) // 2
            await self._commit_again(jobs[:middle])
            await self._commit_again(jobs[middle:])

    async def _commit_again(self, jobs: Sequence[_Job]) -> None:
        jobs = [job for job in jobs if not job.answer.done()]
        if not jobs:
            return
        try:
            async with self._store.writing(sorted({job.scope for job in jobs})) as transaction:
                results = await self._apply(transaction, jobs)
        except Exception as error:
            await self._failed(jobs, error)
        else:
            _answer(jobs, results)

    async def _apply(self, transaction: Transaction, jobs: Sequence[_Job]) -> list[Done[Any] | Exception]:
        """Do jobs in a transaction; what came of each."""
        results: dict[_Job, Done[Any] | Exception] = {}
        await self._find_repeated(transaction, jobs, results)
        for job in jobs:
            if job not in results and not isinstance(job.what, Candidate):
                try:
                    results[job] = await job.what(transaction)
                except RequestError as error:
                    results[job] = error
        scored = [job for job in jobs if job not in results]
        candidates = [job.what for job in scored if isinstance(job.what, Candidate)]
        if candidates:
            found = await self._verdicts.apply(transaction, candidates)
            results.update(zip(scored, found, strict=True))
        await self._keep_answers(transaction, results)
        return [results[job] for job in jobs]

    async def _find_repeated(
        self, transaction: Transaction, batch: Sequence[_Job], results: dict[_Job, Done[Any] | Exception]
    ) -> None:
        marked = {job.mark.digest: job for job in batch if job.mark is not None}
        if not marked:
            return
        oldest = self._clock.now() - LIFETIME
        known = await transaction.idempotency(list(marked))
        expired = [digest for digest, row in known.items() if row.created_at <= oldest]
        if expired:
            await transaction.forget_answers(expired)
        for digest, row in known.items():
            if row.created_at > oldest:
                results[marked[digest]] = AlreadyDone(row)

    async def _keep_answers(
        self, transaction: Transaction, results: dict[_Job, Done[Any] | Exception]
    ) -> None:
        now = self._clock.now()
        rows = [
            IdempotencyRow(
                job.mark.digest,
                job.mark.client,
                done.status,
                done.resource,
                job.mark.body_digest,
                done.answer,
                now,
            )
            for job, done in results.items()
            if job.mark is not None and isinstance(done, Done)
        ]
        if rows:
            await transaction.insert(rows)


def _answer(jobs: Sequence[_Job], results: Sequence[Done[Any] | Exception]) -> None:
    for job, result in zip(jobs, results, strict=True):
        if job.answer.done():
            continue
        if isinstance(result, Exception):
            job.answer.set_exception(result)
        else:
            job.answer.set_result(result)


def _give_up(job: _Job) -> None:
    if not job.answer.done():
        job.answer.set_exception(Unavailable())
