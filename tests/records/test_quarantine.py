import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from scoring_model.contract.rules import Rule, SignalType
from scoring_model.records.file_format import FileFormat
from scoring_model.records.quarantine import TooManyBadRows, accept, write_quarantine, write_refused
from scoring_model.records.reading import Reading, read_records
from scoring_model.records.record import RowViolation, violation
from scoring_model.records.schema import RecordSchema


def rows_of(path: Path) -> list[list[str]]:
    """Read a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def with_violations(violations: Any, **fields: Any) -> Reading:
    """A reading with only violations."""
    return replace(reading_of(), violations=violations, **fields)


def reading_of(*dates: str) -> Reading:
    """Read records of these dates of birth."""
    times = ["2024-01-01"] * len(dates)
    table = pa.table({"eventTime": pa.array(times, pa.string()), "dob": pa.array(dates, pa.string())})
    return read_records(table, RecordSchema(), labelled=False)


def test_a_quarantine_file_holds_every_violation(tmp_path: Path) -> None:
    """Reading the file gives the violations back, with any characters."""
    path = tmp_path / "bad.csv"
    violations = [
        RowViolation(0, violation("address.city", Rule.NOT_A_DATE, 'must, "so"\nbe')),
        RowViolation(7, violation("", Rule.EMPTY_RECORD, "é")),
        RowViolation(8, violation("a/b~c\ud800", Rule.REPEATED_FIELD, "once")),
    ]
    write_quarantine(with_violations(violations, refused_ids={7: "=r7"}), path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert rows_of(path) == [
        ["row", "field", "rule", "detail", "recordId", "file"],
        ["0", "address.city", "not_a_date", 'must, "so"\nbe', "", ""],
        ["7", "", "empty_record", "é", "'=r7", ""],
        ["8", "a/b~c?", "repeated_field", "once", "", ""],
    ]


def test_a_field_that_is_a_formula_is_guarded(tmp_path: Path) -> None:
    """A sender's name of a field is no formula in a spreadsheet."""
    violations = [RowViolation(0, violation("=1", Rule.REPEATED_FIELD, "once"))]
    write_quarantine(with_violations(violations), tmp_path / "bad.csv")
    assert (tmp_path / "bad.csv").read_text().splitlines()[1] == "0,'=1,repeated_field,once,,"


def test_rows_of_several_files_are_named_with_their_file(tmp_path: Path) -> None:
    """A row counts within its file, and the record is named where its row has an id."""
    for name, births in {"a": ["1990-01-01", "never"], "b": ["soon", "1990-01-02"]}.items():
        lines = [f"{name}{row},2024-01-01,{birth}" for row, birth in enumerate(births)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["recordId,eventTime,dob", *lines]))
    reading = read_records(tmp_path / "?.csv", RecordSchema(), labelled=False)
    write_quarantine(reading, tmp_path / "bad")
    assert [(row[0], row[4], row[5]) for row in rows_of(tmp_path / "bad")[1:]] == [
        ("1", "a1", "a.csv"),
        ("0", "b0", "b.csv"),
    ]


def test_refused_rows_are_copied_as_they_stand(tmp_path: Path) -> None:
    """The copy has every cell, words for missing ones and torn rows included, and nobody else may read it."""
    source = tmp_path / "a.csv"
    source.write_bytes("recordId;eventTime;dob;x\n1;2024-01-01;NULL;é\n2;never;NULL;\n3;x\n".encode("cp1252"))
    form = FileFormat(nulls=("NULL",))
    signals = {"x": SignalType.CATEGORY}
    reading = read_records(source, RecordSchema(format=form, signals=signals), labelled=False)
    write_refused([source], reading, form, tmp_path / "bad.csv")
    assert rows_of(tmp_path / "bad.csv") == [
        ["row", "recordId", "eventTime", "dob", "unreadable"],
        ["1", "2", "never", "NULL", ""],
        ["2", "", "", "", "3;x"],
    ]
    assert (tmp_path / "bad.csv").stat().st_mode & 0o777 == 0o600


def test_a_quarantine_file_is_whole_or_not_there(tmp_path: Path) -> None:
    """An error while writing leaves no file behind."""

    def broken() -> object:
        yield RowViolation(0, violation("dob", Rule.NOT_A_DATE, ""))
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_quarantine(with_violations(broken()), tmp_path / "bad.csv")
    assert not list(tmp_path.iterdir())


def test_the_share_of_refused_rows_decides() -> None:
    """The limit itself is accepted; a row counts once, however many rules it breaks."""
    reading = reading_of("1990-01-01", "1990-01-02", "never", "2030-01-01")
    accept(reading, max_share=0.5)
    with pytest.raises(TooManyBadRows, match=r"50\.00% .* at most 49\.00%") as caught:
        accept(reading, max_share=0.49)
    assert (caught.value.share, caught.value.limit) == (0.5, 0.49)
    assert caught.value.counts == {("dob", Rule.NOT_A_DATE): 1, ("dob", Rule.IN_FUTURE): 1}


def test_nothing_refused_is_always_accepted() -> None:
    """An empty source and a clean one pass a limit of zero; one bad row does not."""
    accept(reading_of(), max_share=0)
    accept(reading_of("1990-01-01"), max_share=0)
    with pytest.raises(TooManyBadRows):
        accept(reading_of("1990-01-01", "never"), max_share=0)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_is_between_nothing_and_all(share: float) -> None:
    """Percentages and NaN are no shares."""
    with pytest.raises(ValueError, match="0 <= max_share <= 1"):
        accept(reading_of("1990-01-01"), max_share=share)


def test_another_decimal_mark_is_named() -> None:
    """Each such row says its form, and the refusal which setting it is about."""
    sums = pa.array(["1.049,90", "749,5", "1,049.90", "749.5", "749.5"])
    table = pa.table({"eventTime": ["2024-01-01"] * 5, "signals.sum": sums})
    schema = RecordSchema(signals={"sum": SignalType.NUMBER}, format=FileFormat(decimal=","))
    reading = read_records(table, schema, labelled=False)
    details = [found.detail for _, found in reading.violations]
    assert details[0] == "must be a number with a decimal comma, got the form 9,999.99"
    with pytest.raises(
        TooManyBadRows, match=r"; check records\.format\.decimal for signals\.sum like '999\.9' \(2 rows"
    ):
        accept(reading, max_share=0.1)
