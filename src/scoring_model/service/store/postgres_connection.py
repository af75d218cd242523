"""PostgreSQL connections, their pool and errors, and the tables of a database."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, cast

import asyncpg

from scoring_model.service.store.errors import Duplicate, NotDurable, StoreUnavailable
from scoring_model.service.store.migrations import VERSION_TABLE, check_version, pending_script

_SETTINGS: Final = {
    "application_name": "scoring-model",
    "jit": "off",  # compiling takes longer than any statement here
    # Tables start empty: a plan made for a table of one page must not keep scanning it.
    "enable_seqscan": "off",
    # Each statement has one good plan; planning costs as much as running it.
    "plan_cache_mode": "force_generic_plan",
    "default_transaction_isolation": "read committed",
}
_TRANSACTION_TIMEOUT: Final = 17
"""The first version of PostgreSQL that has a `transaction_timeout`."""

_DURABLE: Final = ("fsync", "full_page_writes", "synchronous_commit")

_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtext('scoring-model migration'))"
_TABLES: Final = (
    "SELECT table_name::text FROM information_schema.tables WHERE table_schema = current_schema()"
)

_AWAY: Final = (
    "08",  # connection
    "25006",  # a standby that can't write, after a failover
    "25P02",  # the transaction failed before
    "25P03",  # the server ended it: idle for too long
    "3D000",  # no such database: dropped, or not restored yet
    "40",  # rolled back: deadlock, serialisation
    "53",  # too many connections, disk full, out of memory
    "55P03",  # lock timeout
    "57",  # shut down, starting up, cancelled
    "58",  # system errors of the server
)

# Errors of a lost connection. When a server shuts down between two statements, the driver raises InternalClientError
# until it notices that the connection is closed (https://github.com/MagicStack/asyncpg/issues/784).
_GONE: Final = (asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError, EOFError)


class PostgresConnection:
    """An asyncpg connection that raises the errors of the store."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection
        self.is_closed = connection.is_closed
        self.terminate = connection.terminate

    async def fetch(self, statement: str, *arguments: object) -> Sequence[Sequence[Any]]:
        """Run a statement; returns its rows."""
        try:
            return cast(Sequence[Sequence[Any]], await self._connection.fetch(statement, *arguments))
        except Exception as error:
            raise translate(error) from None

    async def execute(self, statements: str) -> str:
        """Run statements without arguments; returns the status of the last one."""
        try:
            return cast(str, await self._connection.execute(statements))
        except Exception as error:
            raise translate(error) from None

    async def close(self) -> None:
        """Close the session, or the socket if that fails."""
        try:
            await self._connection.close()
        except Exception:
            self._connection.terminate()


async def connect(dsn: str, *, seconds: float, settings: dict[str, str] | None = None) -> PostgresConnection:
    """Open a connection.

    Parameters
    ----------
    seconds : float
        Timeout for connecting, and for every later statement.
    settings : dict of str to str, optional
        Additional settings of the session.

    Raises
    ------
    StoreUnavailable
        If the server is unreachable, or accepts no more connections.
    """
    try:
        connection = await asyncpg.connect(
            dsn,
            timeout=seconds,
            command_timeout=seconds,
            server_settings={
                **_SETTINGS,
                # Release the locks of a stopped or dead process before their waiters time out: when it is idle
                # between statements, and when it does not read an answer (TCP_USER_TIMEOUT, RFC 5482).
                "idle_in_transaction_session_timeout": str(int(500 * seconds)),
                "tcp_user_timeout": str(int(500 * seconds)),
                **(settings or {}),
            },
        )
        if connection.get_server_version().major >= _TRANSACTION_TIMEOUT:
            # A session is not idle between preparing and running a statement. It may wait for a lock, then work.
            try:
                await connection.execute(f"SET transaction_timeout = {int(2000 * seconds)}")
            except BaseException:  # leave no session behind when cancelled
                connection.terminate()
                raise
    except Exception as error:
        raise translate(error) from None
    return PostgresConnection(connection)


async def require_durable(connection: PostgresConnection) -> None:
    """Check that the server writes commits to its disk.

    Raises
    ------
    NotDurable
        If `fsync`, `full_page_writes` or `synchronous_commit` is off.
    """
    for name in _DURABLE:
        value = (await connection.fetch("SELECT current_setting($1)", name))[0][0]
        if value == "off":
            raise NotDurable(f"PostgreSQL does not wait for its disk: {name} is off, it must be on.")


