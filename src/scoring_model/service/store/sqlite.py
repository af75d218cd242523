"""The store on a SQLite file.

Statements run on the event loop's thread: most take tens of microseconds, no longer than a switch to another thread. A
commit waits for the disk in a thread. One process serves a file; other commands may write to it too, and a writer that
finds it locked retries.
"""

import asyncio
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Final, cast

from scoring_model.service.core.rows import TABLES, Row
from scoring_model.service.store import statements as sql
from scoring_model.service.store.buckets import MemoryBuckets
from scoring_model.service.store.errors import SchemaMissing, StoreUnavailable
from scoring_model.service.store.queries import Values
from scoring_model.service.store.reader import TRUNCATION_FACT, Past, Reader
from scoring_model.service.store.sqlite_file import (
    WriteAheadLog,
    check_schema,
    connect,
    in_thread,
    migrate,
    native,
    translate,
)
from scoring_model.service.store.statements import Each
from scoring_model.service.store.transaction import Transaction

_WRITER_CACHE: Final = 32  # MiB; the writer reads histories
_READER_CACHE: Final = 8
_READER_BUSY: Final = 0.25
"""Seconds that a reader waits while another process recovers the log of a dead one; it never waits otherwise."""
_LOG_BUSY: Final = 0.02
"""Seconds that a truncation of the log waits for readers, blocking writers."""
_RETRY: Final = 0.001
"""Seconds between attempts to begin a transaction while another process writes: short enough to get the lock between
two transactions of a process that never pauses."""
_INSERTIONS: Final = {kind: native(sql.insert_one(kind)) for kind in TABLES}
_REQUIRE_TRUNCATION: Final = (
    "INSERT INTO facts (name, value) VALUES ($1, CAST(strftime('%s', 'now') || '000000' AS BLOB)) "
    "ON CONFLICT (name) DO NOTHING"
)


class SqliteReader(Reader):
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
        execute = self._connection.execute
        statement = native(sql.histories(amounts, between=between is not None).one)
        limits = (since, cap, *(between or ()))
        try:
            found = [execute(statement, (value, *limits)).fetchall() for value in hashes]
            for value, past in zip(hashes, found, strict=True):
                if len(past) > cap and (between is None or past[-cap - 1][0] < between[0]):
                    self._complete(value, past, amounts)
        except sqlite3.Error as error:
            raise self._failed(error) from None
        return found

    def _complete(self, value: bytes, past: list[Past], amounts: int) -> None:
        """Replace the surplus event of a history by the others of the instant of the last one, if it has any."""
        surplus, last = past[-1][0], past[-2][0]
        del past[-1]
        if surplus == last:
            while past and past[-1][0] == last:
                del past[-1]
            past += self._connection.execute(native(sql.ties(amounts)), (value, last)).fetchall()

    def _failed(self, error: sqlite3.Error) -> Exception:
        return translate(error)


class SqliteTransaction(SqliteReader, Transaction):
    """A `Transaction` on the writing connection. An error ends it: none of it may be committed."""

    requires_truncation = False

    def end(self) -> None:
        """Prevent further use."""
        self._connection = cast(sqlite3.Connection, _Ended())

    def _failed(self, error: sqlite3.Error) -> Exception:
        # Some errors have already rolled back: further writes would be outside of any transaction.
        if self._connection.in_transaction:
            _roll_back(self._connection)
        self.end()
        return translate(error)

    async def insert(self, rows: Sequence[Row]) -> None:
        """See `Transaction.insert`."""
        try:
            if rows:
                self._connection.executemany(_INSERTIONS[type(rows[0])], rows)
        except sqlite3.Error as error:
            raise self._failed(error) from None

    async def require_truncation(self) -> None:
        """See `Transaction.require_truncation`. The fact keeps the instant of the first pending one."""
        await self._rows(_REQUIRE_TRUNCATION, TRUNCATION_FACT)
        self.requires_truncation = True


