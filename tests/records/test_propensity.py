"""The column `propensity` of a file of records."""

import numpy as np
import pandas
import pytest

from scoring_model.contract.rules import SignalType
from scoring_model.records import RecordSchema, RecordTable
from scoring_model.records.file_format import FileFormat
from scoring_model.records.observation import observed
from scoring_model.records.reading import read_records
from scoring_model.records.table import digest

SCHEMA = RecordSchema()


def read(cells: list[object] | None, schema: RecordSchema = SCHEMA) -> RecordTable:
    """Read three records with these cells; None: without the column."""
    columns: dict[str, list[object]] = {
        "eventTime": ["2026-01-01T00:00:00Z"] * 3,
        "firstName": ["a", "b", "c"],
        **({} if cells is None else {"propensity": cells}),
    }
    reading = read_records(pandas.DataFrame(columns), schema, labelled=False)
    assert not reading.violations
    return reading.table


def test_propensities_are_read_and_stay_with_their_records() -> None:
    """Also through a choice of rows and beside records that have none."""
    table = read([1.0, None, "0.02"])
    both = table.take(np.array([2, 1])).append(read(None))
    assert both.propensities is not None
    assert both.propensities.tolist()[0] == 0.02
    assert observed(both, 0).tolist() == [True, False, False, False, False]
    assert digest(table) != digest(read(None))


def test_propensities_have_the_decimal_mark_of_the_file() -> None:
    """As signals have; a file with decimal commas has no other numbers."""
    commas = RecordSchema(format=FileFormat(decimal=","))
    found = read(["1", None, "0,05"], commas).propensities
    assert found is not None
    np.testing.assert_array_equal(found, [1.0, np.nan, 0.05])


def test_a_column_without_values_is_none() -> None:
    """An export of a service without a control group is read like a file without the column."""
    assert read([None, None, None]).propensities is None
    assert read([None, None, None]) == read(None)
    assert digest(read([None, None, None])) == digest(read(None))


@pytest.mark.parametrize("cell", [0, -0.5, 1.01, "often"])
def test_other_values_are_refused(cell: object) -> None:
    """A probability above 0; the row and the field are named."""
    frame = pandas.DataFrame(
        {"eventTime": ["2026-01-01T00:00:00Z"], "firstName": ["a"], "propensity": [cell]}
    )
    (found,) = read_records(frame, SCHEMA, labelled=False).violations
    assert (found.row, found.violation.pointer) == (0, "/propensity")


def test_a_signal_of_this_name_stays_one() -> None:
    """A use whose provider calls a signal so reads its column as before, whatever its values."""
    table = read([37.0, 2.0, -1.0], RecordSchema(signals={"propensity": SignalType.NUMBER}))
    assert table.propensities is None
    assert list(table.column("signals.propensity").values) == [37.0, 2.0, -1.0]
    mapped = RecordSchema(signals={"liking": SignalType.NUMBER}, columns={"signals.liking": "propensity"})
    assert read([37.0, 2.0, -1.0], mapped).propensities is None


def test_propensities_of_1_alone_are_of_no_control_group() -> None:
    """As where one applicant passed by a list of a service: all others are observed as their outcomes say."""
    cells: list[object] = [1.0, None, None]
    assert read(cells).propensities is None
    assert observed(read(cells), 0).tolist() == [True, False, False]
    decided = pandas.DataFrame(
        {
            "eventTime": ["2026-01-01T00:00:00Z"] * 3,
            "firstName": ["a", "b", "c"],
            "propensity": cells,
            "decision": ["PASSED", "PASSED", "FAILED"],
        }
    )
    schema = RecordSchema(columns={"outcome": "decision"})
    found = read_records(decided, schema, labelled=False).table
    assert found.propensities is None
    assert observed(found, 0).tolist() == [True, True, False]
