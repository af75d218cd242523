"""Value functions over a table: each is called on the distinct values of its inputs, and gathered."""

import itertools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.features.catalogue import Group

Codes: TypeAlias = NDArray[np.int32] | IntArray

_DENSE = 4
"""Codes are numbered anew without sorting where there are at most this many times as many as rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """One input of a table.

    Parameters
    ----------
    codes : ndarray of shape (n,), integers
        Index into `values`.
    values : sequence of length m
        Distinct values, None among them where one is missing.
    """

    codes: Codes
    values: Sequence[Any]

    @classmethod
    def of(cls, numbers: IntArray) -> "Coded":
        """Code whole numbers, which are their own values."""
        if not len(numbers):
            return cls(numbers, ())
        low = int(numbers.min())
        where, size = _renumbered(numbers - low, int(numbers.max()) - low + 1)
        return cls(where, numbers[_rows_of(where, size)].tolist())

    def seen(self, view: Callable[[Any], Hashable]) -> "Coded":
        """What a view leaves of the values, each distinct one once."""
        index: dict[Hashable, int] = {}
        seen = [None if value is None else view(value) for value in self.values]
        renumbered = np.array([index.setdefault(value, len(index)) for value in seen], dtype=np.int32)
        return Coded(renumbered[self.codes] if len(seen) else self.codes, tuple(index))


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """The features of one group, each distinct row once.

    Parameters
    ----------
    rows : ndarray of shape (m, d), float64
    where : ndarray of shape (n,), integers
        Which of them each record has.
    """

    rows: FloatArray
    where: Codes


def evaluate(group: Group, inputs: Sequence[Coded]) -> Block:
    """Call a group's function on the distinct values of its inputs.

    Parameters
    ----------
    group : Group
    inputs : sequence of Coded
        In the order of the group's.

    Returns
    -------
    Block
        Of all features of the group.
    """
    if group.views:
        inputs = [coded.seen(view) for coded, view in zip(inputs, group.views, strict=True)]
    where, arguments = _together(inputs)
    width = len(group.features)
    floats = itertools.chain.from_iterable(map(group.function, *arguments))
    count = len(arguments[0])
    return Block(np.fromiter(floats, np.float64, count * width).reshape(count, width), where)


def _together(inputs: Sequence[Coded]) -> tuple[Codes, list[Sequence[Any]]]:
    """Number the distinct combinations of several inputs, and list the values of each."""
    if len(inputs) == 1:
        return inputs[0].codes, [inputs[0].values]
    where, size = inputs[0].codes, len(inputs[0].values)
    for coded in inputs[1:]:
        # Numbered anew after every input, so that the product stays far below 2**63.
        width = len(coded.values)
        where, size = _renumbered(where.astype(np.int64) * width + coded.codes, size * width)
    rows = _rows_of(where, size)
    return where, [[coded.values[code] for code in coded.codes[rows].tolist()] for coded in inputs]


def _rows_of(where: Codes, size: int) -> IntArray:
    """One row of each number."""
    rows = np.empty(size, dtype=np.int64)
    rows[where] = np.arange(len(where))
    return rows


def _renumbered(codes: IntArray, size: int) -> tuple[Codes, int]:
    """Number codes from 0 to below `size` without gaps; sorted by value, as if by `numpy.unique`."""
    if size > _DENSE * len(codes):
        values, where = np.unique(codes, return_inverse=True)
        return where, len(values)
    used = np.zeros(size, dtype=np.bool_)
    used[codes] = True
    numbers = np.cumsum(used, dtype=np.int32) - 1
    return numbers[codes], int(numbers[-1]) + 1 if size else 0
