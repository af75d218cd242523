from collections.abc import Collection

import pytest

from scoring_model.contract.rules import SignalType
from scoring_model.records.layout import MissingColumns, check_layout, unused_columns
from scoring_model.records.schema import LabelSchema, RecordSchema

SCHEMA = RecordSchema(
    columns={"dob": "birthday", "label": "verdict"}, signals={"device": SignalType.IDENTIFIER}
)
ENOUGH = ["eventTime", "birthday"]


def found(
    columns: Collection[str], schema: RecordSchema = SCHEMA, *, labelled: bool = False
) -> tuple[str, ...]:
    """List the problems of columns."""
    try:
        check_layout(columns, schema, labelled=labelled)
    except MissingColumns as error:
        return error.problems
    return ()


def test_an_event_time_and_one_value_are_enough() -> None:
    """Unmapped columns may be missing, and label columns too if labels are not required."""
    assert found(ENOUGH) == ()
    assert found(["eventTime", "signals.device"], RecordSchema(signals=SCHEMA.signals)) == ()


def test_labels_need_their_column_and_a_time() -> None:
    """If labels are required, the source must contain them and their known times, unless the schema sets these."""
    assert found(ENOUGH, labelled=True) == (
        "the column 'verdict' (to which columns maps label) is not in the source",
        "the column 'labelKnownAt' is not in the source, nor is a label delay set",
    )
    delayed = RecordSchema(labels=LabelSchema(delay=0))
    assert found(["eventTime", "dob", "label"], delayed, labelled=True) == ()


def test_everything_that_is_missing_is_named_at_once() -> None:
    """Event time, mapped columns and the lack of any value come in one error, with what is nearly there."""
    assert found(["birthdays", "externalId"]) == (
        "the column 'eventTime' is not in the source",
        "the column 'birthday' (to which columns maps dob) is not in the source, which has 'birthdays'",
        "no column holds an identity field or a configured signal",
    )


@pytest.mark.parametrize("name", ["firstname", "FIRSTNAME", " firstName", "Birthday"])
def test_a_column_that_is_nearly_read_is_refused(name: str) -> None:
    """Case and outer blanks alone never make a column vanish, be the right one there too or not."""
    for columns in ([*ENOUGH, name], [*ENOUGH, "firstName", name]):
        (problem,) = found(columns)
        assert repr(name) in problem


def test_names_that_differ_by_case_alone_may_be_mapped() -> None:
    """Columns whose names differ only by case are accepted if both are mapped, and refused if one is."""
    columns = ["eventTime", "NAME", "name"]
    assert found(columns, RecordSchema(columns={"firstName": "NAME", "lastName": "name"})) == ()
    (problem,) = found(columns, RecordSchema(columns={"firstName": "NAME"}))
    assert "'name'" in problem


def test_columns_that_hold_no_field_are_listed_in_order() -> None:
    """Columns replaced by a mapping and unknown columns are unused."""
    assert unused_columns(["z", "dob", "birthday", "signals.x", "eventTime"], SCHEMA) == (
        "z",
        "dob",
        "signals.x",
    )
