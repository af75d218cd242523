"""Pages of lists."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Generic, TypeVar
from urllib.parse import urlencode

import httpx
from pydantic import TypeAdapter

from scoring_model.client.request import Request

T = TypeVar("T")
_QUERY: Final = re.compile(r"[\x21-\x7e]{1,4096}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items of a list, and the request of the next page; None after the last."""

    items: tuple[T, ...]
    following: "Request[Page[T]] | None"


def reader(kind: type[T]) -> Callable[[httpx.Response], tuple[T, ...]]:
    """A reader of answers that hold a list."""
    adapter = TypeAdapter(tuple[kind, ...])  # type: ignore[valid-type]
    return lambda response: adapter.validate_json(response.content)


def first_page(
    path: str, read: Callable[[httpx.Response], tuple[T, ...]], page_size: int, **filters: object
) -> Request[Page[T]]:
    """The request of the first page of a list; filters that are None are left out."""
    given = {name: _text(value) for name, value in filters.items() if value is not None}
    return _page(path, read, urlencode({**given, "limit": page_size}))


def _page(path: str, read: Callable[[httpx.Response], tuple[T, ...]], query: str) -> Request[Page[T]]:
    def page(response: httpx.Response) -> Page[T]:
        items = read(response)
        following = _following(response)
        if following == query:
            raise ValueError("the next page must be another one")
        return Page(items, None if following is None else _page(path, read, following))

    return Request(method="GET", path=f"{path}?{query}", read=page)


def _following(response: httpx.Response) -> str | None:
    """The query of the next page, and no more: the credentials go to no other address (RFC 8288)."""
    link = response.links.get("next", {}).get("url")
    if link is None:
        return None
    query = link.partition("#")[0].partition("?")[2]
    if not _QUERY.fullmatch(query):
        raise ValueError("the link to the next page must have a query")
    return query


def _text(value: object) -> str:
    if not isinstance(value, datetime):
        return str(value)
    if value.tzinfo is None:
        raise ValueError("an instant must have a time zone")
    return value.isoformat()
