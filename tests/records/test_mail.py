"""Mail addresses: what is read, and which spellings lead to one mailbox."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.records.mail import read_mail


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ann.Lee@mail.example", "ann.lee@MAIL.example"),
        ("ann+shop@mail.example", "ann@mail.example"),
        ("a.n.n@gmail.com", "ANN+x@googlemail.com"),
        ("ann@bücher.example", "ann@xn--bcher-kva.example"),
    ],
)
def test_spellings_of_one_mailbox_are_one(one: str, other: str) -> None:
    """Case, tags, dots at Gmail, and a domain in either alphabet."""
    first, second = read_mail(one), read_mail(other)
    assert first is not None
    assert second is not None
    assert first.mailbox == second.mailbox


@pytest.mark.parametrize(
    ("one", "other"),
    [("a.nn@mail.example", "ann@mail.example"), ("ann@mail.example", "ann@email.example")],
)
def test_other_mailboxes_differ(one: str, other: str) -> None:
    """Dots count where the provider distinguishes them."""
    first, second = read_mail(one), read_mail(other)
    assert first is not None
    assert second is not None
    assert first.mailbox != second.mailbox


@pytest.mark.parametrize(
    "text",
    [
        "ann",
        "ann@",
        "@mail.example",
        "ann@mail",
        "ann lee@mail.example",
        "a@b@mail.example",
        "ann@-mail.example",
        "ann@mail..example",
        "ann@192.0.2.1",
        f"{'a' * 65}@mail.example",
        f"ann@{'a' * 64}.example",
        f"ann@{'ä' * 60}.example",
    ],
)
def test_other_texts_are_no_addresses(text: str) -> None:
    """Parts that are missing, too long or of other characters."""
    assert read_mail(text) is None


@given(st.text(max_size=40), st.from_regex(r"[a-z]{1,8}(\.[a-z]{2,5}){1,2}", fullmatch=True))
def test_what_is_read_is_in_normal_form(local: str, domain: str) -> None:
    """Any text is read or is none, and a mailbox is read as itself."""
    found = read_mail(f"{local}@{domain}")
    assert found is None or found.domain == domain
    if found is not None:
        again = read_mail(found.mailbox)
        assert again is None or again.mailbox == found.mailbox
