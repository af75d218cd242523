"""A flood of answers leaves the event loop to others in between."""

import asyncio
from itertools import pairwise

from scoring_model.service.http.error_middleware import AT_ONCE, Turnstile


def test_few_pass_in_each_iteration_and_all_in_the_end() -> None:
    """In the order in which they came; who gives up is passed over."""

    async def story() -> None:
        turnstile = Turnstile()
        passed: list[int] = []

        async def one(number: int) -> None:
            await turnstile.turn()
            passed.append(number)

        tasks = [asyncio.create_task(one(number)) for number in range(5 * AT_ONCE)]
        await asyncio.sleep(0)
        tasks[AT_ONCE + 1].cancel()
        steps = [0]
        while len(passed) < 5 * AT_ONCE - 1:
            await asyncio.sleep(0)
            steps.append(len(passed))
        assert max(b - a for a, b in pairwise(steps)) <= AT_ONCE
        assert passed == [number for number in range(5 * AT_ONCE) if number != AT_ONCE + 1]
        await one(-1)
        assert passed[-1] == -1

    asyncio.run(asyncio.wait_for(story(), 30))
