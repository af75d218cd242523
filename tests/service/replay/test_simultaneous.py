"""Who comes at the same time does see the others."""

import asyncio
from typing import Any

import pytest

from replay_client import VERIFICATIONS, Credentials, connected, new_client, opened
from replay_verdicts import columns, stored
from scoring_model.scorer import Scorer

SIGN_UPS = 32


async def sign_up(url: str, client: Credentials, everybody: asyncio.Barrier, device: str) -> None:
    """Sign up over a connection of one's own as soon as everybody has one."""
    async with connected(url, client) as connection:
        await connection.get("/scoring/v1/webhooks")
        await everybody.wait()
        status, _ = await connection.post(VERIFICATIONS, {"signals": {"deviceId": device}})
        assert status == 201


@pytest.mark.parametrize("device", ["first", "second", "third"])
def test_simultaneous_sign_ups_see_each_other(served: Any, linked: Scorer, device: str) -> None:
    """32 sign-ups of one device, spread over the processes, see 0, 1, 2, ... and 31 earlier ones."""

    async def main() -> None:
        async with opened(served.database) as store:
            client = await new_client(store, now=served.clock.now())
            everybody = asyncio.Barrier(SIGN_UPS)
            urls = served.urls * (SIGN_UPS // len(served.urls))
            await asyncio.gather(*(sign_up(url, client, everybody, device) for url in urls))
            found = list((await stored(store, client.number)).values())
            earlier = columns(linked, [row.verdict for row in found])["link_device_1h_records"].tolist()
            assert sorted(earlier) == list(range(SIGN_UPS))
            in_order = sorted(range(SIGN_UPS), key=lambda i: found[i].at)
            assert [earlier[i] for i in in_order] == list(range(SIGN_UPS))

    asyncio.run(main())
