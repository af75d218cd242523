"""The store over a file of SQLite.

Statements run on the thread of the event loop: most take tens of microseconds, a hop to a thread as long. What waits
for the disk or for others, the commit and the turn to write, does so in a thread.
"""

import asyncio
import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self, cast

from scoring_model.service.core.rows import TABLES, Row
from scoring_model.service.core.store import (
    TRUNCATION_FACT,
    Bucket,
    Past,
    Reader,
    StoreUnavailable,
    Transaction,
)
from scoring_model.service.store import statements as sql
from scoring_model.service.store.reader import SqlReader, SqlTransaction, Values
from scoring_model.service.store.sqlite.bucket_file import BucketFile
from scoring_model.service.store.sqlite.checkpoints import BUSY_SECONDS, Checkpoints
from scoring_model.service.store.sqlite.connection import connect, native
from scoring_model.service.store.sqlite.errors import translate
from scoring_model.service.store.sqlite.truncation import Truncation
from scoring_model.service.store.sqlite.turn import Turn
from scoring_model.service.store.statements import Each

_WRITER_CACHE: Final = 32  # MiB; histories are read by the writer
_READER_CACHE: Final = 8
_INSERTIONS: Final = {kind: native(sql.insert_one(kind)) for kind in TABLES}
_HISTORY, _HISTORY_WITH_AMOUNTS = (
    native(f"SELECT {past} FROM links WHERE hash = $1 AND time >= $2 ORDER BY time DESC LIMIT $3")
    for past in (sql.PAST, sql.PAST_WITH_AMOUNT)
)
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


class PausableReader(SqliteReader):
    """A `Reader` whose statements wait while the write-ahead log is being truncated, which no reader may use.

    Parameters
    ----------
    connection : sqlite3.Connection
    readable : asyncio.Event
    """

    def __init__(self, connection: sqlite3.Connection, readable: asyncio.Event) -> None:
        super().__init__(connection)
        self._readable = readable

    async def _rows(self, statement: str, *arguments: object) -> Sequence[Values]:
        await self._readable.wait()
        return await super()._rows(statement, *arguments)

    async def _each(self, statement: Each, keys: Sequence[Values]) -> Sequence[Values]:
        await self._readable.wait()
        return await super()._each(statement, keys)


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

    requires_truncation = False

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
        self, hashes: Sequence[bytes], *, since: int, cap: int, amounts: bool = False
    ) -> list[list[Past]]:
        """See `Transaction.histories`. No two events of a hash share an instant: it is their key."""
        execute, statement = self._connection.execute, _HISTORY_WITH_AMOUNTS if amounts else _HISTORY
        try:
            return [execute(statement, (value, since, cap)).fetchall() for value in hashes]
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


class _Reading:
    """The context of a reader that is always there."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def __aenter__(self) -> Reader:
        return self._reader

    async def __aexit__(self, *error: object) -> None:
        return None


class _Writing:
    """The context of one transaction."""

    def __init__(self, store: "SqliteStore", history_scopes: Sequence[str]) -> None:
        self._store = store
        self._history_scopes = history_scopes

    async def __aenter__(self) -> Transaction:
        return await self._store.begin(frozenset(self._history_scopes))

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._store.end(commit=kind is None)


class SqliteStore:
    """A `Store` over a file. It belongs to the event loop in which it was made.

    Parameters
    ----------
    path : Path
        A database with the tables of this version.
    seconds : float
        How long to wait for other processes.
    sync : bool
        Whether commits wait for the disk.
    private : tempfile.TemporaryDirectory, optional
        The folder of the database, if that shall be gone with the store.

    Raises
    ------
    StoreUnavailable
        If a file can't be opened.
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
        # A reader waits for nobody but, for a moment, a process that mends the log of one that has died.
        self._reader = connect(path, cache_mebibytes=_READER_CACHE, sync=sync, busy_seconds=BUSY_SECONDS)
        self._turn = Turn(path, seconds=seconds)
        self._buckets = BucketFile(path.with_name(path.name + ".buckets"), seconds=seconds)
        readable = asyncio.Event()
        readable.set()
        self._checkpoints = Checkpoints(
            connect(path, cache_mebibytes=1, sync=sync, busy_seconds=BUSY_SECONDS), self._turn, readable
        )
        self._commits = ThreadPoolExecutor(1, thread_name_prefix="commit")
        self._reading = _Reading(PausableReader(self._reader, readable))
        self._transaction: SqliteTransaction | None = None
        self._changes = 0
        self._truncation = Truncation(self._checkpoints)

    def reading(self) -> _Reading:
        """See `Store.reading`."""
        return self._reading

    def writing(self, history_scopes: Sequence[str], *, wait: bool = True) -> _Writing:
        """See `Store.writing`. There is one writer, whatever the history scopes, which is waited for in any case."""
        return _Writing(self, history_scopes)

    async def take(self, key: bytes, *, capacity: int, per_second: float, now: int) -> Bucket:
        """See `Store.take`."""
        return await self._buckets.take(key, capacity=capacity, per_second=per_second, now=now)

    async def close(self) -> None:
        """See `Store.close`."""
        await self._truncation.close()
        await self._checkpoints.close()
        self._commits.shutdown()
        self._reader.close()
        # The last connection copies what is left in the log.
        await asyncio.to_thread(self._writer.close)
        self._buckets.close()
        self._turn.close()
        if self._private is not None:
            self._private.cleanup()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def begin(self, history_scopes: frozenset[str]) -> Transaction:
        """Wait for the turn to write and begin a transaction; `end` must follow."""
        await self._turn.take()
        try:
            await self._begin()
        except BaseException:
            self._roll_back()
            self._turn.give_back()
            raise
        self._changes = self._writer.total_changes
        self._transaction = SqliteTransaction(self._writer, history_scopes)
        return self._transaction

    async def end(self, *, commit: bool) -> None:
        """Commit or roll back, and give the turn back."""
        try:
            if self._transaction is not None:
                self._transaction.end()
            changed = self._writer.total_changes - self._changes
            if not commit:
                self._roll_back()
            elif not self._writer.in_transaction:
                raise StoreUnavailable("SQLite: the transaction was rolled back after an error")
            elif changed:
                await self._in_thread(self._commit)
                self._checkpoints.count(changed)
                if self._transaction is not None and self._transaction.requires_truncation:
                    self._truncation.require()
            else:
                self._commit()  # nothing goes to the disk
        finally:
            self._turn.give_back()

    async def _begin(self) -> None:
        try:
            self._writer.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise translate(error) from None
            # Somebody who does not know of the turn is writing, such as the shell of SQLite.
            await self._in_thread(self._begin_patiently)

    def _begin_patiently(self) -> None:
        self._writer.execute(f"PRAGMA busy_timeout = {int(self._seconds * 1000)}")
        try:
            self._writer.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            raise translate(error) from None
        finally:
            self._writer.execute("PRAGMA busy_timeout = 0")

    def _commit(self) -> None:
        try:
            self._writer.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            raise translate(error) from None

    def _roll_back(self) -> None:
        # A full disk and errors of the disk have ended the transaction already.
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
