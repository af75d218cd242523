"""The two clients behind one interface, so that every test runs with both."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, Literal

import httpx

from scoring_model.client import AsyncClient, Client
from scoring_peer import API_KEY, CLIENT_ID, Time

Kind = Literal["blocking", "async"]


class Either:
    """One of the two clients; it waits by the real clock if `time` is None."""

    def __init__(self, kind: Kind, url: str, time: Time | None, **options: Any) -> None:
        options = {"client_id": CLIENT_ID, "api_key": API_KEY} | options
        self._loop: asyncio.Runner | None = None
        if time is not None:
            options["monotonic"] = time
        # Tests use plain HTTP; loading all CA certificates takes longer than most tests.
        if kind == "blocking":
            if time is not None:
                options["sleep"] = time.sleep
            options.setdefault("transport", httpx.HTTPTransport(verify=False))
            self.client: Any = Client(url, **options)
        else:
            if time is not None:
                options["sleep"] = time.sleep_async
            options.setdefault("transport", httpx.AsyncHTTPTransport(verify=False))
            self._loop = asyncio.Runner()
            self.client = AsyncClient(url, **options)

    def do(self, ask: Callable[[Any], Any]) -> Any:
        """Result of a method, awaited if necessary."""
        if self._loop is None:
            return ask(self.client)

        async def one() -> Any:
            return await ask(self.client)

        return self._loop.run(one())

    def all(self, ask: Callable[[Any], Any]) -> list[Any]:
        """All items that a method iterates over."""
        if self._loop is None:
            return list(ask(self.client))

        async def every(things: AsyncIterator[Any]) -> list[Any]:
            return [thing async for thing in things]

        return self._loop.run(every(ask(self.client)))

    def close(self) -> None:
        """Close the client."""
        self.do(lambda client: client.close())
        if self._loop is not None:
            self._loop.close()
