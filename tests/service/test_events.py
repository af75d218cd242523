"""Events (contract, "Webhooks": events and payload), and their deliveries as operators see them."""

import json
from typing import Any

import pytest

from scoring_model.contract.event import EventType
from scoring_model.contract.texts import to_text
from scoring_model.service.core.rows import (
    ClientRow,
    DeliveryRow,
    DeliveryStatus,
    EventRow,
)
from scoring_model.service.events.events import (
    NotReplayed,
    events_of_identity,
    events_of_verification,
    list_deliveries,
    numbered,
    replay,
    webhook_data,
)
from scoring_model.service.store import Store
from store_story import kept, with_store, write
from stored_rows import delivery_row, event_row, identity_row, new_id, verification_row, webhook_row

NAMES = (
    "identity.created identity.validated identity.invalid identity.redacted verification.completed "
    "verification.passed verification.stepped_up verification.failed verification.error verification.resolved "
    "label.received webhook.test webhook.disabled"
)
ROW = verification_row(
    id=bytes(range(16)),
    identity_id=bytes(16),
    outcome="STEPPED_UP",
    score=512,
    model_version="m-1",
    row_digest=b"canary",
    payload=b"canary",
    links=b"canary",
    reference="canary",
)


def test_webhooks_the_events_are_those_of_the_contract() -> None:
    """Their names, and no others."""
    assert [event.value for event in EventType] == NAMES.split()


@pytest.mark.parametrize(
    ("status", "names"),
    [
        ("INCOMPLETE", "identity.created"),
        ("VALIDATED", "identity.created identity.validated"),
        ("INVALID", "identity.created identity.invalid"),
        ("REDACTED", "identity.redacted"),
    ],
)
def test_webhooks_events_of_an_identity(status: str, names: str) -> None:
    """An identity has a creation event, then its result or a redaction; each contains id and status."""
    row = identity_row(status=status)
    data = {"id": to_text(row.id), "status": status}
    found = [(event.type, json.loads(event.data)) for event in events_of_identity(row, 1)]
    assert found == [(name, data) for name in names.split()]


@pytest.mark.parametrize(
    ("status", "outcome", "names"),
    [
        ("PENDING", None, ""),
        ("ERROR", None, "verification.error"),
        ("COMPLETED", "PASSED", "verification.completed verification.passed"),
        ("COMPLETED", "STEPPED_UP", "verification.completed verification.stepped_up"),
        ("COMPLETED", "FAILED", "verification.completed verification.failed"),
    ],
)
def test_webhooks_events_of_a_verification(status: str, outcome: str | None, names: str) -> None:
    """A verdict has two events, a fault one, a pending verification none; missing members are null."""
    row = ROW._replace(status=status, outcome=outcome)
    data = {
        "id": to_text(ROW.id),
        "identityId": to_text(bytes(16)),
        "status": status,
        "scoringOutcome": outcome,
        "scoringScore": 512,
        "modelVersion": "m-1",
    }
    found = [(event.type, json.loads(event.data)) for event in events_of_verification(row)]
    assert found == [(name, data) for name in names.split()]
    bare = row._replace(identity_id=None, score=None, model_version=None)
    nothing = dict.fromkeys(("identityId", "scoringScore", "modelVersion"))
    for event in events_of_verification(bare):
        assert list(json.loads(event.data).items()) == list((data | nothing).items())  # in this order


def test_webhooks_a_completed_verification_has_an_outcome() -> None:
    """A verdict without an outcome is an error: no event could report it."""
    with pytest.raises(KeyError):
        events_of_verification(ROW._replace(outcome=None))


def test_webhooks_payloads_of_webhooks_say_why_they_were_disabled() -> None:
    """Each can be numbered."""
    disabled = webhook_data(bytes(16), "gone")
    assert json.loads(disabled) == {"id": to_text(bytes(16)), "disabledReason": "gone"}
    assert json.loads(numbered(webhook_data(bytes(16)), 2)) == {"id": to_text(bytes(16)), "sequence": 2}


NOW = 1_000
SETTLED: dict[str, Any] = {
    "status": "DEAD",
    "attempts": 10,
    "due_at": 90,
    "leased_until": 95,
    "finished_at": 99,
    "answered": 500,
    "excerpt": "no",
}


