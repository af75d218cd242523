"""The contract's section Webhooks: pages of the list."""

import re

import pytest

from fake_service import Client
from scoring_model.service.http.webhooks import cursor_of


@pytest.mark.parametrize("limit", [1, 2, 3, 6, 7, 8, 100])
def test_webhooks_pages_hold_every_webhook_once(limit: int) -> None:
    """Following `Link` from page to page gives all of them in order, and the last page has none."""
    client = Client()
    made = [client.new_webhook()["id"] for _ in range(7)]
    path: str | None = f"/scoring/v1/webhooks?limit={limit}"
    pages = []
    while path is not None:
        answer = client.ask("GET", path)
        pages.append([webhook["id"] for webhook in answer.json()])
        link = re.fullmatch(r'<([^>]+)>; rel="next"', answer.headers.get("link", ""))
        assert (link is None) == ("link" not in answer.headers)
        path = None if link is None else link[1]
    assert [webhook for page in pages for webhook in page] == made
    assert all(len(page) == limit for page in pages[:-1])
    assert len(pages) == -(-7 // limit)


def test_webhooks_page_by_default() -> None:
    """Without a limit a page holds 100."""
    client = Client()
    assert client.ask("GET", "/scoring/v1/webhooks").json() == []
    asked: list[int] = []
    webhooks = client.service.webhooks
    original = webhooks.page

    async def page(caller: object, *, limit: int, after: bytes | None) -> object:
        asked.append(limit)
        return await original(caller, limit=limit, after=after)  # type: ignore[arg-type]

    webhooks.page = page  # type: ignore[method-assign,assignment]
    client.ask("GET", "/scoring/v1/webhooks")
    assert asked == [100]


@pytest.mark.parametrize(
    ("query", "codes"),
    [
        ("limit=0", ["invalid_limit"]),
        ("limit=101", ["invalid_limit"]),
        ("limit=-1", ["invalid_limit"]),
        ("limit=1.0", ["invalid_limit"]),
        ("limit=", ["invalid_limit"]),
        ("limit=%D9%A1", ["invalid_limit"]),  # a digit, but of another script
        ("limit=" + "9" * 5000, ["invalid_limit"]),
        ("cursor=", ["invalid_cursor"]),
        ("cursor=nonsense", ["invalid_cursor"]),
        ("cursor=" + "A" * 21 + "B", ["invalid_cursor"]),  # bits that no id has
        ("limit=0&cursor=x", ["invalid_limit", "invalid_cursor"]),
        ("limit=1&limit=1", ["repeated_parameter"]),
        ("offset=1", ["unknown_parameter"]),
        ("Limit=1", ["unknown_parameter"]),
        ("limit", ["invalid_limit"]),
        ("%ff=1", ["unknown_parameter"]),
        ("limit=%FF&cursor=1%C3", ["not_utf8"] * 2),
        ("cursor=%ED%A0%80", ["not_utf8"]),
        ("limit=%FF&limit=%FF", ["not_utf8", "repeated_parameter"]),
    ],
)
def test_webhooks_pages_that_are_refused(query: str, codes: list[str]) -> None:
    """A bad limit, cursor or parameter is 422, all of them at once."""
    answer = Client().ask("GET", f"/scoring/v1/webhooks?{query}")
    assert answer.status_code == 422
    assert [error["code"] for error in answer.json()["errors"]] == codes


def test_webhooks_cursor_after_what_was_deleted() -> None:
    """A cursor is a position: it still works after its webhook is deleted."""
    client = Client()
    first, second = client.new_webhook()["id"], client.new_webhook()["id"]
    path = client.ask("GET", "/scoring/v1/webhooks?limit=1").headers["link"].split(">")[0][1:]
    client.ask("DELETE", f"/scoring/v1/webhooks/{first}")
    assert [webhook["id"] for webhook in client.ask("GET", path).json()] == [second]
    assert len(cursor_of(bytes(16))) == 22
