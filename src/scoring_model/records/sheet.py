"""A source as it is: named columns of cells that nobody has checked yet."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from scoring_model.records.body import flatten
from scoring_model.records.problems import RowProblem


class UnreadableSource(ValueError):
    """A source is not of a kind or form that can be read."""


@dataclass(frozen=True)
class Objects:
    """Cells of any Python types, where a column has them.

    Parameters
    ----------
    rows : sequence of int
        Rows that have a cell, ascending.
    values : sequence
        Their cells.
    """

    rows: Sequence[int]
    values: Sequence[object]


Cells: TypeAlias = Any | Objects  # Any is pyarrow.ChunkedArray, which has no types to check


@dataclass(frozen=True)
class Sheet:
    """The columns of a source.

    Parameters
    ----------
    rows : int
        Number of rows.
    columns : mapping of str to pyarrow.ChunkedArray or Objects
        Cells by column name; nested `address` and `signals` are already dotted.
    problems : tuple of RowProblem
        Of rows that could not be read, or not wholly.
    """

    rows: int
    columns: Mapping[str, Cells]
    problems: tuple[RowProblem, ...] = ()


def named_columns(columns: Iterable[tuple[str, Cells]]) -> dict[str, Cells]:
    """Collect columns by name.

    Raises
    ------
    UnreadableSource
        If names repeat.
    """
    pairs = list(columns)
    named = dict(pairs)
    if len(named) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        repeated = sorted(name for name, count in counts.items() if count > 1)
        raise UnreadableSource(f"columns must have distinct names, got more than one of {repeated}")
    return named


@dataclass(frozen=True)
class ObjectColumns:
    """Columns that grow by one body at a time, each as long as it has cells."""

    columns: dict[str, tuple[list[int], list[object]]] = field(default_factory=dict)
    problems: list[RowProblem] = field(default_factory=list)

    def add(self, row: int, body: Mapping[str, object]) -> None:
        """Add the values of a body, nested or dotted, at a row below all before."""
        flat, problems = flatten(body)
        for name, value in flat.items():
            rows, values = self.columns.setdefault(name, ([], []))
            rows.append(row)
            values.append(value)
        self.problems.extend(RowProblem(row, found.field, found.rule, found.detail) for found in problems)

    def cells(self) -> list[tuple[str, Cells]]:
        """Give the columns in order of first appearance."""
        return [(name, Objects(rows, values)) for name, (rows, values) in self.columns.items()]
