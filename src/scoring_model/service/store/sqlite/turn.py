"""Whose turn it is to write: one task of one process at a time, in the order in which they asked.

SQLite itself lets writers try again and again until one gets in. Here they queue. Within a process that is a lock of
asyncio; between processes it is a lock on a file (flock), which the kernel takes away from a process that dies.
A second file is the turnstile: the process that waits for the turn holds it, so that the last writer can't push in
again before those who wait.
"""

import asyncio
import fcntl
import os
import threading
from contextlib import suppress
from pathlib import Path

from scoring_model.service.core.store import StoreUnavailable


class Turn:
    """The right to write to one database.

    Parameters
    ----------
    path : Path
        Of the database. The files of the locks lie beside it and are never deleted.
    seconds : float
        How long to wait for other processes.
    """

    def __init__(self, path: Path, *, seconds: float) -> None:
        self._seconds = seconds
        self._task_lock = asyncio.Lock()
        self._gate = _open(path.with_name(path.name + ".gate"))
        self._turn = _open(path.with_name(path.name + ".lock"))
        self._pending: asyncio.Future[None] | None = None

    async def take(self) -> None:
        """Wait for the turn.

        Raises
        ------
        StoreUnavailable
            If another process does not give it back in time.
        """
        await self._task_lock.acquire()
        try:
            if self._pending is not None or not self._take_at_once():
                await self._wait()
        except BaseException:
            self._task_lock.release()
            raise

    def give_back(self) -> None:
        """End the turn."""
        fcntl.flock(self._turn, fcntl.LOCK_UN)
        self._task_lock.release()

    def close(self) -> None:
        """Give the files back, and the turn with them."""
        os.close(self._gate)
        os.close(self._turn)

    def _take_at_once(self) -> bool:
        if not _try(self._gate):
            return False
        try:
            return _try(self._turn)
        finally:
            fcntl.flock(self._gate, fcntl.LOCK_UN)

    async def _wait(self) -> None:
        """Let a thread queue. It can't be called off: the next one takes over what it waits for."""
        pending = self._pending = self._pending or self._start_waiting()
        try:
            await asyncio.wait((pending,), timeout=self._seconds)
        except BaseException:
            pending.add_done_callback(self._abandoned)
            raise
        if not pending.done():
            pending.add_done_callback(self._abandoned)
            raise StoreUnavailable("SQLite: another process has been writing for too long")
        self._pending = None

    def _abandoned(self, pending: asyncio.Future[None]) -> None:
        """Give the turn back that came when nobody waited any more."""
        if self._pending is pending and not self._task_lock.locked():
            self._pending = None
            fcntl.flock(self._turn, fcntl.LOCK_UN)

    def _start_waiting(self) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()

        # Handles of its own, which share the locks: those of the store may be closed before the wait is over.
        gate, turn = os.dup(self._gate), os.dup(self._turn)

        def wait() -> None:
            fcntl.flock(gate, fcntl.LOCK_EX)
            fcntl.flock(turn, fcntl.LOCK_EX)
            fcntl.flock(gate, fcntl.LOCK_UN)
            os.close(gate)
            os.close(turn)
            with suppress(RuntimeError):  # the loop is gone, and the process with it
                loop.call_soon_threadsafe(future.set_result, None)

        # A daemon: the process must be able to end while another one holds the turn.
        threading.Thread(target=wait, name="turn", daemon=True).start()
        return future


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreUnavailable(f"The lock beside the database can't be opened: {error.strerror}") from error


def _try(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
