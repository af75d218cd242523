"""What is wrong with a record: named by field, rule and shape, never by value."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from scoring_model.contract.fields import EVENT_FIELDS, IDENTITY_FIELDS
from scoring_model.contract.rules import Rule

WHOLE: Final = ""  # the field of a problem of the whole record, like the JSON Pointer of a whole body
_ORDER: Final = {field: place for place, field in enumerate((*EVENT_FIELDS, *IDENTITY_FIELDS))}


@dataclass(frozen=True)
class Problem:
    """A rule that a field of one record breaks.

    Parameters
    ----------
    field : str
        Name of the field, dotted for parts; empty for the whole record.
    rule : Rule
        The rule.
    detail : str
        The rule and the shape of the value in words, never the value.
    """

    field: str
    rule: Rule
    detail: str


@dataclass(frozen=True, slots=True)
class RowProblem:
    """A rule that a field of one row breaks.

    Parameters
    ----------
    row : int
        0-based row of the source; blank lines and the header of a text file do not count.
    field, rule, detail
        As in `Problem`.
    """

    row: int
    field: str
    rule: Rule
    detail: str


def problems_in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Sort the problems of one record: event, identity, then signals and the rest as they came."""
    return tuple(sorted(problems, key=lambda problem: _place(problem.field)))


def row_problems_in_order(problems: Iterable[RowProblem]) -> tuple[RowProblem, ...]:
    """Sort the problems of a source by row, and within a row like those of one record."""
    return tuple(sorted(problems, key=lambda problem: (problem.row, _place(problem.field))))


def _place(field: str) -> int:
    return _ORDER.get(field, len(_ORDER))
