"""The store over a file of SQLite.

Statements run on the thread of the event loop: most take tens of microseconds, a hop to a thread as long. A commit
waits for the disk in a thread. One process serves a file; other commands may write to it too, and a writer that finds
it locked tries again until it is free.
"""

import asyncio
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, nullcontext, suppress
from pathlib import Path
from time import monotonic
from typing import Final, cast

from scoring_model.service.core.rows import TABLES, Row
from scoring_model.service.core.store import TRUNCATION_FACT, Bucket, Past, StoreUnavailable
from scoring_model.service.store import statements as sql
from scoring_model.service.store.buckets import MemoryBuckets
from scoring_model.service.store.reader import SqlReader, SqlTransaction, Values
from scoring_model.service.store.sqlite.connection import connect, native, translate
from scoring_model.service.store.sqlite.write_ahead_log import WriteAheadLog
from scoring_model.service.store.statements import Each

_WRITER_CACHE: Final = 32  # MiB; histories are read by the writer
_READER_CACHE: Final = 8
_READER_BUSY: Final = 0.25
"""Seconds for which a reader waits while another process recovers the log of one that died, and for nothing else."""
_LOG_BUSY: Final = 0.02
"""Seconds for which truncating the log waits for readers, while nobody writes."""
_RETRY: Final = 0.001
"""Seconds between two attempts to begin a transaction while another process writes: short enough to find the file free
between two transactions of a process that never pauses."""
_INSERTIONS: Final = {kind: native(sql.insert_one(kind)) for kind in TABLES}
_HISTORIES: Final = tuple(tuple(map(native, sql.history(past, "$1"))) for past in sql.PASTS)
"""By the amounts that come with them, the latest events and those before an instant."""
_LABELS: Final = native("SELECT labels FROM links WHERE hash = $1 AND time = $2")
_REQUIRE_TRUNCATION: Final = (
    "INSERT INTO facts (name, value) VALUES ($1, CAST(strftime('%s', 'now') || '000000' AS BLOB)) "
    "ON CONFLICT (name) DO NOTHING"
)
_SET_LABELS: Final = native("UPDATE links SET labels = $3 WHERE hash = $1 AND time = $2")


