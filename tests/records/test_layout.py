from collections.abc import Collection
from dataclasses import replace

import pytest

from scoring_model.contract.rules import SignalType
from scoring_model.records.file_format import FileFormat
from scoring_model.records.layout import MissingColumns, check_layout, schema_of, unused_columns
from scoring_model.records.schema import LabelSchema, RecordSchema

SCHEMA = RecordSchema(
    columns={"dob": "birthday", "label": "verdict"}, signals={"device": SignalType.IDENTIFIER}
)
ENOUGH = ["eventTime", "birthday"]


OWN = RecordSchema(
    columns={"eventTime": "Eingang", "lastName": "Name", "label": "Betrug", "signals.device": "device"},
    signals={"device": SignalType.IDENTIFIER, "age": SignalType.NUMBER},
    labels=LabelSchema(fraud=("ja",), genuine=("nein",), delay=7),
    format=FileFormat(
        separator=";",
        encoding="cp1252",
        decimal=",",
        nulls=("k.A.",),
        dates=("%d.%m.%Y",),
        timezone="Europe/Berlin",
        values={"documentType": {"Reisepass": "PASSPORT"}},
    ),
)
"""A company's own names, but for those of signals, and its own spellings."""


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


@pytest.mark.parametrize(
    ("columns", "own"),
    [
        ("Eingang Name Betrug device", True),
        ("Eingang Name", True),  # new records have no labels
        ("Eingang Name label", True),
        ("Eingang lastName", True),  # a mapped column is missing: its error says so
        ("Name Betrug", True),
        ("eventTime lastName label signals.device", False),
        ("eventTime lastName device", False),
        ("eventTime", False),
        ("eventTime lastName Betrug", True),
        ("", True),
    ],
)
def test_columns_tell_whose_names_a_file_has(columns: str, own: bool) -> None:
    """All mapped columns: the mapping; none and eventTime: the contract, if the file does not say so itself."""
    held = columns.split()
    assert schema_of(held, OWN) == (OWN if own else OWN.contract)
    assert schema_of(held, OWN, marked=True) == (OWN.contract if "eventTime" in held else OWN)


def test_names_of_the_contract_come_with_its_spellings() -> None:
    """Words, marks, formats and zone of the mapping are off; what the file is as CSV, and the delay, stay."""
    expected = RecordSchema(
        signals=OWN.signals,
        labels=LabelSchema(delay=7),
        format=FileFormat(separator=";", encoding="cp1252"),
    )
    assert OWN.contract == expected


def test_a_file_with_both_names_is_refused_unless_told() -> None:
    """Nothing is read as what it may not be."""
    both = ["Eingang", "Name", "eventTime"]
    with pytest.raises(
        MissingColumns, match=r"'Eingang', 'Name' .* 'eventTime': say .* --names own or --names contract"
    ):
        schema_of(both, OWN)
    assert schema_of(both, replace(OWN, names="own")).columns == OWN.columns
    assert schema_of(both, replace(OWN, names="contract")).columns == {}


def test_a_mapping_that_leaves_the_time_as_it_is_tells_too() -> None:
    """Then another mapped field shows the contract; a signal's bare name tells only if nothing else is mapped."""
    named = RecordSchema(columns={"lastName": "Name", "dob": "born"})
    assert schema_of(["eventTime", "Name", "born", "lastName"], named) is named
    assert schema_of(["eventTime", "lastName"], named) == named.contract
    assert schema_of(["eventTime", "city"], named) is named
    with pytest.raises(MissingColumns, match="say which count"):
        schema_of(["eventTime", "Name", "born", "lastName", "dob"], named)
    bare = RecordSchema(columns={"signals.age": "age"}, signals={"age": SignalType.NUMBER})
    assert schema_of(["eventTime", "age"], bare) is bare
    assert schema_of(["eventTime", "signals.age"], bare) == bare.contract
    labels = RecordSchema(columns={"label": "Betrug"})
    assert schema_of(["eventTime", "dob"], labels) is labels
    assert schema_of(["eventTime", "dob", "label"], labels) == labels.contract
