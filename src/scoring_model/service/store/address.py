"""Where a database is, read from its URL."""

from dataclasses import dataclass, field
from pathlib import Path

_FORMS = "sqlite:///relative.db, sqlite:////absolute.db, sqlite:// or postgresql://..."


class BadAddress(ValueError):
    """A URL of no known kind of database. The text does not repeat it: it may hold a password."""


@dataclass(frozen=True, slots=True)
class SqliteAddress:
    """A file of SQLite; without a path, a database that is private to the process and removed when it is closed."""

    path: Path | None


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """A database of a PostgreSQL server, by its URL, which may hold a password."""

    dsn: str = field(repr=False)


def parse_address(url: str) -> SqliteAddress | PostgresAddress:
    """Read the URL of a database, as SQLAlchemy and libpq write them.

    Raises
    ------
    BadAddress
        If it is of neither kind.

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
