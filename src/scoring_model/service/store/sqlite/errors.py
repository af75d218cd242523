"""Errors of SQLite in the words of the store."""

import sqlite3
from typing import Final

from scoring_model.service.core.store import Duplicate, StoreUnavailable

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


def translate(error: sqlite3.Error) -> Exception:
    """The error of the store that an error of SQLite stands for, or the same error where it is a mistake of ours.

    The texts of SQLite name files, tables and columns, never values; only the name of the code is passed on.
    """
    code = getattr(error, "sqlite_errorcode", 0)
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    if code & 0xFF in _AWAY:  # the upper bytes say more closely what happened
        return StoreUnavailable(f"SQLite: {name}")
    if code in (sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY):
        return Duplicate("SQLite: a row with the same key is there already")
    return error
