"""Times whose day and time of day stand in two columns."""

import json
from collections.abc import Callable
from datetime import datetime, time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scoring_model.batch.scan import read_sheets, scan_file
from scoring_model.configuration import ConfigurationError, load_configuration
from scoring_model.contract.rules import SignalType
from scoring_model.evaluation.labels import read_labels
from scoring_model.records import InvalidRecord, RecordSchema
from scoring_model.records.clocks import time_of_day
from scoring_model.records.layout import MissingColumns
from scoring_model.records.reading import read_part, read_record, read_records
from scoring_model.records.schema import LabelSchema
from scoring_model.records.stored import StoredFile
from scoring_model.records.times import DAY, microseconds

SCHEMA = RecordSchema(
    columns={"recordId": "Nr", "eventTime": "Datum", "label": "Betrug"},
    clocks={"eventTime": "Uhrzeit"},
    signals={"device": SignalType.IDENTIFIER},
    labels=LabelSchema(fraud=("ja",), genuine=("nein",), delay=3 * DAY),
)
MOMENTS = [datetime(2024, 1, 1 + day, 9 + day % 12, day) for day in range(30)]
TIMES = [microseconds(f"{moment:%Y-%m-%dT%H:%M:00Z}") for moment in MOMENTS]


def table(day: str = "%d.%m.%Y", clock: str = "%H:%M") -> pd.DataFrame:
    """Thirty records, one a day."""
    return pd.DataFrame(
        {
            "Nr": [f"n{place}" for place in range(30)],
            "Datum": [f"{moment:{day}}" for moment in MOMENTS],
            "Uhrzeit": [f"{moment:{clock}}" for moment in MOMENTS],
            "device": "d",
            "Betrug": "nein",
        }
    )


def typed() -> pd.DataFrame:
    """The same with the types of pandas and Python."""
    return table().assign(
        Datum=pd.to_datetime([moment.date() for moment in MOMENTS]),
        Uhrzeit=pd.Series([time(moment.hour, moment.minute) for moment in MOMENTS], dtype=object),
    )


def as_json(path: Path) -> Path:
    """JSON Lines."""
    path.write_text("\n".join(map(json.dumps, table().to_dict("records"))))
    return path


def as_csv(path: Path) -> Path:
    """Semicolons."""
    table().to_csv(path, index=False, sep=";")
    return path


def as_parquet(path: Path) -> Path:
    """Texts in three row groups."""
    table().to_parquet(path, row_group_size=11)
    return path


def typed_parquet(path: Path) -> Path:
    """Types of days and of times of day."""
    typed().to_parquet(path)
    return path


@pytest.mark.parametrize("day", ["%d.%m.%Y", "%Y-%m-%d", "%Y%m%d", "%d.%m.%Y 00:00:00"])
@pytest.mark.parametrize(
    "clock", ["%H:%M", "%H:%M:%S", "%I:%M %p", "%H.%M", "%Hh%M", "%H%M", "1899-12-30 %H:%M:%S"]
)
def test_day_and_time_of_day_make_one_time(day: str, clock: str) -> None:
    """In a frame and in a single row, however either is written; the two columns are used."""
    reading = read_records(table(day, clock), SCHEMA, labelled=True)
    assert (reading.violations, reading.unused_columns) == ((), ())
    np.testing.assert_array_equal(reading.table.event_times, TIMES)
    if day.startswith("%d.%m."):  # a point says that the day comes first
        row = {str(name): cell for name, cell in table(day, clock).iloc[20].items()}
        assert read_record(row, SCHEMA).event_time == TIMES[20]


def test_types_of_days_and_of_times_of_day_are_read() -> None:
    """A date and a time of Python need no format."""
    np.testing.assert_array_equal(read_records(typed(), SCHEMA, labelled=True).table.event_times, TIMES)


@pytest.mark.parametrize(
    ("name", "write"),
    [("a.csv", as_csv), ("a.jsonl", as_json), ("a.parquet", as_parquet), ("b.parquet", typed_parquet)],
)
def test_files_read_whole_or_in_parts_agree(name: str, write: Callable[[Path], Path], tmp_path: Path) -> None:
    """Both columns reach every part of a file, and its format is guessed from the joined texts."""
    path = write(tmp_path / name)
    np.testing.assert_array_equal(read_records(path, SCHEMA, labelled=True).table.event_times, TIMES)
    scanned = scan_file(StoredFile(str(path)), SCHEMA, part_rows=7)
    parts = [
        read_part(sheet, SCHEMA, dates=scanned.dates, has_ids=True)
        for unit in scanned.units
        for sheet in read_sheets(scanned, unit, SCHEMA, part_rows=7)
    ]
    np.testing.assert_array_equal(np.concatenate([part.table.event_times for part in parts]), TIMES)


def test_a_missing_time_of_day_refuses_its_row_and_says_so() -> None:
    """Midnight would be invented; a cell that is no time of day makes no time, and one without a day is missing."""
    given = table()
    given.loc[[3, 4], "Uhrzeit"] = [None, "25:00"]
    given.loc[5, "Datum"] = None
    reading = read_records(given, SCHEMA, labelled=True)
    assert [(row, one.code) for row, one in reading.violations] == [
        (3, "missing"),
        (4, "not_a_time"),
        (5, "missing"),
    ]
    assert reading.violations[0].violation.detail == "must have a time of day in the column 'Uhrzeit'"
    with pytest.raises(InvalidRecord, match="must have a time of day"):
        read_record({"Datum": "31.01.2024", "device": "d"}, SCHEMA)
    with pytest.raises(
        MissingColumns, match=r"'Uhrzeit' .to which columns maps eventTime. is not in the source"
    ):
        read_records(given.drop(columns="Uhrzeit"), SCHEMA, labelled=True)


def test_files_of_labels_join_the_same_columns() -> None:
    """The time at which a label became known may have two columns as well."""
    schema = RecordSchema(
        columns={"recordId": "Nr", "label": "Betrug", "labelKnownAt": "Datum"},
        clocks={"labelKnownAt": "Uhrzeit"},
        labels=SCHEMA.labels,
    )
    np.testing.assert_array_equal(read_labels(table("%Y-%m-%d"), schema).known, TIMES)


def test_only_a_time_has_two_columns(tmp_path: Path) -> None:
    """A configuration names both in a list, and every other list is refused."""
    path = tmp_path / "use.yaml"
    text = "name: use\nsignals: {{device: {{type: identifier}}}}\nrecords: {{columns: {{{0}}}}}"
    path.write_text(text.format("eventTime: [Datum, Uhrzeit]"))
    assert load_configuration(path).schema.clocks == {"eventTime": "Uhrzeit"}
    for given, message in (
        ("eventTime: [Datum]", "must name two columns"),
        ("eventTime: 7", "must be text: put quotes around"),
        ("label: [a, b]", "only a time has two columns"),
        ("eventTime: [Datum, Datum]", "2 fields are read from column 'Datum'"),
    ):
        path.write_text(text.format(given))
        with pytest.raises(ConfigurationError, match=message):
            load_configuration(path)


def test_what_is_no_time_of_day_is_none() -> None:
    """Hours, minutes and seconds have their ranges, and clocks of two halves no hour above 12."""
    assert [time_of_day(cell) for cell in ("24:00", "10:60", "13:00 pm", "12", "0:00 am", None)] == [
        *(None, None, None, None, "00:00:00", None),
    ]
