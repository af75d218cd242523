"""Connections to a file of SQLite, set up so that what is committed is on the disk; and their errors."""

import os
import sqlite3
from functools import cache
from pathlib import Path
from typing import Final

from scoring_model.service.core.store import Duplicate, StoreUnavailable
from scoring_model.service.store.schema import NotDurable

_STATEMENTS: Final = 256
"""Prepared statements that a connection keeps: more than there are."""

_SETUP_SECONDS: Final = 5.0
"""While several processes open a file, one of them may recover the log or change the journal's mode."""

_PRAGMAS: Final = (
    "PRAGMA secure_delete = ON",  # what is erased is overwritten in the file
    "PRAGMA foreign_keys = OFF",  # there are none: every one would cost a look-up for each row
    "PRAGMA temp_store = MEMORY",  # no temporary file may hold what will be erased
    # A mapped file would turn an error of the disk into the death of the process (SIGBUS), and the pages that
    # count are in the cache of the connection.
    "PRAGMA mmap_size = 0",
)

BACKSTOP_PAGES: Final = 8_000
"""Pages of the log at which SQLite itself makes a checkpoint within a commit, should ours have failed (32 MB)."""

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
        Its folder must exist.
    cache_mebibytes : int
        At most so many pages stay in memory.
    sync : bool
        Whether a commit waits for the disk.
    busy_seconds : float
        How long a statement waits for a lock of SQLite, blocking its thread.

    Raises
    ------
    StoreUnavailable
        If the file can't be opened.
    NotDurable
        If SQLite does not sync, or can't keep a write-ahead log here.
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
    """Create a file that nobody but its owner may read; SQLite gives the log and the journal the mode of the database.

    A file that is there is not opened: closing it would release the locks of this process's other connections
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
    """Make sure that a commit waits for the disk.

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
    """A shared statement as SQLite numbers its arguments."""
    return statement.replace("$", "?")


def translate(error: sqlite3.Error) -> Exception:
    """The store's error for an error of SQLite, or the same error where it is a mistake of this program.

    Only the name of SQLite's code is passed on; its texts name files, tables and columns.
    """
    code = getattr(error, "sqlite_errorcode", 0)
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    if code & 0xFF in _AWAY:  # the upper bytes say more closely what happened
        return StoreUnavailable(f"SQLite: {name}")
    if code in (sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY):
        return Duplicate("SQLite: a row with the same key is there already")
    return error
