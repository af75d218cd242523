from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.contract.rules import RuleError
from scoring_model.records import cells
from scoring_model.records.dates import DateFormat, date_reader, guess_dates

FORMATS = (
    "%d.%m.%Y %H:%M:%S",
    "%m/%d/%Y %I:%M:%S %p",
    "%Y%m%d%H%M%S",
    "%d %b %Y %H.%M:%S",
    "%S %M %H %y-%m-%d",
)


@pytest.mark.parametrize("text", FORMATS)
@given(st.datetimes(datetime(1970, 1, 1), datetime(2068, 12, 31)))
def test_formats_mean_what_they_mean_in_the_standard_library(text: str, moment: datetime) -> None:
    """Reading accepts the output of `strftime`."""
    whole = moment.replace(microsecond=0)
    assert DateFormat(text).read(whole.strftime(text)) == whole


def test_zones_and_fractions_are_read() -> None:
    """An offset is kept, and a fraction is rounded down to microseconds."""
    read = DateFormat("%Y/%m/%d %H:%M:%S.%f%z").read
    assert read("2024/02/29 01:00:00.1234569+01:30") == datetime(2024, 2, 28, 23, 30, 0, 123456, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "value", "moment"),
    [
        ("%d.%m.%Y %I %p", "1.1.2024 12 AM", datetime(2024, 1, 1, 0)),
        ("%d.%m.%Y %I %p", "1.1.2024 12 pm", datetime(2024, 1, 1, 12)),
        ("%d.%m.%Y %I %p", "1.1.2024 12 a. m.", datetime(2024, 1, 1, 0)),
        ("%d.%m.%Y %I %p", "1.1.2024 1 p.m.", datetime(2024, 1, 1, 13)),
        ("%d.%m.%Y %I %p", "1.1.2024 0 AM", None),
        ("%d.%m.%Y %I %p", "1.1.2024 13 PM", None),
        ("%d.%m.%Y %H%z", "1.1.2024 10Z", datetime(2024, 1, 1, 10, tzinfo=UTC)),
        ("%d.%m.%Y %H%z", "1.1.2024 10-02:00", datetime(2024, 1, 1, 12, tzinfo=UTC)),
    ],
)
def test_hours_of_twelve_and_zones(text: str, value: str, moment: datetime | None) -> None:
    """12-hour clocks have no hour 0 or 13, and Z is UTC."""
    assert DateFormat(text).read(value) == moment


@pytest.mark.parametrize("value", ["1700000000,5", "now", "1e9"])
def test_counts_since_1970_are_numbers(value: str) -> None:
    """Other texts give no instant."""
    assert DateFormat("unix").read(value) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [("unix", "1700000000.5"), ("unix_ms", "1700000000500"), ("unix_ns", "1700000000500000000")],
)
def test_counts_since_1970_have_fractions(text: str, value: str) -> None:
    """Half a second, in every unit."""
    assert DateFormat(text).read(value) == datetime(2023, 11, 14, 22, 13, 20, 500_000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("45291,5", datetime(2023, 12, 31, 12)),
        ("2", datetime(1900, 1, 1)),
        ("45291.00001", datetime(2023, 12, 31, 0, 0, 1)),
    ],
)
def test_spreadsheets_number_days(value: str, moment: datetime) -> None:
    """From 1899-12-30, with a fraction that is rounded to seconds; the time has no zone."""
    assert DateFormat("excel").read(value) == moment


@pytest.mark.parametrize(
    ("text", "value"),
    [("unix", "1700000000"), ("unix_ms", "1700000000000"), ("unix_us", "1700000000000000.0")],
)
def test_counts_since_1970_are_read(text: str, value: str) -> None:
    """Seconds, milliseconds and microseconds are instants of UTC."""
    assert DateFormat(text).read(value) == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    "value", ["31.02.2024", "1.13.2024", "1.1.24", "1.1.2024 ", "١.1.2024", "", "1.1.2024 10:00"]
)
def test_other_texts_are_not_read(value: str) -> None:
    """Invalid days, other forms and digits of other scripts give no date."""
    assert DateFormat("%d.%m.%Y").read(value) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("%d.%m", "year"),
        ("%Y-%j", "day"),
        ("%d.%m.%Y %y", "year"),
        ("%d.%m.%Y %H %H", "repeated"),
        ("%d.%m.%Y %A", "%A is unknown"),
    ],
)
def test_formats_that_mean_no_day_are_refused(text: str, words: str) -> None:
    """A format needs year, month and day once each, and known directives."""
    with pytest.raises(ValueError, match=words):
        DateFormat(text)


def test_a_day_that_no_month_has_is_called_so() -> None:
    """The form of the text is that of the file, so that no error asks for another one."""
    for cell, text in (
        (cells.date(("%d-%m-%Y",)), "31-02-1990"),
        (cells.moment(("%d/%m/%Y %H:%M",)), "31/02/2024 10:00"),
    ):
        with pytest.raises(RuleError, match="must be a day of the calendar"):
            cell(text)


