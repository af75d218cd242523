"""Housekeeping deletes expired rows and nothing that is still visible."""

from pathlib import Path

import pytest

from scoring_model.service.core.clock import SKEW
from scoring_model.service.retention.kept import KEPT_SINCE, kept_since, warn_of_short_history
from service_use import HOUR, START, World, opened, run_story

pytestmark = pytest.mark.anyio


def longest(world: World) -> int:
    """The longest window, in seconds."""
    return int(world.service.scoring.scorer.matrix.reach // 1_000_000)


async def counted(world: World, walk: bool) -> list[str]:
    """Features of a new client's records, before and after the first leaves the longest window."""
    caller = await world.client()
    seen = []
    await world.verify(caller, signals={"deviceId": "d"})
    for seconds in (longest(world) - 1, 0.5, 0.5, 1, 10):
        world.clock.advance(seconds)
        if walk:
            await world.service.housekeeping.walk()
        found = (await world.verify(caller, signals={"deviceId": "d"})).resource
        features = await world.features(found.id)
        seen += [
            f"{name} {value!r}" for name, value in sorted(features.items()) if name.startswith("link_device_")
        ]
    return seen


async def test_links_old_events_go_and_nobody_sees_it(world: World) -> None:
    """Housekeeping deletes rows without changing the features of later records."""
    plain = await counted(world, walk=False)
    before = len(await world.link_rows())
    assert await counted(world, walk=True) == plain
    left = await world.link_rows()
    oldest = world.clock.now() - longest(world) * 1_000_000 - SKEW
    assert len(left) < 2 * before
    assert all(row.time >= oldest for row in left)
    assert await kept_since(world.store) == oldest


async def test_a_clock_that_was_set_back_does_not_say_that_the_history_is_whole(world: World) -> None:
    """The start of the complete history never moves back. It does not move while there is nothing to delete."""
    await world.verify(await world.client(), signals={"deviceId": "d"})
    await world.service.housekeeping.walk()
    assert await kept_since(world.store) == 0
    world.clock.at += longest(world) * 1_000_000 + HOUR
    await world.service.housekeeping.walk()
    world.clock.at -= 10 * HOUR
    await world.verify(await world.client(), signals={"deviceId": "d"})
    await world.service.housekeeping.walk()
    assert await kept_since(world.store) == START + HOUR - SKEW


@pytest.mark.parametrize("longer", [0.5, 2])
async def test_links_are_kept_as_long_as_is_set_and_as_the_longest_window(
    world: World, longer: float
) -> None:
    """A setting keeps them longer, never shorter."""
    window = longest(world) * 1_000_000
    await world.verify(await world.client(), signals={"deviceId": "d"})
    world.clock.at += round(max(longer, 1) * window) + HOUR
    async with opened(
        world.url, world.bundle, clock=world.clock, links_kept_for=round(longer * window)
    ) as other:
        await other.service.housekeeping.walk()
        assert await kept_since(other.store) == START + HOUR - SKEW


@pytest.mark.parametrize(
    ("days", "ago", "reported"),
    [(90, 90, ""), (90, 91, ""), (90, 89.5, "the next 1 days"), (180, 90, "the next 90 days")],
)
def test_a_longer_window_is_reported_with_how_long_it_sees_too_little(
    store_url: str, sealed: Path, caplog: pytest.LogCaptureFixture, days: int, ago: float, reported: str
) -> None:
    """Until the history is as long as the window again."""
    day = 24 * HOUR

    async def story(world: World) -> None:
        async with world.store.writing([]) as transaction:
            await transaction.set_fact(KEPT_SINCE, b"%d" % (START - round(ago * day)))
        await warn_of_short_history(world.store, world.clock, longest=days * day)

    run_story(store_url, sealed, story)
    assert bool(caplog.records) == bool(reported)
    assert reported in caplog.text
