"""The database of the service: a SQLite file or a PostgreSQL server.

`Store` opens a `Reader` of committed data, or a `Transaction`. The modules of each kind of database are imported when
that kind is opened.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from scoring_model.locks import locked
from scoring_model.service.store.buckets import Bucket
from scoring_model.service.store.errors import (
    AlreadyServed,
    BadAddress,
    Duplicate,
    NotDurable,
    SchemaForeign,
    SchemaMissing,
    SchemaNewer,
    SchemaOlder,
    SchemaRefused,
    SchemaUnreleased,
    StoreUnavailable,
)
from scoring_model.service.store.expiry import Cutoffs, Expiring, Key, KeyRange
from scoring_model.service.store.lists import EARLIEST, FIRST, Index, Page, Position
from scoring_model.service.store.look_ups import LookUps
from scoring_model.service.store.reader import TRUNCATION_FACT, WHOLE_DATABASE, Past, Reader
from scoring_model.service.store.steps import attempt
from scoring_model.service.store.transaction import (
    ERASED_NOTHING,
    Advanced,
    DueWebhook,
    ErasedUntil,
    Store,
    Transaction,
)

__all__ = [
    "EARLIEST",
    "ERASED_NOTHING",
    "FIRST",
    "TRUNCATION_FACT",
    "WHOLE_DATABASE",
    "Advanced",
    "AlreadyServed",
    "BadAddress",
    "Bucket",
    "Cutoffs",
    "DueWebhook",
    "Duplicate",
    "ErasedUntil",
    "Expiring",
    "Index",
    "Key",
    "KeyRange",
    "LookUps",
    "NotDurable",
    "Page",
    "Past",
    "Position",
    "PostgresAddress",
    "Reader",
    "SchemaForeign",
    "SchemaMissing",
    "SchemaNewer",
    "SchemaOlder",
    "SchemaRefused",
    "SchemaUnreleased",
    "SqliteAddress",
    "Store",
    "StoreUnavailable",
    "Transaction",
    "attempt",
    "migrate",
    "open_store",
    "parse_address",
    "serving",
    "with_store",
]

T = TypeVar("T")

_FORMS: Final = "sqlite:///relative.db, sqlite:////absolute.db, sqlite:// or postgresql://..."
_SECONDS: Final = 5.0
_CONNECTIONS: Final = 8


@dataclass(frozen=True, slots=True)
class SqliteAddress:
    """A SQLite file; without a path, a private database of the process that is removed on close."""

    path: Path | None


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """A PostgreSQL database, by its URL, which may contain a password."""

    dsn: str = field(repr=False)


def parse_address(url: str) -> SqliteAddress | PostgresAddress:
    """Parse the URL of a database, in the format of SQLAlchemy and libpq.

    Raises
    ------
    BadAddress
        If the URL is of neither kind.

    Examples
    --------
    >>> parse_address("sqlite:///scoring.db")
    SqliteAddress(path=PosixPath('scoring.db'))
    """
    if url.startswith(("postgresql://", "postgres://")):
        return PostgresAddress(url)
    if url in {"sqlite://", "sqlite:///:memory:"}:
        return SqliteAddress(None)
    name = url.removeprefix("sqlite:///")
    if name == url or not name or "?" in name or "#" in name:
        raise BadAddress(f"The URL of a database must have one of the forms {_FORMS}")
    return SqliteAddress(Path(name))


@contextmanager
def serving(url: str) -> Iterator[None]:
    """Ensure that only one process serves a SQLite file. Any number may serve a PostgreSQL database.

    The lock is a kernel lock on a file next to the database, so it ends with the process. Other commands ignore it.

    Raises
    ------
    AlreadyServed
        If another process serves the file.
    BadAddress, StoreUnavailable
        As for `open_store`.
    """
    address = parse_address(url)
    if isinstance(address, PostgresAddress) or address.path is None:
        yield
        return
    path = address.path.resolve()
    busy = AlreadyServed(
        f"another process serves {path.name}: a file of SQLite is served by one process, "
        "a database of PostgreSQL by any number"
    )
    with ExitStack() as held:
        try:
            held.enter_context(locked(path.with_name(path.name + ".lock"), create=True, busy=busy))
        except OSError as error:
            raise StoreUnavailable(
                f"The lock beside the database can't be opened: {error.strerror}"
            ) from error
        yield


async def open_store(
    url: str, *, create: bool = False, seconds: float = _SECONDS, connections: int = _CONNECTIONS
) -> Store:
    """Open a database.

    Parameters
    ----------
    url : str
        ``sqlite:///relative.db``, ``sqlite:////absolute.db``, ``postgresql://...``, or, for trials and benchmarks,
        ``sqlite://``: a private database in a temporary directory that does not wait for the disk and is removed on
        close.
    create : bool
        Create the tables if there are none. Tables of another version are refused in any case.
    seconds : float
        How long a call waits (for another writer, a connection, an answer of the server) before it raises
        `StoreUnavailable`.
    connections : int
        Maximum number of connections to a server, plus one for token buckets.

    Returns
    -------
    Store
        Bound to the running event loop.

    Raises
    ------
    BadAddress
        If the URL is of an unknown kind.
    SchemaRefused
        If the tables have another version; the message names the command to run.
    NotDurable
        If the database does not wait for the disk.
    StoreUnavailable
        If it can't be reached.
    """
    address = parse_address(url)
    if isinstance(address, PostgresAddress):
        from scoring_model.service.store.postgres import open_postgres

        return await open_postgres(address.dsn, create=create, seconds=seconds, connections=connections)
    from scoring_model.service.store.sqlite import open_private, open_sqlite

    if address.path is None:
        return open_private(seconds=seconds)
    return open_sqlite(address.path, create=create, seconds=seconds)


def with_store(url: str, work: Callable[[Store], Awaitable[T]]) -> T:
    """Open an existing, up-to-date database, run `work` on it in an event loop of its own, and close it.

    Raises
    ------
    BadAddress, SchemaRefused, StoreUnavailable
        As for `open_store`; also if the database does not exist.
    """

    async def run() -> T:
        store = await open_store(url)
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(run())


async def migrate(url: str, *, seconds: float = _SECONDS) -> None:
    """Migrate the tables of a database to this version, or create them. Does nothing if they are up to date.

    Parameters
    ----------
    url : str
        As for `open_store`.
    seconds : float
        How long to wait for other writers.

    Raises
    ------
    BadAddress, StoreUnavailable
        As for `open_store`.
    SchemaRefused
        If the tables belong to a later version or to another program.
    """
    address = parse_address(url)
    if isinstance(address, PostgresAddress):
        from scoring_model.service.store.postgres_connection import migrate as migrate_server

        await migrate_server(address.dsn, seconds=seconds)
    elif address.path is not None:
        from scoring_model.service.store.sqlite_file import migrate as migrate_file

        migrate_file(address.path, seconds=seconds)
