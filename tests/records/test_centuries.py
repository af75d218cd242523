"""Dates of birth whose years have two digits, and columns of several formats."""

import csv
from datetime import date
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from program import Captured, run
from scoring_model.configuration.proposal import propose
from scoring_model.records import FileFormat, RecordSchema
from scoring_model.records.dates import guess_dates
from scoring_model.records.reading import read_records

SCHEMA = RecordSchema(format=FileFormat(dates=("%d.%m.%y", "%d.%m.%Y")))
pairs = st.tuples(
    st.dates(date(1930, 1, 1), date(2029, 12, 31)), st.dates(date(2000, 1, 1), date(2040, 12, 31))
)


def read(births: list[str], events: list[date]) -> list[str | None]:
    """Read dates of birth; None where a row is refused."""
    table = pa.table({"eventTime": events, "dob": births, "firstName": ["A"] * len(births)})
    found = read_records(table, SCHEMA, labelled=False).table
    column = found.column("dob")
    by_row = dict(
        zip(found.source_rows.tolist(), (column.values[code] for code in column.codes), strict=True)
    )
    return [by_row.get(row) for row in range(len(births))]


@settings(max_examples=60, deadline=None)
@given(st.lists(pairs, min_size=1, max_size=20))
def test_a_birth_is_no_later_than_the_year_of_its_event(drawn: list[tuple[date, date]]) -> None:
    """Two digits mean 1969 to 2068, a century less where that year is after the event; each row by itself."""
    births, events = zip(*drawn, strict=True)
    texts = [birth.strftime("%d.%m.%y") for birth in births]
    expected: list[str | None] = []
    for birth, event in drawn:
        year = birth.year % 100 + (1900 if birth.year % 100 >= 69 else 2000)
        year -= 100 if year > event.year else 0
        day = f"{year:04}-{birth:%m-%d}"
        expected.append(day if date.fromisoformat(day) <= event else None)
    found = read(texts, list(events))
    assert found == expected
    assert found == [read([text], [event])[0] for text, event in zip(texts, events, strict=True)]
    whole = [birth.strftime("%d.%m.%Y") for birth in births]
    assert read(whole, list(events)) == [
        birth.isoformat() if birth <= event else None for birth, event in drawn
    ]


@pytest.mark.parametrize(
    ("texts", "formats"),
    [
        (("15.03.45", "01.02.03"), ("%d.%m.%y",)),
        (("03/15/45", "04/16/99"), ("%m/%d/%y",)),
        (("15/03/45", "16/04/99"), ("%d/%m/%y",)),
        (("3/15/24 10:22", "4/16/24 09:00"), ("%m/%d/%y %H:%M",)),
        (("15/03/24", "16/04/25"), ()),
        (tuple(f"{day:02}/03/24" for day in range(1, 29)), ("%d/%m/%y",)),
        (tuple(f"24/03/{day:02}" for day in range(1, 29)), ()),
        (("45-03-15", "99-04-16"), ()),
        (("24-03-15", "25-04-16"), ()),
        (("45.03.15", "24.03.15"), ()),
        (("15 Mar 1945", "2 january 2001"), ("%d %b %Y",)),
        (("15-MAR-45",), ("%d-%b-%y",)),
        (("2. May 1999",), ("%d. %b %Y",)),
        (("March 15, 1945 10:30 PM",), ("%b %d, %Y %I:%M %p",)),
        (("1945-03-15", "15.03.1945", "15 Mar 1945", "15.03.45"), ("%d %b %Y", "%d.%m.%Y", "%d.%m.%y")),
    ],
)
def test_years_of_two_digits_and_names_of_months_are_guessed(
    texts: tuple[str, ...], formats: tuple[str, ...]
) -> None:
    """Where their order is certain; what may begin with the year is left to a person."""
    assert guess_dates(texts) == formats


def write(path: Path, formats: dict[str, float]) -> None:
    """Write 3,000 rows whose dates of birth have formats of some shares, the rare ones last."""
    draw = Random(5)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["recordId", "eventTime", "dob", "firstName", "lastName", "label"])
        row = 0
        for text, share in formats.items():
            for _ in range(round(3000 * share)):
                row += 1
                born = date.fromordinal(draw.randrange(710_000, 730_000))
                event = f"{row % 28 + 1:02}.06.2024 10:{row % 60:02}"
                writer.writerow([row, event, born.strftime(text), f"Ana{row % 50}", "B", row % 2])


def test_formats_of_one_percent_are_proposed_or_named(tmp_path: Path, capsys: Captured) -> None:
    """Three formats in one column are all found; one that cannot be guessed is named by its shape, and no value is."""
    path, out = tmp_path / "in.csv", tmp_path / "use.yaml"
    write(path, {"%Y-%m-%d": 0.85, "%d.%m.%Y": 0.07, "%d %b %Y": 0.03, "%d.%m.%y": 0.02, "%Y-%d %b": 0.03})
    found = propose(path)
    assert found.fields["dob"] == "dob"
    assert set(found.dates) == {"%d.%m.%Y", "%d %b %Y", "%d.%m.%y", "%d.%m.%Y %H:%M"}
    code, said, error = run(capsys, "init", path, "--out", out)
    assert code == 0, error
    assert "refused rows: dob not_a_date: 90 of 3000" in said
    assert "to decide: add formats to records.format.dates for dob like '9999-99 a' (90 rows)" in said
    code, _, error = run(capsys, "check", path, "--config", out)
    assert (code, "dob like '9999-99 a' (90 rows)" in error) == (1, True)


def test_days_of_no_calendar_lack_no_format(tmp_path: Path, capsys: Captured) -> None:
    """Their form is a known one."""
    path, out = tmp_path / "in.csv", tmp_path / "use.yaml"
    write(path, {"%d/%m/%Y": 0.9, "31/02/%Y": 0.1})
    code, said, error = run(capsys, "init", path, "--out", out)
    assert code == 0, error
    assert "refused rows: dob not_a_date: 300 of 3000" in said
    assert "to decide: these are no days of the calendar: dob like '99/99/9999' (300 rows)" in said
    assert "add formats" not in said
