"""Queries: methods of a reader or transaction that run one statement, each declared in one line.

A query has a statement for both databases, the types of its arguments in the order of the placeholders, and a form in
which it returns rows.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, cast, overload

from scoring_model.service.core.rows import Row
from scoring_model.service.store.statements import Each, select, select_each

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R", bound=Row)
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")

Values = Sequence[Any]
"""A raw row of the database."""


class Runs(Protocol):
    """Runs statements."""

    async def _rows(self, statement: str, *arguments: object) -> Sequence[Values]:
        """Run a statement; returns its rows."""

    async def _each(self, statement: Each, keys: Sequence[Values]) -> Sequence[Values]:
        """Run a statement for many keys; returns all rows."""


class Arguments(Generic[P]):
    """The types of the arguments of a query."""


@overload
def takes() -> Arguments[[]]: ...
@overload
def takes(first: type[A], /) -> Arguments[[A]]: ...
@overload
def takes(first: type[A], second: type[B], /) -> Arguments[[A, B]]: ...
@overload
def takes(first: type[A], second: type[B], third: type[C], /) -> Arguments[[A, B, C]]: ...
@overload
def takes(first: type[A], second: type[B], third: type[C], fourth: type[D], /) -> Arguments[[A, B, C, D]]: ...
def takes(*_kinds: type) -> Arguments[Any]:
    """Name the types of the arguments of a query, in the order of its placeholders."""
    return Arguments()


@dataclass(frozen=True, slots=True)
class Query(Generic[P, T]):
    """A method that runs one statement."""

    statement: Each
    run: Callable[Concatenate[Any, P], Awaitable[T]]

    def __get__(self, reader: Runs, _owner: type) -> Callable[P, Awaitable[T]]:
        return partial(self.run, reader)


def rows_of(kind: type[R], rest: str, _arguments: Arguments[P]) -> Query[P, list[R]]:
    """Return all rows of one kind; `rest` follows the name of the table."""
    statement = select(cast("type[Row]", kind), rest)

    async def run(reader: Runs, /, *arguments: P.args, **_: P.kwargs) -> list[R]:
        return cast("list[R]", [kind._make(row) for row in await reader._rows(statement, *arguments)])

    return Query(Each(statement, statement), run)


def row_of(kind: type[R], rest: str, _arguments: Arguments[P]) -> Query[P, R | None]:
    """Return the first row, or None."""
    statement = select(cast("type[Row]", kind), rest)

    async def run(reader: Runs, /, *arguments: P.args, **_: P.kwargs) -> R | None:
        rows = await reader._rows(statement, *arguments)
        return cast(R, kind._make(rows[0])) if rows else None

    return Query(Each(statement, statement), run)


def rows_by_key(kind: type[R], key: str) -> Query[[Sequence[bytes]], Mapping[bytes, R]]:
    """Return the rows with these keys that exist, by key: the first column."""
    statement = select_each(cast("type[Row]", kind), key)

    async def run(reader: Runs, keys: Sequence[bytes]) -> Mapping[bytes, R]:
        rows = await reader._each(statement, [(key,) for key in keys])
        return cast("Mapping[bytes, R]", {row[0]: kind._make(row) for row in rows})

    return Query(statement, run)


def rows_of_each(kind: type[R], statement: Each, _key: type[A]) -> Query[[Sequence[A]], list[R]]:
    """Return the rows of some keys, in the order of the keys on SQLite."""

    async def run(reader: Runs, keys: Sequence[A]) -> list[R]:
        return cast(
            "list[R]", [kind._make(row) for row in await reader._each(statement, [(key,) for key in keys])]
        )

    return Query(statement, run)


def command(statement: str, _arguments: Arguments[P]) -> Query[P, None]:
    """Change rows; returns nothing."""

    async def run(reader: Runs, /, *arguments: P.args, **_: P.kwargs) -> None:
        await reader._rows(statement, *arguments)

    return Query(Each(statement, statement), run)


def command_of_each(statement: Each, _key: type[A]) -> Query[[Sequence[A]], None]:
    """Change the rows of some keys; returns nothing."""

    async def run(reader: Runs, keys: Sequence[A]) -> None:
        await reader._each(statement, [(key,) for key in keys])

    return Query(statement, run)


def update_of_each(statement: Each, _kind: type[A]) -> Query[[Sequence[A]], frozenset[bytes]]:
    """Update from rows, or from other tuples of arguments; returns the ids of the changed rows."""

    async def run(reader: Runs, rows: Sequence[Any]) -> frozenset[bytes]:
        return frozenset([row[0] for row in await reader._each(statement, rows)])

    return Query(statement, run)
