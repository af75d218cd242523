"""Floods of requests above the capacity, and of wrong credentials."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from scoring_model.service.clients.clients import Permission, create_client
from scoring_model.service.core.clock import SystemClock
from scoring_model.service.http import HttpSettings, create_app
from scoring_model.service.requests.commit_queue import QueueLimits
from scoring_model.service.service import open_service
from scoring_model.service.store import open_store
from service_use import MASTERS, HeldStore, eventually

PATH = "/scoring/v1/verifications"
BODY = {"signals": {"vpn": True}}
Credentials = Mapping[str, str]


class Served:
    """The whole service, without sockets.

    Parameters
    ----------
    app : ASGI application
    store : HeldStore
    """

    def __init__(self, app: Any, store: HeldStore) -> None:
        self._app = app
        self.store = store

    async def client(self) -> Credentials:
        """Credentials of a new client."""
        made = await create_client(
            self.store,
            name="a client",
            permissions=frozenset(Permission),
            now=SystemClock().now(),
        )
        return {"x-client-id": made.client_id, "x-api-key": made.api_key}

    async def post(self, credentials: Credentials, address: str = "192.0.2.1") -> httpx.Response:
        """Ask for a verification from an address."""
        transport = httpx.ASGITransport(self._app, client=(address, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://a") as client:
            return await client.post(PATH, json=BODY, headers=dict(credentials))


@asynccontextmanager
async def served(url: str, bundle: Path, limits: QueueLimits) -> AsyncIterator[Served]:
    """Serve over a database."""
    store = HeldStore(await open_store(url))
    service = await open_service(
        store,
        bundle=bundle,
        keyring=lambda: MASTERS,
        clock=SystemClock(),
        limits=limits,
    )
    try:
        yield Served(create_app(service, HttpSettings(access_log=False), clock=SystemClock()), store)
    finally:
        store.gate.set()
        await service.close()
        await store.close()


def test_a_flood_of_one_client_is_refused_at_arrival_and_refuses_nobody_else(
    store_url: str, sealed: Path
) -> None:
    """While nothing commits, the queue fills; further requests are refused immediately and spend no token."""

    async def story() -> None:
        limits = QueueLimits(waiting=16, wait_seconds=60.0, scoring_seconds=30.0, commit_seconds=60.0)
        async with served(store_url, sealed, limits) as service:
            flooding, other = await service.client(), await service.client()
            service.store.gate.clear()
            tasks = [asyncio.create_task(service.post(flooding)) for _ in range(100)]
            await eventually(lambda: sum(task.done() for task in tasks) == 84)
            honest = asyncio.create_task(service.post(other))
            await asyncio.sleep(0.05)
            assert not honest.done()
            service.store.gate.set()
            answers = await asyncio.gather(*tasks)
            assert Counter(answer.status_code for answer in answers) == {503: 84, 201: 16}
            assert all(1 <= int(a.headers["retry-after"]) <= 10 for a in answers if a.status_code == 503)
            assert (await honest).status_code == 201
            last = await service.post(flooding)
            assert last.status_code == 201
            left = int(last.headers["ratelimit"].partition("r=")[2].partition(";")[0])
            assert left >= 6000 - 17

    asyncio.run(story())


def test_a_flood_of_wrong_credentials_costs_few_queries(store_url: str, sealed: Path) -> None:
    """From one address, which soon is above its limit; a valid pair from there is served, and others do not wait."""

    async def story() -> None:
        async with served(
            store_url, sealed, QueueLimits(commit_seconds=60.0, scoring_seconds=30.0)
        ) as service:
            good, other = await service.client(), await service.client()

            async def wrong(number: int) -> int:
                return (await service.post({"x-client-id": "cl_0", "x-api-key": f"sk_{number}"})).status_code

            found = Counter(await asyncio.gather(*(wrong(number) for number in range(100))))
            assert 60 <= found[401] < 70
            assert found[401] + found[429] == 100
            service.store.readings = 0
            flood = [asyncio.create_task(wrong(number)) for number in range(300)]
            await asyncio.sleep(0)
            assert (await service.post(other, address="192.0.2.2")).status_code == 201
            assert (await service.post(good)).status_code == 201
            await asyncio.gather(*flood)
            assert service.store.readings <= 30

    asyncio.run(story())
