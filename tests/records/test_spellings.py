"""How files and frames spell what they hold: one meaning, whatever the source."""

import csv
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scoring_model.contract.rules import Rule, SignalType
from scoring_model.records import FileFormat, LabelSchema, RecordSchema
from scoring_model.records.reading import Reading, read_record, read_records

GAPS = ("NULL", "k.A.", "01.01.1900")
FORMAT = FileFormat(
    decimal=",",
    nulls=GAPS,
    dates=("%d.%m.%Y %H:%M", "%d.%m.%Y"),
    timezone="Europe/Berlin",
    values={
        "documentType": {"Reisepass": "PASSPORT"},
        "signals.vip": {"S": True, "P": False, "1": False},
        "signals.channel": {"Netz": "web"},
    },
)
SCHEMA = RecordSchema(
    columns={"eventTime": "Zeit", "firstName": "Vorname"},
    signals={
        "vip": SignalType.BOOLEAN,
        "channel": SignalType.CATEGORY,
        "amount": SignalType.NUMBER,
        "device": SignalType.IDENTIFIER,
    },
    labels=LabelSchema(fraud=("ja",), genuine=("nein",), delay=0),
    format=FORMAT,
)
COLUMNS = {
    "recordId": ("a", "b", "c", "d"),
    "Zeit": ("05.06.2024 07:08", "31.10.2024", "2024-10-27T02:30:00", "2024-01-01T00:00:00Z", "gestern"),
    "dob": ("09.11.1989", "1989-11-09", "31.02.1990", "9.1.2001"),
    "Vorname": ("Ana", "Zoë", "NA", "null"),
    "documentType": ("Reisepass", "reisepass ", "PASSPORT", "Pass"),
    "citizenship": ("DE", "Germany", "fra", "Narnia"),
    "imageUrls": ("https://a.example/1.jpg https://a.example/2.jpg", '["https://a.example/1.jpg"]', "-"),
    "signals.vip": ("J", "nein", "oui", "S", "p", "1", "0", "true", "vielleicht"),
    "signals.channel": ("Netz", "web", "NETZ"),
    "signals.amount": ("1.234,5", "7", "-0,5", "1e3", "viel"),
    "signals.device": ("007", "x"),
    "label": ("ja", "Nein", "offen"),
}
rows = st.lists(
    st.fixed_dictionaries(
        {name: st.sampled_from((*words, *GAPS, "", " ", None)) for name, words in COLUMNS.items()}
    ),
    min_size=1,
    max_size=8,
)


def found(reading: Reading) -> tuple[object, ...]:
    """Give what a reading holds, without the names of the source."""
    return reading.table, reading.violations, reading.rows, dict(reading.refused_ids)


@given(rows)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_frame_is_read_as_the_file_of_its_texts(tmp_path: Path, drawn: list[dict[str, str | None]]) -> None:
    """Missing values, words, dates and zones mean the same in CSV, Parquet, JSON Lines and frames of any library."""
    path = tmp_path / "a.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(COLUMNS))
        writer.writeheader()
        writer.writerows(drawn)
    expected = found(read_records(path, SCHEMA, labelled=False))
    table = pa.table({name: pa.array([row[name] for row in drawn], pa.string()) for name in COLUMNS})
    coded = pa.table({name: table.column(name).dictionary_encode() for name in COLUMNS})
    objects = pd.DataFrame(drawn, columns=list(COLUMNS), dtype=object)
    polars = pl.DataFrame(drawn, schema=dict.fromkeys(COLUMNS, pl.String))
    lines = tmp_path / "a.jsonl"
    objects.to_json(lines, orient="records", lines=True)
    for source in (table, coded, objects, objects.astype("str"), table.to_pandas(), polars, lines):
        assert found(read_records(source, SCHEMA, labelled=False)) == expected


WORDS = [
    ("J", "N"),
    ("ja", "Nein"),
    ("Oui", "non"),
    ("Y", "n"),
    ("yes", "NO"),
    ("si", "no"),
    ("sì", "no"),
    ("Sí", "no"),
]
WORDS += [("taip", "ne"), ("是", "否"), ("예", "아니오"), ("نعم", "لا")]
WORDS += [("sim", "não"), ("tak", "nie"), ("1", "0"), (" true ", "False"), ("t", "f"), ("on", "off")]


@pytest.mark.parametrize("words", WORDS)
def test_words_of_many_languages_are_booleans(words: tuple[str, str]) -> None:
    """A boolean signal takes the usual pairs of words, in any case."""
    schema = RecordSchema(signals={"vip": SignalType.BOOLEAN})
    read = [
        read_record({"eventTime": "2024-01-01", "firstName": "A", "signals.vip": word}, schema).values
        for word in words
    ]
    assert [values["signals.vip"] for values in read] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("word", "expected"), [("0", 1.0), (0, 1.0), ("Aktiv", 1.0), (" gesperrt", 0.0), ("ja", 1.0)]
)
def test_own_words_of_a_boolean_come_first(word: object, expected: float) -> None:
    """`values` maps words and numbers to true and false; all other words keep their meaning."""
    words: dict[str, str | bool] = {"0": True, "aktiv": "true", "gesperrt": False}
    schema = RecordSchema(
        signals={"vip": SignalType.BOOLEAN}, format=FileFormat(values={"signals.vip": words})
    )
    row = {"eventTime": "2024-01-01", "firstName": "A", "signals.vip": word}
    assert read_record(row, schema).values["signals.vip"] == expected


def test_other_words_are_no_boolean() -> None:
    """A word without a meaning is refused."""
    schema = RecordSchema(signals={"vip": SignalType.BOOLEAN})
    table = pa.table({"eventTime": ["2024-01-01"], "firstName": ["A"], "signals.vip": ["maybe"]})
    (refused,) = read_records(table, schema, labelled=False).violations
    assert (refused.violation.field, refused.violation.code) == ("signals.vip", Rule.WRONG_TYPE)
