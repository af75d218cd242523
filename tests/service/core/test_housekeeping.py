"""What is old goes, and nothing that anybody still sees."""

from pathlib import Path

import pytest

from scoring_model.service.core.rows import IdempotencyRow
from scoring_model.service.retention.sweep import KEPT_SINCE, kept_since, warn_of_short_history
from scoring_model.service.scoring.score import SKEW
from service_use import HOUR, START, World, table, tell


def longest(world: World) -> int:
    """The longest window, in seconds."""
    return int(world.service.scoring.scorer.matrix.reach // 1_000_000)


async def counted(world: World, walk: bool) -> list[str]:
    """What a new client's records see of one another, before and after the first leaves the longest window."""
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


def test_links_old_events_go_and_nobody_sees_it(store_url: str, sealed: Path) -> None:
    """Whoever is scored after a walk gets the features of one who is scored without; the rows are gone."""

    async def story(world: World) -> None:
        plain = await counted(world, walk=False)
        before = len(await world.link_rows())
        assert await counted(world, walk=True) == plain
        left = await world.link_rows()
        oldest = world.clock.now() - longest(world) * 1_000_000 - SKEW
        assert len(left) < 2 * before
        assert all(row.time >= oldest for row in left)
        async with world.store.reading() as reader:
            assert kept_since(await reader.fact(KEPT_SINCE)) == oldest

    tell(store_url, sealed, story)


def test_idempotency_old_answers_go(store_url: str, sealed: Path) -> None:
    """What is not repeated any more is not kept any longer either."""

    async def story(world: World) -> None:
        caller = await world.client()
        await world.verify(caller, signals={"vpn": True}, key="first")
        world.clock.at += 20 * HOUR
        await world.verify(caller, signals={"vpn": True}, key="second")
        world.clock.at += 4 * HOUR + 1
        await world.service.housekeeping.walk()
        (left,) = await table(world.url, IdempotencyRow)
        assert left.created_at == START + 20 * HOUR

    tell(store_url, sealed, story)


def test_a_clock_that_was_set_back_does_not_say_that_the_history_is_whole(
    store_url: str, sealed: Path
) -> None:
    """From when on the history is whole only grows."""

    async def story(world: World) -> None:
        await world.service.housekeeping.walk()
        world.clock.at -= 10 * HOUR
        await world.service.housekeeping.walk()
        async with world.store.reading() as reader:
            since = kept_since(await reader.fact(KEPT_SINCE))
        assert since == START - longest(world) * 1_000_000 - SKEW

    tell(store_url, sealed, story)


@pytest.mark.parametrize(
    ("days", "ago", "told"),
    [(90, 90, ""), (90, 91, ""), (90, 89.5, "the next 1 days"), (180, 90, "the next 90 days")],
)
def test_a_longer_window_is_told_how_long_it_sees_too_little(
    store_url: str, sealed: Path, caplog: pytest.LogCaptureFixture, days: int, ago: float, told: str
) -> None:
    """Until the history is as long as the window again."""
    day = 24 * HOUR

    async def story(world: World) -> None:
        async with world.store.writing([]) as transaction:
            await transaction.set_fact(KEPT_SINCE, b"%d" % (START - round(ago * day)))
        await warn_of_short_history(world.store, world.clock, longest=days * day)

    tell(store_url, sealed, story)
    assert bool(caplog.records) == bool(told)
    assert told in caplog.text
