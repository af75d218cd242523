"""Cells made to cost much: each is read, or refused, in time that grows with its length alone."""

import time
from collections.abc import Mapping
from typing import Final

import pyarrow as pa
import pytest

from scoring_model.contract.rules import SignalType
from scoring_model.records.reading import read_records
from scoring_model.records.schema import RecordSchema

LENGTH: Final = 130_000
SCHEMA: Final = RecordSchema(signals={kind.value: kind for kind in SignalType})
CELLS: Final[Mapping[str, object]] = {
    "marks in two blocks": "a" + "\u0301" * (LENGTH // 2) + "\u0316" * (LENGTH // 2),
    "digits that are no number": "1" * LENGTH + "x",
    "a fraction that is no number": "1." + "0" * LENGTH + "x",
    "zeros of a label": "1" * LENGTH + ".0" * LENGTH,
    "blanks within": "é" + "\u00a0" * LENGTH + "é",
    "nested arrays": "[" * LENGTH,
    "an array of numbers": "[" + "1," * LENGTH + "1]",
    "a whole number": "[" + "9" * LENGTH + "]",
    "a URL of user names": "https://" + "a@" * LENGTH,
    "a URL of fragments": "https://a/" + "?" * LENGTH,
    "a time of digits": "2024-01-01T00:00:00." + "0" * LENGTH,
    "a list of texts": ["https://a.example/"] * LENGTH,
}


@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
def test_a_cell_takes_milliseconds_in_any_column(cell: object) -> None:
    """The slowest takes 20 ms of 130,000 characters; without its bound some took most of a minute."""
    for field in (*SCHEMA.fields, "recordId", "eventTime", "label", "labelKnownAt"):
        row = {"eventTime": "2024-01-01", "firstName": "x", field: cell}
        table = pa.table({name: pa.array([value]) for name, value in row.items()})
        begun = time.thread_time()
        read_records(table, SCHEMA, labelled=False)
        assert time.thread_time() - begun < 0.5, field
