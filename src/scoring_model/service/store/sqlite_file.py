"""A SQLite file: durable connections, their errors, the tables and the write-ahead log."""

import asyncio
import contextlib
import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Final, Literal, TypeVar

from scoring_model.service.core.faults import log_fault, log_notice, log_warning
from scoring_model.service.store.errors import Duplicate, NotDurable, StoreUnavailable
from scoring_model.service.store.migrations import VERSION_TABLE, check_version, pending_script
from scoring_model.service.store.reader import TRUNCATION_FACT
from scoring_model.service.store.statements import DELETE_FACT, FACT

T = TypeVar("T")

_STATEMENTS: Final = 256
"""Cached prepared statements per connection: more than exist."""

_SETUP_SECONDS: Final = 5.0
"""While several processes open a file, one of them may recover the log or change the journal's mode."""

_PRAGMAS: Final = (
    "PRAGMA secure_delete = ON",  # overwrite erased data in the file
    "PRAGMA foreign_keys = OFF",  # there are none: each would cost a look-up per row
    "PRAGMA temp_store = MEMORY",  # no temporary file may contain data that will be erased
    # With a mapped file, a disk error would kill the process (SIGBUS), and the connection caches the
    # important pages anyway.
    "PRAGMA mmap_size = 0",
)

BACKSTOP_PAGES: Final = 8_000
"""Pages of the log (32 MB) at which SQLite itself makes a checkpoint within a commit, in case ours failed."""

ROWS: Final = 2_000
"""Changed rows, and roughly pages, after which the log is copied: 8 MB of log."""

INTERVAL: Final = 5.0
"""Seconds between checks for erasures by other processes."""

FIRST_DELAY: Final = 0.01
"""Seconds until a failed truncation is retried; doubles with each failure."""

LAST_DELAY: Final = 1.0

COMPLETE: Final = "Erasures are complete on the live files: the write-ahead log was truncated."
DELAYED: Final = (
    "An erasure is not complete yet: another process reads the write-ahead log. Truncating it is tried again until it "
    "succeeds; see /health/ready."
)

_AWAY: Final = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_NOTADB,
    }
)