class Pool:
    """Connections that are opened on demand, reused, and closed after an error.

    A connection is returned only after its transaction has ended, and sessions are never changed, so no reset, and no
    round trip for it, is needed.

    Parameters
    ----------
    seconds : float
        How long to wait for a connection.
    """

    def __init__(self, dsn: str, *, size: int, seconds: float) -> None:
        self._dsn = dsn
        self._seconds = seconds
        self._idle: list[PostgresConnection] = []
        self._free = asyncio.Semaphore(size)
        self._closed = False

    async def take(self) -> PostgresConnection:
        """Borrow a connection; call `give_back` afterwards.

        Raises
        ------
        StoreUnavailable
        """
        if self._free.locked():
            try:
                async with asyncio.timeout(self._seconds):
                    await self._free.acquire()
            except TimeoutError as error:
                raise translate(error) from None
        else:
            await self._free.acquire()  # fast path: a deadline costs a timer
        try:
            while self._idle:
                connection = self._idle.pop()
                if not connection.is_closed():
                    return connection
            return await connect(self._dsn, seconds=self._seconds)
        except BaseException:
            self._free.release()
            raise

    def give_back(self, connection: PostgresConnection, *, sound: bool) -> None:
        """Return a connection; one that is not sound is closed."""
        self._free.release()
        if sound and not connection.is_closed() and not self._closed:
            self._idle.append(connection)
        else:
            connection.terminate()

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[PostgresConnection]:
        """Borrow a connection for statements outside a transaction."""
        connection = await self.take()
        sound = False
        try:
            yield connection
            sound = True
        finally:
            self.give_back(connection, sound=sound)

    async def close(self) -> None:
        """Close all connections."""
        self._closed = True
        while self._idle:
            await self._idle.pop().close()


async def check_schema(connection: PostgresConnection) -> None:
    """Raise `SchemaRefused` unless the tables have this version.

    Raises
    ------
    SchemaRefused
    StoreUnavailable
    """
    check_version(*await _version(connection))


async def migrate(dsn: str, *, seconds: float, only_new: bool = False) -> None:
    """Migrate the tables to this version.

    Parameters
    ----------
    seconds : float
        How long to wait for the server; changing tables may take 100 times as long.
    only_new : bool
        Refuse a database that has tables of another version.

    Raises
    ------
    SchemaRefused
        If the tables belong to a later version or to another program.
    StoreUnavailable
    """
    connection = await connect(dsn, seconds=100 * seconds)
    try:
        await connection.execute(f"BEGIN; {_LOCK}")
        version, tables = await _version(connection)
        if script := pending_script("postgresql", version, tables, only_new=only_new):
            await connection.execute(script)
        await connection.execute("COMMIT")
    finally:
        # The server rolls back uncommitted changes.
        connection.terminate()


async def _version(connection: PostgresConnection) -> tuple[str | None, list[str]]:
    tables = [str(name) for (name,) in await connection.fetch(_TABLES)]
    if VERSION_TABLE not in tables:
        return None, tables
    rows = await connection.fetch(f"SELECT version_num::text FROM {VERSION_TABLE}")
    return (str(rows[0][0]) if rows else None), tables


def translate(error: BaseException) -> BaseException:
    """Translate an error of the driver into an error of the store; returns other errors unchanged.

    A programming error becomes a `RuntimeError` with the name and location of the error. Messages and details of the
    server may contain values and are dropped.

    Codes: https://www.postgresql.org/docs/current/errcodes-appendix.html
    """
    name = type(error).__name__
    if isinstance(error, asyncpg.UniqueViolationError):
        return Duplicate("PostgreSQL: a row with the same key exists already")
    if isinstance(error, asyncpg.PostgresError):
        if (error.sqlstate or "").startswith(_AWAY):
            return StoreUnavailable(f"PostgreSQL: {name}")
        where = (error.table_name, error.column_name, error.constraint_name)
        return RuntimeError(" ".join(("PostgreSQL:", name, *filter(None, where))))
    if isinstance(error, asyncpg.InterfaceError) and isinstance(error, ValueError):
        return RuntimeError(f"PostgreSQL: {name}")  # an argument of the wrong type, which it would repeat
    if isinstance(error, _GONE):
        return StoreUnavailable(f"PostgreSQL: {name}")
    return error
