import pytest

from scoring_model.contract.rules import SignalType
from scoring_model.records.schema import LabelSchema, RecordSchema


def test_a_field_is_read_from_its_own_name_unless_mapped() -> None:
    """The mapping of columns changes the fields that it names and no other."""
    schema = RecordSchema(columns={"dob": "birthday"}, signals={"device": SignalType.IDENTIFIER})
    assert schema.column_of("dob") == "birthday"
    assert schema.column_of("signals.device") == "signals.device"
    assert schema.fields[-1] == "signals.device"


def test_all_mistakes_of_a_mapping_are_reported_at_once() -> None:
    """An unknown field and a column that serves twice are both in the one error."""
    with pytest.raises(ValueError, match=r"columns.name: unknown field.*2 fields are read from column 'dob'"):
        RecordSchema(columns={"name": "x", "firstName": "dob"})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fraud": ()}, "fraud: must have a value"),
        ({"fraud": ("Bad",), "genuine": ("bad",)}, "'bad' is both"),
        ({"delay": -1}, "delay: must be"),
        ({"delay": 10**18}, "delay: must be"),
    ],
)
def test_labels_that_contradict_themselves_are_refused(arguments: dict[str, object], message: str) -> None:
    """No value means two things, whatever its case, and a delay is between nothing and a century."""
    with pytest.raises(ValueError, match=message):
        LabelSchema(**arguments)  # type: ignore[arg-type]