def connect(
    path: Path, *, cache_mebibytes: int, sync: bool = True, busy_seconds: float = 0.0
) -> sqlite3.Connection:
    """Open a connection in autocommit mode.

    Parameters
    ----------
    path : Path
        Its directory must exist.
    cache_mebibytes : int
        Maximum size of the page cache.
    sync : bool
        Make commits wait for the disk.
    busy_seconds : float
        How long a statement waits for a SQLite lock, blocking its thread.

    Raises
    ------
    StoreUnavailable
        If the file can't be opened.
    NotDurable
        If SQLite does not sync, or can't use a write-ahead log here.
    """
    _create(path)
    try:
        connection = sqlite3.connect(
            path,
            timeout=_SETUP_SECONDS,
            isolation_level=None,
            check_same_thread=False,  # commits run in a thread, one statement at a time
            cached_statements=_STATEMENTS,
        )
    except sqlite3.Error as error:
        raise translate(error) from error
    try:
        _set_up(connection, cache_mebibytes=cache_mebibytes, sync=sync)
        connection.execute(f"PRAGMA busy_timeout = {int(1000 * busy_seconds)}")
    except sqlite3.Error as error:
        connection.close()
        raise translate(error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _create(path: Path) -> None:
    """Create a file that only its owner can read; SQLite gives log and journal the same mode.

    Does not open an existing file: closing it would release the locks of this process's other connections
    (https://www.sqlite.org/howtocorrupt.html, section 2.2).
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        pass
    except OSError as error:
        raise StoreUnavailable(f"The database can't be created: {error.strerror}") from error


def _set_up(connection: sqlite3.Connection, *, cache_mebibytes: int, sync: bool) -> None:
    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise NotDurable(
            f"SQLite can't keep a write-ahead log beside the database (it says {mode!r}). "
            "Put the database on a local file system."
        )
    for pragma in _PRAGMAS:
        connection.execute(pragma)
    connection.execute(f"PRAGMA cache_size = {-1024 * cache_mebibytes}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {BACKSTOP_PAGES}")
    connection.execute(f"PRAGMA synchronous = {'FULL' if sync else 'OFF'}")
    if sync:
        require_sync(connection)


def require_sync(connection: sqlite3.Connection) -> None:
    """Check that a commit waits for the disk.

    Raises
    ------
    NotDurable
        If `synchronous` is neither FULL nor EXTRA (https://www.sqlite.org/pragma.html#pragma_synchronous).
    """
    level = connection.execute("PRAGMA synchronous").fetchone()[0]
    if level < 2:
        raise NotDurable(f"SQLite does not wait for the disk: synchronous is {level}, it must be 2 (FULL).")


@cache
def native(statement: str) -> str:
    """Return a shared statement with the argument placeholders of SQLite."""
    return statement.replace("$", "?")


def translate(error: sqlite3.Error) -> Exception:
    """Translate an error of SQLite into an error of the store; returns programming errors unchanged.

    Keeps only the name of SQLite's error code: its messages name files, tables and columns.
    """
    code = getattr(error, "sqlite_errorcode", 0)
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    if code & 0xFF in _AWAY:  # the upper bytes have details
        return StoreUnavailable(f"SQLite: {name}")
    if code in (sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY):
        return Duplicate("SQLite: a row with the same key exists already")
    return error


def check_schema(path: Path) -> None:
    """Raise `SchemaRefused` unless the tables have this version.

    Raises
    ------
    SchemaRefused
    StoreUnavailable
    """
    if not path.exists():
        check_version(None, ())
    connection = connect(path, cache_mebibytes=1, busy_seconds=1.0)
    try:
        check_version(*_version(connection))
    except sqlite3.Error as error:
        raise translate(error) from None
    finally:
        connection.close()


def migrate(path: Path, *, seconds: float, sync: bool = True, only_new: bool = False) -> None:
    """Migrate the tables to this version, blocking other writers.

    Parameters
    ----------
    path : Path
        Created if missing.
    seconds : float
        How long to wait for other writers, blocking the thread.
    sync : bool
        Make commits wait for the disk.
    only_new : bool
        Refuse a database that has tables of another version.

    Raises
    ------
    SchemaRefused
        If the tables belong to a later version or to another program.
    StoreUnavailable
    """
    connection = connect(path, cache_mebibytes=1, sync=sync, busy_seconds=seconds)
    try:
        connection.execute("BEGIN IMMEDIATE")
        version, tables = _version(connection)
        statement = ""  # `executescript` would end the transaction
        for line in pending_script("sqlite", version, tables, only_new=only_new).splitlines():
            statement += line + "\n"
            if sqlite3.complete_statement(statement):
                connection.execute(statement)
                statement = ""
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise translate(error) from None
    finally:
        connection.close()


def _version(connection: sqlite3.Connection) -> tuple[str | None, list[str]]:
    found = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    )
    tables = [name for (name,) in found]
    if VERSION_TABLE not in tables:
        return None, tables
    row = connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()
    return (None if row is None else str(row[0])), tables


async def in_thread(executor: Executor, work: Callable[[], T]) -> T:
    """Run `work` in a thread; a cancelled caller waits for its end, because nothing else may write before."""
    future = asyncio.get_running_loop().run_in_executor(executor, work)
    cancelled = None
    while not future.done():
        try:
            await asyncio.wait((future,))
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled from future.exception()
    return future.result()


class WriteAheadLog:
    """The write-ahead log of one database, kept small without delaying commits, and truncated after erasures.

    By default SQLite copies the log into the database within a commit once it has 1,000 pages, delaying that commit.
    Here a thread with its own connection copies it earlier, while others keep writing. The next writer restarts the log
    only if all of it was copied, so the last few pages are copied while this process does not write.

    An erasure overwrites the database (secure_delete), but the log contains the old bytes until it is truncated, which
    an open reader prevents. The truncation is asynchronous: a fact in the database says that it is due, and every
    process with the database open retries until it succeeds, also after a restart.

    Parameters
    ----------
    path : Path
        The file of the log.
    connection : sqlite3.Connection
        Used only by this object.
    writing : asyncio.Lock
        Held while this process writes.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, writing: asyncio.Lock) -> None:
        self._path = path
        self._connection = connection
        self._writing = writing
        self._rows = 0
        self._due = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._task = asyncio.get_running_loop().create_task(self._run())

    def committed(self, rows: int, *, erased: bool) -> None:
        """Count the rows that a transaction changed, and start a copy or truncation that is due."""
        self._rows += rows
        if erased or self._rows >= ROWS:
            self._due.set()

    async def close(self) -> None:
        """Stop; other processes or the next start finish the rest."""
        self._task.cancel()
        await asyncio.wait((self._task,))
        self._thread.shutdown()
        self._connection.close()

    async def _run(self) -> None:
        while True:
            self._due.clear()
            try:
                if self._rows >= ROWS:
                    await self._copy()
                if await in_thread(self._thread, self._truncation_is_due):
                    await self._complete_erasures()
            except Exception as error:
                # The log keeps growing until SQLite copies it itself.
                log_fault("copying the write-ahead log", error)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(INTERVAL):
                    await self._due.wait()

    async def _copy(self) -> None:
        self._rows = 0
        await in_thread(self._thread, lambda: self._checkpoint("PASSIVE"))
        async with self._writing:
            await in_thread(self._thread, lambda: self._checkpoint("FULL"))

    async def _complete_erasures(self) -> None:
        delay = FIRST_DELAY
        while not await self._try_to_truncate():
            await asyncio.sleep(delay)
            if delay < LAST_DELAY <= 2 * delay:
                log_warning(DELAYED)
            delay = min(2 * delay, LAST_DELAY)
        log_notice(COMPLETE)

    async def _try_to_truncate(self) -> bool:
        await in_thread(self._thread, lambda: self._checkpoint("PASSIVE"))  # most of it, while others write
        async with self._writing:
            return await in_thread(self._thread, self._truncate)

    def _truncate(self) -> bool:
        """Truncate the log and delete the fact, unless the log has readers or another process writes meanwhile."""
        if not self._checkpoint("TRUNCATE"):
            return False
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:  # another process writes
            return False
        try:
            if self._path.stat().st_size:  # another process wrote, and may have erased
                return False
            self._connection.execute(native(DELETE_FACT), (TRUNCATION_FACT,))
            self._connection.execute("COMMIT")
            return True
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def _checkpoint(self, kind: Literal["PASSIVE", "FULL", "TRUNCATE"]) -> bool:
        """Run a checkpoint without waiting; returns False if it was blocked from doing all that `kind` requires.

        References
        ----------
        https://www.sqlite.org/pragma.html#pragma_wal_checkpoint
        """
        busy, _, _ = self._connection.execute(f"PRAGMA wal_checkpoint({kind})").fetchone()
        return not busy

    def _truncation_is_due(self) -> bool:
        return self._connection.execute(native(FACT), (TRUNCATION_FACT,)).fetchone() is not None
