"""A flood of answers leaves the event loop to others in between."""

import asyncio
from itertools import pairwise

import pytest

from scoring_model.service.http.errors import AT_ONCE, PER_SECOND, Turnstile


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock of the event loop: it stands still unless its one item is changed."""
    found = [1000.0]

    def call_later(self: asyncio.BaseEventLoop, delay: float, call: object, *arguments: object) -> object:
        found[0] += delay
        return self.call_soon(call, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(asyncio.BaseEventLoop, "time", lambda _: found[0])
    monkeypatch.setattr(asyncio.BaseEventLoop, "call_later", call_later)
    return found


def test_few_pass_in_each_second_and_all_in_the_end(seconds: list[float]) -> None:
    """In the order in which they came; one that is cancelled takes no room."""

    async def story() -> None:
        turnstile = Turnstile()
        passed: list[int] = []

        async def one(number: int) -> None:
            await turnstile.turn()
            passed.append(number)

        began = seconds[0]
        tasks = [asyncio.create_task(one(number)) for number in range(5 * AT_ONCE)]
        await asyncio.sleep(0)
        assert passed == list(range(AT_ONCE))
        tasks[AT_ONCE + 1].cancel()
        steps = [len(passed)]
        while len(passed) < 5 * AT_ONCE - 1:
            await asyncio.sleep(0)
            steps.append(len(passed))
        assert max(b - a for a, b in pairwise(steps)) <= AT_ONCE
        assert passed == [number for number in range(5 * AT_ONCE) if number != AT_ONCE + 1]
        assert seconds[0] - began == pytest.approx((4 * AT_ONCE - 1) / PER_SECOND, abs=0.004)
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(story())


def test_who_comes_alone_does_not_wait(seconds: list[float]) -> None:
    """The room of a second comes back with time."""

    async def story() -> None:
        turnstile = Turnstile()
        for _ in range(AT_ONCE + 3):
            seconds[0] += 1 / PER_SECOND
            before = seconds[0]
            await turnstile.turn()
            assert seconds[0] == before

    asyncio.run(story())