class _Ended:
    """Replaces the connection after the end of a transaction."""

    in_transaction = False

    def execute(self, *_: object) -> None:
        raise StoreUnavailable("SQLite: the transaction has ended")

    executemany = execute


class SqliteStore:
    """A `Store` on a file. It is bound to the event loop in which it was created.

    Parameters
    ----------
    path : Path
        A database with the tables of this version.
    seconds : float
        How long to wait for other writing processes.
    sync : bool
        Make commits wait for the disk.
    private : tempfile.TemporaryDirectory, optional
        The directory of the database, to be removed on close.

    Raises
    ------
    StoreUnavailable
        If the file can't be opened.
    NotDurable
        If SQLite can't guarantee that a commit is on the disk.
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
        self._commits = ThreadPoolExecutor(1, thread_name_prefix="commit")
        self._lock = asyncio.Lock()  # held while this process writes
        self._log = WriteAheadLog(
            path.resolve().with_name(path.resolve().name + "-wal"),
            connect(path, cache_mebibytes=1, sync=sync, busy_seconds=_LOG_BUSY),
            self._lock,
        )
        self.take = MemoryBuckets().take

    def reading(self) -> nullcontext[SqliteReader]:
        """See `Store.reading`."""
        return self._reading

    @asynccontextmanager
    async def writing(
        self, history_scopes: Sequence[str], *, wait: bool = True
    ) -> AsyncIterator[SqliteTransaction]:
        """See `Store.writing`. There is one writer for all history scopes; it always waits for other writers."""
        async with self._lock:
            try:
                await self._begin()
                changes = self._writer.total_changes
                transaction = SqliteTransaction(self._writer)
                transaction.locked = frozenset(history_scopes)
                try:
                    yield transaction
                finally:
                    transaction.end()
                changed = self._writer.total_changes - changes
                await self._commit(changed)
                self._log.committed(changed, erased=transaction.requires_truncation)
            finally:
                # A full disk or a disk error has already ended the transaction.
                if self._writer.in_transaction:
                    _roll_back(self._writer)

    async def close(self) -> None:
        """See `Store.close`."""
        await self._log.close()
        self._commits.shutdown()
        self._reader.close()
        # The last connection copies the rest of the log.
        await asyncio.to_thread(self._writer.close)
        if self._private is not None:
            self._private.cleanup()

    async def _begin(self) -> None:
        end = monotonic() + self._seconds
        while True:
            try:
                self._writer.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.Error as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise translate(error) from None
            if monotonic() > end:
                raise StoreUnavailable("SQLite: another process has been writing for too long")
            await asyncio.sleep(_RETRY)

    async def _commit(self, changed: int) -> None:
        if not self._writer.in_transaction:
            raise StoreUnavailable("SQLite: the transaction was rolled back after an error")
        try:
            if changed:
                await in_thread(self._commits, partial(self._writer.execute, "COMMIT"))
            else:
                self._writer.execute("COMMIT")  # nothing goes to the disk
        except sqlite3.Error as error:
            raise translate(error) from None


def _roll_back(connection: sqlite3.Connection) -> None:
    with suppress(sqlite3.Error):
        connection.execute("ROLLBACK")


def open_sqlite(path: Path, *, create: bool, seconds: float) -> SqliteStore:
    """Open a file; see `open_store`.

    Raises
    ------
    SchemaRefused, NotDurable, StoreUnavailable
    """
    try:
        check_schema(path)
    except SchemaMissing:
        if not create:
            raise
        migrate(path, seconds=seconds, only_new=True)
    return SqliteStore(path, seconds=seconds)


def open_private(*, seconds: float) -> SqliteStore:
    """Create a database in a temporary directory, which is removed with the store."""
    folder = tempfile.TemporaryDirectory(prefix="scoring-model-")
    path = Path(folder.name) / "private.db"
    migrate(path, seconds=seconds, sync=False)
    return SqliteStore(path, seconds=seconds, sync=False, private=folder)
