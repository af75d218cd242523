"""Where a database is, read from its URL."""

from dataclasses import dataclass, field
from pathlib import Path

_FORMS = "sqlite:///relative.db, sqlite:////absolute.db, sqlite:// or postgresql://..."


class BadAddress(ValueError):
    """A URL that names no database of a kind that is known. The text does not repeat it: it may hold a password."""


@dataclass(frozen=True, slots=True)
class SqliteAddress:
    """A file of SQLite.

    Parameters
    ----------
    path : Path or None
        None stands for a database that is private to the process and gone with it.
    """

    path: Path | None


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """A database of a PostgreSQL server.

    Parameters
    ----------
    dsn : str
        The URL; it may hold a password.
    """

    dsn: str = field(repr=False)


Address = SqliteAddress | PostgresAddress


def parse_address(url: str) -> Address:
    """Read the URL of a database.

    Parameters
    ----------
    url : str
        As SQLAlchemy and libpq write them.

    Returns
    -------
    SqliteAddress or PostgresAddress

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