class SqliteReader(SqlReader):
    """A `Reader` over a connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def _rows(self, statement: str, *arguments: object) -> Sequence[Values]:
        try:
            return self._connection.execute(native(statement), arguments).fetchall()
        except sqlite3.Error as error:
            raise self._failed(error) from None

    async def _each(self, statement: Each, keys: Sequence[Values]) -> Sequence[Values]:
        text, rows = native(statement.one), []
        try:
            for key in keys:
                rows += self._connection.execute(text, key).fetchall()
        except sqlite3.Error as error:
            raise self._failed(error) from None
        return rows

    def _failed(self, error: sqlite3.Error) -> Exception:
        return translate(error)


class SqliteTransaction(SqliteReader, SqlTransaction):
    """A `Transaction` over the connection that writes. An error ends it: nothing of it may be committed.

    Parameters
    ----------
    connection : sqlite3.Connection
    locked : frozenset of str
    """

    def __init__(self, connection: sqlite3.Connection, locked: frozenset[str]) -> None:
        super().__init__(connection)
        self.locked = locked
        self.requires_truncation = False

    def end(self) -> None:
        """Let nobody use it any more."""
        self._connection = cast(sqlite3.Connection, _Ended())

    def _failed(self, error: sqlite3.Error) -> Exception:
        # Some errors have rolled everything back already. To go on would write outside of any transaction.
        if self._connection.in_transaction:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
        self.end()
        return translate(error)

    async def _insert(self, kind: type[Row], rows: Sequence[Row]) -> None:
        try:
            self._connection.executemany(_INSERTIONS[kind], rows)
        except sqlite3.Error as error:
            raise self._failed(error) from None

    async def histories(
        self,
        hashes: Sequence[bytes],
        *,
        since: int,
        cap: int,
        amounts: int = 0,
        between: tuple[int, int] | None = None,
    ) -> list[list[Past]]:
        """See `Transaction.histories`. No two events of a hash share an instant: it is their key."""
        execute, statement = self._connection.execute, _HISTORIES[min(amounts, 2)][between is not None]
        limits = (since, cap, *(between or ()))
        try:
            return [execute(statement, (value, *limits)).fetchall() for value in hashes]
        except sqlite3.Error as error:
            raise self._failed(error) from None

    async def require_truncation(self) -> None:
        """See `Transaction.require_truncation`. The fact keeps the instant of the first that is not done yet."""
        await self._rows(_REQUIRE_TRUNCATION, TRUNCATION_FACT)
        self.requires_truncation = True

    async def _append_labels(self, hashes: Sequence[bytes], time: int, packed: bytes) -> list[bytes]:
        there = []
        for value in hashes:
            for (labels,) in await self._rows(_LABELS, value, time):
                await self._rows(_SET_LABELS, value, time, (labels or b"") + packed)
                there.append(value)
        return there


class _Ended:
    """Stands for the connection once a transaction is over."""

    in_transaction = False

    def execute(self, *_: object) -> None:
        raise StoreUnavailable("SQLite: the transaction is over")

    executemany = execute


class SqliteStore:
    """A `Store` over a file. It belongs to the event loop in which it was made.

    Parameters
    ----------
    path : Path
        A database with the tables of this version.
    seconds : float
        How long to wait for other processes that write.
    sync : bool
        Whether commits wait for the disk.
    private : tempfile.TemporaryDirectory, optional
        The folder of the database, if it is to be removed with the store.

    Raises
    ------
    StoreUnavailable
        If the file can't be opened.
    NotDurable
        If SQLite can't promise that a commit is on the disk.
    """

    def __init__(
        self,
        path: Path,
        *,
        seconds: float,
        sync: bool = True,
        private: "tempfile.TemporaryDirectory[str] | None" = None,
    ) -> None:
        self._seconds = seconds
        self._private = private
        self._writer = connect(path, cache_mebibytes=_WRITER_CACHE, sync=sync)
        self._reader = connect(path, cache_mebibytes=_READER_CACHE, sync=sync, busy_seconds=_READER_BUSY)
        self._reading = nullcontext(SqliteReader(self._reader))
        self._buckets = MemoryBuckets()
        self._commits = ThreadPoolExecutor(1, thread_name_prefix="commit")
        self._lock = asyncio.Lock()  # held while this process writes
        self._log = WriteAheadLog(
            path.resolve().with_name(path.resolve().name + "-wal"),
            connect(path, cache_mebibytes=1, sync=sync, busy_seconds=_LOG_BUSY),
            self._lock,
        )

    def reading(self) -> nullcontext[SqliteReader]:
        """See `Store.reading`."""
        return self._reading

    @asynccontextmanager
    async def writing(
        self, history_scopes: Sequence[str], *, wait: bool = True
    ) -> AsyncIterator[SqliteTransaction]:
        """See `Store.writing`. There is one writer, whatever the history scopes, which is waited for in any case."""
        async with self._lock:
            try:
                await self._begin()
                changes = self._writer.total_changes
                transaction = SqliteTransaction(self._writer, frozenset(history_scopes))
                try:
                    yield transaction
                finally:
                    transaction.end()
                await self._commit(
                    self._writer.total_changes - changes, erased=transaction.requires_truncation
                )
            finally:
                self._roll_back()

    async def take(self, key: bytes, *, capacity: int, per_second: float, now: int) -> Bucket:
        """See `Store.take`."""
        return self._buckets.take(key, capacity=capacity, per_second=per_second, now=now)

    async def close(self) -> None:
        """See `Store.close`."""
        await self._log.close()
        self._commits.shutdown()
        self._reader.close()
        # The last connection copies what is left in the log.
        await asyncio.to_thread(self._writer.close)
        if self._private is not None:
            self._private.cleanup()

    async def _begin(self) -> None:
        end = monotonic() + self._seconds
        while not self._try_to_begin():
            if monotonic() > end:
                raise StoreUnavailable("SQLite: another process has been writing for too long")
            await asyncio.sleep(_RETRY)

    def _try_to_begin(self) -> bool:
        try:
            self._writer.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                return False
            raise translate(error) from None
        return True

    async def _commit(self, changed: int, *, erased: bool) -> None:
        if not self._writer.in_transaction:
            raise StoreUnavailable("SQLite: the transaction was rolled back after an error")
        if changed:
            await self._in_thread(self._commit_now)
            self._log.committed(changed, erased=erased)
        else:
            self._commit_now()  # nothing goes to the disk

    def _commit_now(self) -> None:
        try:
            self._writer.execute("COMMIT")
        except sqlite3.Error as error:
            raise translate(error) from None

    def _roll_back(self) -> None:
        """End a transaction that was not committed; a full disk and errors of the disk have ended it already."""
        if self._writer.in_transaction:
            with suppress(sqlite3.Error):
                self._writer.execute("ROLLBACK")

    async def _in_thread(self, work: Callable[[], None]) -> None:
        """Run something on the writer's connection in its thread; it is never left while that is under way."""
        future = asyncio.get_running_loop().run_in_executor(self._commits, work)
        cancelled = None
        while not future.done():
            try:
                await asyncio.wait((future,))
            except asyncio.CancelledError as error:
                cancelled = error
        future.result()
        if cancelled is not None:
            raise cancelled
