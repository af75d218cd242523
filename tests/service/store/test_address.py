import pytest

from scoring_model.service.store import BadAddress, PostgresAddress, SqliteAddress, parse_address


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///scoring.db", "scoring.db"),
        ("sqlite:////srv/scoring.db", "/srv/scoring.db"),
        ("sqlite:///a folder/ä%20.db", "a folder/ä%20.db"),
    ],
)
def test_a_file_is_named_after_three_slashes(url: str, path: str) -> None:
    """Three slashes begin a relative path, four an absolute one; nothing in it is decoded."""
    address = parse_address(url)
    assert isinstance(address, SqliteAddress)
    assert str(address.path) == path


def test_no_file_is_a_private_database() -> None:
    """Without a path the database is private to the process."""
    assert parse_address("sqlite://") == SqliteAddress(None)


def test_a_server_is_known_by_its_url_and_never_shown() -> None:
    """The password in the URL of a server does not appear where the address is printed."""
    url = "postgresql://me:pa55word@db/scoring"
    address = parse_address(url)
    assert address == PostgresAddress(url)
    assert "pa55word" not in repr(address)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "scoring.db",
        "sqlite:scoring.db",
        "sqlite://scoring.db",
        "sqlite:///",
        "sqlite:///a.db?mode=ro",
        "mysql://me:pa55word@db/scoring",
        "postgresql:/me:pa55word@db/scoring",
    ],
)
def test_anything_else_is_refused_without_being_repeated(url: str) -> None:
    """Other URLs are refused by a text that lists the forms and does not repeat what may hold a password."""
    with pytest.raises(BadAddress, match="postgresql://") as caught:
        parse_address(url)
    assert "pa55word" not in str(caught.value)
