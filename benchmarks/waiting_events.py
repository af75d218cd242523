"""A webhook and its waiting events, written directly into the database."""

import json
import sys
import time
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.filled_database import insert, rows_of

from scoring_model.contract.event import EventType
from scoring_model.contract.texts import to_text
from scoring_model.service.core import ids
from scoring_model.service.core.rows import EventRow, WebhookRow
from scoring_model.service.keys.keyring import Keyring
from scoring_model.service.keys.secrets import load_or_create
from scoring_model.service.store import open_store
from scoring_model.service.webhooks import associated_data

MODEL: Final = "0123456789ab"


async def new_webhook(
    url: str,
    keyring: Keyring,
    *,
    client: int,
    destination: str,
    secret: str,
    event_types: str = '["*"]',
) -> None:
    """Register a webhook.

    Parameters
    ----------
    url : str
        URL of a database with all tables.
    keyring : Keyring
    client : int
    destination, secret : str
    event_types : str
        JSON list.
    """
    store = await open_store(url)
    try:
        secrets = await load_or_create(store, keyring)
    finally:
        await store.close()
    resource, now = ids.new_id(1), time.time_ns() // 1000
    sealed = secrets.seal(associated_data("secret", resource), secret.encode())
    row = WebhookRow(
        id=resource,
        client=client,
        destination_url=destination,
        active=1,
        event_types=event_types,
        description=None,
        disabled_reason=None,
        secret=sealed,
        old_secret=None,
        old_secret_until=None,
        created_at=1,
        updated_at=1,
        succeeded_at=now,
        query=None,
        since_sequence=0,
    )
    await insert(url, WebhookRow, [row])


async def write_waiting(url: str, *, client: int, count: int) -> None:
    """Write waiting events of verifications."""
    now = time.time_ns() // 1000
    before = await rows_of(url, "SELECT coalesce(max(sequence), 0) FROM events")
    first = int(before[0][0]) + 1
    await insert(url, EventRow, (_event(client, first + number, now) for number in range(count)))


async def waiting(url: str) -> int:
    """Number of waiting events and deliveries."""
    (events,) = (await rows_of(url, "SELECT count(*) FROM events WHERE waiting = 1"))[0]
    (deliveries,) = (await rows_of(url, "SELECT count(*) FROM deliveries WHERE status = 'WAITING'"))[0]
    return int(events) + int(deliveries)


async def delivered(url: str) -> int:
    """Number of deliveries recorded as delivered at their first attempt."""
    statement = "SELECT count(*) FROM deliveries WHERE status = 'DELIVERED' AND attempts = 1"
    return int((await rows_of(url, statement))[0][0])


async def kept(url: str) -> list[tuple[Any, ...]]:
    """All deliveries, counted by status, answer and reason."""
    words = "status, answered, excerpt"
    return await rows_of(url, f"SELECT {words}, count(*) FROM deliveries GROUP BY {words}")


def _event(client: int, sequence: int, now: int) -> EventRow:
    resource = ids.new_id(now)
    event = {
        "id": to_text(resource),
        "identityId": None,
        "status": "COMPLETED",
        "scoringOutcome": "PASSED",
        "scoringScore": sequence % 1000,
        "modelVersion": MODEL,
    }
    kind = EventType.VERIFICATION_PASSED.value
    data = json.dumps(event, separators=(",", ":"))
    return EventRow(ids.new_id(now), client, sequence, kind, resource, now, data, 1)
