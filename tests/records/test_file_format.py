import pytest

from scoring_model.contract.violation import Invalid
from scoring_model.records.file_format import PLAIN, FileFormat


def test_every_key_that_breaks_a_rule_is_named() -> None:
    """All violations come at once, each with its key."""
    with pytest.raises(Invalid) as caught:
        FileFormat(
            separator=";;",
            encoding="utf-7000",
            decimal="'",
            dates=("%d.%m.%Y", "%d.%m"),
            timezone="Mars/Base",
        )
    assert [found.field for found in caught.value.violations] == [
        "separator",
        "encoding",
        "decimal",
        "dates.1",
        "timezone",
    ]


@pytest.mark.parametrize("separator", ["", '"', "\n", "é"])
def test_a_separator_is_one_plain_character(separator: str) -> None:
    """Quotes, line breaks and letters beyond ASCII would be read as something else."""
    with pytest.raises(Invalid, match="one ASCII character"):
        FileFormat(separator=separator)


@pytest.mark.parametrize("timezone", ["../etc/passwd", "/etc/localtime", "", "Europe"])
def test_a_zone_is_a_name_of_the_database(timezone: str) -> None:
    """Paths and folders of the file system are no zones."""
    with pytest.raises(Invalid, match="IANA"):
        FileFormat(timezone=timezone)


def test_utc_needs_no_zone() -> None:
    """The default is UTC, which costs nothing for each record."""
    assert PLAIN.zone is None
    assert str(FileFormat(timezone="Europe/Berlin").zone) == "Europe/Berlin"
