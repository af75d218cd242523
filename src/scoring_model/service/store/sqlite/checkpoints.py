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
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from scoring_model.service.store.sqlite.turn import Turn

ROWS: Final = 2_000
"""Changed rows after which a checkpoint is due: about as many pages, 8 MB of log."""

_log = logging.getLogger(__name__)


class Checkpoints:
    """The checkpoints of one store.

    Parameters
    ----------
    connection : sqlite3.Connection
        For nothing else.
    turn : Turn
    """

    def __init__(self, connection: sqlite3.Connection, turn: Turn) -> None:
        self._connection = connection
        self._turn = turn
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._task: asyncio.Task[None] | None = None
        self._rows = 0

    def count(self, rows: int) -> None:
        """Take note of rows that were changed, and start a checkpoint when one is due."""
        self._rows += rows
        if self._rows >= ROWS and (self._task is None or self._task.done()):
            self._rows = 0
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def truncate(self) -> bool:
        """Copy everything and cut the log to nothing, so that nothing that was deleted is left in it.

        Returns
        -------
        bool
            Whether it could be done; others may be reading what is in it.
        """
        await self._turn.take()
        try:
            return await self._call("TRUNCATE")
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
            await self._call("PASSIVE")
            await self._turn.take()
            try:
                await self._call("PASSIVE")
            finally:
                self._turn.give_back()
        except Exception as error:
            # The log only grows; the next checkpoint tries again, and SQLite makes its own in the end.
            _log.warning("a checkpoint failed: %s", type(error).__name__)

    async def _call(self, kind: str) -> bool:
        work = asyncio.get_running_loop().run_in_executor(self._thread, self._checkpoint, kind)
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            # The turn must not be given back before the thread is done.
            await asyncio.wait((work,))
            raise
        return work.result()

    def _checkpoint(self, kind: str) -> bool:
        busy, _, _ = self._connection.execute(f"PRAGMA wal_checkpoint({kind})").fetchone()
        return not busy
