"""Errors of PostgreSQL in the words of the store.

Texts and details of the server can repeat values: only the name of the error is passed on.
"""

from typing import Final

import asyncpg

from scoring_model.service.core.store import Duplicate, StoreUnavailable

_AWAY: Final = (
    "08",  # connection
    "25006",  # a standby that can't write, after a failover
    "25P02",  # the transaction failed before
    "25P03",  # the server ended it, as it was idle for too long
    "3D000",  # there is no database of this name: dropped, or not restored yet
    "40",  # rolled back: deadlock, serialisation
    "53",  # too many connections, disk full, out of memory
    "55P03",  # a lock was not given in time
    "57",  # shut down, starting up, cancelled
    "58",  # errors of its system
)

# A connection that is gone: the driver gives its own state, the operating system the reason. When a server that goes
# away says so between two statements, the driver has no place for it, and all that the connection is asked from then
# on, until it is seen to be closed, is an InternalClientError (https://github.com/MagicStack/asyncpg/issues/784).
_GONE: Final = (asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError, EOFError)


def translate(error: BaseException) -> BaseException:
    """The error of the store that an error of the driver stands for, or the same error where it is not the driver's.

    A mistake of ours is a `RuntimeError` with the name of what was wrong and where.

    Codes: https://www.postgresql.org/docs/current/errcodes-appendix.html
    """
    name = type(error).__name__
    if isinstance(error, asyncpg.UniqueViolationError):
        return Duplicate("PostgreSQL: a row with the same key is there already")
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
