"""Order of steps that share link keys."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Collection, Hashable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class LinkOrder(Generic[T]):
    """Steps with their keys; each waits for all earlier steps with a common key; `rng` picks among the ready ones."""

    def __init__(self, steps: Sequence[tuple[T, Collection[Hashable]]], rng: random.Random) -> None:
        self._steps = [step for step, _ in steps]
        self._rng = rng
        self._followers: list[list[int]] = [[] for _ in steps]
        self._waits_for = [0] * len(steps)
        self._left = len(steps)
        latest: dict[Hashable, int] = {}
        for number, (_, keys) in enumerate(steps):
            for before in {latest[key] for key in keys if key in latest}:
                self._followers[before].append(number)
                self._waits_for[number] += 1
            latest.update(dict.fromkeys(keys, number))
        self._ready = [number for number, waits in enumerate(self._waits_for) if waits == 0]
        self._changed = asyncio.Condition()
        self.overtakings = 0
        self._newest = -1

    async def work(self, do: Callable[[T], Awaitable[None]]) -> None:
        """Do steps until none is left; several tasks may work concurrently."""
        while (number := await self._take()) is not None:
            await do(self._steps[number])
            await self._done(number)

    async def _take(self) -> int | None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._ready or not self._left)
            if not self._left:
                return None
            number = self._ready.pop(self._rng.randrange(len(self._ready)))
            self.overtakings += number < self._newest
            self._newest = max(number, self._newest)
            return number

    async def _done(self, number: int) -> None:
        async with self._changed:
            self._left -= 1
            for follower in self._followers[number]:
                self._waits_for[follower] -= 1
                if self._waits_for[follower] == 0:
                    self._ready.append(follower)
            self._changed.notify_all()
