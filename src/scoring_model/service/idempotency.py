"""Idempotent requests: a POST that is repeated under one idempotency key is carried out once.

The answer is recorded in the transaction of the change, so that both are committed or neither.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from scoring_model.service.core.clock import Clock
from scoring_model.service.core.errors import IdempotencyMismatch, InProgress, RequestError, Unavailable
from scoring_model.service.core.rows import IdempotencyRow
from scoring_model.service.keys.secrets import Purpose, Secrets
from scoring_model.service.store import Store, Transaction

T = TypeVar("T")

LIFETIME: Final = 24 * 3600 * 1_000_000
"""How long an answer is kept, in microseconds."""


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """The answer to a POST: pending where it was accepted but is not finished (202)."""

    resource: T
    pending: bool = False
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class IdempotentRequest:
    """A POST, method and path and the raw body, with an idempotency key of 1 to 255 characters."""

    key: str = field(repr=False)
    operation: str
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class IdempotencyRecord:
    """What identifies an idempotent request in the database.

    Parameters
    ----------
    digest : bytes
        Keyed hash of client, operation and idempotency key.
    client : int
    body_digest : bytes
        Keyed hash of the raw body.
    """

    digest: bytes
    client: int
    body_digest: bytes


class AlreadyAnswered(Exception):
    """A request with the same idempotency key was answered before; `row` is what was recorded."""

    def __init__(self, row: IdempotencyRow) -> None:
        super().__init__("answered before")
        self.row = row


class IdempotencyStore:
    """Recognises repeated requests and replays their answers."""

    def __init__(self, store: Store, secrets: Secrets, clock: Clock) -> None:
        self._store = store
        self._secrets = secrets
        self._clock = clock
        self._in_progress: set[bytes] = set()

    async def run(
        self,
        client: int,
        request: IdempotentRequest | None,
        action: Callable[[IdempotencyRecord | None], Awaitable[Answer[T]]],
        replay: Callable[[IdempotencyRow], Awaitable[Answer[T]]],
    ) -> Answer[T]:
        """Carry out a request, or replay the answer of the first one with its key.

        Parameters
        ----------
        request : IdempotentRequest or None
            None carries it out in any case.
        action : callable
            Carries it out and records the answer; raises `AlreadyAnswered` when there is one.
        replay : callable
            Makes the first answer again.

        Raises
        ------
        InProgress
            While a request with the same key is in progress in this process.
        IdempotencyMismatch
            When the key was used with another body.
        """
        if request is None:
            return await action(None)
        record = self._record(client, request)
        if record.digest in self._in_progress:
            raise InProgress
        self._in_progress.add(record.digest)
        try:
            return await action(record)
        except AlreadyAnswered as answered:
            row = answered.row
        except Unavailable:
            raise
        except RequestError:
            # The first request may have been valid: resources change and disappear.
            found = await self._recorded(record)
            if found is None:
                raise
            row = found
        finally:
            self._in_progress.discard(record.digest)
        if row.body_digest != record.body_digest:
            raise IdempotencyMismatch
        return await replay(row)

    async def check(self, client: int, request: IdempotentRequest) -> None:
        """Check that the key of an invalid request is unused: an invalid request never equals one that was answered.

        Raises
        ------
        InProgress, IdempotencyMismatch
        """
        record = self._record(client, request)
        if record.digest in self._in_progress:
            raise InProgress
        if await self._recorded(record) is not None:
            raise IdempotencyMismatch

    async def _recorded(self, record: IdempotencyRecord) -> IdempotencyRow | None:
        async with self._store.reading() as reader:
            row = (await reader.idempotency([record.digest])).get(record.digest)
        return row if row is not None and row.created_at > self._clock.now() - LIFETIME else None

    def _record(self, client: int, request: IdempotentRequest) -> IdempotencyRecord:
        named = f"{client}\n{request.operation}\n{request.key}".encode()
        return IdempotencyRecord(
            self._secrets.digest(Purpose.REQUEST, named, size=16),
            client,
            self._secrets.digest(Purpose.BODY, request.body, size=32),
        )


async def find_answered(
    transaction: Transaction, digests: Sequence[bytes], now: int
) -> dict[bytes, AlreadyAnswered]:
    """Find the requests that were answered, by digest, and delete answers that have expired."""
    rows = await transaction.idempotency(digests) if digests else {}
    expired = [digest for digest, row in rows.items() if row.created_at <= now - LIFETIME]
    if expired:
        await transaction.forget_answers(expired)
    return {digest: AlreadyAnswered(row) for digest, row in rows.items() if digest not in expired}
