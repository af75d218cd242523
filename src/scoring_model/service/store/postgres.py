"""The store on a PostgreSQL server, with asyncpg.

Transactions are READ COMMITTED. A separate statement takes the locks before anything is read: a statement that both
locks and reads would see the data from before the lock.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import cache
from hashlib import blake2b
from typing import Final, cast

from scoring_model.service.core.rows import ClientRow, DeliveryRow, LabelRow, Row, WebhookRow
from scoring_model.service.store import statements as sql
from scoring_model.service.store.buckets import BucketTable
from scoring_model.service.store.errors import SchemaMissing, StoreUnavailable
from scoring_model.service.store.look_ups import LookUps
from scoring_model.service.store.postgres_connection import (
    Pool,
    PostgresConnection,
    check_schema,
    connect,
    migrate,
    require_durable,
)
from scoring_model.service.store.queries import Values
from scoring_model.service.store.reader import Past, Reader
from scoring_model.service.store.statements import Each
from scoring_model.service.store.transaction import Transaction

_insertion: Final = cache(sql.insert_kinds)
_ADVANCED: Final = frozenset((ClientRow, WebhookRow))  # read by `advance`
_TRY_LOCKS: Final = "SELECT lock FROM unnest($1::bigint[]) AS lock WHERE pg_try_advisory_xact_lock(lock)"


class PostgresReader(Reader):
    """A `Reader` that sends many keys in one statement."""

    async def _each(self, statement: Each, keys: Sequence[Values]) -> Sequence[Values]:
        if not keys:
            return ()
        arrays = [keys] if statement.takes_rows else map(list, zip(*keys, strict=True))
        return await self._rows(statement.many, *arrays)

    async def histories(
        self,
        hashes: Sequence[bytes],
        *,
        since: int,
        cap: int,
        amounts: int = 0,
        between: tuple[int, int] | None = None,
    ) -> list[list[Past]]:
        """See `Reader.histories`."""
        found: list[list[Past]] = [[] for _ in hashes]
        statement = sql.histories(amounts, between=between is not None).many
        for row in await self._rows(statement, list(hashes), since, cap, *(between or ())):
            found[row[0] - 1].append(cast(Past, row[1:]))
        return found


class PooledReader(PostgresReader):
    """A `Reader` that takes a connection for each statement.

    Identities requested during a look-up share the next one: a statement for one costs a server as much as a statement
    for many.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._identities = LookUps(self._look_up)

    async def _rows(self, statement: str, *arguments: object) -> Sequence[Values]:
        async with self._pool.lend() as connection:
            return await connection.fetch(statement, *arguments)

    async def _identity_and_key(self, resource: bytes) -> Values | None:
        return await self._identities.find(resource)

    async def _look_up(self, resources: Sequence[bytes]) -> dict[bytes, Values | None]:
        rows = await self._each(sql.IDENTITY_AND_KEY, [(resource,) for resource in resources])
        found = {row[0]: row for row in rows}
        return {resource: found.get(resource) for resource in resources}


class PostgresTransaction(PostgresReader, Transaction):
    """A `Transaction` over a connection with an open transaction."""

    _is_server = True

    def __init__(self, connection: PostgresConnection, locked: frozenset[str]) -> None:
        self._connection: PostgresConnection | None = connection
        self.locked = locked
        self._waiting: dict[type[Row], list[Values]] = {}

    def end(self) -> None:
        """Prevent further use: its connection may already serve others."""
        self._connection = None

    async def flush(self) -> None:
        """Insert the buffered rows in one statement."""
        if self._waiting:
            waiting, self._waiting = self._waiting, {}
            if LabelRow in waiting:  # the table has one more column, before those of the rows
                waiting[LabelRow] = [(None, *row) for row in waiting[LabelRow]]
            await self._open().fetch(_insertion(tuple(waiting)), *waiting.values())

    def _open(self) -> PostgresConnection:
        if self._connection is None:
            raise StoreUnavailable("PostgreSQL: the transaction has ended")
        return self._connection

    async def _rows(self, statement: str, *arguments: object) -> Sequence[Values]:
        # Later statements must see the inserted rows.
        if self._waiting and (statement != sql.ADVANCE.many or not _ADVANCED.isdisjoint(self._waiting)):
            await self.flush()
        return await self._open().fetch(statement, *arguments)

    async def insert(self, rows: Sequence[Row]) -> None:
        """See `Transaction.insert`. Rows are buffered, because round trips dominate the time of a transaction."""
        self._open()
        if rows:
            self._waiting.setdefault(type(rows[0]), []).extend(rows)

    async def settle_deliveries(self, rows: Sequence[DeliveryRow]) -> frozenset[bytes]:
        """See `Transaction.settle_deliveries`. Locks the rows first: an update locks them in the order of its plan."""
        await self._rows(sql.LOCK_DELIVERIES_IN_ORDER, [row.id for row in rows])
        return await super().settle_deliveries(rows)

    async def require_truncation(self) -> None:
        """See `Transaction.require_truncation`."""


