"""The rules that look at a whole row, or across rows."""

from collections.abc import Iterator, Mapping

import numpy as np

from scoring_model.arrays import BoolArray, IntArray
from scoring_model.contract.fields import EVENT_FIELDS, REFERENCE_FIELDS
from scoring_model.contract.rules import Rule
from scoring_model.records import contract, times
from scoring_model.records.columns import Parsed
from scoring_model.records.problems import WHOLE, RowProblem
from scoring_model.records.schema import LabelSchema
from scoring_model.records.table import NEVER

UNTIMED = "must be there for a label, or the schema must set a label delay"
DUPLICATE = "must differ from those of the rows before"


def row_problems(
    parsed: Mapping[str, Parsed], labels: LabelSchema, *, readable: BoolArray
) -> Iterator[RowProblem]:
    """Find what is wrong with rows, beyond their cells one by one.

    Parameters
    ----------
    parsed : mapping of str to Parsed
        Columns of n rows by field; those that the source lacks are absent.
    labels : LabelSchema
        Whether labels need a time of their own.
    readable : ndarray of shape (n,), bool
        Rows that could be taken apart. Of others there is nothing more to say.

    Yields
    ------
    RowProblem
        By rule, then by row.
    """
    for field, rule, detail, broken in _broken(parsed, labels, len(readable)):
        for row in np.flatnonzero(broken & readable).tolist():
            yield RowProblem(row, field, rule, detail)


def _broken(
    parsed: Mapping[str, Parsed], labels: LabelSchema, rows: int
) -> Iterator[tuple[str, Rule, str, BoolArray]]:
    absent = Parsed.absent(rows)
    event = parsed.get("eventTime", absent)
    yield "eventTime", Rule.MISSING, contract.MISSING, event.missing
    if "recordId" in parsed:
        yield "recordId", Rule.MISSING, contract.MISSING, parsed["recordId"].missing
        yield "recordId", Rule.DUPLICATE, DUPLICATE, _repeated(parsed["recordId"])
    if labels.delay is None:
        untimed = (parsed.get("label", absent).codes >= 0) & parsed.get("labelKnownAt", absent).missing
        yield "labelKnownAt", Rule.MISSING, UNTIMED, untimed
    yield WHOLE, Rule.EMPTY_RECORD, contract.EMPTY, _empty(parsed, rows)
    born = _birth_times(parsed.get("dob", absent))
    yield "dob", Rule.IN_FUTURE, contract.FUTURE, born > event.gather(NEVER)


def _repeated(column: Parsed) -> BoolArray:
    rows = np.arange(len(column.codes))
    first = np.zeros(len(column.values) + 1, dtype=np.int64)
    first[column.codes[::-1]] = rows[::-1]  # of repeated indices the last assignment stays: the first row
    repeated: BoolArray = (column.codes >= 0) & (first[column.codes] != rows)
    return repeated


def _empty(parsed: Mapping[str, Parsed], rows: int) -> BoolArray:
    empty = np.ones(rows, dtype=np.bool_)
    for field, column in parsed.items():
        if field not in EVENT_FIELDS and field not in REFERENCE_FIELDS:
            empty &= column.missing
    return empty


def _birth_times(column: Parsed) -> IntArray:
    born = [times.microseconds(value) for value in column.values]
    return np.array([*born, times.EARLIEST], dtype=np.int64)[column.codes]
