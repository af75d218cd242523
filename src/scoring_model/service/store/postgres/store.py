"""The store on a PostgreSQL server, over asyncpg.

Transactions are READ COMMITTED. A separate statement takes their locks before anything is read: a statement that locks
and reads would read what was there before it had the lock.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import cache
from hashlib import blake2b
from typing import Final, Self, cast

from scoring_model.service.core.rows import ClientRow, DeliveryRow, Row, WebhookRow
from scoring_model.service.core.store import Bucket, Past, Reader, StoreUnavailable, Transaction
from scoring_model.service.store import delivery_statements as delivery_sql
from scoring_model.service.store import statements as sql
from scoring_model.service.store.postgres.bucket_table import BucketTable
from scoring_model.service.store.postgres.connection import Connection, Pool, require_durable, translate
from scoring_model.service.store.postgres.schema import check_schema, migrate
from scoring_model.service.store.reader import SqlReader, SqlTransaction, Values
from scoring_model.service.store.schema import SchemaMissing
from scoring_model.service.store.statements import Each

_insertion: Final = cache(sql.insert_kinds)
_ADVANCED: Final = frozenset((ClientRow, WebhookRow))  # what `advance` reads
_HISTORIES: Final = tuple(
    tuple(
        f"""
SELECT wanted.place, {past}
FROM unnest($1::bytea[]) WITH ORDINALITY AS wanted(hash, place)
CROSS JOIN LATERAL ({history}) AS found
ORDER BY wanted.place, found.time DESC
"""
        for history in sql.history(past, "wanted.hash")
    )
    for past in sql.PASTS
)
"""By the amounts that come with them, the latest events and those before an instant."""
_BEGIN: Final = "BEGIN ISOLATION LEVEL READ COMMITTED"
_TRY_LOCKS: Final = "SELECT lock FROM unnest({}::bigint[]) AS lock WHERE pg_try_advisory_xact_lock(lock)"
_APPEND: Final = (
    "UPDATE links SET labels = coalesce(labels, ''::bytea) || $3 WHERE hash = any($1::bytea[]) AND time = $2 "
    "RETURNING hash"
)


class PostgresReader(SqlReader):
    """A `Reader` over a connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def _rows(self, statement: str, *arguments: object) -> Sequence[Values]:
        try:
            return await self._connection.fetch(statement, *arguments)
        except Exception as error:
            raise translate(error) from None

    async def _each(self, statement: Each, keys: Sequence[Values]) -> Sequence[Values]:
        if not keys:
            return ()
        return await self._rows(statement.many, *map(list, zip(*keys, strict=True)))