class PostgresStore:
    """A `Store` on a server. It is bound to the event loop in which it was created."""

    def __init__(self, pool: Pool, buckets: BucketTable) -> None:
        self._pool = pool
        self._reader = PooledReader(pool)
        self._buckets = buckets
        self.take = buckets.take

    def reading(self) -> AbstractAsyncContextManager[Reader]:
        """See `Store.reading`."""
        return nullcontext(self._reader)

    @asynccontextmanager
    async def writing(
        self, history_scopes: Sequence[str], *, wait: bool = True
    ) -> AsyncIterator[Transaction]:
        """See `Store.writing`."""
        connection = await self._pool.take()
        transaction, sound = None, False
        try:
            locked = await _begin(connection, history_scopes, wait=wait)
            transaction = PostgresTransaction(connection, locked)
            try:
                yield transaction
                await transaction.flush()
            except Exception:
                await connection.execute("ROLLBACK")
                sound = True
                raise
            # A failed transaction answers COMMIT with a rollback.
            is_committed = await connection.execute("COMMIT") == "COMMIT"
            sound = True
            if not is_committed:
                raise StoreUnavailable("PostgreSQL: the transaction was rolled back after an error")
        finally:
            if transaction is not None:
                transaction.end()
            # Otherwise, for example when cancelled during an answer, closing the connection rolls back.
            self._pool.give_back(connection, sound=sound)

    async def close(self) -> None:
        """See `Store.close`."""
        await self._buckets.close()
        await self._pool.close()


async def open_postgres(dsn: str, *, create: bool, seconds: float, connections: int) -> PostgresStore:
    """Open a database on a server; see `open_store`.

    Raises
    ------
    SchemaRefused, NotDurable, StoreUnavailable
    """
    pool = Pool(dsn, size=connections, seconds=seconds)
    async with pool.lend() as connection:
        await require_durable(connection)
        try:
            await check_schema(connection)
        except SchemaMissing:
            if not create:
                raise
            await migrate(dsn, seconds=seconds, only_new=True)
    buckets = BucketTable(lambda: connect(dsn, seconds=seconds, settings={"synchronous_commit": "off"}))
    return PostgresStore(pool, buckets)


async def _begin(
    connection: PostgresConnection, history_scopes: Sequence[str], *, wait: bool
) -> frozenset[str]:
    """Begin and lock in one round trip; returns the locked scopes.

    Without `wait`, only some locks may be granted: a second round trip finds out which.
    """
    locks = {lock_number(scope): scope for scope in history_scopes}
    if wait or not locks:  # same order in all processes
        taking = [f"SELECT pg_advisory_xact_lock({lock})" for lock in sorted(locks)]
        await connection.execute("; ".join(["BEGIN", *taking]))
        return frozenset(history_scopes)
    # Takes two thirds of the time that an array would.
    tries = " UNION ALL ".join(f"SELECT 1 WHERE pg_try_advisory_xact_lock({lock})" for lock in locks)
    taken = await connection.execute(f"BEGIN; {tries}")
    if taken == f"SELECT {len(locks)}":
        return frozenset(history_scopes)
    if taken == "SELECT 0":
        return frozenset()
    # Locks that this transaction holds are granted again.
    rows = await connection.fetch(_TRY_LOCKS, list(locks))
    return frozenset(locks[lock] for (lock,) in rows)


def lock_number(history_scope: str) -> int:
    """Return the 64-bit number of a history scope's lock, in a namespace of its own."""
    return int.from_bytes(
        blake2b(history_scope.encode(), digest_size=8, person=b"scoring pool").digest(), signed=True
    )
