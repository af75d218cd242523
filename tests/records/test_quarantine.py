import csv
from pathlib import Path

import pyarrow as pa
import pytest

from scoring_model.contract.rules import Rule
from scoring_model.records.quarantine import TooManyBadRows, accept, write_quarantine
from scoring_model.records.reading import Reading, read_records
from scoring_model.records.record import RowViolation, violation
from scoring_model.records.schema import RecordSchema


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
    write_quarantine(violations, path)
    with path.open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [
            ["row", "field", "rule", "detail"],
            ["0", "address.city", "not_a_date", 'must, "so"\nbe'],
            ["7", "", "empty_record", "é"],
            ["8", "a/b~c?", "repeated_field", "once"],
        ]


def test_a_field_that_is_a_formula_is_guarded(tmp_path: Path) -> None:
    """A sender's name of a field is no formula in a spreadsheet."""
    write_quarantine([RowViolation(0, violation("=1", Rule.REPEATED_FIELD, "once"))], tmp_path / "bad.csv")
    assert (tmp_path / "bad.csv").read_text().splitlines()[1] == "0,'=1,repeated_field,once"


def test_a_quarantine_file_is_whole_or_not_there(tmp_path: Path) -> None:
    """An error while writing leaves no file behind."""

    def broken() -> object:
        yield RowViolation(0, violation("dob", Rule.NOT_A_DATE, ""))
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_quarantine(broken(), tmp_path / "bad.csv")  # type: ignore[arg-type]
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
    """An empty source and a clean one pass a limit of zero."""
    accept(reading_of(), max_share=0)
    accept(reading_of("1990-01-01"), max_share=0)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_is_between_nothing_and_all(share: float) -> None:
    """Percentages and NaN are no shares."""
    with pytest.raises(ValueError, match="0 <= max_share <= 1"):
        accept(reading_of("1990-01-01"), max_share=share)
