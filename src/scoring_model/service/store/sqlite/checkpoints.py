"""Moving what was committed from the write-ahead log into the database, out of the way of those who write.

SQLite does it within a commit once the log has 1,000 pages, and that commit takes as long. Here a connection of its
own does it, early and in two steps. The first one copies nearly everything while others go on writing. The second one
takes the turn for the few pages that came meanwhile: only when a log was copied to its end does the next writer start
it anew, so that without this step it would grow for as long as there are writers. Each step syncs and copies a few
hundred pages at most.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from scoring_model.service.core.store import TRUNCATION_FACT
from scoring_model.service.store.sqlite.connection import native
from scoring_model.service.store.sqlite.turn import Turn
from scoring_model.service.store.statements import DELETE_FACT, FACT

T = TypeVar("T")

ROWS: Final = 2_000
"""Changed rows after which a checkpoint is due: about as many pages, 8 MB of log."""

BUSY_SECONDS: Final = 0.25
"""How long a statement waits for a process that mends the log of one that has died. No checkpoint waits."""

_log = logging.getLogger(__name__)


class Checkpoints:
    """The checkpoints of one store.

    Parameters
    ----------
    connection : sqlite3.Connection
        For nothing else.
    turn : Turn
    readable : asyncio.Event
        Not set for the moment in which this process must not begin to read.
    """

    def __init__(self, connection: sqlite3.Connection, turn: Turn, readable: asyncio.Event) -> None:
        self._connection = connection
        self._turn = turn
        self._readable = readable
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._task: asyncio.Task[None] | None = None
        self._rows = 0

    def count(self, rows: int) -> None:
        """Take note of rows that were changed, and start a checkpoint when one is due."""
        self._rows += rows
        if self._rows >= ROWS and (self._task is None or self._task.done()):
            self._rows = 0
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def truncation_required(self) -> bool:
        """Whether the log still holds what was erased, by this process or another one."""
        return await self._call(self._truncation_required)

    async def truncate(self) -> bool:
        """Copy everything, truncate the log to nothing and delete `TRUNCATION_FACT`, unless somebody reads the log.

        Nobody writes meanwhile, so that no erasure comes between the truncation and the deletion of the fact. Most is
        copied before that.

        Returns
        -------
        bool
            Whether it could be done.

        References
        ----------
        https://www.sqlite.org/pragma.html#pragma_wal_checkpoint
        """
        await self._call(lambda: self._checkpoint("PASSIVE"))
        await self._turn.take()
        try:
            done = await self._truncate()
            if done:
                await self._call(lambda: self._connection.execute(native(DELETE_FACT), (TRUNCATION_FACT,)))
            return done
        finally:
            self._turn.give_back()

    async def close(self) -> None:
        """End what is under way."""
        if self._task is not None:
            await asyncio.wait((self._task,))
        self._thread.shutdown()
        self._connection.close()

    async def _run(self) -> None:
        try:
            await self._call(lambda: self._checkpoint("PASSIVE"))
            await self._turn.take()
            try:
                await self._call(lambda: self._checkpoint("PASSIVE"))
            finally:
                self._turn.give_back()
        except Exception as error:
            # The log only grows; the next checkpoint tries again, and SQLite makes its own in the end.
            _log.warning("a checkpoint failed: %s", type(error).__name__)

    async def _call(self, work_of: Callable[[], T]) -> T:
        work = asyncio.get_running_loop().run_in_executor(self._thread, work_of)
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            # The turn must not be given back before the thread is done.
            await asyncio.wait((work,))
            raise
        return work.result()

    def _checkpoint(self, kind: str) -> bool:
        # Nobody writes while this waits for readers: it does not wait, and is tried again.
        self._connection.execute("PRAGMA busy_timeout = 0")
        try:
            busy, _, _ = self._connection.execute(f"PRAGMA wal_checkpoint({kind})").fetchone()
        finally:
            self._connection.execute(f"PRAGMA busy_timeout = {int(1000 * BUSY_SECONDS)}")
        return not busy

    async def _truncate(self) -> bool:
        self._readable.clear()
        try:
            return await self._call(lambda: self._checkpoint("TRUNCATE"))
        finally:
            self._readable.set()

    def _truncation_required(self) -> bool:
        return self._connection.execute(native(FACT), (TRUNCATION_FACT,)).fetchone() is not None
