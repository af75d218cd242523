import pytest

from scoring_model.service.store import BadAddress, PostgresAddress, SqliteAddress, parse_address


def test_a_file_is_named_after_three_slashes() -> None:
    """Three slashes begin a relative path, four an absolute one; nothing in it is decoded; no path is no file."""
    for text in ("scoring.db", "/srv/scoring.db", "a folder/ä%20.db"):
        address = parse_address(f"sqlite:///{text}")
        assert isinstance(address, SqliteAddress)
        assert str(address.path) == text
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
