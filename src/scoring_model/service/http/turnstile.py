"""Answers that may wait for a moment, so that a flood of them does not hold up the work of the event loop."""

import asyncio
from collections import deque
from typing import Final

AT_ONCE: Final = 32
"""How many pass in one iteration of the event loop: a few milliseconds of work, the next requests included."""


class Turnstile:
    """Lets few pass in each iteration of the event loop, in the order in which they came.

    A transaction makes one step in each iteration: thousands of answers in every one of them would stretch it to
    seconds.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._passed = 0  # in this iteration

    async def turn(self) -> None:
        """Wait for one's turn."""
        if self._passed < AT_ONCE and not self._waiting:
            if not self._passed:
                asyncio.get_running_loop().call_soon(self._open)
            self._passed += 1
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        await future

    def _open(self) -> None:
        self._passed = min(AT_ONCE, len(self._waiting))
        for _ in range(self._passed):
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(None)
        if self._passed:
            asyncio.get_running_loop().call_soon(self._open)
