"""Backups of a database: a copy without the keys of persons, and those keys of the same instant in a file of their own.

Erasure destroys keys, so backups of keys must expire soon, while the copy may be kept for long. SQLite is copied by its
online backup, PostgreSQL by `pg_dump`; the keys are a file of SQLite for both.

References
----------
https://www.sqlite.org/backup.html; https://www.postgresql.org/docs/current/app-pgdump.html (--snapshot).
"""

import asyncio
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from scoring_model.records.atomic import atomic_file
from scoring_model.service.core.rows import PersonKeyRow
from scoring_model.service.store import PostgresAddress, SqliteAddress
from scoring_model.service.store.errors import BackupFailed
from scoring_model.service.store.postgres_connection import connect as connect_server
from scoring_model.service.store.queries import Values
from scoring_model.service.store.sqlite_file import connect as connect_file
from scoring_model.service.store.statements import columns

DUMP_SECONDS: Final = 86_400.0
"""The server ends the transaction of a dump that takes twice as long."""

_PAGE: Final = 5_000
_KEYS: Final = f"SELECT {columns(PersonKeyRow)} FROM person_keys"
_KEY_FILE: Final = """
CREATE TABLE header (as_of INTEGER NOT NULL, root_check BLOB NOT NULL);
CREATE TABLE person_keys (
    key_id BLOB PRIMARY KEY, client INTEGER NOT NULL, person BLOB, master_id BLOB NOT NULL, wrapped BLOB NOT NULL
) WITHOUT ROWID;
"""
_SCHEMA: Final = "SELECT pg_export_snapshot(), quote_ident(current_schema())"


class KeyFileHeader(NamedTuple):
    """When the keys of a file were read, in microseconds, and the check of the root secret of their database."""

    as_of: int
    root_check: bytes


async def back_up(
    address: SqliteAddress | PostgresAddress, copy: Path, keys: Path, header: KeyFileHeader
) -> int:
    """Write a copy without person keys, and the keys of the same instant; returns their number.

    Both files appear whole, the copy last, and only their owner can read them.

    Parameters
    ----------
    copy : Path
        Gets a database of SQLite, or an archive for `pg_restore`.

    Raises
    ------
    BackupFailed
        If `pg_dump` is missing or fails.
    StoreUnavailable
    """
    with atomic_file(copy, private=True) as partial, _new_key_file(keys, header) as rows:
        if isinstance(address, PostgresAddress):
            await _dump(address.dsn, partial, rows)
        elif address.path is not None:
            await asyncio.to_thread(_copy, address.path, partial, rows)
        count: int = rows.execute("SELECT count(*) FROM person_keys").fetchone()[0]
    return count


@contextmanager
def _new_key_file(path: Path, header: KeyFileHeader) -> Iterator[sqlite3.Connection]:
    with (
        atomic_file(path, private=True) as partial,
        closing(sqlite3.connect(partial, check_same_thread=False)) as file,
    ):
        file.execute("PRAGMA journal_mode = OFF")  # a file that is not whole is deleted
        file.executescript(_KEY_FILE)
        file.execute("INSERT INTO header VALUES (?, ?)", header)
        yield file
        file.commit()


def _insert(file: sqlite3.Connection, rows: Sequence[Values]) -> None:
    file.executemany("INSERT INTO person_keys VALUES (?, ?, ?, ?, ?)", rows)


def _copy(path: Path, copy: Path, keys: sqlite3.Connection) -> None:
    with (
        closing(connect_file(path, cache_mebibytes=1)) as source,
        closing(sqlite3.connect(copy, isolation_level=None)) as target,
    ):
        source.backup(target)  # all pages in one step: one state, and writers do not wait
        target.execute("PRAGMA journal_mode = DELETE")  # no log beside the copy
        target.execute("PRAGMA journal_mode = OFF")  # nor the deleted keys in a journal
        target.execute("PRAGMA secure_delete = ON")
        found = target.execute(_KEYS)
        while rows := found.fetchmany(_PAGE):
            _insert(keys, rows)
        target.execute("DELETE FROM person_keys")


async def _dump(dsn: str, copy: Path, keys: sqlite3.Connection) -> None:
    connection = await connect_server(dsn, seconds=DUMP_SECONDS)
    try:
        await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        snapshot, schema = (await connection.fetch(_SCHEMA))[0]
        after, page = b"", f"{_KEYS} WHERE key_id > $1 ORDER BY key_id LIMIT {_PAGE}"
        while rows := await connection.fetch(page, after):
            _insert(keys, [tuple(row) for row in rows])
            after = rows[-1][0]
        await _run_pg_dump(
            dsn, f"--snapshot={snapshot}", f"--exclude-table-data={schema}.person_keys", f"--file={copy}"
        )
    finally:
        connection.terminate()


async def _run_pg_dump(dsn: str, *options: str) -> None:
    """Run `pg_dump`. The password is in its environment: every user of the machine can read its arguments."""
    url, password = _split_password(dsn)
    try:
        process = await asyncio.create_subprocess_exec(
            *("pg_dump", "--format=custom", "--no-unlogged-table-data", "--no-password", *options),
            f"--dbname={url}",
            stdin=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, **({} if password is None else {"PGPASSWORD": password})},
        )
    except OSError as error:
        raise BackupFailed(
            f"pg_dump can't be run ({error.strerror}): it is among the client programs of PostgreSQL"
        ) from None
    try:
        _, said = await process.communicate()
    except BaseException:
        process.kill()
        raise
    if process.returncode:
        raise BackupFailed(f"pg_dump failed: {said.decode(errors='replace').strip()}")


def _split_password(dsn: str) -> tuple[str, str | None]:
    """Return the URL of a server without its password, and the password.

    Examples
    --------
    >>> _split_password("postgresql://risk:s%40@db/scoring?sslmode=require")
    ('postgresql://risk@db/scoring?sslmode=require', 's@')
    >>> _split_password("postgresql:///scoring")  # the server of the local socket
    ('postgresql:///scoring', None)
    """
    parts = urlsplit(dsn)
    user, at, host = parts.netloc.rpartition("@")
    name, colon, password = user.partition(":")
    query = parse_qsl(parts.query)
    found = [value for key, value in query if key == "password"] or [unquote(password)] * bool(colon)
    kept = urlencode([(key, value) for key, value in query if key != "password"], quote_via=quote)
    # not `geturl`: it drops the slashes before an empty host, and pg_dump takes the rest for a name of a database
    url = f"{parts.scheme}://{name}{at}{host}{parts.path}{'?' if kept else ''}{kept}"
    return url, found[0] if found else None


class KeyFile:
    """The keys of a backup, open for reading; a context manager.

    Raises
    ------
    BackupFailed
        If the file is none, or is damaged.
    """

    def __init__(self, path: Path) -> None:
        try:
            with ExitStack() as opened:
                self._file = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
                opened.callback(self._file.close)
                self.header = KeyFileHeader(
                    *self._file.execute("SELECT as_of, root_check FROM header").fetchone()
                )
                if self._file.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                    raise BackupFailed(f"{path} is damaged")
                opened.pop_all()
        except (sqlite3.Error, TypeError) as error:
            raise BackupFailed(f"{path} is no file of keys from `database backup`: {error}") from None

    def __enter__(self) -> "KeyFile":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def rows(self, key_ids: Sequence[bytes]) -> list[PersonKeyRow]:
        """Return the keys with these ids that the file has."""
        found = [self._file.execute(f"{_KEYS} WHERE key_id = ?", (key_id,)).fetchone() for key_id in key_ids]
        return [PersonKeyRow._make(row) for row in found if row is not None]
