"""The same request twice: one is done, the other gets the answer of the first."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from scoring_model.service.core.clock import Clock
from scoring_model.service.core.errors import IdempotencyMismatch, InProgress, RequestError, Unavailable
from scoring_model.service.core.idempotency import LIFETIME, IdempotencyRecord
from scoring_model.service.core.resources import Answer, Caller, IdempotentRequest
from scoring_model.service.core.rows import IdempotencyRow
from scoring_model.service.core.store import Store
from scoring_model.service.keys.secrets import Purpose, Secrets
from scoring_model.service.scoring.commit_queue import AlreadyDone

T = TypeVar("T")


class IdempotencyStore:
    """Recognises requests by their idempotency keys.

    Parameters
    ----------
    store : Store
    secrets : Secrets
    clock : Clock
    """

    def __init__(self, store: Store, secrets: Secrets, clock: Clock) -> None:
        self._store = store
        self._secrets = secrets
        self._clock = clock
        self._under_way: set[bytes] = set()

    async def once(
        self,
        caller: Caller,
        once: IdempotentRequest | None,
        action: Callable[[IdempotencyRecord | None], Awaitable[Answer[T]]],
        replay: Callable[[IdempotencyRow], Awaitable[Answer[T]]],
    ) -> Answer[T]:
        """Do something once.

        Parameters
        ----------
        caller : Caller
        once : Once or None
            None does it whatever came before.
        action : callable
            Does it under a mark; raises `AlreadyDone` when the mark is known.
        replay : callable
            Makes the first answer again.

        Raises
        ------
        InProgress
            While the same request is under way in this process.
        IdempotencyMismatch
            When the key was used with another body.
        """
        if once is None:
            return await action(None)
        mark = self._mark(caller, once)
        if mark.digest in self._under_way:
            raise InProgress
        self._under_way.add(mark.digest)
        try:
            return await action(mark)
        except AlreadyDone as done:
            return await self._again(mark, done.row, replay)
        except Unavailable:
            raise
        except RequestError:
            # What forbids it now may not have forbidden it then.
            row = await self._recorded(mark)
            if row is None:
                raise
            return await self._again(mark, row, replay)
        finally:
            self._under_way.discard(mark.digest)

    async def check(self, caller: Caller, once: IdempotentRequest) -> Answer[Any] | None:
        """Refuse an idempotency key that was used with another body; None when it was not used.

        For bodies that nothing can be made of: one that was answered is never among them.

        Raises
        ------
        IdempotencyMismatch
        """
        if await self._recorded(self._mark(caller, once)) is not None:
            raise IdempotencyMismatch
        return None

    async def _recorded(self, mark: IdempotencyRecord) -> IdempotencyRow | None:
        async with self._store.reading() as reader:
            row = (await reader.idempotency([mark.digest])).get(mark.digest)
        return row if row is not None and row.created_at > self._clock.now() - LIFETIME else None

    async def _again(
        self,
        mark: IdempotencyRecord,
        row: IdempotencyRow,
        replay: Callable[[IdempotencyRow], Awaitable[Answer[T]]],
    ) -> Answer[T]:
        if row.body_digest != mark.body_digest:
            raise IdempotencyMismatch
        return await replay(row)

    def _mark(self, caller: Caller, once: IdempotentRequest) -> IdempotencyRecord:
        named = f"{caller.client}\n{once.operation}\n{once.key}".encode()
        return IdempotencyRecord(
            self._secrets.digest(Purpose.REQUEST, named, size=16),
            caller.client,
            self._secrets.digest(Purpose.BODY, once.body, size=32),
        )
