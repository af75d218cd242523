"""Opening, migrating and checking a database, wherever it is.

What belongs to one kind of database is loaded when that kind is opened.
"""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from scoring_model.service.core.store import Store, StoreUnavailable
from scoring_model.service.store.address import PostgresAddress, parse_address

if TYPE_CHECKING:
    from scoring_model.service.store.sqlite.store import SqliteStore

_SECONDS: Final = 5.0
_CONNECTIONS: Final = 8


class AlreadyServed(ValueError):
    """Another process serves this file of SQLite."""


@contextmanager
def serving(url: str) -> Iterator[None]:
    """Be the only process that serves a file of SQLite. Any number may serve a database of PostgreSQL.

    The lock is one of the kernel on a file beside the database, so it ends with the process. Other commands don't
    ask for it.

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
    with _lock_file(path.with_name(path.name + ".lock")) as lock:  # closing it ends the lock
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyServed(
                f"another process serves {path.name}: a file of SQLite is served by one process, "
                "a database of PostgreSQL by any number"
            ) from None
        yield


def _lock_file(path: Path) -> IO[bytes]:
    try:
        return open(path, "wb", opener=lambda name, flags: os.open(name, flags, 0o600))
    except OSError as error:
        raise StoreUnavailable(f"The lock beside the database can't be opened: {error.strerror}") from error


async def open_store(
    url: str, *, create: bool = False, seconds: float = _SECONDS, connections: int = _CONNECTIONS
) -> Store:
    """Open a database.

    Parameters
    ----------
    url : str
        ``sqlite:///relative.db``, ``sqlite:////absolute.db``, ``postgresql://...``, or ``sqlite://`` for a database
        in a temporary folder that is private to the process, does not wait for the disk and is gone when it is
        closed: for trials and benchmarks.
    create : bool
        Whether a database without tables gets them. Tables of another version are refused all the same.
    seconds : float
        How long a call waits for others (another process that writes, a connection, an answer of the server)
        before `StoreUnavailable`.
    connections : int
        At most so many to a server, and one for token buckets.

    Returns
    -------
    Store
        It belongs to the running event loop.

    Raises
    ------
    BadAddress
        If the URL is of no kind that is known.
    SchemaRefused
        If the tables are not those of this version; the text names the command that helps.
    NotDurable
        If the database does not wait for the disk.
    StoreUnavailable
        If it can't be reached.
    """
    address = parse_address(url)
    if isinstance(address, PostgresAddress):
        from scoring_model.service.store.postgres.store import open_postgres

        return await open_postgres(address.dsn, create=create, seconds=seconds, connections=connections)
    if address.path is None:
        return _open_private(seconds=seconds)
    return _open_file(address.path, create=create, seconds=seconds)


async def migrate(url: str, *, seconds: float = _SECONDS) -> None:
    """Bring the tables of a database to this version. An empty one gets them; one that has them is left alone.

    Parameters
    ----------
    url : str
        As for `open_store`.
    seconds : float
        How long to wait for those who are writing.

    Raises
    ------
    BadAddress, StoreUnavailable
        As for `open_store`.
    SchemaRefused
        If the tables belong to a later version or to another program.
    """
    address = parse_address(url)
    if isinstance(address, PostgresAddress):
        from scoring_model.service.store.postgres.schema import migrate as migrate_server

        await migrate_server(address.dsn, seconds=seconds)
    elif address.path is not None:
        from scoring_model.service.store.sqlite.schema import migrate as migrate_file

        migrate_file(address.path, seconds=seconds)


async def check_schema(url: str, *, seconds: float = _SECONDS) -> None:
    """Refuse a database whose tables are not those of this version.

    Raises
    ------
    SchemaRefused
        As `SchemaMissing`, `SchemaOlder`, `SchemaNewer` or `SchemaForeign`.
    BadAddress, StoreUnavailable
        As for `open_store`.
    """
    address = parse_address(url)
    if isinstance(address, PostgresAddress):
        from scoring_model.service.store.postgres.schema import check_schema as check_server

        await check_server(address.dsn, seconds=seconds)
    elif address.path is not None:
        from scoring_model.service.store.sqlite.schema import check_schema as check_file

        check_file(address.path)


async def check_durability(url: str, *, seconds: float = _SECONDS) -> None:
    """Refuse a database that can lose what it has acknowledged. `open_store` does so too.

    Raises
    ------
    NotDurable
        The text names the setting.
    BadAddress, StoreUnavailable
        As for `open_store`.
    """
    address = parse_address(url)
    if isinstance(address, PostgresAddress):
        from scoring_model.service.store.postgres.schema import check_durability as check_server

        await check_server(address.dsn, seconds=seconds)
    elif address.path is not None:
        from scoring_model.service.store.sqlite.connection import connect

        connect(address.path, cache_mebibytes=1).close()


def _open_file(path: Path, *, create: bool, seconds: float) -> "SqliteStore":
    from scoring_model.service.store.schema import SchemaMissing
    from scoring_model.service.store.sqlite.schema import check_schema as check_file
    from scoring_model.service.store.sqlite.schema import migrate as migrate_file
    from scoring_model.service.store.sqlite.store import SqliteStore

    try:
        check_file(path)
    except SchemaMissing:
        if not create:
            raise
        migrate_file(path, seconds=seconds, only_new=True)
    return SqliteStore(path, seconds=seconds)


def _open_private(*, seconds: float) -> "SqliteStore":
    from scoring_model.service.store.sqlite.schema import migrate as migrate_file
    from scoring_model.service.store.sqlite.store import SqliteStore

    folder = tempfile.TemporaryDirectory(prefix="scoring-model-")
    path = Path(folder.name) / "private.db"
    migrate_file(path, seconds=seconds, sync=False)
    return SqliteStore(path, seconds=seconds, sync=False, private=folder)
