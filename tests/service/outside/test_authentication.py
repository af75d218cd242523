"""Authentication: whatever is wrong with credentials, the same work is done before they are refused."""

import asyncio
import hashlib
import hmac
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

from scoring_model.service.clients.clients import Permission, create_client, revoke
from scoring_model.service.core.clock import SystemClock
from scoring_model.service.http import HttpSettings, create_app
from scoring_model.service.keys.keyring import KeyEncryptionKey, Keyring
from scoring_model.service.service import open_service
from scoring_model.service.store import open_store
from service_use import HeldStore


def watch(monkeypatch: pytest.MonkeyPatch, counted: Counter[str]) -> None:
    """Count hashes and comparisons of this process."""
    sha256, compare = hashlib.sha256, hmac.compare_digest

    def counting_hash(*arguments: Any, **options: Any) -> Any:
        counted["hashes"] += 1
        return sha256(*arguments, **options)

    def counting_compare(first: Any, second: Any) -> bool:
        counted["comparisons"] += 1
        return compare(first, second)

    monkeypatch.setattr(hashlib, "sha256", counting_hash)
    monkeypatch.setattr(hmac, "compare_digest", counting_compare)


def test_refusals_cost_the_same(sealed: Path, store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Known, unknown, revoked, mixed and malformed pairs: as many hashes, comparisons, look-ups and takes each."""
    counted: Counter[str] = Counter()
    costs: dict[str, tuple[int, dict[str, int]]] = {}

    async def main() -> None:
        store: Any = HeldStore(await open_store(store_url))
        now = SystemClock().now()
        made = [
            await create_client(store, name=name, permissions=frozenset(Permission), now=now)
            for name in ("good", "other", "revoked")
        ]
        await revoke(store, made[2].client_id, now=now)
        service = await open_service(
            store,
            bundle=sealed,
            keyring=lambda: Keyring(KeyEncryptionKey(bytes(32))),
            clock=SystemClock(),
            background=False,
        )
        app = create_app(service, HttpSettings(access_log=False), clock=SystemClock())
        good, other, gone = ((one.client_id, one.api_key) for one in made)
        wrong = {
            "a known client with a wrong key": (good[0], "sk_" + "A" * 43),
            "an unknown client with a wrong key": ("cl_" + "0" * 22, "sk_" + "A" * 43),
            "an unknown client with a known key": ("cl_" + "0" * 22, good[1]),
            "the key of another client": (good[0], other[1]),
            "a revoked pair": gone,
            "the stranger": ("cl_" + 22 * "0", ""),
            "malformed": ("?", "\xe9"),
            "empty": ("", ""),
            "long": ("c" * 9000, "k" * 9000),
        }
        watch(monkeypatch, counted)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://a") as client:
            for name, (client_id, api_key) in wrong.items():
                headers = [
                    (b"x-client-id", client_id.encode("latin-1")),
                    (b"x-api-key", api_key.encode("latin-1")),
                ]
                counted.clear()
                store.readings = store.takes = 0
                answer = await client.get("/scoring/v1/webhooks", headers=headers)
                counted.update(readings=store.readings, takes=store.takes)
                costs[name] = answer.status_code, dict(counted)
        monkeypatch.undo()
        await service.close()
        await store.close()

    asyncio.run(main())
    expected = 401, {"hashes": 1, "readings": 1, "comparisons": 1, "takes": 1}
    assert costs == dict.fromkeys(costs, expected)
    assert len(costs) == 9
