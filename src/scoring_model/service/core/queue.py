"""Group commit: what many clients want changed is gathered into few transactions.

One task of a process takes whatever waits, applies it in one transaction under the locks of the pools it
touches, and answers when that is committed. Nobody waits to fill a batch: while one commits, the next gathers.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from scoring_model.service.core.clock import Clock
from scoring_model.service.core.errors import RequestError, Unavailable
from scoring_model.service.core.faults import log_fault
from scoring_model.service.core.idempotency import LIFETIME, Mark
from scoring_model.service.core.rows import IdempotencyRow, VerificationRow
from scoring_model.service.core.store import Store, StoreUnavailable, Transaction
from scoring_model.service.core.verdicts import Candidate, Done, Verdicts

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


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueLimits:
    """How much is gathered, and how long anything waits.

    Parameters
    ----------
    batch : int
        The most verifications that one transaction scores.
    waiting : int
        The most requests that wait; one more is refused.
    scoring_seconds : float
        After which a verification that still waits is kept as PENDING.
    commit_seconds : float
        After which a request that is not committed is refused.
    """

    batch: int = 32
    waiting: int = 2_000
    scoring_seconds: float = 2.0
    commit_seconds: float = 5.0


@dataclass(eq=False, slots=True)
class _Job:
    pool: str
    mark: Mark | None
    what: Change[Any] | Candidate
    queued_at: float
    answer: "asyncio.Future[Done[Any]]" = field(repr=False)


class CommitQueue:
    """The one way to change anything.

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
        self._jobs: deque[_Job] = deque()
        self._runner: asyncio.Task[None] | None = None

    async def change(self, pool: str, mark: Mark | None, apply: Change[T]) -> Done[T]:
        """Apply a change in the next transaction.

        Parameters
        ----------
        pool : str
            Whose lock it needs.
        mark : Mark or None
            Under which the answer is kept, so that the same request is not done twice.
        apply : callable

        Raises
        ------
        AlreadyDone
            When the mark is known.
        RequestError
            What `apply` raised, or `Unavailable` when too many wait or nothing was committed in time.
        StoreUnavailable
            When the database can't be written.
        """
        return await self._submit(pool, mark, apply)

    async def score(self, candidate: Candidate, mark: Mark | None) -> Done[VerificationRow]:
        """Score a candidate in the next transaction; raises as `change` does."""
        return await self._submit(candidate.pool, mark, candidate)

    async def close(self) -> None:
        """Wait until everything that was taken has been answered."""
        while self._runner is not None and not self._runner.done():
            await asyncio.wait([self._runner])

    @property
    def waiting(self) -> int:
        """How many requests wait for a transaction."""
        return len(self._jobs)

    @property
    def oldest_waits(self) -> float:
        """For how many seconds the request at the head has waited for a transaction; 0 when none waits."""
        return asyncio.get_running_loop().time() - self._jobs[0].queued_at if self._jobs else 0.0

    async def _submit(self, pool: str, mark: Mark | None, what: Change[Any] | Candidate) -> Done[Any]:
        if len(self._jobs) >= self._limits.waiting:
            raise Unavailable
        loop = asyncio.get_running_loop()
        job = _Job(pool, mark, what, loop.time(), loop.create_future())
        self._jobs.append(job)
        if self._runner is None or self._runner.done():
            self._runner = loop.create_task(self._run())
        deadline = loop.call_later(self._limits.commit_seconds, _give_up, job)
        try:
            return await job.answer
        finally:
            deadline.cancel()

    async def _run(self) -> None:
        while self._jobs:
            # Requests that have arrived but were not read yet come into this batch rather than the next.
            await asyncio.sleep(0)
            await self._settle(self._take())

    def _take(self) -> list[_Job]:
        """The next batch: in order, with at most so many verifications that are still to be scored.

        Those that have waited too long for that only leave a row, of which any number fits.
        """
        latest = asyncio.get_running_loop().time() - self._limits.scoring_seconds
        batch: list[_Job] = []
        to_score = 0
        while self._jobs and to_score < self._limits.batch and len(batch) < self._limits.waiting:
            job = self._jobs.popleft()
            if job.answer.done():
                continue  # given up by whoever asked
            if isinstance(job.what, Candidate) and job.queued_at < latest and job.what.pending is None:
                job.what.late = True
            else:
                to_score += 1
            batch.append(job)
        return batch

    async def _settle(self, batch: Sequence[_Job]) -> None:
        """Commit a batch and answer every job of it; nothing that goes wrong is lost."""
        batch = [job for job in batch if not job.answer.done()]
        if not batch:
            return
        try:
            results = await self._commit(batch)
        except StoreUnavailable as error:
            results = [error] * len(batch)
        except Exception as error:
            if len(batch) > 1:
                # Whichever of them did it, the others shall not suffer for it.
                middle = len(batch) // 2
                await self._settle(batch[:middle])
                await self._settle(batch[middle:])
                return
            log_fault("making a change", error)
            results = [error]
        for job, result in zip(batch, results, strict=True):
            if job.answer.done():
                continue
            if isinstance(result, Exception):
                job.answer.set_exception(result)
            else:
                job.answer.set_result(result)

    async def _commit(self, batch: Sequence[_Job]) -> list[Done[Any] | Exception]:
        results: dict[_Job, Done[Any] | Exception] = {}
        async with self._store.writing(sorted({job.pool for job in batch})) as transaction:
            await self._find_repeated(transaction, batch, results)
            for job in batch:
                if job not in results and not isinstance(job.what, Candidate):
                    try:
                        results[job] = await job.what(transaction)
                    except RequestError as error:
                        results[job] = error
            scored = [job for job in batch if job not in results]
            candidates = [job.what for job in scored if isinstance(job.what, Candidate)]
            if candidates:
                found = await self._verdicts.apply(transaction, candidates)
                results.update(zip(scored, found, strict=True))
            await self._keep_answers(transaction, results)
        return [results[job] for job in batch]

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


def _give_up(job: _Job) -> None:
    if not job.answer.done():
        job.answer.set_exception(Unavailable())
