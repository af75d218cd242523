"""The write-ahead log of a file of SQLite: kept small without delaying commits, and truncated after erasures.

SQLite copies the log into the database within a commit once it has 1,000 pages, and that commit takes as long. Here a
thread with a connection of its own copies it earlier, while others go on writing. The next writer starts the log anew
only if all of it was copied, so the last few pages are copied while this process does not write.

An erasure overwrites the database (secure_delete), but the log holds the old bytes until it is truncated, which no
reader may prevent. Nobody waits for that: a fact in the database says that it is due, and every process that has the
database open tries until it succeeds, also after a restart.
"""

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, Literal, TypeVar

from scoring_model.service.core.faults import log_fault, log_notice, log_warning
from scoring_model.service.core.store import TRUNCATION_FACT
from scoring_model.service.store.sqlite.connection import native
from scoring_model.service.store.statements import DELETE_FACT, FACT

T = TypeVar("T")

ROWS: Final = 2_000
"""Changed rows after which the log is copied: about as many pages, 8 MB of log."""

INTERVAL: Final = 5.0
"""Seconds between two looks for erasures of other processes."""

FIRST_DELAY: Final = 0.01
"""Seconds until a truncation that failed is tried again; then twice as long, and so on."""

LAST_DELAY: Final = 1.0

COMPLETE: Final = "Erasures are complete on the live files: the write-ahead log was truncated."
DELAYED: Final = (
    "An erasure is not complete yet: another process reads the write-ahead log. Truncating it is tried again until it "
    "succeeds; see /health/ready."
)


class WriteAheadLog:
    """The log of one database, as one process looks after it.

    Parameters
    ----------
    path : Path
        Of the log.
    connection : sqlite3.Connection
        Used for nothing else.
    writing : asyncio.Lock
        Held while this process writes.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, writing: asyncio.Lock) -> None:
        self._path = path
        self._connection = connection
        self._writing = writing
        self._rows = 0
        self._due = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._task = asyncio.get_running_loop().create_task(self._run())

    def committed(self, rows: int, *, erased: bool) -> None:
        """Count the rows that a transaction changed, and start what is due after it."""
        self._rows += rows
        if erased or self._rows >= ROWS:
            self._due.set()

    async def close(self) -> None:
        """Stop. What is left to do is left to other processes and to the next start."""
        self._task.cancel()
        await asyncio.wait((self._task,))
        self._thread.shutdown()
        self._connection.close()

    async def _run(self) -> None:
        while True:
            self._due.clear()
            try:
                if self._rows >= ROWS:
                    await self._copy()
                if await self._in_thread(self._truncation_is_due):
                    await self._complete_erasures()
            except Exception as error:
                # The log only grows; SQLite itself copies it in the end.
                log_fault("copying the write-ahead log", error)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(INTERVAL):
                    await self._due.wait()

    async def _copy(self) -> None:
        self._rows = 0
        await self._in_thread(lambda: self._checkpoint("PASSIVE"))
        async with self._writing:
            await self._in_thread(lambda: self._checkpoint("FULL"))

    async def _complete_erasures(self) -> None:
        delay = FIRST_DELAY
        while not await self._try_to_truncate():
            await asyncio.sleep(delay)
            if delay < LAST_DELAY <= 2 * delay:
                log_warning(DELAYED)
            delay = min(2 * delay, LAST_DELAY)
        log_notice(COMPLETE)

    async def _try_to_truncate(self) -> bool:
        await self._in_thread(lambda: self._checkpoint("PASSIVE"))  # most of it, while others write
        async with self._writing:
            return await self._in_thread(self._truncate)

    def _truncate(self) -> bool:
        """Truncate the log and delete the fact, unless somebody reads the log or another process writes meanwhile."""
        if not self._checkpoint("TRUNCATE"):
            return False
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:  # another process writes
            return False
        try:
            if self._path.stat().st_size:  # another process wrote, and may have erased
                return False
            self._connection.execute(native(DELETE_FACT), (TRUNCATION_FACT,))
            self._connection.execute("COMMIT")
            return True
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def _checkpoint(self, kind: Literal["PASSIVE", "FULL", "TRUNCATE"]) -> bool:
        """Copy what can be copied without waiting for anybody; whether that was all that was asked for.

        References
        ----------
        https://www.sqlite.org/pragma.html#pragma_wal_checkpoint
        """
        busy, _, _ = self._connection.execute(f"PRAGMA wal_checkpoint({kind})").fetchone()
        return not busy

    def _truncation_is_due(self) -> bool:
        return self._connection.execute(native(FACT), (TRUNCATION_FACT,)).fetchone() is not None

    async def _in_thread(self, work: Callable[[], T]) -> T:
        future = asyncio.get_running_loop().run_in_executor(self._thread, work)
        try:
            await asyncio.shield(future)
        except asyncio.CancelledError:
            await asyncio.wait((future,))  # nobody may write before the thread is done
            raise
        return future.result()
