"""The cells of a column against the rule of its field: each distinct cell once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import BoolArray, IntArray
from scoring_model.contract.rules import Rule, RuleError
from scoring_model.records import cells
from scoring_model.records.encoding import Encoded
from scoring_model.records.problems import RowProblem
from scoring_model.records.rules import instant
from scoring_model.records.times import EARLIEST, LATEST


@dataclass(frozen=True)
class Parsed:
    """A column of canonical values.

    Parameters
    ----------
    values : sequence
        Distinct canonical values, in any order.
    codes : ndarray of shape (n,), int32
        Index into `values`; -1 where missing or refused.
    refused : ndarray of shape (n,), bool
        Rows whose cell breaks the rule.
    problems : tuple of RowProblem
        One for each of them.
    """

    values: Sequence[object]
    codes: NDArray[np.int32]
    refused: BoolArray
    problems: tuple[RowProblem, ...]

    @classmethod
    def absent(cls, rows: int) -> "Parsed":
        """Stand in for a column that the source lacks."""
        return cls((), np.full(rows, -1, dtype=np.int32), np.zeros(rows, dtype=np.bool_), ())

    @property
    def missing(self) -> BoolArray:
        """Rows without a value, those that were refused left out."""
        return (self.codes < 0) & ~self.refused

    def gather(self, absent: int) -> IntArray:
        """Spread whole numbers over the rows, `absent` where there is none."""
        return np.array([*self.values, absent], dtype=np.int64)[self.codes]


def parse_column(field: str, encoded: Encoded, parse: Callable[[object], object | None]) -> Parsed:
    """Parse the distinct cells of a column and spread what they give over its rows.

    Parameters
    ----------
    field : str
        Name of the field, for its problems.
    encoded : Encoded
        The cells.
    parse : callable
        Cell to canonical value, or None where missing; raises `RuleError`.

    Returns
    -------
    Parsed
        Of as many rows.
    """
    index: dict[object, int] = {}
    errors: dict[int, RuleError] = {}
    targets: list[int] = []
    for code, cell in enumerate(encoded.values):
        try:
            value = parse(cell)
        except RuleError as error:
            errors[code] = error
            value = None
        targets.append(-1 if value is None else index.setdefault(value, len(index)))
    targets.append(-1)  # the last place answers for the code -1
    is_error = np.zeros(len(targets), dtype=np.bool_)
    is_error[list(errors)] = True
    refused = is_error[encoded.codes]
    return Parsed(
        values=tuple(index),
        codes=np.array(targets, dtype=np.int32)[encoded.codes],
        refused=refused,
        problems=tuple(_row_problems(field, encoded.codes, refused, errors)),
    )


def parse_instants(field: str, encoded: Encoded) -> Parsed:
    """Parse a column of times to microseconds, all at once where the source has a type for them."""
    if isinstance(encoded.values, np.ndarray):
        micros = encoded.values.astype(np.int64)
        if ((micros >= EARLIEST) & (micros <= LATEST)).all():
            return Parsed(micros.tolist(), encoded.codes, np.zeros(len(encoded.codes), dtype=np.bool_), ())
    return parse_column(field, encoded, lambda cell: instant(cells.plain(cell)))


def _row_problems(
    field: str, codes: NDArray[np.int32], refused: BoolArray, errors: Mapping[int, RuleError]
) -> Iterator[RowProblem]:
    for row in np.flatnonzero(refused).tolist():
        error = errors[int(codes[row])]
        yield RowProblem(row, field, Rule(error.type), error.message())
