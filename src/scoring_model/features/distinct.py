"""Evaluates value functions over a table: once for each distinct combination of inputs, then gathered by row.

Decision record: docs/adr/0004-value-functions.md.
"""

import itertools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.features.catalogue import Group
from scoring_model.records.table import Codes, Column

_DENSE = 4
"""Codes are renumbered without sorting if there are at most this many per row."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """The features of one group, with each distinct row stored once.

    Parameters
    ----------
    rows : ndarray of shape (m, d), float64
    where : ndarray of shape (n,), integers
        Index of the row of each record.
    """

    rows: FloatArray
    where: Codes


def evaluate(group: Group, inputs: Sequence[Column]) -> Block:
    """Call a group's function on the distinct values of its inputs.

    Parameters
    ----------
    inputs : sequence of Column
        In the order of the group's inputs. Missing values have None among the values, so that no code is negative.

    Returns
    -------
    Block
        Block of all features of the group.
    """
    if group.views:
        inputs = [_viewed(column, view) for column, view in zip(inputs, group.views, strict=True)]
    where, arguments = _together(inputs)
    width = len(group.features)
    floats = itertools.chain.from_iterable(map(group.function, *arguments))
    count = len(arguments[0])
    return Block(np.fromiter(floats, np.float64, count * width).reshape(count, width), where)


def number_column(numbers: IntArray) -> Column:
    """Make a column of whole numbers, none missing."""
    if not len(numbers):
        return Column((), numbers)
    low = int(numbers.min())
    where, size = _renumbered(numbers - low, int(numbers.max()) - low + 1)
    return Column(numbers[_rows_of(where, size)].tolist(), where)


def _viewed(column: Column, view: Callable[[Any], Hashable]) -> Column:
    """Apply a view to the values of a column; equal results share a code."""
    index: dict[Hashable, int] = {}
    seen = [None if value is None else view(value) for value in column.values]
    renumbered = np.array([index.setdefault(value, len(index)) for value in seen], dtype=np.int32)
    return Column(tuple(index), renumbered[column.codes] if len(seen) else column.codes)


def _together(inputs: Sequence[Column]) -> tuple[Codes, list[Sequence[Any]]]:
    """Number the distinct combinations of several inputs, and list the values of each."""
    if len(inputs) == 1:
        return inputs[0].codes, [inputs[0].values]
    where, size = inputs[0].codes, len(inputs[0].values)
    for column in inputs[1:]:
        # Renumbered after every input, so that the product stays far below 2**63.
        width = len(column.values)
        where, size = _renumbered(where.astype(np.int64) * width + column.codes, size * width)
    rows = _rows_of(where, size)
    return where, [[column.values[code] for code in column.codes[rows].tolist()] for column in inputs]


def _rows_of(where: Codes, size: int) -> IntArray:
    """Return one row for each number."""
    rows = np.empty(size, dtype=np.int64)
    rows[where] = np.arange(len(where))
    return rows


def _renumbered(codes: IntArray, size: int) -> tuple[Codes, int]:
    """Renumber codes in [0, `size`) without gaps, sorted by value like `numpy.unique`."""
    if size > _DENSE * len(codes):
        values, where = np.unique(codes, return_inverse=True)
        return where, len(values)
    used = np.zeros(size, dtype=np.bool_)
    used[codes] = True
    numbers = np.cumsum(used, dtype=np.int32) - 1
    return numbers[codes], int(numbers[-1]) + 1 if size else 0
