"""Idempotent requests: a POST that is repeated with one idempotency key runs once.

The answer is recorded in the transaction of the change, so that both or neither are committed.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from scoring_model.contract.units import DAY
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.errors import IdempotencyMismatch, InProgress, RequestError, Unavailable
from scoring_model.service.core.rows import IdempotencyRow
from scoring_model.service.keys.secrets import Purpose, Secrets
from scoring_model.service.store import Store, Transaction

T = TypeVar("T")

_ANSWER: Final = b"idempotency.answer."
LIFETIME: Final = DAY
"""Microseconds for which an answer is kept."""


@dataclass(slots=True)  # not frozen: one is created per request, in a third of the time
class Answer(Generic[T]):
    """The answer to a POST; `pending` if it was accepted but is not finished (202)."""

    resource: T
    pending: bool = False
    replayed: bool = False


@dataclass(slots=True)  # not frozen: one is created per request, in a third of the time
class IdempotentRequest:
    """A POST (method and path, raw body) with an idempotency key of 1 to 255 characters."""

    key: str = field(repr=False)
    operation: str
    body: bytes = field(repr=False)


@dataclass(slots=True)  # not frozen: one is created per request, in a third of the time
class IdempotencyRecord:
    """The identity of an idempotent request in the database.

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
    """A request with the same idempotency key was answered before; `row` is the record."""

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
        """Run a request, or replay the answer of the first one with its key.

        Parameters
        ----------
        request : IdempotentRequest or None
            None always runs the action.
        action : callable
            Runs the request and records the answer; raises `AlreadyAnswered` if there is one.
        replay : callable
            Rebuilds the first answer.

        Raises
        ------
        InProgress
            While a request with the same key is in progress in this process.
        IdempotencyMismatch
            If the key was used with another body.
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

    async def raise_answered(self, record: IdempotencyRecord) -> None:
        """Raise `AlreadyAnswered` if there is an answer; for requests of several transactions, before the first."""
        row = await self._recorded(record)
        if row is not None:
            raise AlreadyAnswered(row)

    def seal(self, record: IdempotencyRecord, answer: bytes) -> bytes:
        """Encrypt an answer that can't be rebuilt from a resource, for `Done.answer`."""
        return self._secrets.seal(_ANSWER + record.digest, answer)

    def open(self, row: IdempotencyRow) -> bytes:
        """Decrypt the answer that was kept with a request."""
        if row.answer is None:
            raise ValueError("an answer was not kept")
        return self._secrets.open(_ANSWER + row.digest, row.answer)

    async def check(self, client: int, request: IdempotentRequest) -> None:
        """Check that the key of an invalid request is unused: no invalid request equals one that was answered.

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
