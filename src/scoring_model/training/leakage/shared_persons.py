"""Shared persons: no person is on both sides of the split, and no training record is later than a test record.

The check shares no code with the split: persons are found record by record, as in the service.
"""

from collections.abc import Hashable
from itertools import pairwise
from typing import Final

from scoring_model.arrays import IntArray
from scoring_model.findings import Code, Finding, checked
from scoring_model.history import person_of
from scoring_model.history.keys import PERSONS
from scoring_model.records import RecordTable
from scoring_model.training.preparation import Prepared

_FIELDS: Final = tuple(field for _, parts in PERSONS for field in parts)


def check_shared_persons(prepared: Prepared) -> Finding:
    """Look for persons and records of the training part in validation and test, and for parts out of order.

    Returns
    -------
    Finding
        Found if there are any, with their number. Validation and test may share persons with each other; they are
        complete, since promises are about their population.
    """
    split = prepared.split
    judged = [*split.validation.tolist(), *split.test.tolist()]
    train = split.train.tolist()
    persons = persons_of(prepared.table)
    shared = {persons[row] for row in train} & {persons[row] for row in judged}
    twice = len(train) + len(judged) - len({*train, *judged})
    overlaps = _overlaps(
        prepared.table.event_times, [split.burn_in, split.train, split.validation, split.test]
    )
    problems = {
        "persons are on both sides": len(shared),
        "records are in two parts": twice,
        "parts begin before the one before them ends": overlaps,
    }
    found = [f"{count} {problem}" for problem, count in problems.items() if count]
    return checked(
        Code.PERSONS,
        count=sum(problems.values()),
        records=len(train) + len(judged),
        sentence=", ".join(found)
        or "no person and no record is on both sides, and the parts follow each other",
        figures={"persons": len(shared), "records": twice, "overlaps": overlaps},
    )


def persons_of(table: RecordTable) -> list[Hashable]:
    """Find the person of every record; a record without a known person counts as a separate person."""
    columns = [table.column(name) for name in _FIELDS]
    values = [(None, *column.values) for column in columns]
    persons: list[Hashable] = []
    for row, codes in enumerate(zip(*((column.codes + 1).tolist() for column in columns), strict=True)):
        record = {name: of[code] for name, of, code in zip(_FIELDS, values, codes, strict=True)}
        persons.append(person_of(record) or row)
    return persons


def _overlaps(times: IntArray, parts: list[IntArray]) -> int:
    """Count the parts that begin before the end of the previous part."""
    held = [times[part] for part in parts if len(part)]
    return sum(int(later.min() <= earlier.max()) for earlier, later in pairwise(held))
