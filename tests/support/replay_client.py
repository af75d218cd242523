"""A client of a service that is replayed: sends requests over connections that stay open."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp

from scoring_model.service.clients import Permission, create_client
from scoring_model.service.store import Store, open_store

VERIFICATIONS: Final = "/scoring/v1/verifications"
IDENTITIES: Final = "/scoring/v1/identities"
_QUOTA: Final = 1_000_000_000
_SECONDS: Final = 120


@dataclass(frozen=True)
class Credentials:
    """Who a client is.

    Parameters
    ----------
    number : int
        In the store.
    headers : mapping of str to str
    """

    number: int
    headers: Mapping[str, str] = field(repr=False)


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Store]:
    """Open a store, and close it whatever happens."""
    store = await open_store(url, seconds=_SECONDS)
    try:
        yield store
    finally:
        await store.close()


async def new_client(store: Store, *, now: int, history_scope: str | None = None) -> Credentials:
    """Create a client that may send as much as it likes."""
    made = await create_client(
        store,
        name="a client",
        permissions=frozenset(Permission),
        history_scope=history_scope,
        quota=_QUOTA,
        now=now,
    )
    async with store.reading() as reader:
        number = next(row.client for row in await reader.clients() if row.client_id == made.client_id)
    return Credentials(number, {"x-client-id": made.client_id, "x-api-key": made.api_key})


class Connection:
    """One connection to one process, on which one request follows the other.

    Parameters
    ----------
    session : aiohttp.ClientSession
        With a single connection.
    """

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def post(self, path: str, body: object, *, key: str | None = None) -> tuple[int, dict[str, Any]]:
        """Send a POST; status and JSON of the answer, which must be one of success."""
        headers = {"Content-Type": "application/json"} | ({} if key is None else {"Idempotency-Key": key})
        async with self._session.post(path, data=json.dumps(body), headers=headers) as response:
            text = await response.text()
            assert response.status in (201, 202), text
            return response.status, json.loads(text)

    async def get(self, path: str) -> dict[str, Any]:
        """Read a resource."""
        async with self._session.get(path) as response:
            text = await response.text()
            assert response.status == 200, text
            read: dict[str, Any] = json.loads(text)
            return read


@asynccontextmanager
async def connected(url: str, client: Credentials) -> AsyncIterator[Connection]:
    """Open a connection."""
    async with aiohttp.ClientSession(
        url,
        headers=client.headers,
        connector=aiohttp.TCPConnector(limit=1),
        timeout=aiohttp.ClientTimeout(total=_SECONDS),
    ) as session:
        yield Connection(session)
