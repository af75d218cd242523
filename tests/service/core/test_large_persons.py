"""What one request does to the many rows of a person or webhook: in short transactions, and all of it."""

from collections.abc import Sequence

import pytest

from outside_client import HOOK
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core.errors import Unavailable
from scoring_model.service.core.ids import new_id
from scoring_model.service.core.rows import DeliveryRow, IdentityRow, Row, VerificationRow
from scoring_model.service.store.transaction import DROPPED_AT_ONCE, ERASED_AT_ONCE
from service_use import START, World, applicants, id_of, table, with_service
from stored_rows import delivery_row


async def write(world: World, rows: Sequence[Row]) -> None:
    """Insert rows of one kind."""
    async with world.store.writing([]) as transaction:
        await transaction.insert(rows)


async def large_person(world: World, caller: Caller) -> tuple[bytes, bytes]:
    """A person with more than two steps of identities and verifications; an identity and a verification of it."""
    identity = await world.identity(caller, applicants(world.bundle)[0].identity)
    row = await world.row((await world.verify(caller, identity=identity)).resource.id)
    (own,) = await table(world.url, IdentityRow)
    count = 2 * ERASED_AT_ONCE + 10
    await write(world, [own._replace(id=new_id(START)) for _ in range(count)])
    await write(world, [row._replace(id=new_id(START), created_at=START - one) for one in range(count)])
    return identity, row.id


async def left(world: World) -> int:
    """Rows that an erasure has not reached."""
    identities = [row.status for row in await table(world.url, IdentityRow)]
    verifications = [row.payload or row.links for row in await table(world.url, VerificationRow)]
    return len(identities) - identities.count("REDACTED") + sum(value is not None for value in verifications)


@pytest.mark.parametrize("by_verification", [False, True])
@with_service
async def test_a_person_with_many_rows_is_erased_in_steps(world: World, by_verification: bool) -> None:
    """No transaction empties more than its share; an interrupted erasure is finished by the same request."""
    caller = await world.client()
    identity, verification = await large_person(world, caller)

    async def erase() -> None:
        if by_verification:
            await world.service.verifications.erase_signals(caller, verification)
        else:
            await world.service.identities.erase(caller, identity)

    seen: list[int] = []

    async def count() -> None:
        seen.append(await left(world))
        if len(seen) == 2:
            raise Unavailable

    world.store.before_each = count
    with pytest.raises(Unavailable):
        await erase()
    await erase()
    world.store.before_each = None
    steps = [before - after for before, after in zip(seen, [*seen[1:], 0], strict=True)]
    assert await left(world) == 0
    done = len(world.store.history_scopes)
    await erase()
    assert len(world.store.history_scopes) - done == 1  # it begins no second time
    assert max(steps) <= 2 * ERASED_AT_ONCE
    events = [event.resource for event in await world.events(caller) if event.type == "identity.redacted"]
    assert len(events) == len(set(events)) == 2 * ERASED_AT_ONCE + 11


@with_service
async def test_deliveries_of_a_webhook_are_dropped_in_steps(world: World) -> None:
    """Deactivation and deletion drop all that wait, some in each transaction."""
    caller = await world.client()
    for delete in (False, True):
        webhook = id_of((await world.service.webhooks.create(caller, HOOK, None)).resource)
        rows: list[DeliveryRow] = [
            delivery_row(client=caller.client, webhook=webhook, event=new_id(START))
            for _ in range(2 * DROPPED_AT_ONCE + 10)
        ]
        await write(world, rows)
        before = len(world.store.history_scopes)
        if delete:
            await world.service.webhooks.delete(caller, webhook)
        else:
            await world.service.webhooks.update(caller, webhook, {**HOOK, "active": False})
        assert len(world.store.history_scopes) - before >= 3
        assert {row.status for row in await table(world.url, DeliveryRow)} == {"DROPPED"}
