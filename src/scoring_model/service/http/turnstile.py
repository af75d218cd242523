"""Answers that may wait for a moment, so that a flood of them does not take the time of everything else."""

import asyncio
from collections import deque
from typing import Final

PER_SECOND: Final = 1_500
"""How many pass in a second: they take a fifth of a core, their requests included."""

AT_ONCE: Final = 32
"""How many pass in one iteration of the event loop at most: a few milliseconds of work."""

_LOOK_SECONDS: Final = 0.002


class Turnstile:
    """Lets so many pass in each second, and in each iteration of the event loop, in the order in which they came.

    A transaction makes one step in each iteration: thousands of answers in every one of them would stretch it to
    seconds. A peer that sends its next request after its answer sends no faster than these pass.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._room = float(AT_ONCE)
        self._looked_at = 0.0

    async def turn(self) -> None:
        """Wait for one's turn."""
        loop = asyncio.get_running_loop()
        if not self._waiting:
            self._look(loop.time())
            if self._room >= 1:
                self._room -= 1
                return
            loop.call_later(_LOOK_SECONDS, self._open)
        future: asyncio.Future[None] = loop.create_future()
        self._waiting.append(future)
        await future

    def _look(self, now: float) -> None:
        self._room = min(AT_ONCE, self._room + PER_SECOND * (now - self._looked_at))
        self._looked_at = now

    def _open(self) -> None:
        loop = asyncio.get_running_loop()
        self._look(loop.time())
        while self._waiting and self._room >= 1:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(None)
                self._room -= 1
        if self._waiting:
            loop.call_later(_LOOK_SECONDS, self._open)
