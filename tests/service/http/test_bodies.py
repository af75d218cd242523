"""The contract's section General: lengths and media types of bodies."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.requests import ClientDisconnect

from fake_service import Client
from scoring_model.service.http import HttpSettings
from scoring_model.service.http.bodies import read_body
from scoring_model.service.http.context import CONTEXT, RequestContext

PATH = "/scoring/v1/identities"
LIMIT = 256 * 1024


def _padded(length: int) -> bytes:
    return b'{"firstName":"Ada"' + b" " * (length - 19) + b"}"


def test_general_length_of_bodies() -> None:
    """256 KiB are taken, one byte more is 413, told by length or in chunks."""

    async def chunks(body: bytes) -> AsyncIterator[bytes]:
        for start in range(0, len(body), 60_000):
            yield body[start : start + 60_000]

    client = Client()
    headers = {"content-type": "application/json"}
    for length, status in ((LIMIT, 201), (LIMIT + 1, 413)):
        body = _padded(length)
        assert client.ask("POST", PATH, headers=headers, content=body).status_code == status
        assert client.ask("POST", PATH, headers=headers, content=chunks(body)).status_code == status


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_general_length_of_bodies_that_nobody_reads(method: str) -> None:
    """Too long a body is 413 even where none is wanted."""
    client = Client()
    path = f"{PATH}/{client.new_identity()['id']}"
    assert client.ask(method, path, content=b" " * (LIMIT + 1)).status_code == 413
    assert client.ask(method, path, content=b"ignored").status_code == 200


@pytest.mark.parametrize(
    "media_type",
    [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"',
        "application/json ; version=1",
    ],
)
def test_general_media_types_that_are_taken(media_type: str) -> None:
    """JSON in UTF-8, however it is spelled."""
    headers = {"content-type": media_type}
    assert Client().ask("POST", PATH, headers=headers, content=b"{}").status_code == 201


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("content-type", "")],
        [("content-type", "text/json")],
        [("content-type", "application/problem+json")],
        [("content-type", "application/x-www-form-urlencoded")],
        [("content-type", "application/jsonp")],
        [("content-type", "application/json; charset=latin-1")],
        [("content-type", "application/json; charset=utf-16")],
        [("content-type", "application/json"), ("content-type", "application/json")],
        [("content-type", "application/json"), ("content-encoding", "gzip")],
    ],
)
def test_general_media_types_that_are_refused(headers: list[tuple[str, str]]) -> None:
    """Everything else is 415, a missing type and content codings too."""
    assert Client().ask("POST", PATH, headers=headers, content=b"{}").status_code == 415


def test_general_body_of_nothing() -> None:
    """Nothing is no JSON, whether or not a type is told; a wrong type is told first."""
    client = Client()
    for headers, status in (
        ({}, 400),
        ({"content-type": "application/json"}, 400),
        ({"content-type": "a/b"}, 415),
    ):
        assert client.ask("POST", PATH, headers=headers, content=b"").status_code == status


def test_general_clients_that_go_away() -> None:
    """A client that is gone before the end of its body is waited for no longer."""
    messages: list[dict[str, Any]] = [
        {"type": "http.request", "body": b"{", "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> dict[str, Any]:
        return messages.pop(0)

    scope: dict[str, Any] = {"method": "POST", "headers": []}
    scope[CONTEXT] = RequestContext("POST")
    with pytest.raises(ClientDisconnect):
        asyncio.run(read_body(scope, receive, HttpSettings()))


def test_general_settings_have_bounds() -> None:
    """Limits that would refuse everything are refused themselves."""
    with pytest.raises(ValueError, match="max_body"):
        HttpSettings(max_body=0)
    with pytest.raises(ValueError, match="body_seconds"):
        HttpSettings(body_seconds=float("nan"))