def test_the_first_format_that_fits_is_taken() -> None:
    """Formats are tried in order, which resolves ambiguous texts."""
    assert date_reader(("%d/%m/%Y", "%m/%d/%Y"))("1/2/2024") == datetime(2024, 2, 1)
    assert date_reader(("%m/%d/%Y", "%d/%m/%Y"))("1/2/2024") == datetime(2024, 1, 2)
    assert date_reader(("%m/%d/%Y", "%d/%m/%Y"))("13/2/2024") == datetime(2024, 2, 13)


GUESSED = {
    ("13/05/2024", "14/05/2024 10:00", "01/02/2024"): ("%d/%m/%Y", "%d/%m/%Y %H:%M"),
    ("05/13/2024", "05/14/2024 3:07 PM"): ("%m/%d/%Y", "%m/%d/%Y %I:%M %p"),
    ("01.02.2024",): ("%d.%m.%Y",),
    ("19801231", "12345678", "x"): ("%Y%m%d",),
    ("2024/01/02 03:04:05.5",): ("%Y/%m/%d %H:%M:%S.%f",),
    ("13/05/2024 à 13h45", "14/05/2024 à 9h05"): ("%d/%m/%Y à %Hh%M",),
    ("13/05/2024 às 14:05", "14/05/2024 às 9:05"): ("%d/%m/%Y às %H:%M",),
    ("01.02.2024 um 13:45 Uhr", "01.02.2024, 13:45"): ("%d.%m.%Y um %H:%M Uhr", "%d.%m.%Y, %H:%M"),
    ("01.02.2024 13.45", "01.02.2024T13:45:06"): ("%d.%m.%Y %H.%M", "%d.%m.%YT%H:%M:%S"),
    ("01.02.2024 vers 13h45",): ("%d.%m.%Y vers %Hh%M",),
    ("2025-03-14 09 h 05",): ("%Y-%m-%d %H h %M",),
    ("14.3.2025 г. 9:05:00 ч.",): ("%d.%m.%Y г. %H:%M:%S ч.",),
    ("2025-03-01 오후 2:05", "2025-03-01 오전 2:05"): ("%Y-%m-%d %p %I:%M",),
    ("13.05.2024 xy 1:05", "13.05.2024 zz 1:06", "13.05.2024 1:05:09 CET"): (),
    ("13/05/2024 03:07 p. m.", "14/05/2024 12:07 a.\u00a0m."): ("%d/%m/%Y %I:%M %p",),
    ("13.05.2024", "05/13/2024", "05/14/2024"): ("%d.%m.%Y", "%m/%d/%Y"),
}


@pytest.mark.parametrize(("texts", "formats"), GUESSED.items())
def test_formats_that_are_certain_are_guessed(texts: tuple[str, ...], formats: tuple[str, ...]) -> None:
    """Numbers above 12 distinguish days from months; a column may mix formats."""
    assert guess_dates(texts) == formats
    assert all(date_reader((form,))(text) for form, text in zip(formats, texts, strict=False) if "à" in form)


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("2025-03-01 오후 2:05", 14),
        ("2025-03-01 오전 2:05", 2),
        ("2025-03-01 下午 2:05", 14),
        ("2025-03-01 上午 2:05", 2),
        ("2025-03-01 午後 2:05", 14),
        ("2025-03-01 午前 2:05", 2),
        ("2025-03-01 ös 2:05", 14),
        ("2025-03-01 öö 2:05", 2),
        ("2025-03-01 du. 2:05", 14),
        ("2025-03-01 de. 2:05", 2),
        ("2025-03-01 em 2:05", 14),
        ("2025-03-01 fm 2:05", 2),
        ("2025-03-01 CH 2:05", 14),
        ("2025-03-01 SA 2:05", 2),
    ],
)
def test_halves_of_a_day_are_read_in_several_languages(text: str, hour: int) -> None:
    """As spreadsheets write them before the time."""
    assert guess_dates([text]) == ("%Y-%m-%d %p %I:%M",)
    assert date_reader(("%Y-%m-%d %p %I:%M",))(text) == datetime(2025, 3, 1, hour, 5)


@pytest.mark.parametrize(
    "texts", [("01/02/2024", "03/04/2024"), ("13/05/2024",), ("13/05/2024", "14/05/2024", "05/13/2024"), ()]
)
def test_what_is_uncertain_is_not_guessed(texts: tuple[str, ...]) -> None:
    """Without evidence, with one text that may be a mistake, or with texts of both orders there is no format."""
    assert guess_dates(texts) == ()


def test_times_of_ctime_are_guessed_and_read() -> None:
    """With names of days, with and without an offset before the year."""
    (form,) = guess_dates(["Fri Apr 06 10:58:22 +0000 2007"])
    assert form == "%a %b %d %H:%M:%S %z %Y"
    assert date_reader((form,))("Fri Apr 06 10:58:22 +0200 2007") == datetime(
        2007, 4, 6, 10, 58, 22, tzinfo=timezone(timedelta(hours=2))
    )
    assert guess_dates(["Fri Apr 06 10:58:22 2007"]) == ("%a %b %d %H:%M:%S %Y",)