class PooledReader(PostgresReader):
    """A `Reader` that takes a connection for each statement.

    Identities that are asked for while others are being looked up are looked up together: a statement for one costs a
    server as much as a statement for many.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._wanted: dict[bytes, asyncio.Future[Values | None]] = {}
        self._looking_up: asyncio.Task[None] | None = None

    async def _rows(self, statement: str, *arguments: object) -> Sequence[Values]:
        async with self._pool.lend() as connection:
            return await PostgresReader(connection)._rows(statement, *arguments)

    async def _identity_and_key(self, resource: bytes) -> Values | None:
        if resource not in self._wanted:
            self._wanted[resource] = asyncio.get_running_loop().create_future()
        found = self._wanted[resource]
        if self._looking_up is None:
            self._looking_up = asyncio.create_task(self._look_up())
        return await asyncio.shield(found)  # a caller that gives up leaves it to the others

    async def _look_up(self) -> None:
        while self._wanted:
            wanted, self._wanted = self._wanted, {}
            try:
                rows = await self._each(sql.IDENTITY_AND_KEY, [(resource,) for resource in wanted])
            except Exception as error:
                for future in wanted.values():
                    future.set_exception(error)
                    future.exception()  # seen to, should all who asked be gone
            else:
                found = {row[0]: tuple(row) for row in rows}
                for resource, future in wanted.items():
                    future.set_result(found.get(resource))
        self._looking_up = None


class PostgresTransaction(PostgresReader, SqlTransaction):
    """A `Transaction` over a connection that has begun one."""

    _is_server = True

    def __init__(self, connection: Connection, locked: frozenset[str]) -> None:
        super().__init__(connection)
        self.locked = locked
        self._waiting: dict[type[Row], list[Row]] = {}
        self._over = False

    def end(self) -> None:
        """Let nobody use it any more: its connection may be at work for others."""
        self._connection, self._over = cast(Connection, _Ended()), True

    async def flush(self) -> None:
        """Insert what waits, in one statement."""
        if self._waiting:
            waiting, self._waiting = self._waiting, {}
            arrays = [list(array) for rows in waiting.values() for array in zip(*rows, strict=True)]
            await super()._rows(_insertion(tuple(waiting)), *arrays)

    async def _rows(self, statement: str, *arguments: object) -> Sequence[Values]:
        # What was inserted is seen by what is asked afterwards.
        if statement != sql.ADVANCE.many or not _ADVANCED.isdisjoint(self._waiting):
            await self.flush()
        return await super()._rows(statement, *arguments)

    async def _insert(self, kind: type[Row], rows: Sequence[Row]) -> None:
        if self._over:
            raise _over()
        # Round trips are what a transaction takes its time with, so that insertions wait for one another.
        self._waiting.setdefault(kind, []).extend(rows)

    async def histories(
        self,
        hashes: Sequence[bytes],
        *,
        since: int,
        cap: int,
        amounts: int = 0,
        between: tuple[int, int] | None = None,
    ) -> list[list[Past]]:
        """See `Transaction.histories`. Hash and instant are the primary key, so that no two events share an instant."""
        found: list[list[Past]] = [[] for _ in hashes]
        statement = _HISTORIES[min(amounts, 2)][between is not None]
        for row in await self._rows(statement, list(hashes), since, cap, *(between or ())):
            found[row[0] - 1].append(cast(Past, row[1:]))
        return found

    async def settle_deliveries(self, rows: Sequence[DeliveryRow]) -> frozenset[bytes]:
        """See `Transaction.settle_deliveries`. An update locks in the order of its plan, so they are locked before."""
        await self._rows(delivery_sql.LOCK_IN_ORDER, [row.id for row in rows])
        return await super().settle_deliveries(rows)

    async def require_truncation(self) -> None:
        """A server has no log to truncate."""

    async def _append_labels(self, hashes: Sequence[bytes], time: int, packed: bytes) -> list[bytes]:
        return [value for (value,) in await self._rows(_APPEND, hashes, time, packed)]


class _Ended:
    """Stands for the connection once a transaction is over."""

    async def fetch(self, *_: object) -> None:
        raise _over()


def _over() -> StoreUnavailable:
    return StoreUnavailable("PostgreSQL: the transaction is over")


class PostgresStore:
    """A `Store` on a server. It belongs to the event loop in which it was made.

    Parameters
    ----------
    seconds : float
        How long to wait for a connection and for any answer.
    """

    def __init__(self, dsn: str, *, seconds: float, connections: int) -> None:
        self._pool = Pool(dsn, size=connections, seconds=seconds)
        self._reader = PooledReader(self._pool)
        self._buckets = BucketTable(dsn, seconds=seconds)

    def reading(self) -> AbstractAsyncContextManager[Reader]:
        return nullcontext(self._reader)

    def writing(
        self, history_scopes: Sequence[str], *, wait: bool = True
    ) -> AbstractAsyncContextManager[Transaction]:
        return self._write(history_scopes, wait=wait)

    async def take(self, key: bytes, *, capacity: int, per_second: float, now: int) -> Bucket:
        return await self._buckets.take(key, capacity=capacity, per_second=per_second, now=now)

    async def close(self) -> None:
        await self._buckets.close()
        await self._pool.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    @asynccontextmanager
    async def _write(self, history_scopes: Sequence[str], *, wait: bool) -> AsyncIterator[Transaction]:
        connection = await self._pool.take()
        transaction, sound = None, False
        try:
            locked = await (_begin if wait else _begin_at_once)(connection, history_scopes)
            transaction = PostgresTransaction(connection, locked)
            try:
                yield transaction
                await transaction.flush()
            except Exception:
                await _run(connection, "ROLLBACK")
                sound = True
                raise
            # A transaction that has failed answers a commit by rolling back.
            if await _run(connection, "COMMIT") != "COMMIT":
                sound = True
                raise StoreUnavailable("PostgreSQL: the transaction was rolled back after an error")
            sound = True
        finally:
            if transaction is not None:
                transaction.end()
            # What ended otherwise, cancelled in the middle of an answer, say, is rolled back by hanging up.
            self._pool.give_back(connection, sound=sound)


async def open_postgres(dsn: str, *, create: bool, seconds: float, connections: int) -> PostgresStore:
    """Open a database on a server; see `open_store`.

    Raises
    ------
    SchemaRefused, NotDurable, StoreUnavailable
    """
    try:
        await check_schema(dsn, seconds=seconds)
    except SchemaMissing:
        if not create:
            raise
        await migrate(dsn, seconds=seconds, only_new=True)
    store = PostgresStore(dsn, seconds=seconds, connections=connections)
    try:
        async with store._pool.lend() as connection:
            await require_durable(connection)
    except BaseException:
        await store.close()
        raise
    return store


async def _run(connection: Connection, statements: str) -> str:
    try:
        return await connection.execute(statements)
    except Exception as error:
        raise translate(error) from None


async def _begin(connection: Connection, history_scopes: Sequence[str]) -> frozenset[str]:
    """Begin and lock in one round trip; the locks are taken one after the other, in one order for all."""
    locks = sorted({lock_number(scope) for scope in history_scopes})
    await _run(connection, "; ".join([_BEGIN, *(f"SELECT pg_advisory_xact_lock({lock})" for lock in locks)]))
    return frozenset(history_scopes)


async def _begin_at_once(connection: Connection, history_scopes: Sequence[str]) -> frozenset[str]:
    """Begin and take those locks that are free: one round trip where all are, else two; returns what was locked."""
    locks = {lock_number(scope): scope for scope in history_scopes}
    array = "'{" + ",".join(map(str, locks)) + "}'"
    if await _run(connection, f"{_BEGIN}; {_TRY_LOCKS.format(array)}") == f"SELECT {len(locks)}":
        return frozenset(history_scopes)
    try:
        # What this transaction has locked already is granted again.
        rows = await connection.fetch(_TRY_LOCKS.format("$1"), list(locks))
    except Exception as error:
        raise translate(error) from None
    return frozenset(locks[lock] for (lock,) in rows)


def lock_number(history_scope: str) -> int:
    """The number of a history scope's lock: 64 bits, of a space of their own."""
    return int.from_bytes(
        blake2b(history_scope.encode(), digest_size=8, person=b"scoring pool").digest(), signed=True
    )