async def write_client(store: Store, name: str) -> int:
    """Make a client; its number."""
    async with store.writing([]) as transaction:
        return await transaction.new_client(ClientRow(0, name, name, "", "", 1, 1, 0, 1, None))


def of(event: EventRow, **changes: Any) -> DeliveryRow:
    """A delivery of an event that is a dead letter."""
    return delivery_row(event=event.id, **{**SETTLED, **changes})


@pytest.mark.parametrize("status", ["DEAD", "DELIVERED", "DROPPED"])
@with_store
async def test_a_replayed_delivery_begins_anew(store: Store, status: str) -> None:
    """A replayed delivery waits, is due now, has all attempts left, and keeps its last answer until the next."""
    hook, event = webhook_row(), event_row(waiting=0)
    row, other = of(event, webhook=hook.id, status=status), of(event)
    await write(store, hook, event, row, other)
    assert (await replay(store, row.id, now=NOW)).again == (row.id,)
    again = row._replace(status="WAITING", attempts=0, due_at=NOW, leased_until=None, finished_at=None)
    assert await kept(store, row.id) == again
    assert await kept(store, other.id) == other
    async with store.writing([]) as transaction:
        leased = await transaction.lease_deliveries(NOW, NOW + 60, {hook.id: 9})
    assert [delivery.id for delivery, _, _ in leased] == [row.id]


@with_store
async def test_what_waits_is_left_as_it_is(store: Store) -> None:
    """Replaying a waiting delivery changes neither its time nor its lease, and reports that."""
    hook, event = webhook_row(), event_row(waiting=0)
    row = of(event, webhook=hook.id, status="WAITING", finished_at=None)
    await write(store, hook, event, row)
    for resource in (row.id, event.id):
        with pytest.raises(NotReplayed, match="waits already"):
            await replay(store, resource, now=NOW)
    assert await kept(store, row.id) == row
    async with store.writing([]) as transaction:
        assert not await transaction.deliver_again(new_id(), NOW)


@with_store
async def test_all_deliveries_of_an_event_are_replayed_that_can_be(store: Store) -> None:
    """Replaying an event affects only its deliveries; inactive and deleted webhooks are refused with a reason."""
    active, inactive, event, other = webhook_row(), webhook_row(active=0), event_row(), event_row()
    rows = [of(event, webhook=hook) for hook in (active.id, inactive.id, new_id())]
    foreign = of(other, webhook=active.id)
    await write(store, active, inactive, event, other, *rows, foreign)
    async with store.reading() as reader:
        assert await reader.deliveries_of(event.id) == rows
    done = await replay(store, event.id, now=NOW)
    assert done.again == (rows[0].id,)
    assert [row for row, _ in done.refused] == [rows[1].id, rows[2].id]
    assert ["inactive" in done.refused[0][1], "deleted" in done.refused[1][1]] == [True, True]
    assert [await kept(store, row.id) for row in (*rows[1:], foreign)] == [*rows[1:], foreign]


@with_store
async def test_nothing_to_replay_is_an_error(store: Store) -> None:
    """An unknown id and an event without a subscribed webhook get the same error."""
    await write(store, event := event_row())
    for resource in (new_id(), event.id):
        with pytest.raises(NotReplayed, match="no delivery has this id"):
            await replay(store, resource, now=NOW)


@with_store
async def test_deliveries_are_listed_with_event_and_client(store: Store) -> None:
    """The list is ordered by id and filtered; an unknown client is an error, not an empty list."""
    one, two = [await write_client(store, name) for name in ("cl_one", "cl_two")]
    events = [event_row(client=client) for client in (one, two, two)]
    rows = [of(event, client=event.client) for event in events]
    rows[2] = rows[2]._replace(status="WAITING")
    await write(store, *events, *rows)
    found = await list_deliveries(store, limit=9)
    assert [(one.row, one.event) for one in found] == list(zip(rows, events, strict=True))
    assert [one.client_id for one in found] == ["cl_one", "cl_two", "cl_two"]
    dead = await list_deliveries(store, status=DeliveryStatus.DEAD, client_id="cl_two", limit=9)
    assert [one.row.id for one in dead] == [rows[1].id]
    rest = await list_deliveries(store, after=rows[0].id, limit=1)
    assert [one.row.id for one in rest] == [rows[1].id]
    with pytest.raises(ValueError, match="no such client"):
        await list_deliveries(store, client_id="cl_three", limit=9)
