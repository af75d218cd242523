"""Proposed configurations of files whose columns have any names."""

import csv
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from scoring_model.configuration import ConfigurationError, load_configuration
from scoring_model.configuration.proposal import propose
from scoring_model.configuration.proposal.text import proposal_text
from scoring_model.records.reading import read_records

names = st.text(st.characters(codec="utf-8", exclude_characters="\r\x00"), min_size=1, max_size=12).filter(
    str.strip
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(names, min_size=2, max_size=5, unique_by=lambda name: name.strip().casefold()))
@example(["2024", "no", "on", "null"])
@example(["0", "BIRTHDATE"])
@example(["~", ".nan", "1e5", "Yes"])
@example(["né le", "label"])
@example(["a: b", "x #y", "\x85", "\u2028", "\x7f", '\U000e0000"\\'])
def test_columns_of_any_name_are_configured_and_read(tmp_path: Path, columns: list[str]) -> None:
    """Every column that a proposal uses is read by the configuration, whatever YAML makes of its name."""
    path, config = tmp_path / "in.csv", tmp_path / "use.yaml"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["created at", "first name", *columns])
        for row in range(60):
            values = [f"{place}{'xyz'[row % 3]}" for place in range(len(columns))]
            writer.writerow([f"2024-01-01T00:00:{row:02}Z", f"Ana{row % 7}", *values])
    found = propose(path)
    config.write_text(proposal_text(found, name="use", source=path.name), encoding="utf-8")
    configuration = load_configuration(config)
    assert configuration.records.columns == found.columns
    assert list(configuration.signals) == [signal.name for signal in found.signals]
    reading = read_records(path, configuration.schema, labelled=False)
    assert not reading.violations
    for signal in found.signals:
        assert len(reading.table.column(f"signals.{signal.name}").values) == 3


def test_one_zone_is_asked_for_and_holds_for_times_and_hours(tmp_path: Path) -> None:
    """Without a zone one decision names the option; with it records and features have that zone."""
    path, config = tmp_path / "in.csv", tmp_path / "use.yaml"
    lines = [f"2024-07-01 00:00:{row:02},Ana{row % 7},{row % 2}" for row in range(60)]
    path.write_text("\n".join(["created at,first name,label", *lines]))
    assert sum("zone" in decision for decision in propose(path).decisions) == 1
    found = propose(path, timezone="Europe/Berlin")
    assert not any("zone" in decision for decision in found.decisions)
    config.write_text(proposal_text(found, name="use", source=path.name))
    configuration = load_configuration(config)
    assert configuration.records.format.timezone == configuration.features.time_zone == "Europe/Berlin"


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        ("records: {columns: {recordId: 2024}}", "/records/columns/recordId"),
        ("records: {columns: {eventTime: null}}", "/records/columns/eventTime"),
        ("signals: {no: {type: number}}", "/signals/False"),
        ("links: {keys: {2024: [dob]}}", "/links/keys/2024"),
        (
            "records: {format: {values: {documentType: {on: PASSPORT}}}}",
            "/records/format/values/documentType/True",
        ),
    ],
)
def test_what_yaml_does_not_read_as_text_is_named(tmp_path: Path, text: str, pointer: str) -> None:
    """Keys and names of columns that are numbers, truths or nothing are an error that says to quote them."""
    config = tmp_path / "use.yaml"
    config.write_text(f"name: use\n{text}\n")
    with pytest.raises(ConfigurationError, match="must be text: put quotes around") as caught:
        load_configuration(config)
    assert [found.pointer for found in caught.value.violations] == [pointer]
