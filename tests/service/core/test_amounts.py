"""A history that sums an amount: the sums that each record sees, and how amounts are stored."""

import math

import pytest

from linked_use import AMOUNT
from scoring_model.service.clients.clients import Caller
from scoring_model.service.keys.link_hashes import Masks
from scoring_model.service.requests.commit_queue import QueueLimits
from service_use import World, applicants, opened, together, with_service

DEVICE = {"deviceId": "d"}


async def paid(
    world: World, caller: Caller, amount: float | None, *, subject: str | None = None
) -> dict[str, float]:
    """The feature row of a record with a device and an amount."""
    signals = DEVICE if amount is None else {**DEVICE, AMOUNT.signal: amount}
    return await world.features((await world.verify(caller, signals=signals, subject=subject)).resource.id)


def sums(row: dict[str, float], key: str = "device", span: str = "1h") -> tuple[float, float]:
    """Sum and mean of a window."""
    return row[f"link_{key}_{span}_form_seconds_sum"], row[f"link_{key}_{span}_form_seconds_mean"]


@with_service(bundle="summing")
async def test_sums_are_of_those_who_came_before(world: World) -> None:
    """Each record sees the sums of earlier ones per window, in whole units; an empty window has no mean."""
    caller = await world.client()
    first = await paid(world, caller, 1.25)
    assert sums(first) == pytest.approx((0.0, math.nan), nan_ok=True)
    assert sums(await paid(world, caller, -0.5)) == (1.2, 1.2)
    assert sums(await paid(world, caller, None)) == (0.7, 0.35)
    assert sums(await paid(world, caller, 2.0**37)) == (0.7, 0.35)
    world.clock.advance(3601)
    assert sums(await paid(world, caller, 3)) == pytest.approx((0.0, math.nan), nan_ok=True)
    later = await paid(world, caller, 0)
    assert (sums(later), sums(later, span="1d")) == ((3.0, 3.0), (3.7, 37 / 30))
    assert sums(later, "address", "1d") == pytest.approx((0.0, math.nan), nan_ok=True)


@with_service(bundle="summing")
async def test_those_of_one_batch_see_the_amounts_of_each_other(world: World) -> None:
    """The n-th of 32 simultaneous payments sees n - 1 amounts, whatever else shares the transaction."""
    one, other = await world.client(), await world.client()
    works = [
        world.verify(caller, signals={**DEVICE, AMOUNT.signal: amount})
        for i in range(16)
        for caller, amount in ((one, 2.0**i), (other, -float(i)))
    ]
    answers = await together(world, *works)
    assert len({answer.resource.completed_at for answer in answers[::2]}) == 16
    rows = [await world.features(answer.resource.id) for answer in answers]
    assert [sums(row)[0] for row in rows[::2]] == [2.0**i - 1 for i in range(16)]
    assert [sums(row)[0] for row in rows[1::2]] == [-i * (i - 1) / 2 for i in range(16)]
    # What was committed is unmasked with what is of another history scope.
    again = await together(world, *(world.verify(caller, signals=DEVICE) for caller in (one, other)))
    found = [sums(await world.features(answer.resource.id))[0] for answer in again]
    assert found == [2.0**16 - 1, -120.0]


@with_service(bundle="summing")
async def test_delayed_windows_see_behind_a_hot_key(world: World) -> None:
    """Of 130 payments 20 days ago and 110 of today a window sees the latest 100; before the delay it sees old ones."""
    caller = await world.client()

    async def pay(times: int) -> None:
        for _ in range(times // 10):
            await together(world, *(world.verify(caller, signals=DEVICE) for _ in range(10)))

    await pay(130)
    world.clock.advance(20 * 86_400)
    await pay(110)
    row = await paid(world, caller, None)
    assert (row["link_device_1d_records"], row["link_device_90d_records"]) == (100, 100)
    assert (row["link_device_1d_delayed_records"], row["link_device_30d_delayed_records"]) == (0, 100)
    assert row["link_device_age"] > 20 * 86_400
    world.clock.advance(6 * 86_400)
    pair = await together(world, *(world.verify(caller, signals=DEVICE) for _ in range(2)))
    for answer in pair:
        late = await world.features(answer.resource.id)
        assert (late["link_device_1d_delayed_records"], late["link_device_30d_delayed_records"]) == (
            100,
            100,
        )
        assert late["link_device_1d_records"] == pair.index(answer)
        assert late["link_device_age"] == pytest.approx(6 * 86_400, abs=60)


@with_service(bundle="summing")
async def test_clients_of_a_history_scope_see_one_sum(world: World) -> None:
    """Amounts of a client in the same history scope count, those of another client do not."""
    first, second, other = await world.client("bank"), await world.client("bank"), await world.client()
    rows = [await paid(world, caller, 5.0) for caller in (first, second, other)]
    assert [sums(row)[0] for row in rows] == [0.0, 5.0, 0.0]


@with_service(bundle="summing")
async def test_the_amount_of_what_is_finished_later_counts_from_then(world: World) -> None:
    """A verification that had to wait has its amount when it is scored."""
    caller = await world.client()
    async with opened(world.url, world.bundle, limits=QueueLimits(scoring_seconds=-1.0)) as busy:
        late = await busy.verify(caller, signals={**DEVICE, AMOUNT.signal: 7.5})
    assert late.pending
    assert sums(await paid(world, caller, None))[0] == 0.0
    assert await world.pending.step() == 1
    assert sums(await paid(world, caller, None))[0] == 7.5


@with_service(bundle="summing")
async def test_privacy_erasure_changes_nobody_elses_sums(world: World) -> None:
    """Amounts of an erased person stay in the sums of linked records, also after a restart."""
    caller = await world.client()
    person = applicants(world.bundle)[0]
    identity = await world.identity(caller, person.identity)
    for amount in (100.5, None):
        signals = {**DEVICE, AMOUNT.signal: amount}
        await world.verify(caller, identity=identity, signals=signals)
    alone = await world.verify(caller, signals={**DEVICE, AMOUNT.signal: 2.5}, subject="s")
    before = await paid(world, caller, None, subject="before")
    await world.service.identities.erase(caller, identity)
    await world.erase_signals(caller, alone.resource.id)
    async with opened(world.url, world.bundle, clock=world.clock) as again:
        after = await paid(again, caller, None, subject="after")
    assert sums(before) == sums(after) == (103.0, 51.5)


@with_service(bundle="summing")
async def test_privacy_an_amount_is_kept_under_a_mask_and_only_where_it_is_summed(world: World) -> None:
    """Every link row of an event holds the amount, each under a mask of its own, and so does one without an amount."""
    caller = await world.client()
    for amount in (12.5, None):
        answer = await world.verify(caller, signals={**DEVICE, AMOUNT.signal: amount}, subject="s")
        rows = [row for row in await world.link_rows() if row.time == answer.resource.completed_at]
        assert len({row.amount for row in rows}) == len(rows) == 3
        assert not {row.amount for row in rows} & {None, 125, AMOUNT.units(amount)}
        pasts = {row.hash: [row[1:]] for row in rows}
        found = Masks(world.secrets).unmask(caller.history_scope, pasts)
        assert {past[-1] for (past,) in found.values()} == {AMOUNT.units(amount)}
        world.clock.advance(1)


@with_service
async def test_a_history_that_sums_nothing_keeps_no_amount(world: World) -> None:
    """Without an amount in the bundle nothing of the signal is in a link row."""
    await paid(world, await world.client(), 12.5)
    assert {row.amount for row in await world.link_rows()} == {None}
