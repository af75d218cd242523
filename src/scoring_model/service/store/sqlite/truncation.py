"""Truncating the write-ahead log after erasures, until it is done.

The database itself is overwritten by the transaction that erases (secure_delete), but the log holds what was there
before until it is truncated, which no reader may keep. Nobody waits for that: what is required is a fact in the
database, and whichever process has the database open tries until it succeeds, after a restart too.
"""

import asyncio
import contextlib
from typing import Final

from scoring_model.service.core.faults import log_fault, log_notice, log_warning
from scoring_model.service.core.store import StoreUnavailable
from scoring_model.service.store.sqlite.checkpoints import Checkpoints

FIRST_DELAY: Final = 0.01
"""Seconds until a truncation that failed is tried again; then twice as long, and so on."""

LAST_DELAY: Final = 1.0

INTERVAL: Final = 5.0
"""Seconds between two looks for what other processes require."""

COMPLETE: Final = "Erasures are complete on the live files: the write-ahead log was truncated."
DELAYED: Final = (
    "An erasure is not complete yet: another process reads the write-ahead log. Truncating it is tried again until it "
    "succeeds; see /health/ready."
)


class Truncation:
    """Truncates the log of one store whenever that is required.

    Parameters
    ----------
    checkpoints : Checkpoints
    """

    def __init__(self, checkpoints: Checkpoints) -> None:
        self._checkpoints = checkpoints
        self._required = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._run())

    def require(self) -> None:
        """Say that a transaction of this process, which is committed, requires it."""
        self._required.set()

    async def close(self) -> None:
        """Stop. What is not done is left to other processes and to the next start."""
        self._task.cancel()
        await asyncio.wait((self._task,))

    async def _run(self) -> None:
        while True:
            self._required.clear()
            try:
                if await self._checkpoints.truncation_required():
                    await self._truncate()
            except Exception as error:
                log_fault("truncating the write-ahead log", error)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(INTERVAL):
                    await self._required.wait()

    async def _truncate(self) -> None:
        delay = FIRST_DELAY
        while not await self._attempt():
            await asyncio.sleep(delay)
            if delay < LAST_DELAY <= 2 * delay:
                log_warning(DELAYED)
            delay = min(2 * delay, LAST_DELAY)
        log_notice(COMPLETE)

    async def _attempt(self) -> bool:
        try:
            return await self._checkpoints.truncate()
        except StoreUnavailable:  # others have been writing for too long
            return False
